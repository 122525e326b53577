// Sends batches to replay, and reports and evaluations to the learner; sends lost batches again.
#include <inttypes.h>
#include <string.h>

#include "actor/actor_state_io.h"
#include "common/oct_clock.h"
#include "common/oct_log.h"

#define STANDSTILL_S 1.0 // call of an environment, until the loop thread reports itself

// ---- batches

void
actor_send_batches(void *arg)
{
    actor_io *io = arg;
    actor_batch *batch;
    while (io->outbox.sent < io->resend.window &&
           (batch = actor_outbox_next(&io->outbox)) != NULL) {
        wire_batch view =
            actor_batch_view(batch, io->actor_id, io->session, actor_outbox_first(&io->outbox));
        memcpy(view.token, io->token, sizeof(view.token));
        net_msg *msg = net_msg_create(wire_batch_size(&view));
        wire_batch_pack(&view, net_msg_body(msg));
        size_t length = net_msg_length(msg);
        if (net_push_send(io->push, msg) != OCT_OK) {
            net_msg_destroy(msg);
            return;
        }
        io->bytes_sent += length;
        actor_resend_sent(&io->resend, batch->sequence, length, io->outbox.sent, oct_clock_ns());
        actor_outbox_sent(&io->outbox);
    }
}

void
actor_send_again(void *arg)
{
    actor_io *io = arg;
    io->replay_lost = false;
    actor_outbox_go_back(&io->outbox);
    actor_resend_init(&io->resend);
    actor_send_batches(io);
}

void
actor_send_lost(void *arg)
{
    actor_io *io = arg;
    io->replay_lost = true;
    oct_log_notice("ACTOR-REPLAY-LOST", "the connection to replay was lost; dialing again");
}

size_t
actor_send_ask(const actor_io *io, uint8_t out[WIRE_ACK_REQUEST_BYTES_MAX])
{
    wire_claim claim = {.actor_id = io->actor_id, .session = io->session};
    memcpy(claim.token, io->token, sizeof(claim.token));
    return wire_ack_request_pack(&claim, out);
}

void
actor_send_acked(void *arg, net_msg *msg)
{
    actor_io *io = arg;
    wire_ack ack;
    if (wire_ack_unpack(&ack, net_msg_body(msg), net_msg_length(msg)) != OCT_OK) {
        io->rejected++;
        return;
    }
    if (ack.actor_id != io->actor_id || ack.session != io->session) {
        return;
    }
    uint64_t before = io->outbox.acked, replay = io->outbox.incarnation;
    io->heard_ns = io->acked_ns = oct_clock_ns();
    io->relay_silent = false;
    actor_outbox_ack(&io->outbox, &ack);
    if (replay != 0 && io->outbox.incarnation != replay) {
        actor_resend_init(&io->resend); // a restarted replay has lost what was on its way
    }
    if (io->outbox.acked != before) {
        actor_resend_acked(&io->resend, io->outbox.acked, io->heard_ns);
    }
    if (ack.credit == 0) {
        actor_resend_held(&io->resend, io->heard_ns);
    }
    actor_worker_set_window(io->worker, ack.credit);
    actor_batch *batch;
    while ((batch = actor_outbox_take(&io->outbox)) != NULL) {
        actor_worker_return_batch(io->worker, batch);
    }
    if (io->outbox.acked != before) {
        oct_log_debug("ACTOR-ACKED", "sequence=%" PRIu64 " rows=%" PRIu64, io->outbox.acked,
                      io->outbox.rows_acked);
    }
    actor_send_batches(io);
}

// When replay dies, PUSH loses the bytes that the kernel held, and replay drops batches that it
// cannot insert yet. If replay has room and acknowledges nothing in time, all batches are sent
// again (actor_resend.h).
void
actor_send_watch(actor_io *io)
{
    if (io->outbox.count == 0) {
        io->acked_ns = oct_clock_ns();
    }
    if (io->outbox.sent > 0 && actor_resend_is_late(&io->resend, oct_clock_ns())) {
        actor_outbox_go_back(&io->outbox);
    }
    actor_send_batches(io);
}

// ---- reports

// Callback of a report.
static void
report_done(void *arg, oct_err err, const char *detail, const wire_empty *answer)
{
    actor_io *io = arg;
    (void)answer;
    if (err == OCT_ENOTFOUND && (io->step != STEP_RUN || io->leaving)) {
        return; // another report has started the registration already
    }
    if (err == OCT_ENOTFOUND) {
        oct_log_notice("ACTOR-REGISTER-AGAIN", "the learner does not know this actor: %s", detail);
        io->step = STEP_SPEC;
        io->retry_ms = ACTOR_RETRY_MIN_MS;
        actor_join_go(io);
        return;
    }
    if (err == OCT_ECLOSED) {
        return; // this process is closing its links
    }
    actor_learner_answered(io, err, detail);
}

static void
report_send(actor_io *io, wire_report *report)
{
    report->actor_id = io->actor_id;
    report->session = io->session;
    memcpy(report->token, io->token, sizeof(report->token));
    report->report_sequence = ++io->report_sequence;
    oct_err err =
        wire_call_report_episodes(io->client, report, ACTOR_RPC_TIMEOUT_MS, report_done, io);
    (void)err; // too many open calls: the next report has all but these episodes
}

// Callback of the last report: any answer ends the loop.
static void
leave_done(void *arg, oct_err err, const char *detail, const wire_empty *answer)
{
    actor_io *io = arg;
    (void)detail;
    (void)answer;
    if (err != OCT_ECLOSED) {
        net_loop_stop(io->loop);
    }
}

oct_err
actor_send_leave(actor_io *io)
{
    wire_report report = {
        .actor_id = io->actor_id,
        .session = io->session,
        .report_sequence = ++io->report_sequence,
        .leaves = true,
    };
    memcpy(report.token, io->token, sizeof(report.token));
    return wire_call_report_episodes(io->client, &report, ACTOR_LEAVE_MS, leave_done, io);
}

// Adds the registry's numbers with these flags to the report, and sends it.
static void
numbers_send(actor_io *io, wire_report *report, const oct_numbers *numbers, unsigned shown)
{
    const char *names[WIRE_STATS_MAX];
    double values[WIRE_STATS_MAX];
    report->stat_count = oct_numbers_list(numbers, shown, names, values, WIRE_STATS_MAX);
    report->stat_name = names;
    report->stat_value = values;
    char unreached[NET_URL_MAX];
    if (actor_unacked_s(io) >= ACTOR_UNACKED_S && actor_links_unreached(io, unreached)) {
        report->unreached = unreached;
    }
    report_send(io, report);
}

void
actor_send_numbers(actor_io *io, const actor_numbers *numbers)
{
    actor_measurements now;
    oct_numbers *registry = actor_prometheus_measure(io, &now);
    wire_report report = {
        .policy_version = numbers->policy_version,
        .env_steps = numbers->env_steps,
        .episode_count = numbers->episode_count,
        .episode_return = numbers->episode_return,
        .episode_length = numbers->episode_length,
    };
    numbers_send(io, &report, registry, OCT_SHOWN_REPORT);
    oct_numbers_destroy(registry);
    io->reported_ns = oct_clock_ns();
}

void
actor_send_standstill(actor_io *io)
{
    double quiet_s = 1e-9 * (double)(oct_clock_ns() - io->reported_ns);
    if (io->step != STEP_RUN || actor_worker_call_s(io->worker) < STANDSTILL_S ||
        quiet_s < OCT_MAX(STANDSTILL_S, io->config.actor.report_s)) {
        return;
    }
    const actor_numbers last = {.policy_version = io->shown.policy_version,
                                .env_steps = io->shown.env_steps};
    actor_send_numbers(io, &last);
}

// The environment's metrics, in the columns of a report.
typedef struct metric_columns {
    const char *name[OCT_METRICS_MAX];
    double sum[OCT_METRICS_MAX];
    uint32_t episodes[OCT_METRICS_MAX];
} metric_columns;

static void
metrics_add(wire_report *report, const actor_evaluate_result *result, metric_columns *columns)
{
    report->metric_count = result->metric_names.count;
    for (uint32_t i = 0; i < report->metric_count; i++) {
        columns->name[i] = result->metric_names.name[i];
        columns->sum[i] = result->metrics[i].sum;
        columns->episodes[i] = result->metrics[i].episodes;
    }
    report->metric_name = columns->name;
    report->metric_sum = columns->sum;
    report->metric_episodes = columns->episodes;
}

void
actor_send_evaluation(actor_io *io, const actor_job *job)
{
    actor_measurements now;
    oct_numbers *registry = actor_prometheus_measure(io, &now);
    now.evaluation_s = job->result.seconds;
    now.evaluation_steps = (double)job->result.env_steps;
    now.evaluation_failed = job->result.failed;
    now.evaluation_truncated = job->result.truncated;
    wire_report report = {
        .ticket = job->ticket,
        .policy_version = policy_net_origin(job->net)->version,
        .episode_count = job->err == OCT_OK ? job->episodes : 0, // 0: it failed
        .episode_return = job->result.returns,
        .episode_length = job->result.lengths,
    };
    metric_columns columns;
    if (job->err == OCT_OK) {
        metrics_add(&report, &job->result, &columns);
    }
    numbers_send(io, &report, registry, OCT_SHOWN_EVALUATION);
    oct_numbers_destroy(registry);
}

void
actor_send_playing(actor_io *io)
{
    actor_playing playing;
    if (!actor_worker_playing(io->worker, &playing)) {
        return;
    }
    actor_measurements now;
    oct_numbers *registry = actor_prometheus_measure(io, &now);
    now.playing_ticket = (double)playing.ticket;
    now.playing_steps = (double)playing.env_steps;
    now.playing_calls = (double)playing.calls;
    now.playing_episodes = playing.episodes;
    wire_report report = {0};
    numbers_send(io, &report, registry, OCT_SHOWN_PLAYING);
    oct_numbers_destroy(registry);
}
