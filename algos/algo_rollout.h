#ifndef ALGOS_ALGO_ROLLOUT_H
#define ALGOS_ALGO_ROLLOUT_H

#include "algos/algo_advantage.h"
#include "algos/algo_ops.h"
#include "algos/algo_pair.h"
#include "algos/algo_pg_numbers.h"
#include "algos/algo_rows.h"
#include "common/oct_reason.h"

// What algorithms that learn from rollouts of the newest policy share (PPO, A2C, TRPO): two
// networks, the constants of an update, its minibatches, and the value loss of a minibatch. How the
// policy learns is each algorithm's own. The state of such an algorithm begins with its
// algo_rollout. The order of events is at the head of algo_rollout.c.
//
// Threads: one user at a time. Owns: all memory, which init reserves; no later call allocates.
typedef struct algo_rollout {
    algo base;
    float discount, lambda;
    float ratio_max; // bound of importance weights
    float value_cost;
    float value_clip; // 0: no clipping
    bool scale_rewards;
    config_correction_name correction;
    uint32_t epochs, minibatches;

    algo_pair pair;
    oct_rng rng; // of the order of rows
    algo_reward_scale scale;
    algo_normaliser normaliser; // count 0: off

    // Constants of an update, by row of the batch. N rows have an action, M rows are only
    // bootstrapped from (algo_rows.h).
    algo_rows rows;
    uint32_t N_of[GROUP_SIZE_MAX]; // rows.N of each rank
    float *reward;                 // [N], scaled rewards
    float *v;                      // [N + M], values before the update
    float *target;                 // [N], what V learns
    float *advantage;              // [N]
    float *centre;                 // [N], log-probabilities of the policy that ratios refer to
    float *weight;                 // [N], importance weights that multiply the ratio's term
    uint32_t *order;               // [N], rows in the order of minibatches

    // The current minibatch of n rows.
    uint32_t n, n_max;      // n <= n_max
    uint32_t n_all;         // rows on all ranks
    float n_mean;           // mean rows per rank; sums over rows are divided by it
    const uint32_t *chosen; // [n] rows of the batch
    const float *x;         // [n][obs_count]: gathered, or rows.x if one minibatch has all rows
    float *gathered;        // [n_max][obs_count]
    float *dv;              // [n], the gradient at V

    // Copies for algo_rollout_undo.
    float *params_before;     // parameters and moments of both networks, the policy's first
    uint64_t steps_before[2]; // of the policy and of the value
    oct_rng rng_before;
    algo_reward_scale scale_before;
    float *raw_before; // both networks before algo_pair_enter; NULL without normalisation
} algo_rollout;

// algo_ops' make_spec. OCT_EINVAL also if observations cannot be normalised as configured.
OCT_CHECKED oct_err algo_rollout_make_spec(const config_experiment *config, policy_spec *spec,
                                           algo_wants *wants, oct_reason *why);
// Sets orthogonal first weights (nn_net.h). is_whole: the policy takes all rows of a batch at once
// instead of a minibatch. OCT_EINVAL: as algo_pair_init and algo_rows_init, or algo.epochs or
// algo.minibatches is 0; nothing was reserved.
OCT_CHECKED oct_err algo_rollout_init(algo_rollout *r, nn_context *context,
                                      const config_experiment *config, const policy_spec *spec,
                                      uint64_t seed, bool is_whole);
void algo_rollout_fini(algo_rollout *r);

// Begins an update: takes the batch's rows and computes the constants of the update: values,
// advantages, targets, centre and weight. Ratios refer to the policy that acted, or (Hilton, Cobbe
// and Schulman 2021, equation 6) to the policy before the update; in the latter case weight is the
// importance weight between those two, if algo.correction asks for it. Fills the numbers value and
// explained_variance.
//
// Errors, after which there is nothing to undo: those of algo_rows_take, on any rank; OCT_EINVAL if
// the ranks' numbers of rows differ so much that the largest minibatch has no room.
OCT_CHECKED oct_err algo_rollout_begin(algo_rollout *r, const algo_batch *batch, float *numbers);
// Ends an update that failed after begin: restores the state before it.
void algo_rollout_undo(algo_rollout *r);
// Ends an update that succeeded. priorities [B] (NULL: not wanted) become 0.
void algo_rollout_end(algo_rollout *r, const algo_batch *batch, float *priorities);

// Returns the number of minibatches in all epochs. algo_rollout_minibatch selects minibatch k = 0,
// 1, ..., in order; the first one of each epoch shuffles the rows.
uint32_t algo_rollout_minibatches(const algo_rollout *r);
void algo_rollout_minibatch(algo_rollout *r, uint32_t k);
// Computes the gradient of value_cost times the mean of (V - target)^2 / 2 over the minibatch on
// all ranks, and adds value_loss to sums. Returns the gradient's norm.
float algo_rollout_value(algo_rollout *r, algo_pg_sums *sums);

// The functions of these names in algo_ops.
algo_normaliser *algo_rollout_normaliser(algo *a);
void algo_rollout_set_projection(algo *a, const algo_projection *projection);
uint32_t algo_rollout_networks(algo *a, algo_network out[ALGO_NETWORKS_MAX]);
const float *algo_rollout_policy_params(const algo *a);
void algo_rollout_save(const algo *a, oct_writer *writer);
OCT_CHECKED oct_err algo_rollout_load(algo *a, oct_reader *reader);

#endif // ALGOS_ALGO_ROLLOUT_H
