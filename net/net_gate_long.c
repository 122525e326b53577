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
#include "net/net_gate_long.h"

#include "common/oct_base.h"
#include "net/net_gate.h"

// What the kernel and NNG hold beside the gate's own queue when NNG takes nothing.
#define LOCAL_BYTES ((size_t)512 << 10)

uint64_t
gate_standstill_ms(gate_standstill *still, uint64_t now_ms, uint64_t done, uint64_t step)
{
    if (still->since_ms == 0 || done - still->from >= step) {
        *still = (gate_standstill){now_ms, done};
    }
    return now_ms - still->since_ms;
}

// Returns the next message to get room: the oldest of a peer that has none in coming, or else the
// oldest; NULL: none waits.
static gate_long *
next_of(const gate_longs *longs)
{
    gate_long *waiting;
    TAILQ_FOREACH(waiting, &longs->waiting, place)
    {
        const gate_long *coming;
        TAILQ_FOREACH(coming, &longs->coming, place)
        {
            if (gate_peer_same(coming->peer, waiting->peer)) {
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
    gate_long *entry;
    do {
        TAILQ_FOREACH(entry, &longs->coming, place)
        {
            if (entry->resumes) {
                break;
            }
        }
        if (entry != NULL) { // reading may change the list, so the search starts again
            entry->resumes = false;
            longs->resume(entry);
        }
    } while (entry != NULL);
}

static void
rooms_give(gate_longs *longs)
{
    for (gate_long *entry = next_of(longs); entry != NULL; entry = next_of(longs)) {
        if (longs->bytes > 0 && longs->bytes + entry->bytes > NET_GATE_LONG_MAX) {
            return;
        }
        TAILQ_REMOVE(&longs->waiting, entry, place);
        TAILQ_INSERT_TAIL(&longs->coming, entry, place);
        longs->bytes += entry->bytes;
        entry->state = GATE_LONG_COMING;
        entry->resumes = true;
        (void)uv_timer_start(&longs->timer, resume, 0, 0);
    }
}

void
gate_long_forget(gate_longs *longs, gate_long *entry)
{
    if (entry->state == GATE_LONG_NONE) {
        return;
    }
    bool waited = entry->state == GATE_LONG_WAITING;
    TAILQ_REMOVE(waited ? &longs->waiting : &longs->coming, entry, place);
    longs->bytes -= waited ? 0 : entry->bytes;
    entry->state = GATE_LONG_NONE;
    entry->resumes = false;
    rooms_give(longs);
}

void
gate_long_message(gate_longs *longs, gate_long *entry, const gate_peer *peer,
                  const net_sp_stream *stream, size_t queue_bytes)
{
    if (entry->state != GATE_LONG_NONE &&
        (stream->left == 0 || stream->messages != entry->number)) {
        gate_long_forget(longs, entry);
    }
    if (entry->state != GATE_LONG_NONE || stream->left == 0 ||
        stream->bytes - stream->left < queue_bytes + LOCAL_BYTES) {
        return;
    }
    entry->state = GATE_LONG_WAITING;
    entry->peer = peer;
    entry->number = stream->messages;
    entry->bytes = stream->bytes;
    entry->still.since_ms = 0;
    TAILQ_INSERT_TAIL(&longs->waiting, entry, place);
    rooms_give(longs);
}

bool
gate_long_stalls(const gate_longs *longs, gate_long *entry, const net_sp_stream *stream, bool reads,
                 uint64_t now_ms)
{
    if (entry->state != GATE_LONG_COMING || !reads || TAILQ_EMPTY(&longs->waiting)) {
        entry->still.since_ms = 0;
        return false;
    }
    return gate_standstill_ms(&entry->still, now_ms, stream->bytes - stream->left,
                              GATE_LONG_BYTES) >= NET_GATE_LONG_MS;
}

void
gate_long_init(gate_longs *longs, uv_loop_t *loop, void (*resume_entry)(gate_long *entry))
{
    TAILQ_INIT(&longs->waiting);
    TAILQ_INIT(&longs->coming);
    longs->bytes = 0;
    longs->resume = resume_entry;
    OCT_ASSERT(uv_timer_init(loop, &longs->timer) == 0);
    longs->timer.data = longs;
}

void
gate_long_stop(gate_longs *longs)
{
    uv_close((uv_handle_t *)&longs->timer, NULL);
}
