#ifndef ALGOS_ALGO_OBSERVED_H
#define ALGOS_ALGO_OBSERVED_H

#include "algos/algo_normaliser.h"
#include "algos/algo_ops.h"

// What algorithms that learn from replay (D4PG, DDPG, TD3, SAC) observe: their batches as they are
// or, with algo.normalise_observations, less the mean and divided by the deviation of all rows of
// obs that batches had so far (RSNorm of SimBa, Lee et al. 2025). The networks are functions
// of normalised observations, between updates too; the statistics move with each update, by ever
// less. What ships reads observations as they are: algo_observed_policy.
//
// Threads: the training thread. Owns: its numbers and rows, reserved by init.
typedef struct algo_observed {
    algo_normaliser normaliser; // count 0: off
    float *obs, *next;          // [rows_max][count], normalised
    float *raw;                 // [params], a policy that reads observations as they are
} algo_observed;

// policy has passed algo_normaliser_check.
void algo_observed_init(algo_observed *o, nn_context *context, const oct_config *config,
                        const policy_spec *policy);
void algo_observed_fini(algo_observed *o);

// The batch with its observations normalised by the statistics so far, which stay what they are
// until algo_observed_renew. A collective of the group. obs and next are finite.
algo_batch algo_observed_take(algo_observed *o, group *all, const algo_batch *batch);
// The update is over: the statistics of the batch count, too. Networks that algo_normaliser_kept
// names stay the functions of observations that they are.
void algo_observed_renew(algo_observed *o, algo *a);

// As algo_ops' functions.
static inline algo_normaliser *
algo_observed_normaliser(algo_observed *o)
{
    return o->normaliser.count > 0 ? &o->normaliser : NULL;
}
static inline const algo_normaliser *
algo_observed_inside(const algo_observed *o)
{
    return o->normaliser.count > 0 ? &o->normaliser : NULL;
}
const float *algo_observed_policy(const algo_observed *o, const nn_net *policy);
// weights = what projection makes of params, both as net reads observations.
void algo_observed_project(algo_observed *o, const algo_projection *projection, const nn_net *net,
                           float *weights);

// State: as algo_normaliser's; no bytes where it is off.
size_t algo_observed_bytes(const algo_observed *o);
void algo_observed_save(const algo_observed *o, oct_writer *writer);
OCT_CHECKED oct_err algo_observed_read(algo_observed *o, oct_reader *reader);

#endif // ALGOS_ALGO_OBSERVED_H
