#include "replay/replay_acks_io.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "net/net_msg.h"

#define MS               1000000ull
#define PERIOD_MS_MIN    2
#define REPEAT_NS        (200 * MS)
#define SILENT_NS        (10000 * MS)
#define SILENT_REPEAT_NS (2000 * MS)
#define CREDIT_MAX       64

struct ack_state {
    uint64_t sent_ns;
    uint64_t seen_ns;
    bool is_due;
};

struct replay_acks {
    net_loop *loop;
    net_pub *pub;
    net_timer *timer; // runs only while something is due
    const replay_table *table;
    uint64_t incarnation;
    uint64_t bytes;
    uint32_t due_count;
    uint32_t due[REPLAY_SESSIONS_MAX];
    struct ack_state state[REPLAY_SESSIONS_MAX];
};

replay_acks *
replay_acks_create(net_loop *loop, net_pub *pub, uint64_t incarnation)
{
    replay_acks *acks = oct_alloc(sizeof(*acks));
    acks->loop = loop;
    acks->pub = pub;
    acks->incarnation = incarnation;
    return acks;
}

void
replay_acks_destroy(replay_acks *acks)
{
    if (acks) {
        net_timer_stop(acks->timer);
        free(acks);
    }
}

void
replay_acks_set_table(replay_acks *acks, const replay_table *table)
{
    acks->table = table;
    acks->due_count = 0;
    memset(acks->state, 0, sizeof(acks->state));
}

uint64_t
replay_acks_bytes(const replay_acks *acks)
{
    return acks->bytes;
}

static void
ack_send(replay_acks *acks, uint32_t index, uint64_t now_ns)
{
    const replay_session *session = replay_table_session(acks->table, index);
    OCT_ASSERT(session);
    wire_ack ack = {
        .actor_id = session->actor_id,
        .session = session->session,
        .sequence = session->sequence,
        .incarnation = acks->incarnation,
        .credit = replay_table_credit(acks->table, CREDIT_MAX),
    };
    size_t length = wire_ack_size(&ack);
    net_msg *msg = net_msg_create(length);
    wire_ack_pack(&ack, net_msg_body(msg));
    net_pub_send(acks->pub, msg);
    acks->bytes += length;
    acks->state[index].sent_ns = now_ns;
    acks->state[index].is_due = false;
}

// Everything due was held back for at most one period.
static void
acks_flush(void *arg)
{
    replay_acks *acks = arg;
    uint64_t now_ns = oct_clock_ns();
    if (acks->due_count == 0) {
        net_timer_stop(acks->timer);
        acks->timer = NULL;
        return;
    }
    for (uint32_t i = 0; i < acks->due_count; i++) {
        ack_send(acks, acks->due[i], now_ns);
    }
    acks->due_count = 0;
}

void
replay_acks_note(replay_acks *acks, uint32_t session, uint64_t now_ns)
{
    struct ack_state *state = &acks->state[session];
    state->seen_ns = now_ns;
    if (state->is_due) {
        return;
    }
    if (now_ns - state->sent_ns >= PERIOD_MS_MIN * MS) {
        ack_send(acks, session, now_ns);
        return;
    }
    state->is_due = true;
    acks->due[acks->due_count++] = session;
    if (!acks->timer) {
        acks->timer = net_timer_start(acks->loop, PERIOD_MS_MIN, PERIOD_MS_MIN, acks_flush, acks);
    }
}

void
replay_acks_repeat(replay_acks *acks, uint64_t now_ns)
{
    if (!acks->table) {
        return;
    }
    for (uint32_t i = 0; i < REPLAY_SESSIONS_MAX && replay_table_session(acks->table, i); i++) {
        struct ack_state *state = &acks->state[i];
        bool is_silent = now_ns - state->seen_ns > SILENT_NS;
        if (!state->is_due &&
            now_ns - state->sent_ns >= (is_silent ? SILENT_REPEAT_NS : REPEAT_NS)) {
            ack_send(acks, i, now_ns);
        }
    }
}
