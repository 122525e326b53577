#include <stdio.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "replay/replay_state_io.h"

#define SECOND_NS 1000000000ull
#define STATE_MAX 256

typedef struct replay_io replay_io;

void
replay_status_second(replay_io *io, uint64_t now_ns)
{
    replay_rates *rates = &io->rates;
    uint64_t span_ns = now_ns - rates->at_ns;
    if (!io->table || span_ns < SECOND_NS) {
        return;
    }
    replay_table_stats stats = replay_table_stats_get(io->table);
    double span_s = (double)span_ns / SECOND_NS;
    rates->insert_rate = (double)(stats.inserts - rates->inserts) / span_s;
    rates->sample_rate = (double)(stats.samples - rates->samples) / span_s;
    double insert_waited_s = replay_waiting_s(&io->insert_wait, now_ns);
    double sample_waited_s = replay_waiting_s(&io->sample_wait, now_ns);
    rates->insert_wait_share = OCT_MIN((insert_waited_s - rates->insert_waited_s) / span_s, 1.0);
    rates->sample_wait_share = OCT_MIN((sample_waited_s - rates->sample_waited_s) / span_s, 1.0);
    rates->insert_waited_s = insert_waited_s;
    rates->sample_waited_s = sample_waited_s;
    rates->at_ns = now_ns;
    rates->inserts = stats.inserts;
    rates->samples = stats.samples;
}

// What replay does now, in words. waiting: 0 nobody, 1 the actors, 2 the learner.
static int
state_describe(const replay_io *io, char text[STATE_MAX])
{
    if (!io->table) {
        (void)snprintf(text, STATE_MAX, "waiting for a learner's Configure");
        return 0;
    }
    if (io->insert_wait.since_ns != 0) {
        replay_table_explain_insert(io->table, text, STATE_MAX);
        return 1;
    }
    if (io->sample_wait.since_ns != 0) {
        replay_table_explain_sample(io->table, text, STATE_MAX);
        return 2;
    }
    (void)snprintf(text, STATE_MAX, "serving");
    return 0;
}

// A part of a whole that may still be 0.
static double
share(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

// X(name, value): docs/replay.md says what each is.
#define STATS(X)                                                                                   \
    X("replay.size", stats.size)                                                                   \
    X("replay.rows", stats.rows)                                                                   \
    X("replay.capacity", stats.capacity)                                                           \
    X("replay.blocks", stats.blocks)                                                               \
    X("replay.streams", stats.streams)                                                             \
    X("replay.rows_taken", stats.rows_taken)                                                       \
    X("replay.ends", stats.ends)                                                                   \
    X("replay.failed", stats.failed)                                                               \
    X("replay.random_share",                                                                       \
      share((double)stats.rows_random, (double)(stats.rows_taken - stats.ends)))                   \
    X("replay.inserts", stats.inserts)                                                             \
    X("replay.samples", stats.samples)                                                             \
    X("replay.insert_rate", io->rates.insert_rate)                                                 \
    X("replay.sample_rate", io->rates.sample_rate)                                                 \
    X("replay.samples_per_insert", share((double)stats.samples, (double)stats.inserts))            \
    X("replay.batches", stats.batches)                                                             \
    X("replay.duplicates", stats.duplicates)                                                       \
    X("replay.gaps", stats.gaps)                                                                   \
    X("replay.stale", stats.stale)                                                                 \
    X("replay.cut", stats.cut)                                                                     \
    X("replay.given_up", stats.given_up)                                                           \
    X("replay.overrun", stats.overrun)                                                             \
    X("replay.rejected", replay_rejected(io, &stats))                                              \
    X("replay.rejected_token", io->bad_token.count)                                                \
    X("replay.peers_closed", net_pull_closed(io->pull))                                            \
    X("replay.bad_requests", io->bad_request.count)                                                \
    X("replay.priority_updates", stats.updates)                                                    \
    X("replay.priority_updates_late", stats.updates_late)                                          \
    X("replay.priority_updates_bad", stats.updates_bad)                                            \
    X("replay.sessions", stats.sessions)                                                           \
    X("replay.bytes_in", io->bytes_in)                                                             \
    X("replay.bytes_out", io->bytes_replied + replay_acks_bytes(io->acks))                         \
    X("replay.limiter.waiting", waiting)                                                           \
    X("replay.limiter.balance", limiter ? replay_limiter_balance(limiter) : 0)                     \
    X("replay.limiter.balance_min", limiter ? limiter->balance_min : 0)                            \
    X("replay.limiter.balance_max", limiter ? limiter->balance_max : 0)                            \
    X("replay.limiter.samples_per_insert", limiter ? limiter->spec.samples_per_insert : 0)         \
    X("replay.limiter.min_size", limiter ? (double)limiter->spec.min_size : 0)                     \
    X("replay.held_samples", io->held_count)                                                       \
    X("replay.insert_blocked_s", replay_waiting_s(&io->insert_wait, now_ns))                       \
    X("replay.sample_blocked_s", replay_waiting_s(&io->sample_wait, now_ns))                       \
    X("replay.insert_wait_share", io->rates.insert_wait_share)                                     \
    X("replay.sample_wait_share", io->rates.sample_wait_share)                                     \
    X("replay.insert_share", share((double)io->insert_ns, (double)up_ns))                          \
    X("replay.sample_share", share((double)io->sample_ns, (double)up_ns))                          \
    X("replay.memory_bytes", stats.memory_bytes)                                                   \
    X("replay.cpu_s", (double)oct_clock_process_cpu_ns() / SECOND_NS)                              \
    X("replay.uptime_s", (double)up_ns / SECOND_NS)

void
replay_status_reply(replay_io *io, wire_call *call)
{
    char state[STATE_MAX];
    int waiting = state_describe(io, state);
    uint64_t now_ns = oct_clock_ns();
    uint64_t up_ns = now_ns - io->start_ns;
    replay_table_stats stats = {0};
    const replay_limiter *limiter = NULL;
    if (io->table) {
        stats = replay_table_stats_get(io->table);
        limiter = replay_table_limiter(io->table);
    }
#define X(name, value) name,
    static const char *const names[] = {STATS(X)};
#undef X
#define X(name, value) (double)(value),
    const double values[] = {STATS(X)};
#undef X
    wire_status status = {
        .run_id = io->table ? replay_table_configure(io->table)->run_id : 0,
        .state = state,
        .stat_count = OCT_COUNTOF(names),
        .stat_name = names,
        .stat_value = values,
    };
    wire_reply_replay_status(call, &status);
}
