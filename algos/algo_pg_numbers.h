#ifndef ALGOS_ALGO_PG_NUMBERS_H
#define ALGOS_ALGO_PG_NUMBERS_H

#include "algos/algo.h"
#include "algos/algo_advantage.h"

// The numbers that all policy gradient methods report, and the sums over rows that they come from.
//
// Threads: any; functions with a group are collective. Owns: nothing.
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
// The rows of these numbers, for a list that continues with an algorithm's own.
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

// For an algorithm without numbers of its own.
extern const algo_number algo_pg_numbers[ALGO_PG_NUMBERS];

// The weight of the entropy. It moves linearly from first to last while the budget of environment
// steps is spent.
typedef struct algo_entropy_cost {
    float first, last;
    float now; // of this update
} algo_entropy_cost;
void algo_entropy_cost_init(algo_entropy_cost *cost, const config_experiment *config);
void algo_entropy_cost_set(algo_entropy_cost *cost, float spent); // spent as in algo_batch

typedef struct algo_pg_sums {
    double loss; // of the policy, without the entropy term
    double entropy;
    double ratio, clipped, kl; // clipped counts rows
    double value_loss;
    double update_kl; // KL divergence from the policy before the update; only PPO fills it in
} algo_pg_sums;

// Adds a row's entropy, ratio and KL divergence (the estimator k3: ratio - 1 - log ratio). Returns
// the ratio pi / mu.
double algo_pg_add(algo_pg_sums *sums, float log_pi, float log_mu, float entropy);
// Adds the row's loss -weight * advantage * log pi. The weight is min(ratio, ratio_max); weight and
// advantage are constants to the gradient. Returns the derivative of the loss by log pi.
float algo_pg_add_weighted(algo_pg_sums *sums, float ratio, float ratio_max, float advantage,
                           float log_pi);
// Sets numbers to the means over count rows: loss (policy, entropy and value), entropy, ratio_mean,
// ratio_clipped, kl and value_loss.
void algo_pg_means(const algo_pg_sums *sums, uint32_t count, float entropy_cost, float value_cost,
                   float *numbers);
// Replaces the sums by those over all ranks' rows. A collective.
void algo_pg_together(group *all, algo_pg_sums *sums);
// Sets the numbers value and explained_variance, over all ranks' e.v[count] and e.target[count];
// error = target - v. A collective.
void algo_pg_explain(group *all, algo_estimates e, const float *error, uint32_t count,
                     float *numbers);

#endif // ALGOS_ALGO_PG_NUMBERS_H
