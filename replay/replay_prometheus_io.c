#include "common/oct_clock.h"
#include "replay/replay_io.h"
#include "replay/replay_state_io.h"

#define SECOND_NS 1000000000ull

// The daemon's numbers for Prometheus. docs/operations.md explains each.

static void
batches_write(const replay_io *io, const replay_table_stats *stats, oct_prometheus *text)
{
    oct_prometheus_begin(text, OCT_PROMETHEUS_COUNTER, "octet_replay_batches_total",
                         "Batches of known actors by what became of them.");
    oct_prometheus_add_for(text, "result", "taken", (double)stats->batches);
    oct_prometheus_add_for(text, "result", "duplicate", (double)stats->duplicates);
    oct_prometheus_add_for(text, "result", "gap", (double)stats->gaps);
    oct_prometheus_add_for(text, "result", "stale", (double)stats->stale);
    oct_prometheus_begin(text, OCT_PROMETHEUS_COUNTER, "octet_replay_rejected_total",
                         "Batches refused: malformed, not of this table's shape, or of no "
                         "registered session.");
    oct_prometheus_add_for(text, "reason", "malformed",
                           (double)(io->bad_batch.count - io->bad_header_count));
    oct_prometheus_add_for(text, "reason", "unfit", (double)stats->rejected);
    oct_prometheus_add_for(text, "reason", "unregistered", (double)io->bad_token.count);
    oct_prometheus_counter(text, "octet_replay_bad_requests_total",
                           "Requests answered with an error.", (double)io->bad_request.count);
    oct_prometheus_begin(text, OCT_PROMETHEUS_COUNTER, "octet_replay_priority_updates_total",
                         "Windows whose new priority came, by what became of it.");
    oct_prometheus_add_for(text, "result", "taken", (double)stats->updates);
    oct_prometheus_add_for(text, "result", "late", (double)stats->updates_late);
    oct_prometheus_add_for(text, "result", "bad", (double)stats->updates_bad);
    oct_prometheus_begin(text, OCT_PROMETHEUS_COUNTER, "octet_replay_windows_lost_total",
                         "Windows that nobody can sample, by why.");
    oct_prometheus_add_for(text, "reason", "cut", (double)stats->cut);
    oct_prometheus_add_for(text, "reason", "overrun", (double)stats->overrun);
    oct_prometheus_add_for(text, "reason", "given_up", (double)stats->given_up);
}

static void
rows_write(const replay_table_stats *stats, oct_prometheus *text)
{
    oct_prometheus_begin(text, OCT_PROMETHEUS_COUNTER, "octet_replay_rows_total",
                         "Rows taken since the table was made, by kind: an action of the policy, "
                         "a random one, the end of an episode, that of a failed environment.");
    uint64_t acted = stats->rows_taken - stats->ends - stats->rows_random;
    oct_prometheus_add_for(text, "kind", "policy", (double)acted);
    oct_prometheus_add_for(text, "kind", "random", (double)stats->rows_random);
    oct_prometheus_add_for(text, "kind", "end", (double)(stats->ends - stats->failed));
    oct_prometheus_add_for(text, "kind", "failed", (double)stats->failed);
}

static void
table_write(const replay_io *io, const replay_table_stats *stats, oct_prometheus *text)
{
    oct_prometheus_gauge(text, "octet_replay_configured", "1 once a learner made the table.",
                         io->table != NULL);
    oct_prometheus_gauge(text, "octet_replay_windows", "Windows that can be sampled now.",
                         (double)stats->size);
    oct_prometheus_gauge(text, "octet_replay_rows", "Rows held now: steps and ends of episodes.",
                         (double)stats->rows);
    oct_prometheus_gauge(text, "octet_replay_capacity_rows", "replay.capacity, in whole blocks.",
                         (double)stats->capacity);
    oct_prometheus_gauge(text, "octet_replay_streams", "Environments whose rows are held.",
                         (double)stats->streams);
    oct_prometheus_gauge(text, "octet_replay_table_bytes", "Memory of the table.",
                         (double)stats->memory_bytes);
    oct_prometheus_gauge(text, "octet_replay_sessions", "Sessions of actors that are known.",
                         (double)stats->sessions);
    oct_prometheus_counter(text, "octet_replay_inserts_total",
                           "Windows completed since the table was made.", (double)stats->inserts);
    oct_prometheus_counter(text, "octet_replay_samples_total",
                           "Windows given out since the table was made.", (double)stats->samples);
    if (io->table == NULL) {
        return;
    }
    const replay_limiter *limiter = replay_table_limiter(io->table);
    oct_prometheus_gauge(text, "octet_replay_limiter_balance",
                         "Inserts times samples per insert less samples.",
                         replay_limiter_balance(limiter));
    oct_prometheus_begin(text, OCT_PROMETHEUS_GAUGE, "octet_replay_limiter_bound",
                         "Below min samples wait, above max inserts wait.");
    oct_prometheus_add_for(text, "bound", "min", limiter->balance_min);
    oct_prometheus_add_for(text, "bound", "max", limiter->balance_max);
}

void
replay_prometheus_write(void *arg, oct_prometheus *text)
{
    const replay_io *io = arg;
    uint64_t now_ns = oct_clock_ns();
    replay_table_stats stats = {0};
    if (io->table != NULL) {
        stats = replay_table_stats_get(io->table);
    }
    table_write(io, &stats, text);
    rows_write(&stats, text);
    batches_write(io, &stats, text);
    oct_prometheus_gauge(text, "octet_replay_held_samples", "Sample requests that wait.",
                         io->held_count);
    oct_prometheus_begin(text, OCT_PROMETHEUS_COUNTER, "octet_replay_blocked_seconds_total",
                         "Time that inserts or samples were held back.");
    oct_prometheus_add_for(text, "side", "insert", replay_waiting_s(&io->insert_wait, now_ns));
    oct_prometheus_add_for(text, "side", "sample", replay_waiting_s(&io->sample_wait, now_ns));
    oct_prometheus_begin(text, OCT_PROMETHEUS_COUNTER, "octet_replay_seconds_total",
                         "Time of the loop by activity.");
    oct_prometheus_add_for(text, "activity", "insert", (double)io->insert_ns / SECOND_NS);
    oct_prometheus_add_for(text, "activity", "sample", (double)io->sample_ns / SECOND_NS);
    oct_prometheus_begin(text, OCT_PROMETHEUS_COUNTER, "octet_replay_bytes_total",
                         "Bytes of batches taken (in), of replies and acknowledgements (out).");
    oct_prometheus_add_for(text, "direction", "in", (double)io->bytes_in);
    oct_prometheus_add_for(text, "direction", "out",
                           (double)(io->bytes_replied + replay_acks_bytes(io->acks)));
}

const char *
replay_prometheus_trouble(void *arg)
{
    (void)arg;
    return NULL;
}
