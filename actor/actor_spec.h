#ifndef ACTOR_ACTOR_SPEC_H
#define ACTOR_ACTOR_SPEC_H

#include "envs/env.h"
#include "policy/policy_spec.h"
#include "proto/wire_learner.h"

// An environment's spec in the wire's words, as a registration carries it.
//
// Threads: any. Owns: the rows that out points into; strings and the shape stay the
// environment's. It may not be moved.
typedef struct actor_spec {
    wire_env_spec wire;
    float low[POLICY_ACTIONS_MAX];
    float high[POLICY_ACTIONS_MAX];
    uint32_t values; // of a discrete observation: the shape of its row
} actor_spec;

// Whether a policy can act in such an environment: its observations and actions are of types that
// policies read and give. OCT_EINVAL with one line in reason, which begins with the environment's
// id.
OCT_CHECKED oct_err actor_spec_acts(const octet_env_spec *task, char *reason, size_t reason_size);
// Whether one can be trained on it, too: sizes that a network can have, and bounds to map actions
// onto (docs/environments-c.md has the limits). Errors as above.
OCT_CHECKED oct_err actor_spec_trains(const octet_env_spec *task, char *reason, size_t reason_size);
// Bound i of a box of actions, as policies have it; infinite where the space has none.
float actor_spec_low(const octet_env_space *space, uint32_t i);
float actor_spec_high(const octet_env_space *space, uint32_t i);
// OCT_EINVAL as actor_spec_trains.
OCT_CHECKED oct_err actor_spec_init(actor_spec *out, const octet_env_spec *task, char *reason,
                                    size_t reason_size);

// A copy of what actors go by, so that the environment may be closed or be another thread's: id,
// spaces with their bounds, limit and threshold; the rest is 0. free ends it.
octet_env_spec *actor_spec_copy(const octet_env_spec *task);

// Whether an actor (or an evaluator) reads this key of the experiment, "actor.envs": one that runs
// has to start over when it changes.
bool actor_goes_by(const char *key, bool evaluates);

#endif // ACTOR_ACTOR_SPEC_H
