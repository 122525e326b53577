#ifndef NET_NET_GATE_STATE_H
#define NET_NET_GATE_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include <uv.h>

#include "common/oct_reason.h"
#include "net/net_gate.h"
#include "net/net_gate_calls.h"
#include "net/net_gate_local.h"
#include "net/net_gate_long.h"
#include "net/net_gate_peer.h"
#include "net/net_gate_tls.h"
#include "net/net_sp.h"
#include "net/net_tls.h"
#include "net/net_url.h"

// The gate, its ends and their connections, for net_gate.c (thread, ends), net_gate_conn.c
// (connections) and net_gate_room.c (limits); no other file includes this header. Unless a comment
// says otherwise, it belongs to the gate's thread. Parts with headers of their own:
// net_gate_calls.h, net_gate_local.h, net_gate_long.h, net_gate_peer.h, net_gate_tls.h.

#define GATE_READ_BYTES    65536u // of one read, and of decrypted bytes that become one write
#define GATE_QUEUES_BYTES  ((size_t)64 << 20)  // waiting to be written, shared by all connections
#define GATE_QUEUE_MAX     ((size_t)512 << 10) // share of one connection, at most
#define GATE_ANSWERS_BYTES ((size_t)16 << 20)  // share of one connection for answers to calls
#define GATE_QUEUE_MIN     ((size_t)64 << 10)  // share of one connection, at least
#define GATE_UNREAD_BYTES  (64u << 10)         // least progress in NET_GATE_UNREAD_MS
#define GATE_TICK_MS       1000
#define GATE_DRAIN_MS      300  // to write what is queued after the other side has ended
#define GATE_DRAIN_RAW_MS  4000 // the same without SP, where a client waits for the answer
#define GATE_FINISH_MS     100  // for NNG to end its side after the end was closed
#define GATE_REASON_BYTES  160

typedef enum gate_count {
    GATE_ACCEPTED,
    GATE_OPENED,
    GATE_REFUSED,
    GATE_OVERFLOWED,
    GATE_EXPIRED,
    GATE_MALFORMED,
    GATE_DEAD,
    GATE_REVOKED,
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
    gate_link link;              // of local
    bool finishing;              // the end was closed: NNG gets no more messages
    bool dropped;                // the peer was refused: what NNG has not read yet is discarded
    bool half; // without SP: the peer has ended its side, the answer is still sent
    bool tcp_reads, local_reads; // we read from tcp; from local
    SSL *ssl;                    // NULL for tcp://
    BIO *cipher_in, *cipher_out;
    gate_peer peer;
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
    gate_long long_message;
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
    bool is_tls, is_dial, tagged;
    bool started, closing;
    gate_local local;
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

struct net_gate {
    pthread_t thread;
    uv_loop_t uv;
    gate_calls calls;
    uv_timer_t tick;
    oct_role role; // of the certificate at the start
    net_tls *tls;  // NULL: there is none
    gate_tls_watch watch;
    gate_sockets sockets;
    gate_failures failures;
    gate_longs longs;
    LIST_HEAD(gate_ends, net_gate_end) ends;
    uint64_t ends_made;
    TAILQ_HEAD(gate_turns, gate_conn) turns; // handshakes of accepted connections, oldest first
    unsigned handshakes;
    unsigned conn_total, conn_total_max, conn_peak; // peak: since memory was last trimmed
    uint64_t partial;                               // sum of partial of all connections
    uint64_t conns_made;                            // the last tag
    atomic_uint_fast64_t counts[GATE_COUNTS];       // any thread reads
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
// Runs once a tick. Returns true if the peer has stopped reading.
bool gate_room_unread(gate_conn *conn);

// ---- connections (net_gate_conn.c)

// Accepts a connection that the end's listener offers.
void gate_conn_accept(net_gate_end *end);
// Connects to end->address.
void gate_conn_dial(net_gate_end *end);
// Ends conn because its end was closed: what NNG has written is still sent.
void gate_conn_finish(gate_conn *conn);
// Refuses conn, which brought bad messages.
void gate_conn_blame(gate_conn *conn);
// Reads the connection again, the long message of which had to wait for room.
void gate_conn_resume(gate_long *entry);
// Runs once a tick: ends conn if its peer is silent, does not read or stalls, or, after files were
// renewed, if its certificate is no longer good.
void gate_conn_check(gate_conn *conn, bool renewed);

// ---- ends (net_gate.c)

// conn has opened; conn has ended. reason says why.
void gate_end_opened(net_gate_end *end, const gate_conn *conn);
void gate_end_gone(net_gate_end *end, bool was_open, const char *reason);
// Logs that a peer of a listening end was refused, at most once in 10 s.
void gate_end_refused(const gate_conn *conn, const char *reason);
// Counts one handle or connection of the end less; at 0 the end, which was closed, is freed.
void gate_end_release(net_gate_end *end);

#endif // NET_NET_GATE_STATE_H
