#ifndef TESTS_ENVS_TOY_SOLVER_H
#define TESTS_ENVS_TOY_SOLVER_H

#include "envs/toy_text/toy_model.h"

// Exact values of environments with few states, by dynamic programming in double.
//
// Threads: any. Owns: nothing; callers give the room.

// v[states], q[states][actions] of the best policy, by value iteration from 0 until nothing moves
// by more than 1e-13; the time limit is not looked at. discount 1 needs episodes that end.
void toy_solve(const toy_model *model, double discount, double *v, double *q);

// Mean return, undiscounted, of a policy that plays policy[state] for at most limit steps, from the
// model's first states.
double toy_return(const toy_model *model, const uint32_t *policy, uint32_t limit);
// The same of the best policy, which may look at the time that is left.
double toy_return_best(const toy_model *model, uint32_t limit);

// Blackjack with an endless deck: mean reward of sticking [0] and hitting [1] with a hand of this
// total (an ace counted as 11 where usable) against a dealer's card, the best policy behind it. The
// hand has more than two cards.
void toy_blackjack(int total, int dealer, int usable_ace, double q[2]);
// Mean reward of a policy that plays policy[(total * 11 + dealer) * 2 + usable_ace], under the
// default rules (sab).
double toy_blackjack_return(const uint32_t *policy);

#endif // TESTS_ENVS_TOY_SOLVER_H
