#ifndef ALGOS_ALGO_TARGET_H
#define ALGOS_ALGO_TARGET_H

#include "algos/algo.h"

// The value that value methods learn towards (Sutton and Barto 2018, chapter 6): after n rewards,
// the value of the next state s' is
//   q_learning      max over a of Q(s', a)                                (equation 6.8)
//   sarsa           Q(s', a'), a' the action that was taken there         (equation 6.7)
//   expected_sarsa  sum over a of pi(a|s') Q(s', a)                       (equation 6.9)
// pi is epsilon-greedy: the best actions share 1 - epsilon, and all actions share epsilon. Where
// the episode was cut, no action was taken in s', and sarsa uses the expectation.
//
// Threads: any. Owns: nothing.
typedef struct algo_target {
    config_target_name kind;
    float epsilon; // of pi, 0 .. 1
} algo_target;

algo_target algo_target_of(const config_experiment *config);
// Returns the greedy action of choose[A]: the first of equal ones. A comparison with NaN keeps the
// earlier action.
uint32_t algo_target_best(const float *choose, uint32_t A);
// Returns the value of s' by value[A]. choose[A] determines the best actions; for double Q-learning
// it comes from another network. taken: a', or -1. q_learning takes algo_target_best.
float algo_target_value(const algo_target *target, const float *choose, const float *value,
                        uint32_t A, int32_t taken);

// One step of a sequence, with its n-step return.
typedef struct algo_step {
    float reward;    // discounted sum of up to n rewards, fewer if the episode ends
    float discount;  // gamma^k of the state after them, 0 if terminated
    uint32_t behind; // row of that state's observation in the window
    int32_t taken;   // action taken in that state; -1: none
} algo_step;

typedef struct algo_returns {
    uint32_t n; // of n-step returns
    float discount;
    float reward_clip; // 0: no clipping
} algo_returns;

algo_returns algo_returns_of(const config_experiment *config);
// Sets *out for row t of window b, with discrete actions and t + n < T. Returns false if the row
// has no action.
bool algo_returns_at(algo_step *out, const algo_returns *returns, const algo_batch *batch,
                     uint32_t b, uint32_t t);

#endif // ALGOS_ALGO_TARGET_H
