#ifndef ACTOR_ACTOR_NSTEP_H
#define ACTOR_ACTOR_NSTEP_H

#include "actor/actor_batch.h"

// Turns steps into n-step transitions (Sutton & Barto, Reinforcement Learning, 2nd ed., eq. 7.1):
//   reward = sum_{i<k} gamma^i r_{t+i},  discount = gamma^k (0 when the episode terminated),
//   next = s_{t+k},  k = n, or fewer for the last n-1 steps of an episode.
// Truncation bootstraps from the true final observation, termination does not (contract 7).
//
// Threads: the acting thread. Owns: the open windows; observations go straight into the batch, each
// once, and are known here by their number.
typedef struct actor_nstep actor_nstep;

actor_nstep *actor_nstep_create(uint32_t envs, uint32_t n_step, double discount, double reward_clip,
                                uint32_t action_bytes);
void actor_nstep_destroy(actor_nstep *nstep); // NULL is a no-op

// The first observation of an episode of environment i. Forgets any open window.
void actor_nstep_begin(actor_nstep *nstep, actor_batch *batch, uint32_t i, const void *obs);
// One step of environment i: the action taken, the reward, and the observation that followed: the
// final one when flags (WIRE_TERMINATED | WIRE_TRUNCATED) is not 0; actor_nstep_begin comes next.
void actor_nstep_step(actor_nstep *nstep, actor_batch *batch, uint32_t i, const void *action,
                      float reward, uint8_t flags, const void *next);

#endif // ACTOR_ACTOR_NSTEP_H
