#ifndef LEARNER_LEARNER_GROUP_H
#define LEARNER_LEARNER_GROUP_H

#include "algos/algo.h"
#include "learner/learner_async.h"
#include "nn/group/group.h"

// Learners that share each batch (learner.count). Rank 0 is the learner of the run; the other ranks
// only compute. When training begins, rank 0 sends them the configuration, the environment's spec
// and the algorithm's state, and then each its part of every batch. So all ranks have the same
// parameters after each update, which is checked after the first update and then periodically. With
// learner.asynchronous they share the parameters instead, and do not wait (learner_async.h).
//
// Threads: rank 0: create, counts and destroy on the main thread; begin, update and save on the
// training thread. It has ended before destroy; after it has ended, save may be called on the main
// thread. Other ranks have one thread. Owns: the group (taken).
typedef struct learner_group learner_group;

// Updates between two comparisons of the parameters.
#define LEARNER_GROUP_CHECK_PERIOD 256u

// Makes rank 0's part. NULL, here and in all functions below: the learner learns alone.
learner_group *learner_group_create(group *take, bool is_asynchronous);
// Ends the other ranks, and waits for them.
void learner_group_destroy(learner_group *lg);
// Returns the learners that compute each gradient together; NULL: each gradient is one learner's.
group *learner_group_members(const learner_group *lg);
// Returns the shared memory of asynchronous learners after begin; NULL otherwise.
learner_async *learner_group_async(const learner_group *lg);
uint32_t learner_group_size(const learner_group *lg);
// Returns how many of them are certain to be on this machine.
uint32_t learner_group_here(const learner_group *lg);
// Returns the bytes that learners take for parts of batches and for comparing states. T as in
// algo_batch.
uint64_t learner_group_bytes(const config_experiment *config, const policy_spec *spec, uint32_t T,
                             uint32_t learners, uint64_t state_bytes);
void learner_group_staleness(const learner_group *lg, learner_staleness *out);
void learner_group_counts(const learner_group *lg, group_counts *out);

// Gives the configuration for the algorithm of one rank: with its part of each batch, or, for
// asynchronous learners, with whole batches.
void learner_group_config(const learner_group *lg, const config_experiment *whole,
                          config_experiment *out);
// Begins training: sends a's state to the other ranks. T as in algo_batch.
void learner_group_begin(learner_group *lg, const config_experiment *config,
                         const policy_spec *spec, uint32_t T, algo *a);
// algo_update with the whole batch, on all ranks of learners that share batches. If a rank's
// parameters differ from rank 0's, it logs LEARNER-APART and ends the process with code 3.
OCT_CHECKED oct_err learner_group_update(learner_group *lg, algo *a, const algo_batch *batch,
                                         float learning_rate, float *priorities, float *numbers);

// algo_save, with the other ranks: each has Adam's moments of its part of the parameters.
void learner_group_save(learner_group *lg, const algo *a, oct_writer *writer);

// Serves as a rank other than 0: computes until rank 0 ends training. Takes the group. Returns the
// exit code of the process.
int learner_group_serve(group *take);

#endif // LEARNER_LEARNER_GROUP_H
