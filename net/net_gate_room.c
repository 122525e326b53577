// The gate's limits for each peer. A peer is a certificate, or an address where there is none. At a
// limit, the connection that costs other peers least to lose is closed.
//
// 1. Handshakes: at NET_GATE_HANDSHAKES_ADDRESS from one address the oldest from there is closed,
//    at NET_GATE_HANDSHAKES_MAX in all the oldest of all. A flood of handshakes from one address
//    thus ends its own.
// 2. Connections: a new one is closed above the limits of its end, of the process's open files, and
//    of its address (tcp://) or certificate. A certificate may have three quarters of what the open
//    files allow, so that others can still connect.
// 3. Queues: all connections share GATE_QUEUES_BYTES equally, within GATE_QUEUE_MIN and
//    GATE_QUEUE_MAX each. If a queue stays half full for NET_GATE_UNREAD_MS with hardly any
//    progress, the peer does not read, and its connection is closed.
// 4. Unfinished messages: NNG holds them in memory. Above NET_GATE_PARTIAL_MAX in all, the
//    connection with the most bytes times waiting time is closed. Long messages have room of their
//    own (net_gate_long.c).
// 5. Peers that only listen: after more than NET_GATE_NAMES_MAX messages the connection is closed.
//
// A connection that this process dialed is never closed here, because the process chose the peer.
#include <malloc.h>
#include <string.h>
#include <sys/resource.h>

#include "common/oct_base.h"
#include "net/net_gate_state.h"
#include "net/net_limits.h"

#define PROTOCOL_PAIR1   17 // SP numbers of protocols
#define PROTOCOL_SUB     33
#define PROTOCOL_REQ     48
#define CONNECTION_FILES 3             // TCP, and both ends of the local socket
#define OTHER_FILES      256           // of the daemon, besides connections
#define CONNECTIONS_MIN  64            // even if fewer files are allowed
#define SHARE_OF_ALL(n)  ((n) / 4 * 3) // that one certificate may have
#define PEAK_MIN         32            // connections; memory of fewer is not worth trimming

unsigned
gate_room_connections(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY) {
        return UINT32_MAX;
    }
    rlim_t rest = files.rlim_cur > OTHER_FILES ? files.rlim_cur - OTHER_FILES : 0;
    return (unsigned)OCT_MIN(OCT_MAX(rest / CONNECTION_FILES, (rlim_t)CONNECTIONS_MIN),
                             (rlim_t)UINT32_MAX);
}

size_t
gate_room_queue(const net_gate *gate)
{
    size_t share = GATE_QUEUES_BYTES / (gate->conn_total + 1);
    return OCT_MAX(OCT_MIN(share, GATE_QUEUE_MAX), GATE_QUEUE_MIN);
}

void
gate_room_tidy(net_gate *gate)
{
    if (gate->conn_peak > PEAK_MIN && gate->conn_total < gate->conn_peak / 2) {
        gate->conn_peak = gate->conn_total;
        (void)malloc_trim(0);
    }
}

// ---- handshakes

void
gate_room_enter(gate_conn *conn)
{
    net_gate *gate = conn->end->gate;
    if (conn->end->is_dial) {
        return;
    }
    conn->in_handshake = true;
    TAILQ_INSERT_TAIL(&gate->turns, conn, turn);
    gate->handshakes++;
}

void
gate_room_leave(gate_conn *conn)
{
    net_gate *gate = conn->end->gate;
    if (!conn->in_handshake) {
        return;
    }
    conn->in_handshake = false;
    TAILQ_REMOVE(&gate->turns, conn, turn);
    gate->handshakes--;
}

gate_conn *
gate_room_victim(const net_gate *gate, const uint8_t address[16])
{
    gate_conn *conn, *oldest = NULL;
    unsigned count = 0;
    TAILQ_FOREACH(conn, &gate->turns, turn)
    {
        if (memcmp(conn->peer.address, address, 16) == 0) {
            oldest = oldest == NULL ? conn : oldest;
            count++;
        }
    }
    if (count >= NET_GATE_HANDSHAKES_ADDRESS) {
        return oldest;
    }
    return gate->handshakes >= NET_GATE_HANDSHAKES_MAX ? TAILQ_FIRST(&gate->turns) : NULL;
}

// ---- connections

// Counts the connections of the process with conn's certificate, or without a certificate from
// conn's address.
static unsigned
same_count(const gate_conn *conn)
{
    unsigned count = 0;
    const net_gate_end *end;
    LIST_FOREACH(end, &conn->end->gate->ends, place)
    {
        const gate_conn *other;
        LIST_FOREACH(other, &end->conns, place)
        {
            count += !end->is_dial && gate_peer_same(&other->peer, &conn->peer);
        }
    }
    return count;
}

const char *
gate_room_full(const net_gate_end *end, const uint8_t address[16])
{
    if (end->conn_count > NET_GATE_CONNECTIONS_MAX) {
        return "too many connections";
    }
    if (end->gate->conn_total > end->gate->conn_total_max) {
        return "too many connections for the limit of open files";
    }
    unsigned count = 0;
    // With TLS the certificate is counted instead, after the handshake.
    if (!end->is_tls && end->conn_count > NET_GATE_ADDRESS_MAX) {
        const gate_conn *conn;
        LIST_FOREACH(conn, &end->conns, place)
        {
            count += memcmp(conn->peer.address, address, 16) == 0;
        }
    }
    return count > NET_GATE_ADDRESS_MAX ? "too many connections from that address" : NULL;
}

const char *
gate_room_holder_full(gate_conn *conn)
{
    net_gate *gate = conn->end->gate;
    if (!gate_failures_allow(&gate->failures, &conn->peer, uv_now(&gate->uv))) {
        return "too many failures with that certificate";
    }
    unsigned count = 0;
    if (conn->end->conn_count > NET_CERTIFICATE_CONNECTIONS_MAX) {
        const gate_conn *other;
        LIST_FOREACH(other, &conn->end->conns, place)
        {
            count += gate_peer_same(&other->peer, &conn->peer);
        }
    }
    if (count > NET_CERTIFICATE_CONNECTIONS_MAX) {
        return "too many connections with that certificate";
    }
    unsigned share = SHARE_OF_ALL(gate->conn_total_max);
    return gate->conn_total > share && same_count(conn) > share
               ? "that certificate has its share of the connections that the limit of open files "
                 "allows"
               : NULL;
}

// ---- unfinished messages

static void
partial_set(gate_conn *conn, uint64_t bytes)
{
    conn->end->gate->partial += bytes - conn->partial;
    conn->partial = bytes;
}

// Returns the connection that holds the most bytes times milliseconds of an unfinished message for
// which it has no room.
static gate_conn *
partial_costliest(const net_gate *gate)
{
    gate_conn *worst = NULL;
    double most = 0;
    const net_gate_end *end;
    LIST_FOREACH(end, &gate->ends, place)
    {
        gate_conn *conn;
        LIST_FOREACH(conn, &end->conns, place)
        {
            double held_ms = (double)(uv_now(&gate->uv) - conn->partial_ms) + 1;
            bool has_room = conn->long_message.state == GATE_LONG_COMING;
            if (!has_room && (double)conn->partial * held_ms > most) {
                most = (double)conn->partial * held_ms;
                worst = conn;
            }
        }
    }
    return worst;
}

gate_conn *
gate_room_message(gate_conn *conn)
{
    const net_sp_stream *stream = &conn->to_local;
    net_gate *gate = conn->end->gate;
    if (conn->end->is_dial) { // we chose this peer
        return NULL;
    }
    if (conn->partial_number != stream->messages) {
        conn->partial_number = stream->messages;
        conn->partial_ms = uv_now(&gate->uv);
    }
    gate_long_message(&gate->longs, &conn->long_message, &conn->peer, stream,
                      gate_room_queue(gate));
    bool counts = stream->left > 0 && conn->long_message.state != GATE_LONG_COMING;
    partial_set(conn, counts ? stream->bytes - stream->left : 0);
    return gate->partial > NET_GATE_PARTIAL_MAX ? partial_costliest(gate) : NULL;
}

void
gate_room_forget(gate_conn *conn)
{
    gate_room_leave(conn);
    partial_set(conn, 0);
    gate_long_forget(&conn->end->gate->longs, &conn->long_message);
}

// ---- peers that ask much, send where they should not, or do not read

bool
gate_room_calls(const net_gate_end *end)
{
    return !end->is_dial && end->peer_protocol == PROTOCOL_REQ;
}

bool
gate_room_speaks(const gate_conn *conn)
{
    const net_gate_end *end = conn->end;
    return !end->is_dial && conn->to_local.messages > NET_GATE_NAMES_MAX &&
           (end->peer_protocol == PROTOCOL_PAIR1 || end->peer_protocol == PROTOCOL_SUB);
}

bool
gate_room_unread(gate_conn *conn)
{
    uint64_t now_ms = uv_now(&conn->end->gate->uv);
    uint64_t queued = uv_stream_get_write_queue_size((const uv_stream_t *)&conn->tcp);
    if (conn->end->is_dial || queued < gate_room_queue(conn->end->gate) / 2) {
        conn->unread.since_ms = 0;
        return false;
    }
    return gate_standstill_ms(&conn->unread, now_ms, conn->outward - queued, GATE_UNREAD_BYTES) >=
           NET_GATE_UNREAD_MS;
}
