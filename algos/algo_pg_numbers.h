#ifndef ALGOS_ALGO_PG_NUMBERS_H
#define ALGOS_ALGO_PG_NUMBERS_H

#include "algos/algo.h"
#include "algos/algo_advantage.h"

// The numbers that all methods of policy gradient report, and the sums over rows that they come
// from.
//
// Threads: any. Owns: nothing.
enum {
    ALGO_PG_LOSS,
    ALGO_PG_VALUE,
    ALGO_PG_GRAD_NORM,
    ALGO_PG_POLICY_GRAD_NORM,
    ALGO_PG_ENTROPY,
    ALGO_PG_RATIO_MEAN,
    ALGO_PG_RATIO_CLIPPED,
    ALGO_PG_KL,
    ALGO_PG_VALUE_LOSS,
    ALGO_PG_EXPLAINED,
    ALGO_PG_NUMBERS
};
// Their rows, for a list that goes on with an algorithm's own.
#define ALGO_PG_ROWS                                                                               \
    [ALGO_PG_LOSS] = {"loss", "loss", "Mean loss of policy, entropy and value together."},         \
    [ALGO_PG_VALUE] = {"value", "return", "Mean V(s) of the steps."},                              \
    [ALGO_PG_GRAD_NORM] = {"grad_norm", "norm",                                                    \
                           "Mean gradient norm of the value network, before clipping."},           \
    [ALGO_PG_POLICY_GRAD_NORM] = {"policy_grad_norm", "norm",                                      \
                                  "Mean gradient norm of the policy network, before clipping."},   \
    [ALGO_PG_ENTROPY] = {"entropy", "nats",                                                        \
                         "Mean entropy of the policy in the states where it acted."},              \
    [ALGO_PG_RATIO_MEAN] = {"ratio_mean", "",                                                      \
                            "Mean importance ratio pi(a|s) / mu(a|s) of the policy that learns "   \
                            "to the policy that acted."},                                          \
    [ALGO_PG_RATIO_CLIPPED] = {"ratio_clipped", "share",                                           \
                               "Share of the actions whose ratio was clipped to algo.ratio_max "   \
                               "(ppo: to 1 ± algo.clip)."},                                        \
    [ALGO_PG_KL] = {"kl", "nats",                                                                  \
                    "Mean KL divergence from the policy that acted to the policy that learns."},   \
    [ALGO_PG_VALUE_LOSS] = {"value_loss", "loss", "Mean of (V(s) - return)^2 / 2."},               \
    [ALGO_PG_EXPLAINED] = {"explained_variance", "share",                                          \
                           "Share of the variance of returns that V(s) explains."}

// For an algorithm that has none of its own.
extern const algo_number algo_pg_numbers[ALGO_PG_NUMBERS];

// The weight of the entropy, which goes linearly from one value to another while the budget is
// spent.
typedef struct algo_entropy_cost {
    float first, last;
    float now; // of this update
} algo_entropy_cost;
void algo_entropy_cost_init(algo_entropy_cost *cost, const oct_config *config);
void algo_entropy_cost_set(algo_entropy_cost *cost, float spent); // algo_batch

typedef struct algo_pg_sums {
    double loss; // of the policy, without its entropy
    double entropy;
    double ratio, clipped, kl;
    double value_loss;
    double update_kl; // of an algorithm that knows it
} algo_pg_sums;

// Adds a row's entropy, ratio and KL divergence (k3: ratio - 1 - log ratio). Returns the ratio
// pi / mu.
double algo_pg_add(algo_pg_sums *sums, float log_pi, float log_mu, float entropy);
// Adds the row's loss -weight * advantage * log pi, where the weight is the ratio, at most
// ratio_max, and like the advantage a constant to the gradient. Returns the loss' slope by log pi.
float algo_pg_add_weighted(algo_pg_sums *sums, float ratio, float ratio_max, float advantage,
                           float log_pi);
// The sums' means over count rows: loss (all three parts), entropy, ratio_mean, ratio_clipped, kl
// and value_loss.
void algo_pg_means(const algo_pg_sums *sums, uint32_t count, float entropy_cost, float value_cost,
                   float *numbers);
// The sums of all ranks' rows.
void algo_pg_together(group *all, algo_pg_sums *sums);
// value and explained_variance of all ranks' v[count], where error = target - v. Returns the
// error's moments.
algo_moments algo_pg_explain(group *all, const float *v, const float *target, const float *error,
                             uint32_t count, float *numbers);

#endif // ALGOS_ALGO_PG_NUMBERS_H
