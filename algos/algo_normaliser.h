#ifndef ALGOS_ALGO_NORMALISER_H
#define ALGOS_ALGO_NORMALISER_H

#include "algos/algo.h"
#include "common/oct_bytes.h"
#include "common/oct_columns.h"
#include "common/oct_reason.h"
#include "config/config.h"
#include "nn/group/group.h"
#include "nn/nn_net.h"

// Normalised observations: networks learn from (x - mean) / deviation, with the mean and the
// deviation of each number over all rows so far.
//
// On-policy methods (algo_rollout.h) keep networks that read x itself between updates. For an
// update their first layers are converted to normalised observations (enter), and afterwards back
// (leave), so that code that takes, saves or publishes networks needs no statistics. Methods that
// learn from replay do otherwise (algo_observed.h).
//
// The rows of an update count from the next update on, so that an update begins with the policy
// that acted. A number that hardly varied is divided by a typical deviation of the others
// (oct_columns.h).
//
// If first layers are taken from another run (algo_transfer.h), its statistics come with them
// (follow).
//
// Threads: one user at a time. Owns: its numbers, which init reserves; no later call allocates.
typedef struct algo_normaliser {
    uint32_t count; // numbers in an observation; 0: normalisation is off
    // Bit i is set if the first layer of network i (in the order of algo_ops' networks) was taken
    // from elsewhere. Such a network stays the same function of x while the statistics move, until
    // these are settled. Other first layers start as weights for normalised observations.
    uint32_t keeps;
    oct_columns seen;      // the statistics that apply during this update
    oct_columns next;      // seen with the rows of this update
    double *gathered;      // [GROUP_SIZE_MAX][1 + 2 count], from each rank: rows, mean, squares
    float *offset, *scale; // [count], of this update: (x - offset) * scale
    void *block;
} algo_normaliser;

// Statistics of fewer rows are not settled: about four thousand batches of 256 from replay, which
// contain few episodes at first.
#define ALGO_NORMALISER_SETTLED 1000000u

// Checks that algo.normalise_observations is possible. OCT_EINVAL, reason: observations are not
// float32, the first layer is a convolution, or it is frozen.
OCT_CHECKED oct_err algo_normaliser_check(const config_experiment *config, const policy_spec *spec,
                                          oct_reason *why);

// Starts with offset 0 and scale 1.
void algo_normaliser_init(algo_normaliser *n, nn_context *context, uint32_t count);
void algo_normaliser_fini(algo_normaliser *n);

// Adds x[rows][count], this rank's rows of an update, and the rows of all other ranks to the next
// statistics, and normalises x in place with the current statistics. x is finite. A collective.
void algo_normaliser_take(algo_normaliser *n, group *all, float *x, uint32_t rows);
// Normalises other rows in place, with the current statistics.
void algo_normaliser_apply(const algo_normaliser *n, float *x, uint32_t rows);
// Returns the networks that must stay the same functions of x when the next statistics become
// current: keeps until the current ones are settled, then 0.
uint32_t algo_normaliser_kept(const algo_normaliser *n);
// The next statistics become the current ones.
void algo_normaliser_renew(algo_normaliser *n);
// Copies the current statistics of from, which has the same count.
void algo_normaliser_follow(algo_normaliser *n, const algo_normaliser *from);

// Converts params of net, whose first layer is dense and reads count numbers: enter turns a
// function of x into the same function of normalised x, leave does the reverse. Only the first
// layer changes; both round its weights.
void algo_normaliser_enter(const algo_normaliser *n, const nn_net *net, float *params);
void algo_normaliser_leave(const algo_normaliser *n, const nn_net *net, float *params);

// Sets raw[param_count] to the learned numbers of net, which reads normalised observations, as a
// function of x. Returns raw.
const float *algo_normaliser_raw(const algo_normaliser *n, const nn_net *net, float *raw);
// Sets weights to the projection of net. projection is of networks that read x; net and weights
// read what n normalises to, or x if n is NULL (then raw is not used).
void algo_normaliser_project(const algo_normaliser *n, const algo_projection *projection,
                             const nn_net *net, float *raw, float *weights);

// Saves keeps and the current statistics, algo_normaliser_bytes bytes. algo_normaliser_read checks
// every number; on OCT_EPROTO n is unchanged.
size_t algo_normaliser_bytes(const algo_normaliser *n);
void algo_normaliser_save(const algo_normaliser *n, oct_writer *writer);
OCT_CHECKED oct_err algo_normaliser_read(algo_normaliser *n, oct_reader *reader);

#endif // ALGOS_ALGO_NORMALISER_H
