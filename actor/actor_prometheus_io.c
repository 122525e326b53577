#include <stdio.h>

#include "actor/actor_state_io.h"
#include "common/oct_prometheus.h"

// The daemon's numbers for Prometheus, those of the acting thread as it last told them
// (actor.report_s). docs/operations.md explains each.

void
actor_prometheus_numbers(actor_io *io, const actor_numbers *numbers)
{
    io->shown = (actor_shown){
        .env_steps = numbers->env_steps,
        .policy_version = numbers->policy_version,
        .rows = numbers->rows,
        .dropped = numbers->dropped,
        .failures = numbers->failures,
        .episodes = io->shown.episodes + numbers->episode_count + numbers->episodes_lost,
        .infer_s = numbers->infer_s,
        .env_s = numbers->env_s,
        .collect_s = numbers->collect_s,
        .wait_s = numbers->wait_s,
    };
}

void
actor_prometheus_evaluation(actor_io *io, const actor_job *job)
{
    io->shown.policy_version = policy_net_origin(job->net)->version;
    io->shown.evaluations++;
    io->shown.evaluation_s += job->result.seconds;
    io->shown.env_steps += job->result.env_steps;
    io->shown.episodes += job->err == OCT_OK ? job->episodes : 0;
}

static void
evaluator_write(const actor_io *io, oct_prometheus *text)
{
    oct_prometheus_counter(text, "octet_evaluator_evaluations_total", "Evaluations played.",
                           (double)io->shown.evaluations);
    oct_prometheus_counter(text, "octet_evaluator_failures_total",
                           "Evaluations that failed, with their environment.",
                           io->failed_evaluations);
    oct_prometheus_counter(text, "octet_evaluator_seconds_total", "Time spent playing them.",
                           io->shown.evaluation_s);
}

static void
sending_write(const actor_io *io, oct_prometheus *text)
{
    oct_prometheus_gauge(text, "octet_actor_unacknowledged_batches",
                         "Batches held until replay acknowledges them.", io->outbox.count);
    oct_prometheus_gauge(text, "octet_actor_ring_batches", "Batches that there are.",
                         io->outbox.room);
    oct_prometheus_counter(text, "octet_actor_resent_total", "Batches sent again.",
                           (double)io->outbox.resent);
    oct_prometheus_counter(text, "octet_actor_sent_bytes_total",
                           "Bytes sent to replay, of batches sent again, too.",
                           (double)io->bytes_sent);
    oct_prometheus_counter(text, "octet_actor_rows_total", "Rows made: steps and ends of episodes.",
                           (double)io->shown.rows);
    oct_prometheus_counter(text, "octet_actor_dropped_total",
                           "Steps given up because the ring was full.", (double)io->shown.dropped);
    oct_prometheus_begin(text, OCT_PROMETHEUS_COUNTER, "octet_actor_seconds_total",
                         "Time of the acting thread by activity.");
    oct_prometheus_add_for(text, "activity", "infer", io->shown.infer_s);
    oct_prometheus_add_for(text, "activity", "env", io->shown.env_s);
    oct_prometheus_add_for(text, "activity", "collect", io->shown.collect_s);
    oct_prometheus_add_for(text, "activity", "wait", io->shown.wait_s);
    oct_prometheus_counter(text, "octet_actor_failures_total",
                           "Environments that had to be recovered.", (double)io->shown.failures);
}

static void
policy_write(const actor_io *io, oct_prometheus *text)
{
    oct_prometheus_gauge(text, "octet_actor_policy_version",
                         "Version that acts, or was evaluated last.",
                         (double)io->shown.policy_version);
    oct_prometheus_counter(text, "octet_actor_policies_total", "Policy versions taken and applied.",
                           (double)io->policies_taken);
    oct_prometheus_counter(text, "octet_actor_policy_gaps_total",
                           "Versions missed, each mended by a complete policy.",
                           (double)io->policy_gaps);
    oct_prometheus_counter(text, "octet_actor_rejected_total",
                           "Policies and acknowledgements that were malformed.",
                           (double)io->rejected);
}

void
actor_io_prometheus(void *arg, oct_prometheus *text)
{
    const actor_io *io = arg;
    oct_prometheus_gauge(text, "octet_actor_registered", "1 once it acts or evaluates.",
                         io->step == STEP_RUN);
    oct_prometheus_gauge(text, "octet_actor_learner_up",
                         "1 while the learner answers, 0 when its last answer failed.",
                         io->step == STEP_RUN && !io->learner_lost);
    oct_prometheus_counter(text, "octet_actor_env_steps_total",
                           "Environment steps of this process.", (double)io->shown.env_steps);
    oct_prometheus_counter(text, "octet_actor_episodes_total", "Episodes that ended.",
                           (double)io->shown.episodes);
    policy_write(io, text);
    if (io->options.evaluate) {
        evaluator_write(io, text);
    } else {
        sending_write(io, text);
    }
}

const char *
actor_io_trouble(void *arg)
{
    actor_io *io = arg;
    if (io->step != STEP_RUN) {
        return io->step == STEP_CONFIG ? "waiting for the learner"
                                       : "not registered with the learner yet";
    }
    if (io->stuck) {
        (void)snprintf(io->trouble, sizeof(io->trouble),
                       "a step of the environment has not ended for %.0f s",
                       actor_worker_step_s(io->worker));
        return io->trouble;
    }
    return io->learner_lost ? "the learner does not answer" : NULL;
}
