#ifndef NET_NET_GATE_STATE_H
#define NET_NET_GATE_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include <uv.h>

#include "common/oct_allowance.h"
#include "net/net_gate.h"
#include "net/net_gate_folder.h"
#include "net/net_sp.h"
#include "net/net_tls.h"
#include "net/net_url.h"

// What the files of the gate share. Everything here belongs to the gate's thread, but for what says
// otherwise.

#define GATE_READ_BYTES    65536u
#define GATE_QUEUES_BYTES  ((size_t)64 << 20)  // waiting to be written, shared by the connections
#define GATE_QUEUE_MAX     ((size_t)512 << 10) // of one, and
#define GATE_ANSWERS_BYTES ((size_t)16 << 20)  // likewise, of answers to calls
#define GATE_QUEUE_MIN     ((size_t)64 << 10)
#define GATE_UNREAD_BYTES  (64u << 10)  // in NET_GATE_UNREAD_MS: less is no reading
#define GATE_LONG_BYTES    (512u << 10) // in NET_GATE_LONG_MS: less is standing still
#define GATE_TICK_MS       1000
#define GATE_DRAIN_MS      300  // for what is queued when the other side has ended
#define GATE_DRAIN_RAW_MS  4000 // the same without SP: somebody waits for the answer
#define GATE_FINISH_MS     100  // for NNG to end its side when the end was closed
#define GATE_REASON_BYTES  160
#define GATE_MUTE_TICKS    3u   // in which NNG made no pipe of a connection of ours
#define GATE_PIPES         1024 // counters of pipes; listeners' numbers begin at 1

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
    GATE_CONNECTING, // dialed
    GATE_HANDSHAKE,  // TLS
    GATE_HEADER,     // of SP, awaited from the peer
    GATE_OPEN,
    GATE_DRAINING,  // one side has ended; what it sent still goes to the other
    GATE_LINGERING, // the outside is closed; NNG is to end its side
    GATE_CLOSING,
} gate_state;

typedef enum gate_long_state {
    GATE_LONG_NONE,
    GATE_LONG_WAITING,
    GATE_LONG_COMING
} gate_long_state;

// Bytes that go on too slowly: since when, and how many there were then. 0 ms: they need not go on.
typedef struct gate_standstill {
    uint64_t since_ms, from;
} gate_standstill;

typedef struct gate_conn {
    LIST_ENTRY(gate_conn) place; // in the end's list
    net_gate_end *end;
    uint64_t number; // from 1
    gate_state state;
    unsigned handles; // open handles of uv
    uv_tcp_t tcp;
    uv_pipe_t local;
    uv_timer_t deadline;
    uv_connect_t connect;
    uv_shutdown_t shutdown;
    bool has_local, local_ended;
    unsigned local_made;   // to which of the end's local sockets for that role
    unsigned pipes_before; // that NNG had made there before this one
    bool answered;         // it has made one since
    unsigned mute_ticks;   // in which it could have
    bool finishing;        // the end was closed: NNG gets no more
    bool dropped;          // what NNG has not taken yet is of no use
    bool half;             // no SP: the peer has ended its side, our answer still goes out
    bool tcp_reads, local_reads;
    SSL *ssl; // NULL for tcp://
    BIO *cipher_in, *cipher_out;
    uint8_t address[16];
    char from[64]; // for people
    net_tls_peer peer;
    bool is_known; // its certificate is good: it answers for what it does, not its address
    uint8_t header[NET_SP_HEADER_BYTES]; // theirs
    unsigned header_have;
    unsigned local_header_left; // bytes of NNG's header still to be skipped
    net_sp_stream to_local, from_local;
    // net_gate_room.c
    bool in_handshake;
    TAILQ_ENTRY(gate_conn) turn; // among the handshakes
    uint64_t partial;            // bytes of an unfinished message that NNG has
    uint64_t partial_number;     // which message that is
    uint64_t partial_ms;         // when it began
    uint64_t outward;            // bytes given to TCP
    gate_standstill unread;      // of what leaves a full queue
    // net_gate_long.c
    gate_long_state long_state;
    bool resumes;                      // it has room, and is not read yet
    TAILQ_ENTRY(gate_conn) long_place; // among those that wait, or that have room
    uint64_t long_number, long_bytes;  // which message that is; its room
    gate_standstill long_still;        // of what comes of it
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
    // the local sockets
    int (*listen_local)(uint32_t socket, const char *path, char *reason, size_t reason_size);
    uint32_t socket;
    unsigned locals_made[OCT_ROLES];
    int local_fds[OCT_ROLES];    // the file of the newest, whatever becomes of its name; -1: none
    uint64_t lost_ms[OCT_ROLES]; // since when it is to be made anew and cannot be; 0: it is well
    atomic_int listener_ids[OCT_ROLES][NET_GATE_LOCALS_MAX];
    unsigned handles; // open handles of uv, and connections
    LIST_HEAD(gate_conns, gate_conn) conns;
    unsigned conn_count;
    // listening
    int fd; // bound; -1 once uv has it
    uv_tcp_t listener;
    uint64_t refusals;
    uint64_t refusal_logged_ms;
    // dialing
    uv_timer_t retry;
    uv_getaddrinfo_t lookup;
    struct addrinfo *addresses, *address; // of the last lookup; the one being tried
    unsigned backoff_ms;
    uint64_t opened_ms;
    char trouble[GATE_REASON_BYTES]; // last one that was logged
    bool was_up;
};

typedef struct gate_command {
    struct gate_command *next;
    void (*fn)(void *arg);
    void *arg;
    bool done;
} gate_command;

TAILQ_HEAD(gate_conns_long, gate_conn);

// Long messages that are on their way.
typedef struct gate_longs {
    struct gate_conns_long waiting; // the oldest first
    struct gate_conns_long coming;
    uint64_t bytes; // of those that are coming, whole
    uv_timer_t resume;
} gate_longs;

struct net_gate {
    pthread_t thread;
    uv_loop_t uv;
    uv_async_t wake;
    uv_timer_t tick;
    net_gate_folder folder; // of the local sockets; made by the first end
    oct_role role;          // of our first certificate
    uint64_t ends_made;
    // commands: any thread, under mutex
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    gate_command *commands;
    bool ended;
    // the gate's thread
    net_tls *tls;
    char tls_trouble[512];              // what its folder has that cannot be used; "": nothing
    int days_left;                      // of our certificate, as last looked at; < 0: it ended
    atomic_uint pipes_made[GATE_PIPES]; // by number of the listener; any thread
    uint64_t relistened_ms;             // when a local socket was last made anew
    LIST_HEAD(gate_ends, net_gate_end) ends;
    TAILQ_HEAD(gate_turns, gate_conn) turns; // handshakes of those who came to us, the oldest first
    unsigned handshakes;
    unsigned conn_total, conn_total_max, conn_peak;
    uint64_t partial; // sum of the connections'
    gate_longs longs;
    uint64_t conns_made;
    oct_allowance peers;   // addresses
    oct_allowance holders; // certificates
    atomic_uint_fast64_t counts[GATE_COUNTS];
    atomic_int_least64_t tls_ends_s; // 0: no TLS
    uint8_t read_bytes[GATE_READ_BYTES], plain[GATE_READ_BYTES];
    uint8_t converted[NET_SP_OUT_BYTES(GATE_READ_BYTES)];
};

static inline void
gate_add(net_gate *gate, gate_count which, uint64_t n)
{
    (void)atomic_fetch_add_explicit(&gate->counts[which], n, memory_order_relaxed);
}

// ---- room (net_gate_room.c)

// How many connections the limit of open files allows.
unsigned gate_room_connections(void);
// Bytes that may wait to be written on one side of a connection before the other is not read; when
// a quarter is left, it is again.
size_t gate_room_queue(const net_gate *gate);
// Once a tick: gives back the memory that malloc keeps when many connections have gone.
void gate_room_tidy(net_gate *gate);
// conn begins its handshake; it is through.
void gate_room_enter(gate_conn *conn);
void gate_room_leave(gate_conn *conn);
// The handshake that must end before one from address begins; NULL: there is room.
gate_conn *gate_room_victim(const net_gate *gate, const uint8_t address[16]);
// Why one more connection from address (it is there already) is too many; NULL: it is not.
const char *gate_room_full(const net_gate_end *end, const uint8_t address[16]);
// The same of conn's certificate, which is known now.
const char *gate_room_holder_full(gate_conn *conn);
// conn brought something. The connection that must end because unfinished messages, those that have
// room not counted, hold too much; NULL: they do not.
gate_conn *gate_room_message(gate_conn *conn);
// Peers of the end call it.
bool gate_room_calls(const net_gate_end *end);
// conn, whose side only listens, has said more than its name.
bool gate_room_chatter(const gate_conn *conn);
// conn ends.
void gate_room_forget(gate_conn *conn);
// Since how many milliseconds less than a step has been added to done.
uint64_t gate_room_stands(gate_standstill *still, uint64_t now_ms, uint64_t done, uint64_t step);
// Asked once a tick: has its peer stopped reading?
bool gate_room_unread(gate_conn *conn);

// ---- long messages (net_gate_long.c)
//
// Of one that is longer than the gate and the local socket hold, the rest waits in the network
// until there is room for all of it. Closing a connection instead would not do: peers that send as
// fast as each other would lose what they have sent, again and again, and none would get through.

void gate_long_init(net_gate *gate);
// conn brought something: its message may begin to wait (GATE_LONG_WAITING: it is not to be read),
// or give its room back.
void gate_long_message(gate_conn *conn);
// Asked once a tick: does it have room that others wait for, and send nothing?
bool gate_long_stalls(gate_conn *conn);
// conn ends.
void gate_long_forget(gate_conn *conn);

// ---- who is at the other end (net_gate_peers.c)

// Addresses and certificates that failed lately: without allowance, connections are closed unheard.
void gate_peers_init(net_gate *gate);
// With the same certificate, or neither with one and from the same address.
bool gate_peers_same(const gate_conn *a, const gate_conn *b);
// Sets conn's address, and how it is called, to the peer's.
void gate_peers_name(gate_conn *conn, const struct sockaddr *peer);

// A connection that the end's listener offers.
void gate_conn_accept(net_gate_end *end);
// Connects to end->address.
void gate_conn_dial(net_gate_end *end);
// The end was closed: what NNG has written, and ends, still goes out.
void gate_conn_finish(gate_conn *conn);
// It brought bad messages.
void gate_conn_blame(gate_conn *conn);
// It does not wait any more.
void gate_conn_resume(gate_conn *conn);
// Once a tick: is the peer there? Is its certificate still good (renewed: the files are new)?
void gate_conn_check(gate_conn *conn, bool renewed);

// ---- local sockets (net_gate_local.c)

// net_gate_end_local on the gate's thread.
bool gate_local_path(const net_gate_end *end, oct_role role, char out[NET_GATE_LOCAL_MAX]);
// One for every role of the end. OCT_EIO: logged.
OCT_CHECKED oct_err gate_local_make_all(net_gate_end *end);
// Lets go of them. For one that made none too.
void gate_local_free(net_gate_end *end);
// A connection of conn's to that of its role, or -1: too many wait there, or it is gone.
int gate_local_connect(gate_conn *conn);
// Once a tick: tries again to make those that are lost, for NET_GATE_LOST_MS.
void gate_local_check(net_gate_end *end);
// Asked once a tick. NNG makes a pipe of each connection at once; it has made none for some ticks,
// so it never will at that local socket, and another takes its place.
bool gate_local_is_mute(gate_conn *conn);
// net_gate_trouble, of local sockets, on the gate's thread.
bool gate_local_trouble(const net_gate *gate, char out[NET_GATE_TROUBLE_BYTES]);

// ---- our own certificates, gate->tls (net_gate_tls.c)

void gate_tls_init(net_gate *gate);
// Once a tick: reloads them if they are new. True: peers are to be checked anew.
bool gate_tls_look(net_gate *gate);
// net_gate_trouble, of certificates; out stays when nothing is wrong with them.
bool gate_tls_trouble(const net_gate *gate, char out[NET_GATE_TROUBLE_BYTES]);

// ---- ends (net_gate.c)

// conn opened; conn is no more (reason: why, when it never opened).
void gate_end_opened(net_gate_end *end, const gate_conn *conn);
void gate_end_gone(net_gate_end *end, bool was_open, const char *reason);
// Somebody at a listening end was turned away.
void gate_end_refused(const gate_conn *conn, const char *reason);
// A handle of the end, or a connection, is no more: the last one frees an end that was closed.
void gate_end_release(net_gate_end *end);

#endif // NET_NET_GATE_STATE_H
