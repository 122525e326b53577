#ifndef NET_NET_GATE_STATE_H
#define NET_NET_GATE_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include <uv.h>

#include "common/oct_bucket.h"
#include "common/oct_reason.h"
#include "net/net_gate.h"
#include "net/net_gate_folder.h"
#include "net/net_sp.h"
#include "net/net_tls.h"
#include "net/net_url.h"

// What the files of the gate share. Unless a comment says otherwise, it belongs to the gate's
// thread.

#define GATE_READ_BYTES     65536u // of one read, and of decrypted bytes that become one write
#define GATE_QUEUES_BYTES   ((size_t)64 << 20)  // waiting to be written, shared by all connections
#define GATE_QUEUE_MAX      ((size_t)512 << 10) // share of one connection, at most
#define GATE_ANSWERS_BYTES  ((size_t)16 << 20)  // share of one connection for answers to calls
#define GATE_QUEUE_MIN      ((size_t)64 << 10)  // share of one connection, at least
#define GATE_UNREAD_BYTES   (64u << 10)         // least progress in NET_GATE_UNREAD_MS
#define GATE_LONG_BYTES     (512u << 10)        // least progress in NET_GATE_LONG_MS
#define GATE_TICK_MS        1000
#define GATE_DRAIN_MS       300  // to write what is queued after the other side has ended
#define GATE_DRAIN_RAW_MS   4000 // the same without SP, where a client waits for the answer
#define GATE_FINISH_MS      100  // for NNG to end its side after the end was closed
#define GATE_REASON_BYTES   160
#define GATE_PIPELESS_TICKS 3u   // without a pipe, until the local socket is replaced
#define GATE_PIPES          1024 // counters of pipes, by listener number modulo this

typedef enum gate_count {
    GATE_ACCEPTED,
    GATE_OPENED,
    GATE_REFUSED,
    GATE_OVERFLOWED,
    GATE_EXPIRED,
    GATE_MALFORMED,
    GATE_DEAD,
    GATE_REVOKED,
    GATE_RELISTENED,
    GATE_CONNECTIONS,
    GATE_BYTES_IN,
    GATE_BYTES_OUT,
    GATE_COUNTS,
} gate_count;

// ---- connections (net_gate_conn.c)

typedef enum gate_state {
    GATE_CONNECTING, // accepted or dialed; TCP is not up
    GATE_HANDSHAKE,  // TLS
    GATE_HEADER,     // the SP header is awaited from the peer
    GATE_OPEN,
    GATE_DRAINING,  // one side has ended; what it sent is still written to the other
    GATE_LINGERING, // the outside is closed; NNG's side is not yet
    GATE_CLOSING,   // libuv closes the handles; no callback acts any more
} gate_state;

typedef enum gate_long_state {
    GATE_LONG_NONE,
    GATE_LONG_WAITING,
    GATE_LONG_COMING
} gate_long_state;

// Time of the last progress, and the count then; 0 ms while no progress is needed.
typedef struct gate_standstill {
    uint64_t since_ms, from;
} gate_standstill;

typedef struct gate_conn {
    LIST_ENTRY(gate_conn) place; // in the end's list
    net_gate_end *end;
    uint64_t number; // the tag; counts from 1 within the gate
    gate_state state;
    unsigned handles; // handles that libuv has not closed; the connection is freed at 0
    uv_tcp_t tcp;
    uv_pipe_t local;
    uv_timer_t deadline;
    uv_connect_t connect;
    uv_shutdown_t shutdown;
    bool has_local, local_ended; // local is open; NNG has ended its side
    unsigned local_made;         // index of the local socket, among the end's for the peer's role
    unsigned pipes_before;       // count of pipes that NNG had made there before this connection
    bool answered;               // NNG has made a pipe there since
    unsigned pipeless_ticks;     // ticks since the connect without a pipe
    bool finishing;              // the end was closed: NNG gets no more messages
    bool dropped;                // the peer was refused: what NNG has not read yet is discarded
    bool half; // without SP: the peer has ended its side, the answer is still sent
    bool tcp_reads, local_reads; // we read from tcp; from local
    SSL *ssl;                    // NULL for tcp://
    BIO *cipher_in, *cipher_out;
    uint8_t address[16]; // IPv4 in the last 4 bytes, IPv6 the /64 prefix: key of allowances
    char from[64];       // the peer's address for logs
    net_tls_peer peer;   // valid if is_known; otherwise the role is OCT_ROLE_LOCAL
    bool is_known;       // the certificate is good; failures then count for it, not for the address
    uint8_t header[NET_SP_HEADER_BYTES]; // the peer's
    unsigned header_have;
    unsigned local_header_left; // bytes of NNG's own header still to be skipped
    net_sp_stream to_local, from_local;
    // net_gate_room.c
    bool in_handshake;
    TAILQ_ENTRY(gate_conn) turn; // among the handshakes, oldest first
    uint64_t partial;            // bytes of an unfinished message without room of its own
    uint64_t partial_number;     // number of that message in to_local.messages
    uint64_t partial_ms;         // when that message began
    uint64_t outward;            // bytes given to TCP since the start, in queue or sent
    gate_standstill unread;      // of bytes that leave a full queue
    // net_gate_long.c
    gate_long_state long_state;
    bool resumes;                      // the message has room now, and reading has not resumed yet
    TAILQ_ENTRY(gate_conn) long_place; // in the list of waiting or of coming messages
    uint64_t long_number, long_bytes;  // the message's number in to_local; its room
    gate_standstill long_still;        // of bytes of the long message that come in
} gate_conn;

struct net_gate_end {
    LIST_ENTRY(net_gate_end) place; // in the gate's list
    net_gate *gate;
    char url[NET_URL_MAX];
    char host[NET_URL_MAX];
    unsigned port;
    unsigned roles;
    uint16_t protocol, peer_protocol;
    uint64_t message_bytes_max;
    uint64_t number;
    bool is_tls, is_dial, tagged;
    bool started, closing;
    // Local sockets by the peer's role; the newest has index locals_made - 1. local_fds is its file
    // (O_PATH), usable after its name is removed; -1: none.
    int (*listen_local)(uint32_t socket, const char *path, oct_reason *why);
    uint32_t socket;
    // locals_made counts the sockets; the newest has index locals_made - 1.
    unsigned locals_made[OCT_ROLES];
    int local_fds[OCT_ROLES];
    uint64_t lost_ms[OCT_ROLES]; // when replacing the newest first failed; 0: the newest works
    // NNG's numbers by index; 0: none. Read by any thread
    atomic_int listener_ids[OCT_ROLES][NET_GATE_LOCALS_MAX];
    unsigned handles; // open handles of uv, plus connections; the end is freed at 0
    LIST_HEAD(gate_conns, gate_conn) conns;
    unsigned conn_count;
    // listening
    int fd; // the bound port; -1 once libuv owns it
    uv_tcp_t listener;
    uint64_t refusals;
    uint64_t refusal_logged_ms;
    // dialing
    uv_timer_t retry;
    uv_getaddrinfo_t lookup;
    struct addrinfo *addresses, *address; // of the last lookup; the one being tried
    unsigned backoff_ms;
    uint64_t opened_ms;              // when the last connection opened
    char trouble[GATE_REASON_BYTES]; // the last trouble that was logged; "" while connected
    bool was_up;                     // a connection has opened before
};

// A call from another thread. It lies on the caller's stack, and the caller waits until done.
typedef struct gate_command {
    struct gate_command *next;
    void (*fn)(void *arg);
    void *arg;
    bool done;
} gate_command;

TAILQ_HEAD(gate_conns_long, gate_conn);

// Long messages: of those in coming the rest is read, of those in waiting it is not.
typedef struct gate_longs {
    struct gate_conns_long waiting; // oldest first
    struct gate_conns_long coming;
    uint64_t bytes;    // room of the messages in coming: their full lengths
    uv_timer_t resume; // of 0 ms: resumes reading outside of the caller that freed room
} gate_longs;

struct net_gate {
    pthread_t thread;
    uv_loop_t uv;
    uv_async_t wake;
    uv_timer_t tick;
    net_gate_folder folder; // of the local sockets; the first end makes it
    oct_role role;          // of the certificate at the start
    uint64_t ends_made;
    // commands and ended: any thread, under mutex.
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    gate_command *commands;
    bool ended;
    // the rest: the gate's thread.
    net_tls *tls;
    char tls_trouble[512];              // why files of --tls cannot be used; "": they can
    int days_left;                      // of our certificate at the last check; < 0: expired
    atomic_uint pipes_made[GATE_PIPES]; // by listener number; any thread adds
    uint64_t relistened_ms;             // when a local socket was last replaced; 0: never
    LIST_HEAD(gate_ends, net_gate_end) ends;
    TAILQ_HEAD(gate_turns, gate_conn) turns; // handshakes of accepted connections, oldest first
    unsigned handshakes;
    unsigned conn_total, conn_total_max, conn_peak; // peak: since memory was last trimmed
    uint64_t partial;                               // sum of partial of all connections
    gate_longs longs;
    uint64_t conns_made;                      // the last tag
    oct_bucket peers;                         // failures by address
    oct_bucket holders;                       // failures by certificate
    atomic_uint_fast64_t counts[GATE_COUNTS]; // any thread reads
    atomic_int_least64_t tls_ends_s; // when our certificate expires, seconds since 1970; 0: no TLS
    uint8_t read_bytes[GATE_READ_BYTES], plain[GATE_READ_BYTES];
    uint8_t converted[NET_SP_OUT_BYTES(GATE_READ_BYTES)];
};

static inline void
gate_add(net_gate *gate, gate_count which, uint64_t n)
{
    (void)atomic_fetch_add_explicit(&gate->counts[which], n, memory_order_relaxed);
}

// ---- room (net_gate_room.c)

// Returns how many connections the limit of open files allows.
unsigned gate_room_connections(void);
// Returns the bytes that may wait to be written on one side of a connection before the gate stops
// reading the other side. Reading starts again below a quarter of this number.
size_t gate_room_queue(const net_gate *gate);
// Runs once a tick: gives memory back to the system after many connections have closed.
void gate_room_tidy(net_gate *gate);
// Counts conn, unless dialed, among the handshakes (enter), and no longer (leave).
void gate_room_enter(gate_conn *conn);
void gate_room_leave(gate_conn *conn);
// Returns the handshake that must end before another from address begins; NULL: there is room.
gate_conn *gate_room_victim(const net_gate *gate, const uint8_t address[16]);
// Returns why the newest connection from address, already counted, is one too many, or NULL.
const char *gate_room_full(const net_gate_end *end, const uint8_t address[16]);
// Does the same by conn's certificate, and by the certificate's earlier failures.
const char *gate_room_holder_full(gate_conn *conn);
// Accounts for bytes from conn. Returns the connection that must end because unfinished messages
// without room exceed NET_GATE_PARTIAL_MAX, or NULL.
gate_conn *gate_room_message(gate_conn *conn);
// Returns true if peers of the end send requests.
bool gate_room_calls(const net_gate_end *end);
// Returns true if conn, which may only listen, has sent more than its name.
bool gate_room_speaks(const gate_conn *conn);
// Releases all that conn holds here, when it ends.
void gate_room_forget(gate_conn *conn);
// Returns for how many milliseconds done has grown by less than step.
uint64_t gate_room_stands(gate_standstill *still, uint64_t now_ms, uint64_t done, uint64_t step);
// Runs once a tick. Returns true if the peer has stopped reading.
bool gate_room_unread(gate_conn *conn);

// ---- long messages (net_gate_long.c)

void gate_long_init(net_gate *gate);
// Accounts for bytes from conn: its message may have to wait, or be complete and free its room.
void gate_long_message(gate_conn *conn);
// Runs once a tick. Returns true if conn has room that others wait for, and sends nothing.
bool gate_long_stalls(gate_conn *conn);
// Releases conn's room or its position in the queue, when conn ends.
void gate_long_forget(gate_conn *conn);

// ---- peers and their failures (net_gate_peers.c)

// Counts failures: a connection whose address or certificate has too many is closed at once.
void gate_peers_init(net_gate *gate);
// Returns true for the same certificate, or the same address if neither has a certificate.
bool gate_peers_same(const gate_conn *a, const gate_conn *b);
// Sets conn->address and conn->from.
void gate_peers_name(gate_conn *conn, const struct sockaddr *peer);

// Accepts a connection that the end's listener offers.
void gate_conn_accept(net_gate_end *end);
// Connects to end->address.
void gate_conn_dial(net_gate_end *end);
// Ends conn because its end was closed: what NNG has written is still sent.
void gate_conn_finish(gate_conn *conn);
// Refuses conn, which brought bad messages.
void gate_conn_blame(gate_conn *conn);
// Reads conn again, which had to wait for room.
void gate_conn_resume(gate_conn *conn);
// Runs once a tick: ends conn if its peer is silent, does not read or stalls, or, after files were
// renewed, if its certificate is no longer good.
void gate_conn_check(gate_conn *conn, bool renewed);

// ---- local sockets (net_gate_local.c)

// Does net_gate_end_local's work on the gate's thread.
bool gate_local_path(const net_gate_end *end, oct_role role, char out[NET_GATE_LOCAL_MAX]);
// Makes a local socket for every role of the end. OCT_EIO: one cannot be made (logged).
OCT_CHECKED oct_err gate_local_make_all(net_gate_end *end);
// Closes the descriptors of the socket files, if any were opened.
void gate_local_free(net_gate_end *end);
// Connects to the local socket of conn's role; -1: its backlog is full, or it has failed.
int gate_local_connect(gate_conn *conn);
// Runs once a tick: tries again to replace a failed local socket, for NET_GATE_LOST_MS.
void gate_local_check(net_gate_end *end);
// Runs once a tick. Returns true if NNG has made no pipe of conn for GATE_PIPELESS_TICKS, although
// it makes pipes at once: the local socket has failed and is replaced.
bool gate_local_has_no_pipe(gate_conn *conn);
// Does net_gate_trouble's work for local sockets, on the gate's thread.
bool gate_local_trouble(const net_gate *gate, char out[NET_GATE_TROUBLE_BYTES]);

// ---- our own certificates, gate->tls (net_gate_tls.c)

void gate_tls_init(net_gate *gate);
// Runs once a tick: reloads the certificates if files changed. True: check all peers again.
bool gate_tls_look(net_gate *gate);
// Does net_gate_trouble's work for certificates; out is unchanged when nothing is wrong.
bool gate_tls_trouble(const net_gate *gate, char out[NET_GATE_TROUBLE_BYTES]);

// ---- ends (net_gate.c)

// conn has opened; conn has ended. reason says why.
void gate_end_opened(net_gate_end *end, const gate_conn *conn);
void gate_end_gone(net_gate_end *end, bool was_open, const char *reason);
// Logs that a peer of a listening end was refused, at most once in 10 s.
void gate_end_refused(const gate_conn *conn, const char *reason);
// Counts one handle or connection of the end less; at 0 the end, which was closed, is freed.
void gate_end_release(net_gate_end *end);

#endif // NET_NET_GATE_STATE_H
