#ifndef LEARNER_LEARNER_BUDGET_H
#define LEARNER_LEARNER_BUDGET_H

#include "algos/algo.h"

// The memory of a learner, by what it is for, before any of it is taken: batches, networks, and
// what an update computes in. It is zeroed at once, so that what there is none of ends the process.
//
// Threads: any; no state.

typedef struct learner_budget_options {
    const oct_config *config;
    const policy_spec *spec; // algo_make_spec's
    algo_wants wants;
    nn_context_options context; // that the algorithm is made with
    uint32_t learners;          // of learner.count, those on this machine
} learner_budget_options;

typedef struct learner_budget {
    uint64_t policy_parameters; // number of them
    uint64_t algorithm;         // networks, moments, what an update computes in, of all learners
    uint64_t state;             // of a checkpoint
    uint32_t batches;
    uint64_t batches_bytes;
    uint64_t answers;     // of replay, on their way and taken apart
    uint64_t learners;    // between learners, or for the process that learns
    uint64_t snapshots;   // for the quantizer
    uint64_t fold;        // learner_publisher_fold_bytes
    uint64_t publication; // of one version
    uint64_t curve;
    uint64_t total;
} learner_budget;

// OCT_EINVAL: the algorithm cannot be made so.
OCT_CHECKED oct_err learner_budget_make(learner_budget *out, const learner_budget_options *options);

// Whether so much may be reserved of what is available (oct_memory_suffices): of
// oct_memory_available, or, at most, of oct_memory_limit. OCT_EINVAL: reason names the keys, the
// bytes, and how many windows would fit.
OCT_CHECKED oct_err learner_budget_check(const learner_budget *budget,
                                         const learner_budget_options *options, uint64_t available,
                                         char *reason, size_t reason_size);

#endif // LEARNER_LEARNER_BUDGET_H
