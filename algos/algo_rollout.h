#ifndef ALGOS_ALGO_ROLLOUT_H
#define ALGOS_ALGO_ROLLOUT_H

#include "algos/algo_advantage.h"
#include "algos/algo_ops.h"
#include "algos/algo_pair.h"
#include "algos/algo_pg_numbers.h"
#include "algos/algo_rows.h"

// What algorithms that learn from rollouts of the newest policy share (PPO, A2C, TRPO): their two
// networks, what is constant during an update, its minibatches, and the values' loss on one. Such
// an algorithm's state begins with the algo_rollout; how the policy learns is its own.
//
// Threads: one user at a time. Owns: all memory, reserved by init; nothing allocates later.
typedef struct algo_rollout {
    algo base;
    float discount, lambda;
    float ratio_max;
    float value_cost;
    float value_clip; // 0: off
    bool scale_rewards;
    oct_correction_name correction;
    uint32_t epochs, minibatches;

    algo_pair pair;
    oct_rng rng; // of the order of rows
    algo_reward_scale scale;
    algo_normaliser normaliser; // count 0: off

    // Of an update, by row of its batch.
    algo_rows rows;
    uint32_t N_of[GROUP_SIZE_MAX]; // of each rank
    float *reward;                 // [N]
    float *v;                      // [N + M] before the update
    float *target;                 // [N]
    float *advantage;              // [N]
    float *centre;                 // [N] log-probabilities that ratios are to
    float *weight;                 // [N] importance weights beside the ratio
    uint32_t *order;               // [N]

    // Of a minibatch of n rows, by row of it.
    uint32_t n, n_max;
    uint32_t n_all;         // of all ranks
    float n_mean;           // of a rank: what sums over rows are divided by
    const uint32_t *chosen; // [n] rows of the batch
    const float *x;         // [n][obs_count]: gathered, or rows.x where one minibatch has all rows
    float *gathered;        // [n_max][obs_count]
    float *dv;              // [n]

    // What an update that fails puts back.
    float *params_before; // parameters and moments of both networks
    uint64_t steps_before[2];
    oct_rng rng_before;
    algo_reward_scale scale_before;
    float *raw_before; // parameters of both networks, of raw observations
} algo_rollout;

// As algo_ops' make_spec; OCT_EINVAL, too, where observations cannot be normalised.
OCT_CHECKED oct_err algo_rollout_make_spec(const oct_config *config, policy_spec *spec,
                                           algo_wants *wants, char *reason, size_t reason_size);
// First weights are orthogonal (nn_net.h). is_whole: the policy takes all rows of a batch at once,
// not those of a minibatch. OCT_EINVAL: as algo_pair_init and algo_rows_init; nothing was reserved.
OCT_CHECKED oct_err algo_rollout_init(algo_rollout *r, nn_context *context,
                                      const oct_config *config, const policy_spec *spec,
                                      uint64_t seed, bool is_whole);
void algo_rollout_fini(algo_rollout *r);

// The beginning of an update: takes the batch's rows and computes what is constant in it: values,
// advantages and targets; centre and weight (Hilton, Cobbe and Schulman 2021, equation 6): ratios
// are to the policy that acted, or to the one before the update with the importance weight from the
// one to the other. numbers: value and explained_variance. Errors as algo_rows_take, and OCT_EINVAL
// where a rank of a group has fewer rows than there are minibatches; then nothing is to be undone.
OCT_CHECKED oct_err algo_rollout_begin(algo_rollout *r, const algo_batch *batch, float *numbers);
// The end of one that failed after begin: everything is as it was.
void algo_rollout_undo(algo_rollout *r);
// The end of one that did not. priorities [B], NULL: not wanted.
void algo_rollout_end(algo_rollout *r, const algo_batch *batch, float *priorities);

// How many minibatches the epochs have; and number k of them, from 0 on, in order: the first of an
// epoch brings the rows into a new order.
uint32_t algo_rollout_minibatches(const algo_rollout *r);
void algo_rollout_minibatch(algo_rollout *r, uint32_t k);
// Of the minibatch on all ranks: the gradient of value_cost times the mean of (V - target)^2 / 2.
// Returns its norm.
float algo_rollout_value(algo_rollout *r, algo_pg_sums *sums);

// algo_ops' functions of the same names.
algo_normaliser *algo_rollout_normaliser(algo *a);
void algo_rollout_set_projection(algo *a, const algo_projection *projection);
uint32_t algo_rollout_networks(algo *a, algo_network out[ALGO_NETWORKS_MAX]);
const float *algo_rollout_policy_params(const algo *a);
void algo_rollout_save(const algo *a, oct_writer *writer);
OCT_CHECKED oct_err algo_rollout_load(algo *a, oct_reader *reader);

#endif // ALGOS_ALGO_ROLLOUT_H
