#ifndef ALGOS_ALGO_NORMALISER_H
#define ALGOS_ALGO_NORMALISER_H

#include "algos/algo.h"
#include "common/oct_bytes.h"
#include "common/oct_columns.h"
#include "common/oct_config.h"
#include "group/group.h"
#include "nn/nn_net.h"

// Normalised observations: networks learn from (x - mean) / deviation, where the mean and the
// deviation of each number are those of all rows so far. What networks are outside an update always
// reads x itself: their first layer is brought to normalised observations for an update (enter),
// and back behind it (leave), so whoever takes, saves or publishes them needs no statistics.
// (algo_observed.h does otherwise.)
//
// The rows of an update count from the next one on, so that it begins with the policy that acted. A
// number that hardly varied is divided by a typical deviation of the others (oct_columns.h).
//
// Statistics of another run go along with the first layers that are taken from it (follow).
//
// Threads: one user at a time. Owns: its numbers, reserved by init; nothing allocates later.
typedef struct algo_normaliser {
    uint32_t count; // numbers of an observation
    // Networks whose first layer was taken from elsewhere, a bit for each in the order of algo_ops'
    // networks: they stay the functions that they are while statistics move, until these are
    // settled. First layers of a beginning are first weights for normalised observations.
    uint32_t keeps;
    oct_columns seen;      // before this update
    oct_columns next;      // with the rows of this update
    double *gathered;      // [GROUP_SIZE_MAX][1 + 2 count] of each rank: rows, mean, squares
    float *offset, *scale; // [count] in an update: (x - offset) scale
    void *block;
} algo_normaliser;

// Statistics of fewer rows are not settled: some four thousand batches of 256 from replay, which
// come from few episodes at first.
#define ALGO_NORMALISER_SETTLED 1000000u

// Whether what algo.normalise_observations asks for can be done: OCT_EINVAL, reason, where
// observations are no float32, the first layer is a convolution or is frozen.
OCT_CHECKED oct_err algo_normaliser_check(const oct_config *config, const policy_spec *spec,
                                          char *reason, size_t reason_size);

// Before the first rows: offset 0, scale 1.
void algo_normaliser_init(algo_normaliser *n, nn_context *context, uint32_t count);
void algo_normaliser_fini(algo_normaliser *n);

// x[rows][count] of this rank, of the batch of an update: counts them, with those of all ranks, for
// the next statistics, and normalises them by those of now, in place. x is finite.
void algo_normaliser_take(algo_normaliser *n, group *all, float *x, uint32_t rows);
// Normalises other rows by the same statistics, in place.
void algo_normaliser_apply(const algo_normaliser *n, float *x, uint32_t rows);
// The networks that are to stay the functions that they are when the next statistics become those
// of now: keeps until those of now are settled, then 0.
uint32_t algo_normaliser_kept(const algo_normaliser *n);
// The next statistics become those of now.
void algo_normaliser_renew(algo_normaliser *n);
// Those of now become from's, which are of as many numbers.
void algo_normaliser_follow(algo_normaliser *n, const algo_normaliser *from);

// params of net, whose first layer is dense and reads count numbers: from a function of x to the
// same one of what x is normalised to, and back. Only the first layer's change; both round them.
void algo_normaliser_enter(const algo_normaliser *n, const nn_net *net, float *params);
void algo_normaliser_leave(const algo_normaliser *n, const nn_net *net, float *params);

// raw[param_count] = what net has learned, as a function of observations as they are; net's is one
// of normalised ones. Returns raw.
const float *algo_normaliser_raw(const algo_normaliser *n, const nn_net *net, float *raw);
// weights = what projection, which is of what ships, makes of net; both read what n normalises to,
// or (NULL: raw is not used) observations as they are.
void algo_normaliser_project(const algo_normaliser *n, const algo_projection *projection,
                             const nn_net *net, float *raw, float *weights);

// keeps and the statistics of now, in so many bytes. read checks every number; OCT_EPROTO leaves n
// as it was.
size_t algo_normaliser_bytes(const algo_normaliser *n);
void algo_normaliser_save(const algo_normaliser *n, oct_writer *writer);
OCT_CHECKED oct_err algo_normaliser_read(algo_normaliser *n, oct_reader *reader);

#endif // ALGOS_ALGO_NORMALISER_H
