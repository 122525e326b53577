#ifndef ALGOS_ALGO_EXTERNAL_H
#define ALGOS_ALGO_EXTERNAL_H

#include "algos/algo.h"

// algo.name: external. Octet makes the network, the windows and the storage of parameters; a
// process of the user's learns from batches. An update passes the batch to that process and takes
// its answer, if the answer is sound: parameters of the policy, priorities and numbers.
//
// Threads: as algo.h. Owns: the parameters, and the answer that the learner fills in.

// The numbers that an update may report, by index; algo_numbers lists them.
#define ALGO_EXTERNAL_NUMBERS 16

typedef struct algo_external_answer {
    float *params;                        // [policy_spec_params] in policy_spec's order
    bool has_params;                      // params was filled in
    float *priorities;                    // [B]
    bool has_priorities;                  // priorities was filled in
    float numbers[ALGO_EXTERNAL_NUMBERS]; // NaN: not reported
} algo_external_answer;

// The process that learns. learn waits for its answer to a batch, without a time limit, and fills
// the answer in; before the call both has_ fields are false and all numbers NaN. OCT_EAGAIN: no
// process learned from the batch. Other errors as of algo_update.
typedef struct algo_external_learner {
    void *arg;
    oct_err (*learn)(void *arg, const algo_batch *batch, float learning_rate,
                     algo_external_answer *answer);
} algo_external_learner;

// Sets the learner, before the first update; without a learner an update returns OCT_EINVAL. a has
// algo.name: external.
void algo_external_set_learner(algo *a, const algo_external_learner *learner);

// Returns the parameters as the learning process has them, [policy_spec_params]: for a network that
// reads observations as batches have them (algo_bytes.h).
const float *algo_external_params(const algo *a);

#endif // ALGOS_ALGO_EXTERNAL_H
