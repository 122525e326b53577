#ifndef LEARNER_LEARNER_EVALS_STATE_H
#define LEARNER_LEARNER_EVALS_STATE_H

#include "learner/learner_candidates.h"
#include "learner/learner_eval_parts.h"

// What learner_evals.c (which version is evaluated when) and learner_evals_saved.c (the same over a
// resume) share. Nobody else includes this.
//
// Threads: the loop thread.

#define LEARNER_EVALUATIONS_MAX 8

// An evaluation that was begun. Free: publication is NULL.
struct evaluation {
    quantizer_publication *publication;
    learner_eval_stage stage;
    bool is_first_look; // at its version: counts among the screens
    learner_eval_parts parts;
};

struct learner_evals {
    const oct_config *config;
    uint64_t evaluations, own_evaluations; // in all, and of this process
    uint64_t tickets;
    uint64_t episodes;       // of the evaluations that began during training
    uint64_t final_episodes; // of the full ones that began after it
    uint64_t final_played;   // of all that ended after it, in this process
    uint32_t evaluators;
    uint64_t screened_version;
    uint64_t screened_ns;
    bool screened_any;
    bool finishing;
    uint64_t last_tried; // finishing: the last version that had its turn, 0: not yet
    bool result_failed;
    bool final_failed;   // a full evaluation after training: no version is worth another try
    uint64_t slowest_ns; // the longest that steps were waited for
    quantizer_publication *newest;
    quantizer_publication *promoted; // screened well: wants a full evaluation
    double promoted_mean;            // of that screen
    learner_candidate screened;      // the best screened, until a version is fully evaluated
    learner_candidates candidates;
    learner_eval_result last;   // newest version that was fully evaluated
    learner_eval_result result; // of stage LEARNER_EVAL_RESULT; version 0: none
    bool result_is_compared;    // it is an earlier process's, and what its candidate is judged by
    uint32_t screen_count;
    double screens[LEARNER_EVAL_SCREENS]; // oldest first
    struct evaluation evaluation[LEARNER_EVALUATIONS_MAX];
};

#endif // LEARNER_LEARNER_EVALS_STATE_H
