#ifndef LEARNER_LEARNER_BATCH_H
#define LEARNER_LEARNER_BATCH_H

#include "algos/algo.h"
#include "learner/learner_versions.h"
#include "proto/wire_replay.h"

// One training batch: B windows, filled from sample replies on the loop thread and learned from on
// the training thread, which adds the new priorities.
//
// Threads: one at a time (passed through oct_ring). Owns: its columns, reserved by create.
typedef struct learner_batch {
    algo_batch view; // what algo_update reads: points into the columns below; shapes as there
    uint32_t number; // index among the batches of its learner_batches
    uint32_t obs_count;
    uint32_t action_bytes;
    uint32_t extra_dim;
    float obs_unit;                  // policy_byte_unit: the value of a byte of 1 in obs and next
    float *probability;              // [B] with which each window was drawn
    uint64_t *key;                   // [B] of each window in its replay
    uint8_t *origin;                 // [B] which replay that is, as learner_batches.h says
    float *priority;                 // [B] written by the training thread
    float numbers[ALGO_NUMBERS_MAX]; // written by the training thread
    uint64_t updates;                // of the algorithm after this batch
    bool learned;                    // the update was made
    oct_err refused;                 // why the update was refused; OCT_OK: it was not
    float *obs;
    float *next; // n-step only, as discount
    uint8_t *action;
    float *reward;
    float *discount;
    uint8_t *flags; // sequences only, as version
    uint32_t *version;
    float *weight;
    float *extra;
} learner_batch;

// Returns T of an algorithm's windows: rows of a sequence, 0 for n-step windows.
uint32_t learner_batch_rows(const algo_wants *wants);
learner_batch *learner_batch_create(const policy_spec *spec, uint32_t B, uint32_t T);
void learner_batch_destroy(learner_batch *batch);                            // NULL is a no-op
size_t learner_batch_bytes(const policy_spec *spec, uint32_t B, uint32_t T); // of its columns
// Returns the exponent of importance weights when `share` of the run's budget is spent, 0 to 1:
// annealed linearly (Schaul et al. 2016, beta); 0 where windows are not drawn by priority.
double learner_importance_exponent(const config_experiment *config, double share);

// Copies windows first .. first + count - 1 of a sample reply to windows at .. at + count - 1, all
// of them but their weights. u8 observations become numbers in units of policy_byte_unit
// (docs/internals/decisions/0055-bytes-are-learned-from-divided.md). OCT_EPROTO: the reply's shapes
// are not the batch's, or an action is invalid; the windows then hold nothing useful.
OCT_CHECKED oct_err learner_batch_take(learner_batch *batch, const policy_spec *spec, uint32_t at,
                                       const wire_sampled *sampled, uint32_t first, uint32_t count);
// Computes the importance weights of windows first .. first + count - 1 from their probabilities in
// a table of size windows: w = (size p)^-exponent / max w (Schaul et al. 2016, section 3.4).
void learner_batch_weigh(learner_batch *batch, uint32_t first, uint32_t count, uint64_t size,
                         double exponent);
// Copies window from of part, all of it but its weight, to window at of whole. Both have the same
// spec and T, and may be the same batch.
void learner_batch_copy(learner_batch *whole, uint32_t at, const learner_batch *part,
                        uint32_t from);
// Returns the oldest policy version that acted in a window; UINT32_MAX for an n-step window, which
// has no versions, and for a window without actions.
uint32_t learner_batch_version(const learner_batch *batch, uint32_t window);
// Computes by how many versions the actions of the first `windows` windows are older than newest
// (learner_versions_lag): mean and maximum, NaN where there are no versions.
void learner_batch_lag(const learner_batch *batch, uint32_t windows,
                       const learner_versions *versions, uint64_t newest, double *mean,
                       double *most);

// Copies observations to try a policy on, as the environment gave them, to out
// [rows_max][obs_count]: at most rows_max of the rows that have an action, spread evenly over the
// windows. Returns their number.
uint32_t learner_batch_probe(const learner_batch *batch, uint32_t rows_max, float *out);

#endif // LEARNER_LEARNER_BATCH_H
