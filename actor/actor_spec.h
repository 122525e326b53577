#ifndef ACTOR_ACTOR_SPEC_H
#define ACTOR_ACTOR_SPEC_H

#include "common/oct_reason.h"
#include "envs/env.h"
#include "policy/policy_spec.h"
#include "proto/wire_learner.h"

// An environment's spec as the wire has it, for a registration.
//
// Threads: any. Owns: the rows to which wire points; strings and the shape stay the environment's.
// Must not be moved, because wire points into it.
typedef struct actor_spec {
    wire_env_spec wire;
    float low[POLICY_ACTIONS_MAX]; // [number of actions] of a box
    float high[POLICY_ACTIONS_MAX];
    uint32_t values; // of a discrete observation: the shape of its one-hot row
} actor_spec;

// Checks that policies can read the observations and give the actions of this environment.
// OCT_EINVAL: one line in reason, which names the environment.
OCT_CHECKED oct_err actor_spec_acts(const octet_env_spec *task, oct_reason *why);
// As actor_spec_acts, and checks that a policy can be trained: sizes that a network can have, and
// bounds to map actions onto (docs/environments-c.md lists the limits).
OCT_CHECKED oct_err actor_spec_trains(const octet_env_spec *task, oct_reason *why);
// Bound i of a box of actions, rounded to float as policies have it; infinite if the space has no
// bounds.
float actor_spec_low(const octet_env_space *space, uint32_t i);
float actor_spec_high(const octet_env_space *space, uint32_t i);
// Errors as actor_spec_trains.
OCT_CHECKED oct_err actor_spec_init(actor_spec *out, const octet_env_spec *task, oct_reason *why);

// Copies what actors need of a spec, so that the environment can be closed or move to another
// thread: id, spaces with bounds, limit, threshold and metrics' names; the rest is 0. free
// releases the copy.
octet_env_spec *actor_spec_copy(const octet_env_spec *task);

// Returns true if an actor (or, with evaluates, an evaluator) reads this key of the experiment,
// such as "actor.envs". A running one must start over when the key changes.
bool actor_goes_by(const char *key, bool evaluates);

#endif // ACTOR_ACTOR_SPEC_H
