#ifndef ACTOR_ACTOR_EXPLORE_H
#define ACTOR_ACTOR_EXPLORE_H

#include "actor/actor_ladder.h"
#include "common/oct_rng.h"
#include "config/config.h"

#include <stdint.h>

// Epsilon-greedy exploration for discrete actions, with a ladder over all environments of all
// actors (Horgan et al. 2018, Ape-X, section 4: epsilon^(1 + alpha i / (N - 1)); Acme does the
// same). Environment i has epsilon_i = base ^ k_i, with k spaced evenly from 1 to power. Each
// epsilon falls linearly from 1 to epsilon_i over the first anneal_steps environment steps of the
// run.
//
// A random action may be held for several steps (temporally-extended epsilon-greedy, Dabney et al.
// 2021): its duration n has P(n >= k) = k^(1 - mu), the tail of their zeta distribution. Single
// random steps cancel each other, so that a car in a valley never leaves it. The end of the
// episode ends the hold.
//
// Threads: the acting thread. Owns: its columns, reserved by init.
typedef struct actor_explore {
    oct_rng rng;
    uint32_t envs;
    uint32_t action_count;
    uint64_t anneal_steps; // environment steps of the run
    float *ladder;         // [envs] final epsilon
    double persistence;    // mu; 0: every random action lasts one step
    int32_t *held;         // [envs] the action being held
    uint32_t *left;        // [envs] further steps for which it is held
} actor_explore;

void actor_explore_init(actor_explore *explore, const config_experiment *config,
                        uint32_t action_count, const actor_ladder *ladder, uint64_t seed);
// Sets mu: above 1, or 0 for single random steps (the state after init).
void actor_explore_set_persistence(actor_explore *explore, double mu);
void actor_explore_fini(actor_explore *explore);
// actions is [envs]. With probability epsilon_i, replaces actions[i] by a uniformly random action;
// while an action is held, replaces it by that one. random[i] is set to 1 where it was replaced,
// else 0. env_steps: of the whole run, as far as this actor knows.
void actor_explore_apply(actor_explore *explore, int32_t *actions, uint64_t env_steps,
                         uint8_t *random);
// Ends the hold of environment i, whose new episode begins.
void actor_explore_begin(actor_explore *explore, uint32_t i);
// Returns the epsilon of environment i at env_steps.
float actor_explore_epsilon(const actor_explore *explore, uint32_t i, uint64_t env_steps);

#endif // ACTOR_ACTOR_EXPLORE_H
