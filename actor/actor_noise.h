#ifndef ACTOR_ACTOR_NOISE_H
#define ACTOR_ACTOR_NOISE_H

#include <stdint.h>

#include "actor/actor_ladder.h"
#include "common/oct_rng.h"
#include "config/config.h"
#include "policy/policy_spec.h"

// Exploration for vectors of actions: Gaussian noise on the greedy action, clipped to the bounds
// (Lillicrap et al. 2016; D4PG: Barth-Maron et al. 2018, section 3).
//
// The deviation is a share of half the range of each number. Environments differ in it: the shares
// form a ladder from actor.noise_low to actor.noise over all environments of all actors. With
// actor.noise_final, each share changes linearly to that value over actor.noise_steps (0:
// run.env_steps) and stays there.
//
// With correlation c, the noise is a stationary AR(1) process, x' = c x + sqrt(1 - c^2) N(0, 1):
// the discrete Ornstein-Uhlenbeck process of DDPG, with its deviation kept. Each episode begins
// with new noise. During the first random_steps environment steps of the run, actions are uniform
// over the bounds instead.
//
// Threads: the acting thread. Owns: its columns, reserved by init.
typedef struct actor_noise {
    oct_rng rng;
    uint32_t envs;
    uint32_t dim;          // numbers in an action
    float correlation;     // c, in [0, 1)
    float innovation;      // sqrt(1 - correlation^2)
    uint64_t random_steps; // environment steps of the run with uniform actions
    double change_steps;   // environment steps until share is final_share; infinity: constant
    float final_share;
    float *share; // [envs] deviation / half the range, at the run's first step
    float *x;     // [envs][dim] the next noise, with deviation 1
    float *low;   // [dim] bounds of the policy's spec
    float *high;  // [dim]
} actor_noise;

// spec has vectors of actions.
void actor_noise_init(actor_noise *noise, const config_experiment *config, const policy_spec *spec,
                      const actor_ladder *ladder, uint64_t seed);
void actor_noise_fini(actor_noise *noise);
// Draws new noise for environment i, whose new episode begins.
void actor_noise_begin(actor_noise *noise, uint32_t i);
// actions is [envs][dim]: greedy and inside the bounds, and replaced by the actions to take.
// random[i] is set to 1 if nothing of the greedy action is left, else 0. env_steps: of the whole
// run, as far as this actor knows.
void actor_noise_apply(actor_noise *noise, float *actions, uint64_t env_steps, uint8_t *random);

#endif // ACTOR_ACTOR_NOISE_H
