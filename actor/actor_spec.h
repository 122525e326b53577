#ifndef ACTOR_ACTOR_SPEC_H
#define ACTOR_ACTOR_SPEC_H

#include "envs/env.h"
#include "policy/policy_spec.h"
#include "proto/wire.h"

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

// OCT_EINVAL: more actions than a policy may have.
OCT_CHECKED oct_err actor_spec_init(actor_spec *out, const octet_env_spec *task);

// Whether an actor (or an evaluator) reads this key of the experiment, "actor.envs": one that runs
// has to start over when it changes.
bool actor_goes_by(const char *key, bool evaluates);

#endif // ACTOR_ACTOR_SPEC_H
