#ifndef ACTOR_ACTOR_EXPLORE_H
#define ACTOR_ACTOR_EXPLORE_H

#include "common/oct_rng.h"

#include <stdint.h>

// Epsilon-greedy exploration with a ladder over all environments of all actors (Horgan et al. 2018,
// Ape-X, section 4: epsilon^(1 + alpha i / (N - 1)); Acme the same): epsilon_i = base ^ k_i, k
// spaced evenly in 1 .. power, annealed linearly from 1 over the first anneal_steps environment
// steps of the run.
//
// A random action may be held for several steps (temporally-extended epsilon-greedy, Dabney et al.
// 2021): its duration n has P(n >= k) = k^(1 - mu), the tail of their zeta distribution. Without
// it, single random steps cancel each other and a car in a valley never leaves it. None is held
// into the next episode.
//
// Threads: the acting thread.
typedef struct actor_explore {
    oct_rng rng;
    uint32_t envs;
    uint32_t action_count;
    uint64_t anneal_steps;
    float *ladder;      // [envs]
    double persistence; // mu; 0: every random action lasts one step
    int32_t *held;      // [envs] the action being held
    uint32_t *left;     // [envs] steps that it is still held for
} actor_explore;

// This actor's place: environments actor_index * envs .. of total (all actors' environments).
void actor_explore_init(actor_explore *explore, uint64_t seed, uint32_t actor_index, uint32_t envs,
                        uint32_t total, uint32_t action_count, double base, double power,
                        uint64_t anneal_steps);
// mu > 1, or 0 for off (the default after init).
void actor_explore_set_persistence(actor_explore *explore, double mu);
void actor_explore_fini(actor_explore *explore);
// Replaces actions[i] with a uniformly random one with probability epsilon_i, or with the one that
// is held; random[i] says whether it did. env_steps: of the run, as far as this actor knows.
void actor_explore_apply(actor_explore *explore, int32_t *actions, uint64_t env_steps,
                         uint8_t *random);
// Environment i begins a new episode: no action is held any more.
void actor_explore_begin(actor_explore *explore, uint32_t i);
// epsilon of environment i at env_steps.
float actor_explore_epsilon(const actor_explore *explore, uint32_t i, uint64_t env_steps);

#endif // ACTOR_ACTOR_EXPLORE_H
