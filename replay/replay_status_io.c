// Replay's numbers, for ReplayStatus and for Prometheus: counters, rates, and which side waits for
// which.
#include "replay/replay_status_io.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "replay/replay_numbers.h"

#define SECOND_NS 1000000000ull
#define STATE_MAX 256

static replay_table_stats
stats_of(const replay_status_of *of)
{
    return of->table != NULL ? replay_table_stats_get(of->table) : (replay_table_stats){0};
}

// Writes what replay does now. Returns which side waits: 0 none, 1 the actors, 2 the learner.
static int
state_describe(const replay_status_of *of, char text[STATE_MAX])
{
    const char *trouble = of->disk ? replay_disk_trouble(of->disk) : NULL;
    if (!of->table && trouble) {
        (void)snprintf(text, STATE_MAX, "inserts wait for room on the disk: %s", trouble);
        return 0;
    }
    if (!of->table) {
        (void)snprintf(text, STATE_MAX, "waiting for a learner's Configure");
        return 0;
    }
    if (of->activity->insert_wait.since_ns != 0) {
        replay_table_explain_insert(of->table, text, STATE_MAX);
        return 1;
    }
    if (of->activity->sample_wait.since_ns != 0) {
        replay_table_explain_sample(of->table, text, STATE_MAX);
        return 2;
    }
    if (replay_table_is_short(of->table)) { // the next sample would wait
        replay_table_explain_sample(of->table, text, STATE_MAX);
        return 0;
    }
    (void)snprintf(text, STATE_MAX, "%s", of->data ? "serving a data set" : "serving");
    return 0;
}

// Returns part / whole, 0 while the whole is 0.
static double
share(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

static void
table_measure(const replay_status_of *of, replay_measurements *now)
{
    const replay_table_stats stats = stats_of(of);
    now->configured = of->table != NULL;
    now->data_set = of->data != NULL;
    now->size = (double)stats.size;
    now->rows = (double)stats.rows;
    now->capacity = (double)stats.capacity;
    now->blocks = (double)stats.blocks;
    now->streams = (double)stats.streams;
    now->rows_taken = (double)stats.rows_taken;
    now->ends = (double)stats.ends;
    now->random_share = share((double)stats.rows_random, (double)(stats.rows_taken - stats.ends));
    now->inserts = (double)stats.inserts;
    now->samples = (double)stats.samples;
    now->samples_per_insert = share((double)stats.samples, (double)stats.inserts);
    now->sessions = (double)stats.sessions;
    now->memory_bytes = (double)stats.memory_bytes;
}

// The counters of this process.
static void
done_measure(const replay_status_of *of, replay_measurements *now)
{
    const replay_table_stats done = replay_activity_done(of->activity, of->table);
    now->rows_policy = (double)(done.rows_taken - done.ends - done.rows_random);
    now->rows_random = (double)done.rows_random;
    now->rows_end = (double)(done.ends - done.failed);
    now->failed = (double)done.failed;
    now->own_inserts = (double)done.inserts;
    now->own_samples = (double)done.samples;
    now->cut = (double)done.cut;
    now->overrun = (double)done.overrun;
    now->given_up = (double)done.given_up;
    now->priority_updates = (double)done.updates;
    now->priority_updates_late = (double)done.updates_late;
    now->batches = (double)done.batches;
    now->duplicates = (double)done.duplicates;
    now->gaps = (double)done.gaps;
    now->stale = (double)done.stale;
    now->refused = (double)done.refused;
    now->rejected = (double)replay_complaints_count(of->complaints, &done);
    now->rejected_unfit = (double)done.rejected;
}

static void
peers_measure(const replay_status_of *of, replay_measurements *now)
{
    now->rejected_malformed =
        (double)(of->complaints->bad_batch.count - of->complaints->bad_header_count);
    now->rows_set_aside = (double)of->complaints->aside.all;
    now->rejected_token = (double)of->complaints->bad_token.count;
    now->peers_closed = (double)net_pull_closed(of->pull);
    now->acks_refused = (double)of->complaints->bad_ask.count;
    now->bad_requests = (double)of->complaints->bad_request.count;
    now->learners_refused = (double)of->complaints->fenced.count;
    now->bytes_in = (double)of->activity->bytes_in;
    now->bytes_out = (double)(of->activity->bytes_replied + replay_acks_bytes(of->acks));
}

static void
limiter_measure(const replay_status_of *of, replay_measurements *now)
{
    now->balance = now->balance_min = now->balance_max = now->limit = now->min_size = NAN;
    if (of->table != NULL) {
        const replay_limiter limiter = replay_table_joined(of->table);
        now->balance = replay_limiter_balance(&limiter);
        now->balance_min = limiter.balance_min;
        now->balance_max = limiter.balance_max;
        now->limit = limiter.spec.samples_per_insert;
        now->min_size = (double)limiter.spec.min_size;
    }
    now->held_samples = of->held;
}

static void
disk_measure(const replay_status_of *of, replay_measurements *now)
{
    replay_disk_status disk = {.synced_age_s = NAN};
    if (of->disk) {
        disk = replay_disk_status_get(of->disk, oct_clock_ns());
    }
    now->disk_state = (double)disk.state;
    now->disk_bytes = (double)disk.bytes;
    now->disk_generation = (double)disk.generation;
    now->disk_synced_age_s = disk.synced_age_s;
    now->disk_failures = (double)disk.failures;
    now->torn_blocks = (double)disk.blocks_torn;
    now->rows_cut = (double)disk.rows_cut;
}

static void
time_measure(const replay_status_of *of, replay_measurements *now)
{
    uint64_t now_ns = oct_clock_ns();
    now->uptime_s = (double)(now_ns - of->activity->start_ns) / SECOND_NS;
    now->insert_rate = of->activity->rates.insert_rate;
    now->sample_rate = of->activity->rates.sample_rate;
    now->insert_blocked_s = replay_waiting_s(&of->activity->insert_wait, now_ns);
    now->sample_blocked_s = replay_waiting_s(&of->activity->sample_wait, now_ns);
    now->insert_wait_share = of->activity->rates.insert_wait_share;
    now->sample_wait_share = of->activity->rates.sample_wait_share;
    now->insert_s = (double)of->activity->insert_ns / SECOND_NS;
    now->sample_s = (double)of->activity->sample_ns / SECOND_NS;
    now->insert_share = share(now->insert_s, now->uptime_s);
    now->sample_share = share(now->sample_s, now->uptime_s);
    now->cpu_s = (double)oct_clock_process_cpu_ns() / SECOND_NS;
}

// Makes the registry with the present numbers; the caller destroys it.
static oct_numbers *
measured(const replay_status_of *of, int waiting, replay_measurements *now)
{
    table_measure(of, now);
    done_measure(of, now);
    peers_measure(of, now);
    limiter_measure(of, now);
    disk_measure(of, now);
    time_measure(of, now);
    now->waiting = waiting;
    oct_numbers *numbers = oct_numbers_create("replay.");
    replay_numbers_add(numbers, now);
    return numbers;
}

void
replay_status_reply(const replay_status_of *of, wire_call *call)
{
    char state[STATE_MAX];
    replay_measurements now;
    oct_numbers *numbers = measured(of, state_describe(of, state), &now);
    const char *names[WIRE_STATS_MAX];
    double values[WIRE_STATS_MAX];
    wire_status status = {
        .run_id = of->table ? replay_table_configure(of->table)->run_id : 0,
        .state = state,
        .stat_count = oct_numbers_list(numbers, OCT_SHOWN_STATUS, names, values, WIRE_STATS_MAX),
        .stat_name = names,
        .stat_value = values,
        .refused = of->complaints->rejected,
    };
    wire_reply_replay_status(call, &status);
    oct_numbers_destroy(numbers);
}

static void
aside_write(const replay_aside *aside, oct_prometheus *text)
{
    oct_prometheus_begin(text, OCT_PROMETHEUS_COUNTER, "octet_replay_set_aside_rows_total",
                         "Rows set aside for a number outside the run's range, by session and "
                         "certificate: of the 32 sessions with the most.");
    for (uint32_t i = 0; i < aside->count; i++) {
        char session[17];
        const replay_aside_session *of = &aside->sessions[i];
        (void)snprintf(session, sizeof(session), "%016" PRIx64, of->session);
        const oct_prometheus_label labels[] = {{"session", session},
                                               {"certificate", of->certificate}};
        oct_prometheus_add(text, labels, OCT_COUNTOF(labels), (double)of->rows);
    }
}

void
replay_status_write(const replay_status_of *of, oct_prometheus *text)
{
    char state[STATE_MAX];
    replay_measurements now;
    oct_numbers *numbers = measured(of, state_describe(of, state), &now);
    oct_numbers_prometheus(numbers, text);
    oct_numbers_destroy(numbers);
    aside_write(&of->complaints->aside, text);
}
