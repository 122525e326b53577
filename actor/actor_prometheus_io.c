// The actor's numbers, for reports and Prometheus. Values of the acting thread are as of its last
// report (actor.report_s).
#include <stdio.h>

#include "actor/actor_state_io.h"
#include "common/oct_clock.h"
#include "common/oct_process.h"

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

double
actor_stuck_s(const actor_io *io)
{
    double limit_s = 0.5 * io->config.run.env_hang_s; // 0: no limit
    double step_s = io->worker != NULL && limit_s > 0 ? actor_worker_call_s(io->worker) : 0;
    return step_s > limit_s ? step_s : 0;
}

double
actor_unacked_s(const actor_io *io)
{
    uint64_t now_ns = oct_clock_ns();
    bool is_waiting = io->outbox.count > 0 && io->acked_ns != 0 && now_ns > io->acked_ns;
    return is_waiting ? 1e-9 * (double)(now_ns - io->acked_ns) : 0;
}

static void
acting_measure(const actor_io *io, actor_measurements *now)
{
    now->infer_s = io->shown.infer_s;
    now->env_s = io->shown.env_s;
    now->collect_s = io->shown.collect_s;
    now->wait_s = io->shown.wait_s;
    now->dropped = (double)io->shown.dropped;
    now->failures = (double)io->shown.failures;
    now->rows = (double)io->shown.rows;
    now->resent = (double)io->outbox.resent;
    now->unacked = io->outbox.count;
    now->unacked_s = actor_unacked_s(io);
    now->ring_batches = io->outbox.room;
    if (io->worker != NULL) {
        now->circulating = actor_worker_circulating(io->worker);
    }
    now->bytes = (double)io->bytes_sent;
}

oct_numbers *
actor_prometheus_measure(const actor_io *io, actor_measurements *now)
{
    // All fields are doubles. Those of the other role stay NaN.
    for (size_t at = 0; at < sizeof(*now); at += sizeof(double)) {
        *(double *)((char *)now + at) = NAN;
    }
    if (io->options.evaluate) {
        now->evaluations = (double)io->shown.evaluations;
        now->evaluations_failed = io->failed_evaluations;
        now->evaluations_s = io->shown.evaluation_s;
        const char *why = NULL;
        now->evaluation_failures =
            io->worker != NULL ? (double)actor_worker_failures(io->worker, &why) : 0;
    } else {
        acting_measure(io, now);
    }
    now->stuck_s = actor_stuck_s(io);
    now->resident_bytes = oct_process_resident_bytes();
    now->restarts = io->options.restarts;
    now->registered = io->step == STEP_RUN;
    now->learner_up = io->step == STEP_RUN && !io->learner_lost;
    now->env_steps = (double)io->shown.env_steps;
    now->episodes = (double)io->shown.episodes;
    now->policy_version = (double)io->shown.policy_version;
    now->policies_taken = (double)io->policies_taken;
    now->policies_packed = (double)io->policies_packed;
    now->policies_old = (double)io->policies_old;
    now->policy_gaps = (double)io->policy_gaps;
    now->rejected = (double)io->rejected;
    now->cpu_s = (double)oct_clock_process_cpu_ns() * 1e-9;
    oct_numbers *numbers = oct_numbers_create("actor.");
    actor_measurements_add(numbers, now);
    return numbers;
}

bool
actor_io_is_hung(void *arg)
{
    const actor_io *io = arg;
    double limit_s = io->config.run.env_hang_s;
    return io->worker != NULL && limit_s > 0 && actor_worker_call_s(io->worker) > limit_s;
}

void
actor_io_prometheus(void *arg, oct_prometheus *text)
{
    actor_measurements now;
    oct_numbers *numbers = actor_prometheus_measure(arg, &now);
    oct_numbers_prometheus(numbers, text);
    oct_numbers_destroy(numbers);
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
                       "a call of an environment has not ended for %.0f s",
                       actor_worker_call_s(io->worker));
        return io->trouble;
    }
    if (io->learner_lost) {
        return "the learner does not answer";
    }
    double unacked_s = actor_unacked_s(io);
    if (unacked_s < ACTOR_UNACKED_S) {
        return NULL;
    }
    char address[NET_URL_MAX];
    bool is_unreached = actor_links_unreached(io, address);
    (void)snprintf(io->trouble, sizeof(io->trouble), "%u unacknowledged batch%s for %.0f s: %s%s",
                   io->outbox.count, io->outbox.count == 1 ? "" : "es", unacked_s,
                   is_unreached ? "cannot reach " : "no acknowledgement from ",
                   is_unreached ? address : io->replay_address);
    return io->trouble;
}
