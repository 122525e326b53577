#ifndef LEARNER_LEARNER_TRAIN_H
#define LEARNER_LEARNER_TRAIN_H

#include "learner/learner_average.h"
#include "learner/learner_batch.h"
#include "learner/learner_group.h"
#include "quantizer/quantizer_observed.h"
#include "quantizer/quantizer_stage.h"

// The training thread: takes ready batches, updates, and hands snapshots to the quantizer stage.
// Where the algorithm explores by noise in its parameters, snapshots have that noise, except the
// first and every LEARNER_NOISY_PERIOD-th after it: those are the policy itself, to be evaluated.
// Each snapshot is for the actors of one sample, and the samples take turns
// (docs/internals/decisions/0013-noisy-policies.md).
//
//
// Threads: the loop thread calls everything here; the training thread runs inside (and is the only
// caller of the algorithm after start). notify is called on it and must only wake the loop.
// Owns: the algorithm (taken). Batches pass through.
#define LEARNER_NOISY_PERIOD 8u
typedef struct learner_train learner_train;

typedef void (*learner_notify_fn)(void *arg);

// stage is borrowed and must outlive the thread. The queues of ready and finished batches hold
// batches_max.
learner_train *learner_train_create(algo *take, const config_experiment *config,
                                    quantizer_stage *stage, uint32_t batches_max,
                                    learner_notify_fn notify, void *arg);
// Before start: observed counts the observations of batches that were learned from, policies are
// published with its scaling, and saved states contain it. Borrowed; from start on only the
// training thread may use it. NULL: observations are not scaled.
void learner_train_observe(learner_train *train, quantizer_observed *observed);
// Before start: the average of the parameters over updates is published, and saved states contain
// it. Borrowed; from start on only the training thread may use it. NULL: the parameters are
// published.
void learner_train_average(learner_train *train, learner_average *average);
// Reads the part of a saved state that follows the algorithm's (algo_load). average and observed
// stay unchanged where the saved run had none, and each may be NULL: its part is skipped.
// OCT_EPROTO: the part is of another policy or of other observations.
OCT_CHECKED oct_err learner_train_load(learner_average *average, quantizer_observed *observed,
                                       oct_reader *reader);
// Before start: a group makes the updates, and begins when the thread does. Borrowed; from start on
// only the training thread may use it. NULL: there is no group. T as in algo_batch.
void learner_train_share(learner_train *train, learner_group *lg, const policy_spec *spec,
                         uint32_t T);
// Before start. is_on: a version is published only when learner_train_order has ordered it, as in
// lock-step.
void learner_train_publish_by_order(learner_train *train, bool is_on);
OCT_CHECKED oct_err learner_train_start(learner_train *train);
// Orders a version. resumed: it is made as by a process that has just resumed from a checkpoint.
void learner_train_order(learner_train *train, bool resumed);
// Ends the thread after the update in progress. The algorithm may be read again after that.
void learner_train_stop(learner_train *train);
// After stop: if something was learned since the last policy without noise, publishes it, even
// beyond the stage's share of time. Returns when the stage has finished.
void learner_train_publish_last(learner_train *train);
void learner_train_destroy(learner_train *train); // NULL is a no-op; stopped

void learner_train_put(learner_train *train, learner_batch *batch);
learner_batch *learner_train_take(learner_train *train); // a batch that was learned from, or NULL
// Sets the samples of a noisy policy that actors use: bit s for sample s. 0 counts as the first
// sample alone.
void learner_train_set_samples(learner_train *train, uint64_t samples);
// Sets the count of environment steps so far, which is sent with each publication.
void learner_train_set_env_steps(learner_train *train, uint64_t env_steps);
// Sets how much of the run's budget is spent, 0 to 1. Schedules depend on it.
void learner_train_set_share(learner_train *train, double share);
uint32_t learner_train_ready(const learner_train *train); // batches waiting

// Asks for the algorithm's state between two updates. learner_train_take_state returns it,
// malloc'd, when it is ready; the caller frees it.
void learner_train_ask_state(learner_train *train);
typedef struct learner_state_bytes {
    uint64_t updates;
    uint64_t batches; // count of batches that this process had tried to learn from
    size_t length;
    uint8_t bytes[];
} learner_state_bytes;
learner_state_bytes *learner_train_take_state(learner_train *train);
// Returns the state at once; only when stopped.
learner_state_bytes *learner_train_state(const learner_train *train);

// Adam's step size at the share last set.
float learner_train_rate(const learner_train *train);
// Seconds since start that the thread spent updating and waiting for batches.
void learner_train_times(const learner_train *train, double *update_s, double *wait_s);
// Returns how many updates in a row were refused (learner_batch.refused says why); 0 is normal.
uint32_t learner_train_refused(const learner_train *train);
void learner_train_set_refused(learner_train *train, uint32_t updates); // before start

#endif // LEARNER_LEARNER_TRAIN_H
