#ifndef ALGOS_ALGO_SEQUENCE_H
#define ALGOS_ALGO_SEQUENCE_H

#include "algos/algo_ops.h"
#include "algos/algo_pair.h"
#include "algos/algo_pg_numbers.h"
#include "algos/algo_rows.h"

// What algorithms share that take one step of policy gradient from a batch of sequences (REINFORCE,
// V-trace): their two networks, the ratios to the policies that acted, the loss of the values to
// targets and that of the policy by advantages. Such an algorithm's state begins with the
// algo_sequence; targets and advantages are its own.
//
// Threads: one user at a time. Owns: all memory, reserved by init; nothing allocates later.
typedef struct algo_sequence {
    algo base;
    float ratio_max;
    algo_entropy_cost entropy_cost;
    float value_cost;
    float grad_norm_max;
    bool normalise_advantage;
    algo_pair pair;

    // Of an update, by row that has an action.
    algo_rows rows;
    uint32_t n_all; // rows of all ranks
    float n_mean;   // of a rank: what sums over rows are divided by
    algo_pg_sums sums;
    float *log_pi;                 // [N]
    float *entropy;                // [N]
    float *ratio;                  // [N], pi / mu
    float *target;                 // [N] of V
    float *advantage;              // [N]
    float *error;                  // [N], target - V
    float *dlog_pi;                // [N]
    float *dv;                     // [N]
    float value_norm, policy_norm; // of the gradients
} algo_sequence;

// Wants sequences of algo.sequence_steps rows, each once, that begin stride rows after one another;
// 0: one for each episode. Otherwise as algo_pair_make_spec.
OCT_CHECKED oct_err algo_sequence_make_spec(const oct_config *config, uint32_t stride,
                                            policy_spec *spec, algo_wants *wants, char *reason,
                                            size_t reason_size);
// All parameters begin as zero. OCT_EINVAL: as algo_rows_init and algo_pair_init; nothing was
// reserved.
OCT_CHECKED oct_err algo_sequence_init(algo_sequence *s, nn_context *context,
                                       const oct_config *config, const policy_spec *spec);
void algo_sequence_fini(algo_sequence *s);

// A gradient is begin, the targets and advantages by the algorithm, value, policy, end; nothing is
// to be undone. step applies it.

// Takes the batch's rows; log_pi, entropy and ratio. Errors as algo_rows_take, of any rank.
OCT_CHECKED oct_err algo_sequence_begin(algo_sequence *s, const algo_batch *batch);
// V of the rows and of the observations to bootstrap from, [N + M]; valid until value.
const float *algo_sequence_v(algo_sequence *s);
// The gradient of value_cost times the mean of (V - target)^2 / 2. numbers: value,
// explained_variance and grad_norm.
void algo_sequence_value(algo_sequence *s, const float *v, float *numbers);
// The gradient of the mean of -min(ratio_max, ratio) advantage log pi - entropy_cost entropy; ratio
// and advantage are constants to it. Advantages are standardised first where normalise_advantage
// says so. numbers: policy_grad_norm.
void algo_sequence_policy(algo_sequence *s, float *numbers);
// All other numbers, and priorities [B] (NULL: not wanted). OCT_EINTERNAL: a number is not finite.
OCT_CHECKED oct_err algo_sequence_end(algo_sequence *s, const algo_batch *batch, float *priorities,
                                      float *numbers);
// The networks' steps along the last gradients, scaled first.
void algo_sequence_step(algo_sequence *s, float learning_rate, float value_scale,
                        float policy_scale);

// algo_ops' functions of the same names.
void algo_sequence_set_projection(algo *a, const algo_projection *projection);
void algo_sequence_share(algo *a, algo_sharing *s);
uint32_t algo_sequence_networks(algo *a, algo_network out[ALGO_NETWORKS_MAX]);
const float *algo_sequence_policy_params(const algo *a);

#endif // ALGOS_ALGO_SEQUENCE_H
