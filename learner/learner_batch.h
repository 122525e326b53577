#ifndef LEARNER_LEARNER_BATCH_H
#define LEARNER_LEARNER_BATCH_H

#include "algos/algo.h"
#include "learner/learner_versions.h"
#include "proto/wire_replay.h"

// One training batch: filled by the loop thread from a sample reply, learned from by the training
// thread, and back with the new priorities.
//
// Threads: one at a time (passed through oct_ring). Owns: its columns, reserved by create.
typedef struct learner_batch {
    algo_batch view; // what algo_update reads: points into the columns below; shapes as there
    uint32_t obs_count;
    uint32_t action_bytes;
    uint32_t extra_dim;
    float obs_unit;                  // policy_byte_unit: what a byte of 1 is in obs and next
    uint64_t incarnation;            // of the replay it came from
    float *probability;              // [B] of each window, of having been drawn
    uint64_t *key;                   // [B]
    float *priority;                 // [B] written by the training thread
    float numbers[ALGO_NUMBERS_MAX]; // written by the training thread
    uint64_t updates;                // after this one
    bool learned;                    // from this one
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

// Of B windows: T rows of sequences, 0: n-step.
learner_batch *learner_batch_create(const policy_spec *spec, uint32_t B, uint32_t T);
void learner_batch_destroy(learner_batch *batch);                            // NULL is a no-op
size_t learner_batch_bytes(const policy_spec *spec, uint32_t B, uint32_t T); // of its columns
// The exponent of importance weights when a share of the run's budget, 0 to 1, is spent: of 1/p,
// annealed linearly (Schaul et al. 2016, beta); 0 where rows are not drawn by priority.
double learner_importance_exponent(const oct_config *config, double share);

// Windows first .. first + B - 1 of a sample reply, u8 observations as numbers, in units of
// policy_byte_unit (docs/internals/decisions/0055-bytes-are-learned-from-divided.md); importance
// weights w = (size p)^-exponent / max w (Schaul et al. 2016, section 3.4). OCT_EPROTO: the reply's
// shapes are not the batch's, or an action is none; the batch then holds nothing useful.
OCT_CHECKED oct_err learner_batch_fill(learner_batch *batch, const policy_spec *spec,
                                       const wire_sampled *sampled, uint32_t first,
                                       double importance_exponent);

// Windows first .. first + count - 1 of a sample reply as windows at .. at + count - 1: all of them
// but their weights and the batch's incarnation. OCT_EPROTO: as of learner_batch_fill.
OCT_CHECKED oct_err learner_batch_take(learner_batch *batch, const policy_spec *spec, uint32_t at,
                                       const wire_sampled *sampled, uint32_t first, uint32_t count);
// Importance weights of all its windows, of a table of size windows, by their probabilities.
void learner_batch_weigh(learner_batch *batch, uint64_t size, double importance_exponent);

// The windows of part as windows at .. at + part B - 1 of whole, which has the same spec and T.
void learner_batch_place(learner_batch *whole, uint32_t at, const learner_batch *part);

// Window from of part as window at of whole, which may be the same one, with the same spec and T:
// all of it but its weight.
void learner_batch_copy(learner_batch *whole, uint32_t at, const learner_batch *part,
                        uint32_t from);
// The version of the oldest policy that acted in a window; UINT32_MAX: it has no action, or is an
// n-step window, which does not say.
uint32_t learner_batch_version(const learner_batch *batch, uint32_t window);
// How many versions before newest the actions are (learner_versions_lag), mean and most; NaN: none
// says.
void learner_batch_lag(const learner_batch *batch, const learner_versions *versions,
                       uint64_t newest, double *mean, double *most);

// Observations to try a policy on, as the environment gave them: at most rows_max of those that
// have an action, spread evenly over the batch's windows. out: [rows_max][obs_count]. Gives how
// many.
uint32_t learner_batch_probe(const learner_batch *batch, uint32_t rows_max, float *out);

#endif // LEARNER_LEARNER_BATCH_H
