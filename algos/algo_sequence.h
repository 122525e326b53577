#ifndef ALGOS_ALGO_SEQUENCE_H
#define ALGOS_ALGO_SEQUENCE_H

#include "algos/algo_ops.h"
#include "algos/algo_pair.h"
#include "algos/algo_pg_numbers.h"
#include "algos/algo_rows.h"
#include "common/oct_reason.h"

// What algorithms share that take one step of policy gradient per batch of sequences (REINFORCE,
// V-trace): two networks, the ratios to the policies that acted, the value loss and the policy
// loss. Targets and advantages are each algorithm's own. The state of such an algorithm begins with
// its algo_sequence.
//
// A gradient consists of these calls: begin, v, then the algorithm fills target and advantage, then
// value, policy and end. They change no parameter, so a failed gradient leaves nothing to undo.
// step applies the gradient.
//
// Threads: one user at a time. Owns: all memory, which init reserves; no later call allocates.
typedef struct algo_sequence {
    algo base;
    float ratio_max; // bound of the importance weight
    algo_entropy_cost entropy_cost;
    float value_cost;
    float grad_norm_max; // 0: no clipping
    bool normalise_advantage;
    algo_pair pair;

    // The current update, by row that has an action.
    algo_rows rows;
    uint32_t n_all; // rows of all ranks
    float n_mean;   // mean rows per rank; sums over rows are divided by it
    algo_pg_sums sums;
    float *log_pi;                 // [N]
    float *entropy;                // [N]
    float *ratio;                  // [N], pi / mu
    float *target;                 // [N], what V learns
    float *advantage;              // [N]
    float *error;                  // [N], target - V
    float *dlog_pi;                // [N], the gradient at log pi
    float *dv;                     // [N], the gradient at V
    float value_norm, policy_norm; // of the gradients
} algo_sequence;

// Wants sequences of algo.sequence_steps rows, each once; stride is the number of rows between the
// beginnings of two, 0: one sequence per episode. The rest as algo_pair_make_spec.
OCT_CHECKED oct_err algo_sequence_make_spec(const config_experiment *config, uint32_t stride,
                                            policy_spec *spec, algo_wants *wants, oct_reason *why);
// All parameters begin as 0. OCT_EINVAL: as algo_rows_init and algo_pair_init; nothing was
// reserved.
OCT_CHECKED oct_err algo_sequence_init(algo_sequence *s, nn_context *context,
                                       const config_experiment *config, const policy_spec *spec);
void algo_sequence_fini(algo_sequence *s);

// Takes the batch's rows and computes log_pi, entropy and ratio. Errors as algo_rows_take, of any
// rank.
OCT_CHECKED oct_err algo_sequence_begin(algo_sequence *s, const algo_batch *batch);
// Returns V of the rows and of the observations to bootstrap from, [N + M]; valid until
// algo_sequence_value.
const float *algo_sequence_v(algo_sequence *s);
// Computes the gradient of value_cost times the mean of (V - target)^2 / 2. Fills the numbers
// value, explained_variance and grad_norm.
void algo_sequence_value(algo_sequence *s, const float *v, float *numbers);
// Computes the gradient of the mean of -min(ratio_max, ratio) advantage log pi - entropy_cost
// entropy, in which ratio and advantage are constants. With normalise_advantage the advantages are
// standardised first. Fills the number policy_grad_norm.
void algo_sequence_policy(algo_sequence *s, float *numbers);
// Fills all other numbers, and priorities [B] (NULL: not wanted) with 0. OCT_EINTERNAL: a number is
// not finite.
OCT_CHECKED oct_err algo_sequence_end(algo_sequence *s, const algo_batch *batch, float *priorities,
                                      float *numbers);
// Steps both networks along the last gradients, each multiplied by its scale.
void algo_sequence_step(algo_sequence *s, float learning_rate, float value_scale,
                        float policy_scale);

// The functions of these names in algo_ops.
void algo_sequence_set_projection(algo *a, const algo_projection *projection);
void algo_sequence_share(algo *a, algo_sharing *s);
uint32_t algo_sequence_networks(algo *a, algo_network out[ALGO_NETWORKS_MAX]);
const float *algo_sequence_policy_params(const algo *a);

#endif // ALGOS_ALGO_SEQUENCE_H
