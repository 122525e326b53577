#ifndef ALGOS_ALGO_OBSERVED_H
#define ALGOS_ALGO_OBSERVED_H

#include "algos/algo_normaliser.h"
#include "algos/algo_ops.h"

// What algorithms that learn from replay (D4PG, DDPG, TD3, SAC) observe: batches as they are or,
// with algo.normalise_observations, minus the mean and divided by the deviation of all obs rows of
// batches so far (RSNorm of SimBa, Lee et al. 2025). Their networks read normalised observations
// between updates, too; the statistics move with each update, by less and less. Policies that leave
// the algorithm read x itself: algo_observed_policy.
//
// Threads: the training thread. Owns: its numbers and rows, which init reserves.
typedef struct algo_observed {
    algo_normaliser normaliser; // count 0: off
    float *obs, *next;          // [rows_max][count], normalised
    float *raw;                 // [params], the policy that reads x itself
} algo_observed;

// policy has passed algo_normaliser_check.
void algo_observed_init(algo_observed *o, nn_context *context, const config_experiment *config,
                        const policy_spec *policy);
void algo_observed_fini(algo_observed *o);

// Returns the batch with its observations normalised by the statistics so far, which stay the same
// until algo_observed_renew. obs and next are finite. A collective of the group.
algo_batch algo_observed_take(algo_observed *o, group *all, const algo_batch *batch);
// Ends the update: the batch's rows enter the statistics. The networks that algo_normaliser_kept
// names stay the same functions of x.
void algo_observed_renew(algo_observed *o, algo *a);

// These three are algo_ops' normaliser, algo_network's inside and algo_ops' policy_params.
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
// Sets weights to the projection of net's parameters; both read observations as net does.
void algo_observed_project(algo_observed *o, const algo_projection *projection, const nn_net *net,
                           float *weights);

// Saves and reads the normaliser's state; no bytes if normalisation is off.
size_t algo_observed_bytes(const algo_observed *o);
void algo_observed_save(const algo_observed *o, oct_writer *writer);
OCT_CHECKED oct_err algo_observed_read(algo_observed *o, oct_reader *reader);

#endif // ALGOS_ALGO_OBSERVED_H
