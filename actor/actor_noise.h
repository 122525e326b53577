#ifndef ACTOR_ACTOR_NOISE_H
#define ACTOR_ACTOR_NOISE_H

#include <stdint.h>

#include "common/oct_config.h"
#include "common/oct_rng.h"
#include "policy/policy_spec.h"

// Exploration of actions in a box: Gaussian noise on the greedy action, cut at the bounds
// (Lillicrap et al. 2016; D4PG: Barth-Maron et al. 2018, section 3). Its deviation is a share of
// half the range of each number, and may differ between environments: a ladder from noise_low to
// noise over all environments of all actors. Where noise_final is given, each of them changes
// linearly from its own to noise_final over noise_steps (0: run.env_steps), and stays there. With
// correlation c the noise is a stationary AR(1) process, x' = c x + sqrt(1 - c^2) N(0, 1), whose
// pushes last: the discrete Ornstein-Uhlenbeck process of DDPG with its deviation kept; each
// episode begins with noise of its own. During the first random_steps environment steps of the run
// actions are uniform over the box instead.
//
// Threads: the acting thread. Owns: its columns, reserved by init.
typedef struct actor_noise {
    oct_rng rng;
    uint32_t envs;
    uint32_t dim;
    float correlation;
    float innovation; // sqrt(1 - correlation^2)
    uint64_t random_steps;
    double change_steps; // env steps of the run until all have final_share; infinity: never
    float final_share;
    float *share; // [envs] deviation as a share of half the range at the run's first step
    float *x;     // [envs][dim] the noise in units of its deviation
    float *low;   // [dim]
    float *high;  // [dim]
} actor_noise;

// spec has box actions. This actor's place on the ladder: environments actor_index * envs .. of
// total (all actors' environments); actors beyond the planned number go round again.
void actor_noise_init(actor_noise *noise, const oct_config *config, const policy_spec *spec,
                      uint64_t seed, uint32_t actor_index, uint32_t envs, uint32_t total);
void actor_noise_fini(actor_noise *noise);
// Environment i has a new episode: nothing pushes on from the one before.
void actor_noise_begin(actor_noise *noise, uint32_t i);
// actions[envs][dim], greedy and inside the bounds, become the ones to take; random[envs] says
// which have nothing of the greedy one left. env_steps: of the run, as far as this actor knows.
void actor_noise_apply(actor_noise *noise, float *actions, uint64_t env_steps, uint8_t *random);

#endif // ACTOR_ACTOR_NOISE_H
