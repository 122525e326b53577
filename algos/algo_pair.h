#ifndef ALGOS_ALGO_PAIR_H
#define ALGOS_ALGO_PAIR_H

#include "algos/algo.h"
#include "algos/algo_head.h"
#include "algos/algo_normaliser.h"
#include "algos/algo_ops.h"
#include "nn/nn_state.h"
#include "nn/nn_tangent.h"

// The two networks of methods of policy gradient, which share nothing: the policy, whose outputs
// are a distribution over actions (algo_head.h), and the value V(s), which sees what the policy
// sees, in fp32.
//
// Threads: one user at a time. Owns: both networks, reserved by init; nothing allocates later.
typedef struct algo_pair {
    nn_trainer policy;
    nn_trainer value;
    algo_head head;
    size_t deviation_at, deviation_count; // in the policy's block; 0 for softmax
    float value_rate_ratio;               // the value's learning rate by the policy's
    algo_projection projection;           // none: project is NULL
    float *policy_weights;                // [params], of the projection, else NULL
    float *policy_raw;                    // [params], what is projected in an update
    const algo_normaliser *inside;        // params are of what it normalises to; NULL: of raw ones
    const float *y;                       // the policy's outputs of the last forward
    float *dy;                            // [policy_rows][action_count]
} algo_pair;

// The spec's head and layers: a softmax for discrete actions, a Gaussian with deviations of its own
// for a box. OCT_EINVAL, reason: the networks do not fit the environment.
OCT_CHECKED oct_err algo_pair_make_spec(const oct_config *config, policy_spec *spec, char *reason,
                                        size_t reason_size);
// For so many rows at most in a forward of each. All parameters begin as zero. OCT_EINVAL: spec is
// not algo_pair_make_spec's, or algo.initial_deviation is none.
OCT_CHECKED oct_err algo_pair_init(algo_pair *pair, nn_context *context, const oct_config *config,
                                   const policy_spec *spec, uint32_t policy_rows,
                                   uint32_t value_rows);
void algo_pair_fini(algo_pair *pair);
// Of every number of an action of a Gaussian.
void algo_pair_set_deviation(algo_pair *pair, double deviation);
// First weights of both: orthogonal (nn_net.h), with rows of length sqrt 2 in hidden layers, 0.01
// in the policy's last one, so that all actions begin about as likely as each other, and 1 in the
// value's. deviation: as above.
void algo_pair_orthogonalise(algo_pair *pair, oct_rng *rng, double deviation);
// As algo_set_projection.
void algo_pair_set_projection(algo_pair *pair, const algo_projection *projection);
// The policy's parameters were written: to be called before the next forward. Brings deviations
// back to where they count.
void algo_pair_changed(algo_pair *pair);

// Both networks, from now on of observations that n normalises; and of raw ones again, behind an
// update: seen through the next statistics, which become those of now, but where
// algo_normaliser_kept names them through the ones that they learned with.
void algo_pair_enter(algo_pair *pair, const algo_normaliser *n);
void algo_pair_leave(algo_pair *pair, algo_normaliser *n);

// log pi(done | x) and the entropy of each row.
void algo_pair_forward(algo_pair *pair, const float *x, algo_done done, uint32_t rows,
                       float *log_pi, float *entropy);
// Of the last forward: the policy's gradient of sum over rows of dlog_pi[row] * log_pi[row] +
// dentropy * entropy[row]. Returns its norm.
float algo_pair_backward(algo_pair *pair, algo_done done, uint32_t rows, const float *dlog_pi,
                         float dentropy);

// Of the last forward, a copy of the policy's distributions: kept[rows + 1][action_count], the log
// deviations behind the rows.
void algo_pair_keep(const algo_pair *pair, uint32_t rows, float *kept);
// Mean over rows of KL(kept || those of the last forward).
double algo_pair_kl(const algo_pair *pair, const float *kept, uint32_t rows);
// out = F direction, both in the order of the policy's parameters, where F is the Fisher matrix of
// the policy at the last forward, of which rows were all: the mean over them of J' M J with the
// outputs' Jacobian J and M of algo_head_fisher, without the rows of frozen parameters, which
// direction does not move either. tangent is of the policy's tape.
void algo_pair_fisher(algo_pair *pair, nn_tangent *tangent, const float *direction, uint32_t rows,
                      float *out);

uint32_t algo_pair_networks(algo_pair *pair, algo_network out[ALGO_NETWORKS_MAX]);

void algo_pair_save(const algo_pair *pair, oct_writer *writer);
// As nn_state.h: read checks, apply copies.
typedef struct algo_pair_view {
    nn_trainer_view policy, value;
} algo_pair_view;
OCT_CHECKED oct_err algo_pair_read(algo_pair_view *out, const algo_pair *pair, oct_reader *reader);
void algo_pair_apply(algo_pair *pair, const algo_pair_view *view);

#endif // ALGOS_ALGO_PAIR_H
