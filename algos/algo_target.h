#ifndef ALGOS_ALGO_TARGET_H
#define ALGOS_ALGO_TARGET_H

#include "algos/algo.h"

// What methods of values learn towards (Sutton and Barto 2018, chapter 6): behind n rewards, the
// value of the next state s' is
//   q_learning      max over a of Q(s', a)                                (equation 6.8)
//   sarsa           Q(s', a'), a' the action that was taken there         (equation 6.7)
//   expected_sarsa  sum over a of pi(a|s') Q(s', a)                       (equation 6.9)
// pi is epsilon-greedy: (1 - epsilon) shared by the best actions, and epsilon by all. Where the
// episode was cut, no action was taken in s', and sarsa takes the expectation.
//
// Threads: any. Owns: nothing.
typedef struct algo_target {
    oct_target_name kind;
    float epsilon;
} algo_target;

algo_target algo_target_of(const oct_config *config);
// The greedy action of choose[A]; of equal ones, and beside NaN, the first.
uint32_t algo_target_best(const float *choose, uint32_t A);
// The value of s' by value[A], where choose[A] says which actions are best (for double Q-learning
// it is another network's). taken: a', or -1. q_learning takes algo_target_best.
float algo_target_value(const algo_target *target, const float *choose, const float *value,
                        uint32_t A, int32_t taken);

// One step of a sequence with its n-step return.
typedef struct algo_step {
    float reward;    // discounted sum of up to n, fewer where the episode ends
    float discount;  // gamma^k of the state behind them, 0 when terminated
    uint32_t behind; // row of its observation in the window
    int32_t taken;   // action taken there; -1: none
} algo_step;

typedef struct algo_returns {
    uint32_t n;
    float discount;
    float reward_clip; // 0: off
} algo_returns;

algo_returns algo_returns_of(const oct_config *config);
// Of row t in window b of discrete actions; t + n < T. False: the row has no action.
bool algo_returns_at(algo_step *out, const algo_returns *returns, const algo_batch *batch,
                     uint32_t b, uint32_t t);

#endif // ALGOS_ALGO_TARGET_H
