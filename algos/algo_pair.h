#ifndef ALGOS_ALGO_PAIR_H
#define ALGOS_ALGO_PAIR_H

#include "algos/algo.h"
#include "algos/algo_head.h"
#include "algos/algo_normaliser.h"
#include "algos/algo_ops.h"
#include "common/oct_reason.h"
#include "nn/nn_saved.h"
#include "nn/nn_tangent.h"

// The two networks of policy gradient methods, which share no parameters: the policy, whose outputs
// are a distribution over actions (algo_head.h), and the value V(s), in fp32. Both read the same
// observations.
//
// Threads: one user at a time. Owns: both networks, which init reserves; no later call allocates,
// except algo_pair_set_projection.
typedef struct algo_pair {
    nn_trainer policy;
    nn_trainer value;
    algo_head head;
    // Offset and number of log deviations in the policy's parameters; 0 for a softmax.
    size_t deviation_at, deviation_count;
    float value_rate_ratio;        // the value's learning rate divided by the policy's
    algo_projection projection;    // project is NULL: none
    float *policy_weights;         // [params], the projected weights; NULL without a projection
    float *policy_raw;             // [params], what an update projects; NULL without a projection
    const algo_normaliser *inside; // normalises what the networks read; NULL: nothing does
    float *dy;                     // [policy_rows][action_count]
} algo_pair;

// Fills head and layers of the spec: a softmax for discrete actions, a Gaussian with separate log
// deviations for a box. OCT_EINVAL, reason: the networks do not fit the environment.
OCT_CHECKED oct_err algo_pair_make_spec(const config_experiment *config, policy_spec *spec,
                                        oct_reason *why);
// policy_rows and value_rows are the most rows in a forward of each network. All parameters begin
// as 0. OCT_EINVAL: spec is not from algo_pair_make_spec, or algo.initial_deviation is not above 0.
OCT_CHECKED oct_err algo_pair_init(algo_pair *pair, nn_context *context,
                                   const config_experiment *config, const policy_spec *spec,
                                   uint32_t policy_rows, uint32_t value_rows);
void algo_pair_fini(algo_pair *pair);
// Sets the deviation of every number of a Gaussian's action.
void algo_pair_set_deviation(algo_pair *pair, double deviation);
// Sets the first weights of both networks: orthogonal (nn_net.h), with rows of length sqrt 2 in
// hidden layers, 0.01 in the policy's last layer, so that all actions begin about equally likely,
// and 1 in the value's last layer. deviation as in algo_pair_set_deviation.
void algo_pair_orthogonalise(algo_pair *pair, oct_rng *rng, double deviation);
// Like algo_set_projection.
void algo_pair_set_projection(algo_pair *pair, const algo_projection *projection);
// Must follow every change of the policy's parameters, before the next forward. Clamps log
// deviations to the range where they have an effect.
void algo_pair_changed(algo_pair *pair);

// algo_pair_enter converts both networks to observations that n normalises, for an update.
// algo_pair_leave converts them back to observations as they are, and the next statistics become
// the current ones. A network is converted back with the next statistics, or, if
// algo_normaliser_kept names it, with the statistics with which it learned.
void algo_pair_enter(algo_pair *pair, const algo_normaliser *n);
void algo_pair_leave(algo_pair *pair, algo_normaliser *n);

// Computes log pi(done | x) and the entropy of each row.
void algo_pair_forward(algo_pair *pair, const float *x, algo_done done, float *log_pi,
                       float *entropy);
// Computes the policy's gradient, at the last forward, of sum over rows of dlog_pi[row] *
// log_pi[row] + dentropy * entropy[row]. Returns its norm.
float algo_pair_backward(algo_pair *pair, const float *dlog_pi, float dentropy);

// Copies the policy's distributions of the last forward to kept[rows + 1][action_count]; the log
// deviations follow the rows.
void algo_pair_keep(const algo_pair *pair, float *kept);
// Returns the mean over rows of KL(kept || the distributions of the last forward).
double algo_pair_kl(const algo_pair *pair, const float *kept);
// out = F direction, both in the order of the policy's parameters. F is the Fisher matrix of the
// policy at the last forward: the mean over its rows of J' M J, with the Jacobian J of the outputs
// and M of algo_head_fisher. Frozen parameters are left out of out; direction must not move them
// either. tangent belongs to the policy's tape.
void algo_pair_fisher(algo_pair *pair, nn_tangent *tangent, const float *direction, float *out);

uint32_t algo_pair_networks(algo_pair *pair, algo_network out[ALGO_NETWORKS_MAX]);

void algo_pair_save(const algo_pair *pair, oct_writer *writer);
// As in nn_saved.h: read checks, apply copies.
typedef struct algo_pair_view {
    nn_trainer_view policy, value;
} algo_pair_view;
OCT_CHECKED oct_err algo_pair_read(algo_pair_view *out, const algo_pair *pair, oct_reader *reader);
void algo_pair_apply(algo_pair *pair, const algo_pair_view *view);

#endif // ALGOS_ALGO_PAIR_H
