#ifndef ALGOS_ALGO_ADVANTAGE_H
#define ALGOS_ALGO_ADVANTAGE_H

#include "algos/algo_rows.h"
#include "common/oct_bytes.h"
#include "group/group.h"

// What methods of policy gradient compute of rewards, values and log-probabilities before any
// gradient: advantages, ratios, and their statistics. Plain arithmetic over rows; all constants to
// the gradient.
//
// Threads: any. Owns: nothing.

// Generalised advantage estimation (Schulman et al. 2016, equations 11 to 16), backwards over the
// N rows: delta = r + discount V(behind) - V, A = delta + discount lambda A(next), where nothing is
// behind a terminated episode, and A(next) counts only where the next row goes on with the episode:
// a truncated one is bootstrapped from V of its true final observation. reward [N], v [N + M];
// advantage and target [N], target = A + V.
void algo_gae(const algo_rows *rows, const float *reward, const float *v, float discount,
              float lambda, float *advantage, float *target);

// V-trace (Espeholt et al. 2018, equation 1 and remark 2), backwards over the N rows: with
// rho = min(ratio_max, ratio) and c = lambda min(trace_max, ratio),
//   target = V + rho (r + discount V(behind) - V) + discount c (target(next) - V(next))
//   advantage = r + discount target(next) - V
// where nothing is behind a terminated episode, and where the next row does not go on with the
// episode, target(next) is V of what is behind and nothing is carried over. With all ratios 1,
// target is that of algo_gae: with lambda 1 the n-step return. The policy's gradient is that of
// rho advantage log pi (section 4.2). ratio [N], pi(a|s) / mu(a|s); others as algo_gae.
typedef struct algo_vtrace_rule {
    float discount, lambda;
    float ratio_max; // rho-bar: of the value that is learned, between those of mu and pi
    float trace_max; // c-bar <= ratio_max: of how far errors reach back
} algo_vtrace_rule;
void algo_vtrace_targets(const algo_rows *rows, const algo_vtrace_rule *rule, const float *reward,
                         const float *v, const float *ratio, float *advantage, float *target);

typedef struct algo_moments {
    double mean, variance; // of count, not of count - 1
} algo_moments;
// Of all ranks' numbers, of which x[count] are this one's. all is NULL: of x alone.
algo_moments algo_moments_of(group *all, const float *x, uint32_t count);
// x = (x - mean) / (deviation + 1e-8), by the moments of all ranks' numbers, of which each rank has
// some. One number alone stays as it is: it would become 0.
void algo_standardise(group *all, float *x, uint32_t count);

// log (p / q) of two log-probabilities, cut at 20 above, so that one action that the policy has
// become sure of does not overflow the numbers. NaN goes through.
float algo_log_ratio(float log_p, float log_q);

// The deviation of discounted sums of rewards G = r + discount G(before), which begin anew with
// each episode and each window, over all rows ever: what rewards are divided by so that values have
// about deviation 1 (without moving their mean, which would change which policy is best).
typedef struct algo_reward_scale {
    double count, mean, squares; // of G: squares is the sum of (G - mean)^2
} algo_reward_scale;
// Takes the rows of all ranks in and writes out[N] = reward / sqrt(variance + 1e-8), cut to [-10,
// 10].
void algo_reward_scale_apply(algo_reward_scale *scale, group *all, const algo_rows *rows,
                             float discount, float *out);
void algo_reward_scale_save(const algo_reward_scale *scale, oct_writer *writer);
// OCT_EPROTO: numbers that cannot be.
OCT_CHECKED oct_err algo_reward_scale_read(algo_reward_scale *out, oct_reader *reader);

#endif // ALGOS_ALGO_ADVANTAGE_H
