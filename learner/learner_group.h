#ifndef LEARNER_LEARNER_GROUP_H
#define LEARNER_LEARNER_GROUP_H

#include "algos/algo.h"
#include "group/group.h"
#include "learner/learner_async.h"

// Learners that share each batch (learner.count). Rank 0 is the learner of the run. It samples, and
// gives each of the others, which only compute, the configuration, the environment's spec and the
// algorithm's state when training begins, and then its part of each batch. So all of them have the
// same parameters after each update; that is looked at after the first and from time to time. With
// learner.asynchronous they share the parameters instead, and wait for nobody (learner_async.h).
//
// Threads: rank 0: create, counts and destroy on the main thread; begin, update and
// save on the training thread, which has ended before destroy, and save where it does not run. The
// others have one. Owns: the group (taken).
typedef struct learner_group learner_group;

// Parameters are compared after so many updates.
#define LEARNER_GROUP_CHECK_PERIOD 256u

// Rank 0. NULL, as everywhere below: the learner learns alone.
learner_group *learner_group_create(group *take, bool is_asynchronous);
// The others are told to end, and have ended.
void learner_group_destroy(learner_group *lg);
// Those that compute each gradient together; NULL: one alone does.
group *learner_group_members(const learner_group *lg);
// After begin, of asynchronous learners; else NULL.
learner_async *learner_group_async(const learner_group *lg);
uint32_t learner_group_size(const learner_group *lg);
// Those of them that are certain to be on this machine.
uint32_t learner_group_here(const learner_group *lg);
// What so many learners take for each other's batches and for comparing states of so many bytes. T
// as of algo_batch.
uint64_t learner_group_bytes(const oct_config *config, const policy_spec *spec, uint32_t T,
                             uint32_t learners, uint64_t state_bytes);
void learner_group_staleness(const learner_group *lg, learner_staleness *out);
void learner_group_counts(const learner_group *lg, group_counts *out);

// What an algorithm of the group is made with: its part of each batch (asynchronous: all of it).
void learner_group_config(const learner_group *lg, const oct_config *whole, oct_config *out);
// Training begins: the others go on from a's state. T as of algo_batch.
void learner_group_begin(learner_group *lg, const oct_config *config, const policy_spec *spec,
                         uint32_t T, algo *a);
// As algo_update with the whole batch, on all ranks; of learners that share batches. Where a rank
// has other parameters than this one, it logs LEARNER-APART and leaves the process with code 3.
OCT_CHECKED oct_err learner_group_update(learner_group *lg, algo *a, const algo_batch *batch,
                                         float learning_rate, float *priorities, float *numbers);

// As algo_save, which the other ranks take part in: each has Adam's moments of its own part.
void learner_group_save(learner_group *lg, const algo *a, oct_writer *writer);

// All other ranks: computes until rank 0 says that it is over; takes the group. Gives the exit code
// of the process.
int learner_group_serve(group *take);

#endif // LEARNER_LEARNER_GROUP_H
