#ifndef LEARNER_LEARNER_BUDGET_H
#define LEARNER_LEARNER_BUDGET_H

#include "algos/algo.h"
#include "common/oct_reason.h"

// The memory that a learner will take, by purpose, computed before it takes any: batches, networks,
// and the buffers of an update. A learner zeroes all its memory when it starts, so if too little
// were left, the kernel would end the process then.
//
// Threads: any; no state.

typedef struct learner_budget_options {
    const config_experiment *config;
    const policy_spec *spec; // algo_make_spec's
    algo_wants wants;
    nn_context_options context; // for the algorithm
    uint32_t learners;          // on this machine
} learner_budget_options;

typedef struct learner_budget {
    uint64_t policy_parameters; // a count, not bytes
    uint64_t algorithm;         // of all learners: networks, moments, buffers of an update
    uint64_t state;             // the algorithm's state for a checkpoint
    uint32_t batches;
    uint64_t batches_bytes;
    uint64_t answers;     // messages of replays, on their way or being copied
    uint64_t learners;    // memory that learners share with each other or with an external one
    uint64_t snapshots;   // copies of the parameters for the quantizer
    uint64_t fold;        // learner_publisher_fold_bytes
    uint64_t publication; // one published version
    uint64_t curve;
    uint64_t total;
} learner_budget;

// Computes the budget. OCT_EINVAL: the algorithm cannot be made with this configuration.
OCT_CHECKED oct_err learner_budget_make(learner_budget *out, const learner_budget_options *options);

// Checks that the budget fits into available bytes (oct_memory_suffices), which the caller takes
// from oct_memory_available or oct_memory_limit. OCT_EINVAL: it does not; reason names the keys,
// the bytes, and how many windows would fit.
OCT_CHECKED oct_err learner_budget_check(const learner_budget *budget,
                                         const learner_budget_options *options, uint64_t available,
                                         oct_reason *why);

#endif // LEARNER_LEARNER_BUDGET_H
