// Replay's numbers, for ReplayStatus and for Prometheus: counters, rates, and which side waits for
// which.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "replay/replay_io.h"
#include "replay/replay_numbers.h"
#include "replay/replay_state_io.h"

#define SECOND_NS 1000000000ull
#define STATE_MAX 256

typedef struct replay_io replay_io;

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
stats_of(const replay_io *io)
{
    return io->table != NULL ? replay_table_stats_get(io->table) : (replay_table_stats){0};
}

replay_table_stats
replay_status_done(const replay_io *io)
{
    replay_table_stats done = stats_of(io);
    for (size_t i = 0; i < OCT_COUNTOF(counters); i++) {
        counter_set(&done, i, counter_of(&done, i) + counter_of(&io->elsewhere, i));
    }
    return done;
}

void
replay_status_begin(replay_io *io, uint64_t now_ns)
{
    replay_table_stats stats = stats_of(io);
    for (size_t i = 0; i < OCT_COUNTOF(counters); i++) {
        counter_set(&io->elsewhere, i, counter_of(&io->elsewhere, i) - counter_of(&stats, i));
    }
    io->rates = (replay_rates){
        .at_ns = now_ns,
        .inserts = stats.inserts,
        .samples = stats.samples,
        .insert_rate = NAN,
        .sample_rate = NAN,
        .insert_wait_share = NAN,
        .sample_wait_share = NAN,
        .insert_waited_s = replay_waiting_s(&io->insert_wait, now_ns),
        .sample_waited_s = replay_waiting_s(&io->sample_wait, now_ns),
    };
}

// The rate of a counter, 0 where returned samples made it smaller.
static double
rate(uint64_t before, uint64_t now, double span_s)
{
    return now > before ? (double)(now - before) / span_s : 0;
}

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
    rates->insert_rate = rate(rates->inserts, stats.inserts, span_s);
    rates->sample_rate = rate(rates->samples, stats.samples, span_s);
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

// Writes what replay does now. Returns which side waits: 0 none, 1 the actors, 2 the learner.
static int
state_describe(const replay_io *io, char text[STATE_MAX])
{
    const char *trouble = io->disk ? replay_disk_trouble(io->disk) : NULL;
    if (!io->table && trouble) {
        (void)snprintf(text, STATE_MAX, "inserts wait for room on the disk: %s", trouble);
        return 0;
    }
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
    if (replay_table_is_short(io->table)) { // the next sample would wait
        replay_table_explain_sample(io->table, text, STATE_MAX);
        return 0;
    }
    (void)snprintf(text, STATE_MAX, "%s", io->data ? "serving a data set" : "serving");
    return 0;
}

// Returns part / whole, 0 while the whole is 0.
static double
share(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

static void
table_measure(const replay_io *io, replay_measurements *now)
{
    const replay_table_stats stats = stats_of(io);
    now->configured = io->table != NULL;
    now->data_set = io->data != NULL;
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
done_measure(const replay_io *io, replay_measurements *now)
{
    const replay_table_stats done = replay_status_done(io);
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
    now->rejected = (double)replay_rejected(io, &done);
    now->rejected_unfit = (double)done.rejected;
}

static void
peers_measure(const replay_io *io, replay_measurements *now)
{
    now->rejected_malformed = (double)(io->bad_batch.count - io->bad_header_count);
    now->rows_set_aside = (double)io->aside.all;
    now->rejected_token = (double)io->bad_token.count;
    now->peers_closed = (double)net_pull_closed(io->pull);
    now->acks_refused = (double)io->bad_ask.count;
    now->bad_requests = (double)io->bad_request.count;
    now->learners_refused = (double)io->fenced.count;
    now->bytes_in = (double)io->bytes_in;
    now->bytes_out = (double)(io->bytes_replied + replay_acks_bytes(io->acks));
}

static void
limiter_measure(const replay_io *io, replay_measurements *now)
{
    now->balance = now->balance_min = now->balance_max = now->limit = now->min_size = NAN;
    if (io->table != NULL) {
        const replay_limiter limiter = replay_table_joined(io->table);
        now->balance = replay_limiter_balance(&limiter);
        now->balance_min = limiter.balance_min;
        now->balance_max = limiter.balance_max;
        now->limit = limiter.spec.samples_per_insert;
        now->min_size = (double)limiter.spec.min_size;
    }
    now->held_samples = io->held_count;
}

static void
disk_measure(const replay_io *io, replay_measurements *now)
{
    replay_disk_status disk = {.synced_age_s = NAN};
    if (io->disk) {
        disk = replay_disk_status_get(io->disk, oct_clock_ns());
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
time_measure(const replay_io *io, replay_measurements *now)
{
    uint64_t now_ns = oct_clock_ns();
    now->uptime_s = (double)(now_ns - io->start_ns) / SECOND_NS;
    now->insert_rate = io->rates.insert_rate;
    now->sample_rate = io->rates.sample_rate;
    now->insert_blocked_s = replay_waiting_s(&io->insert_wait, now_ns);
    now->sample_blocked_s = replay_waiting_s(&io->sample_wait, now_ns);
    now->insert_wait_share = io->rates.insert_wait_share;
    now->sample_wait_share = io->rates.sample_wait_share;
    now->insert_s = (double)io->insert_ns / SECOND_NS;
    now->sample_s = (double)io->sample_ns / SECOND_NS;
    now->insert_share = share(now->insert_s, now->uptime_s);
    now->sample_share = share(now->sample_s, now->uptime_s);
    now->cpu_s = (double)oct_clock_process_cpu_ns() / SECOND_NS;
}

// Makes the registry with the present numbers; the caller destroys it.
static oct_numbers *
measured(const replay_io *io, int waiting, replay_measurements *now)
{
    table_measure(io, now);
    done_measure(io, now);
    peers_measure(io, now);
    limiter_measure(io, now);
    disk_measure(io, now);
    time_measure(io, now);
    now->waiting = waiting;
    oct_numbers *numbers = oct_numbers_create("replay.");
    replay_numbers_add(numbers, now);
    return numbers;
}

void
replay_status_reply(replay_io *io, wire_call *call)
{
    char state[STATE_MAX];
    replay_measurements now;
    oct_numbers *numbers = measured(io, state_describe(io, state), &now);
    const char *names[WIRE_STATS_MAX];
    double values[WIRE_STATS_MAX];
    wire_status status = {
        .run_id = io->table ? replay_table_configure(io->table)->run_id : 0,
        .state = state,
        .stat_count = oct_numbers_list(numbers, OCT_SHOWN_STATUS, names, values, WIRE_STATS_MAX),
        .stat_name = names,
        .stat_value = values,
        .refused = io->rejected,
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
replay_prometheus_write(void *arg, oct_prometheus *text)
{
    char state[STATE_MAX];
    replay_measurements now;
    const replay_io *io = arg;
    oct_numbers *numbers = measured(io, state_describe(io, state), &now);
    oct_numbers_prometheus(numbers, text);
    oct_numbers_destroy(numbers);
    aside_write(&io->aside, text);
}

const char *
replay_prometheus_trouble(void *arg)
{
    const replay_io *io = arg;
    return io->disk ? replay_disk_trouble(io->disk) : NULL;
}
