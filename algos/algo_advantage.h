#ifndef ALGOS_ALGO_ADVANTAGE_H
#define ALGOS_ALGO_ADVANTAGE_H

#include "algos/algo_rows.h"
#include "common/oct_bytes.h"
#include "nn/group/group.h"

// Advantages, importance ratios and their statistics, which policy gradient methods compute from
// rewards, values and log-probabilities before any gradient. Plain arithmetic over rows; all
// results are constants to the gradient.
//
// Threads: any; functions with a group are collective. Owns: nothing.

// What is known of N rows, and what is estimated from it.
typedef struct algo_estimates {
    const float *reward; // [N]
    const float *v;      // [N + M], values
    float *advantage;    // [N]
    float *target;       // [N], what V learns
} algo_estimates;

// Generalised advantage estimation (Schulman et al. 2016, equations 11 to 16), backwards over the N
// rows:
//   delta = r + discount V(behind) - V
//   A = delta + discount lambda A(next)
//   target = A + V
// V(behind) is 0 after a terminated step. A(next) counts only if the next row continues the
// episode: a truncated episode is bootstrapped from V of its true final observation.
void algo_gae(const algo_rows *rows, float discount, float lambda, algo_estimates e);

// V-trace (Espeholt et al. 2018, equation 1 and remark 2), backwards over the N rows: with
// rho = min(ratio_max, ratio) and c = lambda min(trace_max, ratio),
//   target = V + rho (r + discount V(behind) - V) + discount c (target(next) - V(next))
//   advantage = r + discount target(next) - V
// V(behind) is 0 after a terminated step. If the next row does not continue the episode,
// target(next) is V(behind), and the last term of target is 0. With all ratios 1, target is that of
// algo_gae, and with lambda 1 also the n-step return. The policy's gradient is that of rho
// advantage log pi (section 4.2). ratio [N] is pi(a|s) / mu(a|s).
typedef struct algo_vtrace_rule {
    float discount, lambda;
    float ratio_max; // rho-bar: sets which value is learned, between those of mu and pi
    float trace_max; // c-bar <= ratio_max: how far errors reach back
} algo_vtrace_rule;
void algo_vtrace_targets(const algo_rows *rows, const algo_vtrace_rule *rule, const float *ratio,
                         algo_estimates e);

typedef struct algo_moments {
    double mean, variance; // divided by count, not by count - 1
} algo_moments;
// Returns the moments of all ranks' numbers, of which x[count] are this rank's. all NULL: of x
// alone. A collective.
algo_moments algo_moments_of(group *all, const float *x, uint32_t count);
// x = (x - mean) / (deviation + 1e-8), with the moments of all ranks' numbers. A single number
// stays as it is, because it would become 0. A collective.
void algo_standardise(group *all, float *x, uint32_t count);

// Returns log (p / q) of two log-probabilities, at most 20, so that one action that the policy now
// takes almost surely does not overflow the numbers. NaN stays NaN.
float algo_log_ratio(float log_p, float log_q);

// The deviation of discounted sums of rewards G = r + discount G(before), over all rows so far; G
// restarts at 0 with each episode and each window. Rewards are divided by it so that values have a
// deviation of about 1. Their mean is not subtracted, because that would change which policy is
// best.
typedef struct algo_reward_scale {
    double count, mean, squares; // of G: number of rows, mean, and the sum of (G - mean)^2
} algo_reward_scale;
// Adds the rows of all ranks to scale, then sets out[N] = reward / sqrt(variance + 1e-8), cut to
// [-10, 10]. A collective.
void algo_reward_scale_apply(algo_reward_scale *scale, group *all, const algo_rows *rows,
                             float discount, float *out);
void algo_reward_scale_save(const algo_reward_scale *scale, oct_writer *writer);
// OCT_EPROTO: the numbers are not finite, or a count or square is negative; *out is unchanged.
OCT_CHECKED oct_err algo_reward_scale_read(algo_reward_scale *out, oct_reader *reader);

#endif // ALGOS_ALGO_ADVANTAGE_H
