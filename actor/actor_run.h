#ifndef ACTOR_ACTOR_RUN_H
#define ACTOR_ACTOR_RUN_H

#include "actor/actor_batch.h"
#include "common/oct_config.h"
#include "envs/env.h"
#include "policy/policy_net.h"

// The acting core: steps a vector of environments with a policy, explores, builds n-step
// transitions. No network, no threads of its own; memory reserved by create.
//
// Threads: the acting thread. Owns: the environment handle (taken), its buffers; borrows the
// policy.
typedef struct actor_run actor_run;

#define ACTOR_EPISODES_MAX 1024

// What the acting thread tells about itself; the loop thread sends it to the learner.
typedef struct actor_news {
    uint64_t env_steps;      // of this session
    uint64_t policy_version; // in use
    uint64_t dropped;        // transitions given up because the ring was full (when_full: drop)
    uint64_t transitions;    // made of them
    uint64_t failures;       // environments that had to be recovered
    char failure[256];       // why, the last time: env_failure
    uint32_t episode_count;
    uint32_t episodes_lost; // more ended than there was room to tell
    float episode_return[ACTOR_EPISODES_MAX];
    uint32_t episode_length[ACTOR_EPISODES_MAX];
    double infer_s, env_s, collect_s, wait_s; // time by state since the session began
} actor_news;

// The spec must fit the environment (actor_fits). OCT_EINVAL, and the environment stays the
// caller's: more environments * n_step than a batch can hold.
OCT_CHECKED oct_err actor_run_create(actor_run **out, env *take, const oct_config *config,
                                     const policy_spec *spec, uint32_t actor_index,
                                     uint64_t session);
void actor_run_destroy(actor_run *run); // NULL is a no-op
const actor_batch_shape *actor_run_shape(const actor_run *run);
// Before the next step; net is borrowed until replaced.
void actor_run_set_policy(actor_run *run, const policy_net *net);
// Opens an empty batch: call before the first step and after each sealed batch.
void actor_run_open_batch(actor_run *run, actor_batch *batch);
// One step of all environments into batch, which must have room. OCT_EINTERNAL: the environment
// failed for good (actor_run_error).
OCT_CHECKED oct_err actor_run_step(actor_run *run, actor_batch *batch);
const char *actor_run_error(const actor_run *run);
// Running numbers; the caller may read and clear the episode columns between steps.
actor_news *actor_run_news(actor_run *run);

#endif // ACTOR_ACTOR_RUN_H
