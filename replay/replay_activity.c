// Counts what the process has done over all of its tables, and how long each side waits.
#include "replay/replay_activity.h"

#include <math.h>
#include <stddef.h>

#include "common/oct_base.h"

#define SECOND_NS 1000000000ull

// ---- waiting

void
replay_waiting_begin(replay_waiting *waiting, uint64_t now_ns)
{
    if (waiting->since_ns == 0) {
        waiting->since_ns = now_ns;
        waiting->is_logged = false;
    }
}

void
replay_waiting_end(replay_waiting *waiting, uint64_t now_ns)
{
    waiting->total_ns += waiting->since_ns ? now_ns - waiting->since_ns : 0;
    waiting->since_ns = 0;
}

double
replay_waiting_s(const replay_waiting *waiting, uint64_t now_ns)
{
    uint64_t ns = waiting->total_ns + (waiting->since_ns ? now_ns - waiting->since_ns : 0);
    return (double)ns / SECOND_NS;
}

// ---- what this process did

// Offsets of the counters in replay_table_stats. In a durable table they continue across processes.
static const size_t counters[] = {
    offsetof(replay_table_stats, rows_taken), offsetof(replay_table_stats, rows_random),
    offsetof(replay_table_stats, ends),       offsetof(replay_table_stats, failed),
    offsetof(replay_table_stats, inserts),    offsetof(replay_table_stats, samples),
    offsetof(replay_table_stats, cut),        offsetof(replay_table_stats, overrun),
    offsetof(replay_table_stats, given_up),   offsetof(replay_table_stats, batches),
    offsetof(replay_table_stats, duplicates), offsetof(replay_table_stats, gaps),
    offsetof(replay_table_stats, stale),      offsetof(replay_table_stats, rejected),
    offsetof(replay_table_stats, updates),    offsetof(replay_table_stats, updates_late),
    offsetof(replay_table_stats, refused),
};

static uint64_t
counter_of(const replay_table_stats *stats, size_t i)
{
    return *(const uint64_t *)((const char *)stats + counters[i]);
}

static void
counter_set(replay_table_stats *stats, size_t i, uint64_t value)
{
    *(uint64_t *)((char *)stats + counters[i]) = value;
}

static replay_table_stats
stats_of(const replay_table *table)
{
    return table != NULL ? replay_table_stats_get(table) : (replay_table_stats){0};
}

replay_table_stats
replay_activity_done(const replay_activity *activity, const replay_table *table)
{
    replay_table_stats done = stats_of(table);
    for (size_t i = 0; i < OCT_COUNTOF(counters); i++) {
        counter_set(&done, i, counter_of(&done, i) + counter_of(&activity->elsewhere, i));
    }
    return done;
}

void
replay_activity_begin(replay_activity *activity, const replay_table *table, uint64_t now_ns)
{
    replay_table_stats stats = stats_of(table);
    for (size_t i = 0; i < OCT_COUNTOF(counters); i++) {
        counter_set(&activity->elsewhere, i,
                    counter_of(&activity->elsewhere, i) - counter_of(&stats, i));
    }
    activity->rates = (replay_rates){
        .at_ns = now_ns,
        .inserts = stats.inserts,
        .samples = stats.samples,
        .insert_rate = NAN,
        .sample_rate = NAN,
        .insert_wait_share = NAN,
        .sample_wait_share = NAN,
        .insert_waited_s = replay_waiting_s(&activity->insert_wait, now_ns),
        .sample_waited_s = replay_waiting_s(&activity->sample_wait, now_ns),
    };
}

// The rate of a counter, 0 where returned samples made it smaller.
static double
rate(uint64_t before, uint64_t now, double span_s)
{
    return now > before ? (double)(now - before) / span_s : 0;
}

void
replay_activity_second(replay_activity *activity, const replay_table *table, uint64_t now_ns)
{
    replay_rates *rates = &activity->rates;
    uint64_t span_ns = now_ns - rates->at_ns;
    if (!table || span_ns < SECOND_NS) {
        return;
    }
    replay_table_stats stats = replay_table_stats_get(table);
    double span_s = (double)span_ns / SECOND_NS;
    rates->insert_rate = rate(rates->inserts, stats.inserts, span_s);
    rates->sample_rate = rate(rates->samples, stats.samples, span_s);
    double insert_waited_s = replay_waiting_s(&activity->insert_wait, now_ns);
    double sample_waited_s = replay_waiting_s(&activity->sample_wait, now_ns);
    rates->insert_wait_share = OCT_MIN((insert_waited_s - rates->insert_waited_s) / span_s, 1.0);
    rates->sample_wait_share = OCT_MIN((sample_waited_s - rates->sample_waited_s) / span_s, 1.0);
    rates->insert_waited_s = insert_waited_s;
    rates->sample_waited_s = sample_waited_s;
    rates->at_ns = now_ns;
    rates->inserts = stats.inserts;
    rates->samples = stats.samples;
}
