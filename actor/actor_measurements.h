#ifndef ACTOR_ACTOR_MEASUREMENTS_H
#define ACTOR_ACTOR_MEASUREMENTS_H

#include "common/oct_numbers.h"

// Values of an actor's or evaluator's numbers, and the rows of the registry that name them.
// actor_measurements.c gives units and meanings. NaN: the role does not have this number.
//
// Threads: the loop thread. Owns: nothing.
typedef struct actor_measurements {
    double infer_s, env_s, collect_s, wait_s, dropped, failures, resent, unacked, bytes, cpu_s;
    double stuck_s, unacked_s, resident_bytes, restarts;
    double policy_gaps, policies_taken, policies_packed, policies_old, rejected, registered,
        learner_up;
    double env_steps, episodes, rows, ring_batches, circulating, policy_version, evaluations;
    double evaluations_failed, evaluations_s, evaluation_failures;
    double evaluation_s, evaluation_steps; // of the evaluation that is reported
    double evaluation_failed, evaluation_truncated;
    double playing_ticket, playing_steps, playing_calls, playing_episodes;
} actor_measurements;

// Adds the rows to the registry, which borrows now. OCT_SHOWN_REPORT marks what an actor reports
// every actor.report_s, OCT_SHOWN_EVALUATION and OCT_SHOWN_PLAYING what an evaluator reports.
void actor_measurements_add(oct_numbers *numbers, const actor_measurements *now);

#endif // ACTOR_ACTOR_MEASUREMENTS_H
