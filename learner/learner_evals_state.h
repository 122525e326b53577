#ifndef LEARNER_LEARNER_EVALS_STATE_H
#define LEARNER_LEARNER_EVALS_STATE_H

#include "learner/learner_candidates.h"
#include "learner/learner_eval_parts.h"

// The state that learner_evals.c (which version is evaluated when) and learner_evals_saved.c (the
// state in a checkpoint) share. No other file includes this header.
//
// Threads: the loop thread.

#define LEARNER_EVALUATIONS_MAX 8

// An evaluation in progress. publication is NULL if the slot is free.
struct evaluation {
    quantizer_publication *publication;
    learner_eval_stage stage;
    bool is_first_look; // the first evaluation of its version: its mean counts among the screens
    learner_eval_parts parts;
};

struct learner_evals {
    const config_experiment *config;
    uint64_t evaluations, own_evaluations; // parts begun, in all and in this process
    uint64_t tickets;
    uint64_t episodes;       // of the evaluations that began during training
    uint64_t final_episodes; // of the full evaluations that began after training
    uint64_t final_played;   // of all evaluations that ended after training, in this process
    uint32_t evaluators;
    uint64_t screened_version;
    uint64_t screened_ns;
    bool finishing;
    uint64_t last_tried; // the last version, once its final evaluation has begun; or 0
    bool result_failed;
    bool final_failed;   // a full evaluation failed after training: no further version is tried
    uint64_t slowest_ns; // longest time between two reports of progress
    quantizer_publication *newest;
    learner_candidates candidates;
    learner_eval_result last;   // the newest version that was fully evaluated
    learner_eval_result result; // of stage LEARNER_EVAL_RESULT; version 0: there is none
    learner_eval_result unused; // a slot of the checkpoint that earlier releases filled
    uint32_t screen_count;
    double screens[LEARNER_EVAL_SCREENS]; // oldest first
    struct evaluation evaluation[LEARNER_EVALUATIONS_MAX];
};

#endif // LEARNER_LEARNER_EVALS_STATE_H
