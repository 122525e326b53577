#ifndef ALGOS_ALGO_EXTERNAL_H
#define ALGOS_ALGO_EXTERNAL_H

#include "algos/algo.h"

// algo.name: external. The network's shape, the windows and the place of the parameters are
// Octet's; what is learned from a batch is another's, a process of the user's own. An update hands
// the batch over and takes what comes back, if it is sound: parameters of the policy, priorities
// and numbers.
//
// Threads: as of algo.h. Owns: the parameters, and the answer that is filled in.

// The numbers that an update may report, by these indices; their rows are algo_numbers'.
#define ALGO_EXTERNAL_NUMBERS 16

typedef struct algo_external_answer {
    float *params; // [policy_spec_params] in policy_spec order, to be filled in …
    bool has_params;
    float *priorities; // [B]
    bool has_priorities;
    float numbers[ALGO_EXTERNAL_NUMBERS]; // NaN: none
} algo_external_answer;

// Who learns. learn waits for the answer to a batch, as long as that takes, and fills it in; all
// has_ are false and all numbers NaN before. OCT_EAGAIN: nobody learned from it. Any other error as
// of algo_update.
typedef struct algo_external_learner {
    void *arg;
    oct_err (*learn)(void *arg, const algo_batch *batch, float learning_rate,
                     algo_external_answer *answer);
} algo_external_learner;

// Before the first update; without one, updates are OCT_EINVAL. a is of algo.name: external.
void algo_external_set_learner(algo *a, const algo_external_learner *learner);

// The parameters as who learns has them, [policy_spec_params]: of observations as batches have
// them.
const float *algo_external_params(const algo *a);

#endif // ALGOS_ALGO_EXTERNAL_H
