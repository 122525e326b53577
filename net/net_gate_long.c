// Room for long messages: two of the largest come in at a time, the others wait for their turn.
//
// A message is long when more bytes have arrived than the gate and the local socket hold. NNG then
// holds the rest in memory until the message is complete, so its full length is reserved first
// (NET_GATE_LONG_MAX for the process). While a message waits for room, the gate stops reading its
// connection, and the rest waits in the network. Closing connections instead would not work: peers
// that send equally fast would lose what they have sent again and again, and no message would ever
// be complete.
//
// Waiting messages get room oldest first, except that a peer with a message in coming waits until
// no other peer does. A message that stands still for NET_GATE_LONG_MS while others wait is refused
// (gate_long_stalls), so that a stalled peer cannot hold room forever. A message longer than
// NET_GATE_LONG_MAX comes in alone.
#include "common/oct_base.h"
#include "net/net_gate_state.h"

// What the kernel and NNG hold beside the gate's own queue when NNG takes nothing.
#define LOCAL_BYTES ((size_t)512 << 10)

// Returns the next message to get room: the oldest of a peer that has none in coming, or else the
// oldest; NULL: none waits.
static gate_conn *
next_of(const gate_longs *longs)
{
    gate_conn *waiting;
    TAILQ_FOREACH(waiting, &longs->waiting, long_place)
    {
        const gate_conn *coming;
        TAILQ_FOREACH(coming, &longs->coming, long_place)
        {
            if (gate_peers_same(coming, waiting)) {
                break;
            }
        }
        if (coming == NULL) {
            return waiting;
        }
    }
    return TAILQ_FIRST(&longs->waiting);
}

// Resumes reading from a timer, because the code that freed room is in the middle of a connection's
// work.
static void
resume(uv_timer_t *timer)
{
    gate_longs *longs = timer->data;
    gate_conn *conn;
    do {
        TAILQ_FOREACH(conn, &longs->coming, long_place)
        {
            if (conn->resumes) {
                break;
            }
        }
        if (conn != NULL) { // reading may change the list, so the search starts again
            conn->resumes = false;
            gate_conn_resume(conn);
        }
    } while (conn != NULL);
}

static void
rooms_give(net_gate *gate)
{
    gate_longs *longs = &gate->longs;
    for (gate_conn *conn = next_of(longs); conn != NULL; conn = next_of(longs)) {
        uint64_t bytes = conn->to_local.bytes;
        if (longs->bytes > 0 && longs->bytes + bytes > NET_GATE_LONG_MAX) {
            return;
        }
        TAILQ_REMOVE(&longs->waiting, conn, long_place);
        TAILQ_INSERT_TAIL(&longs->coming, conn, long_place);
        longs->bytes += bytes;
        conn->long_state = GATE_LONG_COMING;
        conn->long_bytes = bytes;
        conn->resumes = true;
        (void)uv_timer_start(&longs->resume, resume, 0, 0);
    }
}

void
gate_long_forget(gate_conn *conn)
{
    net_gate *gate = conn->end->gate;
    if (conn->long_state == GATE_LONG_NONE) {
        return;
    }
    bool waited = conn->long_state == GATE_LONG_WAITING;
    TAILQ_REMOVE(waited ? &gate->longs.waiting : &gate->longs.coming, conn, long_place);
    gate->longs.bytes -= waited ? 0 : conn->long_bytes;
    conn->long_state = GATE_LONG_NONE;
    conn->resumes = false;
    rooms_give(gate);
}

void
gate_long_message(gate_conn *conn)
{
    const net_sp_stream *stream = &conn->to_local;
    net_gate *gate = conn->end->gate;
    if (conn->long_state != GATE_LONG_NONE &&
        (stream->left == 0 || stream->messages != conn->long_number)) {
        gate_long_forget(conn);
    }
    if (conn->long_state != GATE_LONG_NONE || conn->end->is_dial || stream->left == 0 ||
        stream->bytes - stream->left < gate_room_queue(gate) + LOCAL_BYTES) {
        return;
    }
    conn->long_state = GATE_LONG_WAITING;
    conn->long_number = stream->messages;
    conn->long_still.since_ms = 0;
    TAILQ_INSERT_TAIL(&gate->longs.waiting, conn, long_place);
    rooms_give(gate);
}

bool
gate_long_stalls(gate_conn *conn)
{
    const net_gate *gate = conn->end->gate;
    bool may_send = conn->long_state == GATE_LONG_COMING && conn->tcp_reads;
    if (!may_send || TAILQ_EMPTY(&gate->longs.waiting)) {
        conn->long_still.since_ms = 0;
        return false;
    }
    return gate_room_stands(&conn->long_still, uv_now(&gate->uv),
                            conn->to_local.bytes - conn->to_local.left,
                            GATE_LONG_BYTES) >= NET_GATE_LONG_MS;
}

void
gate_long_init(net_gate *gate)
{
    gate_longs *longs = &gate->longs;
    TAILQ_INIT(&longs->waiting);
    TAILQ_INIT(&longs->coming);
    OCT_ASSERT(uv_timer_init(&gate->uv, &longs->resume) == 0);
    longs->resume.data = longs;
}
