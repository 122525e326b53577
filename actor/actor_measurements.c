// The registry's rows of actors and evaluators.
#include "actor/actor_measurements.h"

#include "common/oct_base.h"

#define REPORT      OCT_SHOWN_REPORT
#define NUMBER(...) OCT_NUMBER(actor_measurements, __VA_ARGS__)
#define METRIC(...) OCT_NUMBER_METRIC(actor_measurements, __VA_ARGS__)
#define SAMPLE(...) OCT_NUMBER_SAMPLE(actor_measurements, __VA_ARGS__)

static const oct_number rows[] = {
    SAMPLE(COUNTER, "infer_s", "s", "Time that the acting thread spent in the policy.", REPORT,
           infer_s, "octet_actor_seconds_total", "activity", "infer",
           "Time of the acting thread by activity."),
    SAMPLE(COUNTER, "env_s", "s", "Time that the acting thread spent in environments.", REPORT,
           env_s, "octet_actor_seconds_total", "activity", "env", NULL),
    SAMPLE(COUNTER, "collect_s", "s", "Time that the acting thread spent building batches.", REPORT,
           collect_s, "octet_actor_seconds_total", "activity", "collect", NULL),
    SAMPLE(COUNTER, "wait_s", "s", "Time that the acting thread waited for room in the ring.",
           REPORT, wait_s, "octet_actor_seconds_total", "activity", "wait", NULL),
    METRIC(COUNTER, "dropped", "steps", "Steps dropped because the ring was full.", REPORT, dropped,
           "octet_actor_dropped_total"),
    METRIC(COUNTER, "failures", "steps", "Environment steps that failed and were left out.", REPORT,
           failures, "octet_actor_failures_total"),
    METRIC(COUNTER, "resent", "batches", "Batches sent again.", REPORT, resent,
           "octet_actor_resent_total"),
    METRIC(GAUGE, "unacked", "batches", "Batches held until replay acknowledges them.", REPORT,
           unacked, "octet_actor_unacknowledged_batches"),
    METRIC(COUNTER, "bytes", "bytes", "Bytes sent to replay, including resent batches.", REPORT,
           bytes, "octet_actor_sent_bytes_total"),
    NUMBER(COUNTER, "cpu_s", "s", "CPU time of the process.", REPORT | OCT_SHOWN_EVALUATION, cpu_s),
    METRIC(GAUGE, "stuck_s", "s",
           "Duration of the current environment step, if it exceeds half of `run.env_hang_s`; "
           "else 0.",
           REPORT | OCT_SHOWN_EVALUATION | OCT_SHOWN_PLAYING, stuck_s, "octet_actor_stuck_seconds"),
    METRIC(GAUGE, "unacked_s", "s",
           "Time for which replay has acknowledged none of the unacknowledged batches.", REPORT,
           unacked_s, "octet_actor_unacknowledged_seconds"),
    NUMBER(GAUGE, "resident_bytes", "bytes", "Resident memory of the process.",
           REPORT | OCT_SHOWN_EVALUATION | OCT_SHOWN_PLAYING, resident_bytes),
    NUMBER(COUNTER, "restarts", "restarts",
           "Restarts of the process, where its supervisor counts them.",
           REPORT | OCT_SHOWN_EVALUATION | OCT_SHOWN_PLAYING, restarts),
    METRIC(COUNTER, "policy_gaps", "gaps", "Versions missed.", REPORT, policy_gaps,
           "octet_actor_policy_gaps_total"),
    METRIC(COUNTER, "policies_taken", "versions", "Policy versions received and applied.", REPORT,
           policies_taken, "octet_actor_policies_total"),
    NUMBER(COUNTER, "policies_packed", "versions", "Versions passed to the acting thread.", REPORT,
           policies_packed),
    METRIC(COUNTER, "policies_old", "policies",
           "Policies dropped because they were older than the current one.", 0, policies_old,
           "octet_actor_old_policies_total"),
    METRIC(COUNTER, "rejected", "messages", "Malformed policies and acknowledgements.", REPORT,
           rejected, "octet_actor_rejected_total"),
    METRIC(GAUGE, "registered", "0, 1", "1 once the learner has registered the actor.", 0,
           registered, "octet_actor_registered"),
    METRIC(GAUGE, "learner_up", "0, 1", "1 while the learner answers.", 0, learner_up,
           "octet_actor_learner_up"),
    METRIC(COUNTER, "env_steps", "steps", "Environment steps of this process.", 0, env_steps,
           "octet_actor_env_steps_total"),
    METRIC(COUNTER, "episodes", "episodes", "Finished episodes.", 0, episodes,
           "octet_actor_episodes_total"),
    METRIC(COUNTER, "rows", "rows", "Rows produced: steps and ends of episodes.", 0, rows,
           "octet_actor_rows_total"),
    METRIC(GAUGE, "ring_batches", "batches", "Capacity of the ring.", 0, ring_batches,
           "octet_actor_ring_batches"),
    METRIC(GAUGE, "circulating", "batches",
           "Batches that may be unacknowledged before the actor waits.", 0, circulating,
           "octet_actor_circulating_batches"),
    METRIC(GAUGE, "policy_version", "version",
           "Policy version that acts, or that was evaluated last.", 0, policy_version,
           "octet_actor_policy_version"),
    METRIC(COUNTER, "evaluations", "evaluations", "Evaluations played.", 0, evaluations,
           "octet_evaluator_evaluations_total"),
    METRIC(COUNTER, "evaluations_failed", "evaluations", "Evaluations whose environment failed.", 0,
           evaluations_failed, "octet_evaluator_failures_total"),
    METRIC(COUNTER, "evaluations_s", "s", "Time spent playing evaluations.", 0, evaluations_s,
           "octet_evaluator_seconds_total"),
    NUMBER(GAUGE, "evaluation_s", "s", "Time that the evaluation took.", OCT_SHOWN_EVALUATION,
           evaluation_s),
    NUMBER(GAUGE, "evaluation_steps", "steps", "Environment steps of the evaluation.",
           OCT_SHOWN_EVALUATION, evaluation_steps),
    NUMBER(GAUGE, "evaluation_failed", "episodes",
           "Further episodes in which the environment failed.", OCT_SHOWN_EVALUATION,
           evaluation_failed),
    NUMBER(GAUGE, "playing_ticket", "ticket", "Number of the evaluation in progress.",
           OCT_SHOWN_PLAYING, playing_ticket),
    NUMBER(GAUGE, "playing_steps", "steps", "Environment steps of the evaluation in progress.",
           OCT_SHOWN_PLAYING, playing_steps),
    NUMBER(GAUGE, "playing_episodes", "episodes",
           "Finished episodes of the evaluation in progress.", OCT_SHOWN_PLAYING, playing_episodes),
};

void
actor_measurements_add(oct_numbers *numbers, const actor_measurements *now)
{
    oct_numbers_add_all(numbers, rows, OCT_COUNTOF(rows), now);
}
