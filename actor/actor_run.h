#ifndef ACTOR_ACTOR_RUN_H
#define ACTOR_ACTOR_RUN_H

#include "actor/actor_batch.h"
#include "actor/actor_seed.h"
#include "common/oct_config.h"
#include "envs/env.h"
#include "policy/policy_net.h"

// The acting core: steps a vector of environments with a policy, explores, records every step as a
// row (proto/wire.h). No network, no threads of its own; memory reserved by create.
//
// How it acts follows from the policy's head. VALUES, ATOMS: the best action, or a random one
// (actor_explore.h). TANH: the best action with noise (actor_noise.h). LOGITS and Gaussians: an
// action drawn from the policy by a generator of each environment's own; what is recorded beside it
// is policy_sample's, and nothing is explored besides.
//
// Threads: the acting thread. Owns: the environment handle (taken), its buffers; borrows the
// policy.
typedef struct actor_run actor_run;

#define ACTOR_EPISODES_MAX    1024
#define ACTOR_STUCK_STEPS_MAX 100 // in a row

// What the acting thread tells about itself; the loop thread sends it to the learner.
typedef struct actor_numbers {
    uint64_t env_steps;      // of this session
    uint64_t policy_version; // in use
    uint64_t dropped;        // of these, given up because the ring was full (when_full: drop)
    uint64_t rows;           // made of them: steps and ends of episodes
    uint64_t ended;          // episodes that ended by themselves or by their time limit
    uint64_t failures;       // steps that were left out
    uint64_t failures_each;  // each of the environments has had so many of them, at least
    char failure[256];       // why, the last time: env_failure
    uint32_t episode_count;
    uint32_t episodes_lost; // more ended than there was room to tell
    float episode_return[ACTOR_EPISODES_MAX];
    uint32_t episode_length[ACTOR_EPISODES_MAX];
    double infer_s, env_s, collect_s, wait_s; // time by state since the session began
} actor_numbers;

// The shape of an actor's batches, for envs environments. OCT_EINVAL: more environments than a
// batch can hold, or longer rollouts of them, which are not shortened.
OCT_CHECKED oct_err actor_run_batch_shape(actor_batch_shape *out, const oct_config *config,
                                          const policy_spec *spec, uint32_t envs);
// The spec must fit the environment (actor_fits). Environments and generators begin with what seed
// gives. Errors as of actor_run_batch_shape; then the environment stays the caller's.
OCT_CHECKED oct_err actor_run_create(actor_run **out, env *take, const oct_config *config,
                                     const policy_spec *spec, const actor_seed *seed);
void actor_run_destroy(actor_run *run); // NULL is a no-op
const actor_batch_shape *actor_run_shape(const actor_run *run);
// Before the next step; net is borrowed until replaced.
void actor_run_set_policy(actor_run *run, const policy_net *net);
// Opens an empty batch: call before the first step and after each sealed batch. Rows of a batch
// that is opened again unsealed are lost, and their numbers are not used again.
void actor_run_open_batch(actor_run *run, actor_batch *batch);
// Behind the last step of a rollout (oct_config_has_rollouts), before the batch is sealed: marks
// its end.
void actor_run_end_rollout(actor_run *run, actor_batch *batch);
// One step of all environments into batch, which must have room. OCT_EINTERNAL: the environment
// failed for good (actor_run_error), or no environment could be reset before the first step or in
// ACTOR_STUCK_STEPS_MAX steps.
OCT_CHECKED oct_err actor_run_step(actor_run *run, actor_batch *batch);
const char *actor_run_error(const actor_run *run);
// Running numbers; the caller may read and clear the episode columns between steps.
actor_numbers *actor_run_numbers(actor_run *run);

#endif // ACTOR_ACTOR_RUN_H
