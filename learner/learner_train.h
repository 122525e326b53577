#ifndef LEARNER_LEARNER_TRAIN_H
#define LEARNER_LEARNER_TRAIN_H

#include "learner/learner_average.h"
#include "learner/learner_batch.h"
#include "learner/learner_group.h"
#include "quantizer/quantizer_observed.h"
#include "quantizer/quantizer_stage.h"

// The training thread: takes ready batches, updates, hands snapshots to the quantizer stage. Where
// the algorithm explores by noise in its parameters, a snapshot has that noise, but for the first
// and every LEARNER_NOISY_PERIOD-th after it, which are the policy itself, to be evaluated. Each is
// for the actors of one sample, by turns (docs/internals/decisions/0013-noisy-policies.md).
//
// Threads: the loop thread calls everything here; the training thread runs inside (and is the only
// caller of the algorithm after start). notify is called on it and must only wake the loop.
// Owns: the algorithm (taken). Batches pass through.
#define LEARNER_NOISY_PERIOD 8u
typedef struct learner_train learner_train;

typedef void (*learner_notify_fn)(void *arg);

// stage is borrowed and must outlive the thread; ready and done have room for batches_max.
learner_train *learner_train_create(algo *take, const oct_config *config, quantizer_stage *stage,
                                    uint32_t batches_max, learner_notify_fn notify, void *arg);
// Before start: batches that were learned from are counted in observed (borrowed, the training
// thread's from start on; NULL: nothing is), policies are published with its scaling, and the state
// has it at its end.
void learner_train_observe(learner_train *train, quantizer_observed *observed);
// Before start: what is published is the average of the parameters over updates (borrowed, the
// training thread's from start on; NULL: the parameters). The state has it.
void learner_train_average(learner_train *train, learner_average *average);
// The end of such a state, behind what algo_load has read. Where the run had no average, or did not
// scale, that is as it was. Each may be NULL: it is passed over. OCT_EPROTO: of another policy or
// of other observations.
OCT_CHECKED oct_err learner_train_load(learner_average *average, quantizer_observed *observed,
                                       oct_reader *reader);
// Before start: updates are those of a group (borrowed, the training thread's from start on; NULL:
// there is none), which begins when the thread does. T as of algo_batch.
void learner_train_share(learner_train *train, learner_group *lg, const policy_spec *spec,
                         uint32_t T);
OCT_CHECKED oct_err learner_train_start(learner_train *train);
// Lock-step (run.deterministic): versions are published only when they are ordered, each one.
// anew: as the first of a process that goes on from a checkpoint would be.
void learner_train_order(learner_train *train, bool anew);
// Ends the thread after the update in work. The algorithm may be read again from here on.
void learner_train_stop(learner_train *train);
// After stop: what was learned since the last policy without noise is published, too, whatever the
// stage's budget says. Returns when the stage is done with it.
void learner_train_publish_last(learner_train *train);
void learner_train_destroy(learner_train *train); // NULL is a no-op; stopped

void learner_train_put(learner_train *train, learner_batch *batch);
learner_batch *learner_train_take(learner_train *train); // learned from, or NULL
// Samples of a noisy policy that are acted with: bit s for sample s; none: as if it were the first.
void learner_train_set_samples(learner_train *train, uint64_t samples);
// Of the environments, so far: told with what is published.
void learner_train_set_env_steps(learner_train *train, uint64_t env_steps);
// How much of the run's budget is spent, 0 to 1: what schedules go by.
void learner_train_set_share(learner_train *train, double share);
uint32_t learner_train_ready(const learner_train *train); // batches waiting

// Asks for the algorithm's state between two updates; learner_train_take_state gives it when it is
// there: malloc'd, the caller frees it.
void learner_train_ask_state(learner_train *train);
typedef struct learner_state_bytes {
    uint64_t updates;
    uint64_t batches; // that this process had tried to learn from
    size_t length;
    uint8_t bytes[];
} learner_state_bytes;
learner_state_bytes *learner_train_take_state(learner_train *train);
// The same at once; only when stopped.
learner_state_bytes *learner_train_state(const learner_train *train);

// Adam's step size at the share last set.
float learner_train_rate(const learner_train *train);
// Seconds since start that the thread spent updating and waiting for batches.
void learner_train_times(const learner_train *train, double *update_s, double *wait_s);
// Updates refused (learner_batch.refused says why), in a row; 0 is normal.
uint32_t learner_train_refused(const learner_train *train);
void learner_train_set_refused(learner_train *train, uint32_t updates); // before start

#endif // LEARNER_LEARNER_TRAIN_H
