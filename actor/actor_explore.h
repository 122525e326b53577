#ifndef ACTOR_ACTOR_EXPLORE_H
#define ACTOR_ACTOR_EXPLORE_H

#include "common/oct_rng.h"

#include <stdint.h>

// Epsilon-greedy exploration with a ladder over all environments of all actors (Horgan et al. 2018,
// Ape-X, in Acme's form): epsilon_i = base ^ k_i, k log-spaced in 1 .. power, annealed linearly
// from 1 over the first anneal_steps environment steps of the run.
//
// Threads: the acting thread.
typedef struct actor_explore {
    oct_rng rng;
    uint32_t envs;
    uint32_t action_count;
    uint64_t anneal_steps;
    float *ladder; // [envs]
} actor_explore;

// This actor's place: environments actor_index * envs .. of total (all actors' environments).
void actor_explore_init(actor_explore *explore, uint64_t seed, uint32_t actor_index, uint32_t envs,
                        uint32_t total, uint32_t action_count, double base, double power,
                        uint64_t anneal_steps);
void actor_explore_fini(actor_explore *explore);
// Replaces actions[i] with a uniformly random one with probability epsilon_i. env_steps: of the
// run, as far as this actor knows.
void actor_explore_apply(actor_explore *explore, int32_t *actions, uint64_t env_steps);
// epsilon of environment i at env_steps.
float actor_explore_epsilon(const actor_explore *explore, uint32_t i, uint64_t env_steps);

#endif // ACTOR_ACTOR_EXPLORE_H
