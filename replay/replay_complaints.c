// Logs what replay refuses: the first case of each kind and session, and later ones within limits.
#include "replay/replay_complaints.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/oct_clock.h"
#include "common/oct_log.h"

#define REPORTED_MAX      1024 // log lines about sessions at once, …
#define REPORTED_A_SECOND 0.1  // … and then per second

void
replay_complaints_init(replay_complaints *complaints)
{
    memset(complaints, 0, sizeof(*complaints));
    oct_bucket_init(&complaints->reported, REPORTED_MAX, REPORTED_A_SECOND);
}

void
replay_complaints_begin(replay_complaints *complaints)
{
    memset(complaints->reported_session, 0, sizeof(complaints->reported_session));
    memset(complaints->stale, 0, sizeof(complaints->stale));
}

void
replay_complain(oct_log_limit *complaint, const char *id, const char *reason)
{
    if (oct_log_limit_is_due(complaint)) {
        oct_log_warn(id, "count=%" PRIu64 " reason=\"%s\"", complaint->count, reason);
    }
}

void
replay_complain_of(const oct_log_limit *complaint, const char *id, const oct_holder *holder,
                   const char *reason)
{
    oct_log_warn(id, "count=%" PRIu64 " certificate=\"%s\" reason=\"%s\"", complaint->count,
                 holder->name, reason);
}

void
replay_complaints_note(replay_complaints *complaints, const char *reason)
{
    (void)snprintf(complaints->rejected, sizeof(complaints->rejected), "%s", reason);
}

uint64_t
replay_complaints_count(const replay_complaints *complaints, const replay_table_stats *stats)
{
    return stats->rejected + complaints->bad_batch.count - complaints->bad_header_count +
           complaints->bad_token.count;
}

// Returns true if a warning about a session may be logged; all actors share one allowance.
// *left_out: how many warnings were suppressed before.
static bool
may_report(replay_complaints *complaints, uint64_t now_ns, uint64_t *left_out)
{
    static const uint8_t anybody[OCT_BUCKET_ID_BYTES];
    return oct_bucket_take(&complaints->reported, anybody, now_ns / 1000000, left_out);
}

// Logs a session with a number outside the run's range, once, and puts it into the status.
static void
aside_report(replay_complaints *complaints, const wire_batch *batch, const replay_insert *result,
             const oct_holder *holder)
{
    uint64_t left_out;
    char what[WIRE_NAME_MAX + 1];
    const replay_aside_session *of = replay_aside_note(&complaints->aside, batch->session,
                                                       batch->actor_id, holder, batch->count);
    (void)snprintf(what, sizeof(what),
                   "%s: %g, of session %016" PRIx64 " (certificate \"%s\"), of which %" PRIu64
                   " rows were set aside",
                   result->reason, (double)result->number, of->session, of->certificate, of->rows);
    replay_complaints_note(complaints, what);
    if (complaints->reported_session[result->session] != batch->session) {
        complaints->reported_session[result->session] = batch->session;
        if (may_report(complaints, oct_clock_ns(), &left_out)) {
            oct_log_warn("REPLAY-SET-ASIDE",
                         "actor=%" PRIu32 " session=%016" PRIx64
                         " certificate=\"%s\" sequence=%" PRIu64 " rows=%" PRIu32
                         " unlogged=%" PRIu64
                         " reason=\"%s\" number=%g (later rows of this session are only counted)",
                         batch->actor_id, batch->session, of->certificate, batch->sequence,
                         batch->count, left_out, result->reason, (double)result->number);
        }
    }
}

void
replay_complaints_rejected(replay_complaints *complaints, const wire_batch *batch,
                           const replay_insert *result, const oct_holder *holder)
{
    if (result->is_aside) {
        aside_report(complaints, batch, result, holder);
        return;
    }
    replay_complaints_note(complaints, result->reason);
    if (result->session == REPLAY_SESSION_NONE) {
        complaints->bad_header_count++;
        replay_complain(&complaints->bad_batch, "REPLAY-BAD-BATCH", result->reason);
    } else if (complaints->reported_session[result->session] != batch->session) {
        uint64_t left_out;
        complaints->reported_session[result->session] = batch->session;
        if (may_report(complaints, oct_clock_ns(), &left_out)) {
            oct_log_warn(
                "REPLAY-REJECTED",
                "actor=%" PRIu32 " session=%016" PRIx64 " sequence=%" PRIu64 " unlogged=%" PRIu64
                " reason=\"%s\" (later batches of this actor are only counted)",
                batch->actor_id, batch->session, batch->sequence, left_out, result->reason);
        }
    }
}

void
replay_complaints_stale(replay_complaints *complaints, const wire_batch *batch, uint32_t session)
{
    uint64_t left_out, now_ns = oct_clock_ns();
    replay_stale *stale = &complaints->stale[session];
    if (replay_stale_came(stale, batch->session, now_ns) &&
        may_report(complaints, now_ns, &left_out)) {
        oct_log_warn("REPLAY-STALE",
                     "actor=%" PRIu32 " session=%016" PRIx64 " sequence=%" PRIu64 " count=%" PRIu32
                     " unlogged=%" PRIu64
                     " reason=\"its batches are dropped, because a later session of this actor "
                     "exists, which sends nothing; restart the actor: its new session is "
                     "accepted\" (later batches of this session are only counted)",
                     batch->actor_id, batch->session, batch->sequence, stale->count, left_out);
    }
}
