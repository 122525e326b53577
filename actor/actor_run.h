#ifndef ACTOR_ACTOR_RUN_H
#define ACTOR_ACTOR_RUN_H

#include "actor/actor_batch.h"
#include "actor/actor_seed.h"
#include "config/config.h"
#include "envs/env.h"
#include "policy/policy_net.h"

// The acting core: steps a vector of environments with a policy, explores, and records every step
// as a row (proto/wire.h). It knows no network and has no threads.
//
// The head of the policy decides how actions are chosen:
//   VALUES, ATOMS  the best action, or a random one (actor_explore.h)
//   TANH  the best action with noise (actor_noise.h)
//   LOGITS, Gaussians  an action sampled from the policy, by one generator for each environment;
//     extra is what policy_sample gives beside it; nothing else explores
//
// Threads: the acting thread. Owns: the environment handle, its buffers, all reserved by create;
// borrows the policy. Full: the caller makes room in the batch before each step.
typedef struct actor_run actor_run;

#define ACTOR_EPISODES_MAX    1024 // in one report
#define ACTOR_STUCK_STEPS_MAX 100  // in a row without an environment that can be reset

// Numbers of the acting thread, which the loop thread reports to the learner. Counters start with
// the session, and episode_count and episodes_lost with each report.
typedef struct actor_numbers {
    uint64_t env_steps;      // with action repeats
    uint64_t policy_version; // of the policy in use; 0: none yet
    uint64_t dropped;        // actions whose rows were dropped (when_full: drop)
    uint64_t rows;           // recorded: steps and end rows
    uint64_t ended;          // episodes that terminated or were truncated
    uint64_t failures;       // steps that failed and were left out
    uint64_t failures_each;  // every environment has failed at least as often
    char failure[256];       // cause of the last failure (env_failure)
    uint32_t episode_count;
    uint32_t episodes_lost; // episodes beyond ACTOR_EPISODES_MAX
    float episode_return[ACTOR_EPISODES_MAX];
    uint32_t episode_length[ACTOR_EPISODES_MAX];
    double infer_s, env_s, collect_s, wait_s; // by activity
} actor_numbers;

// Sets the shape of an actor's batches for envs environments. OCT_EINVAL: a batch cannot hold one
// step of all of them, or not their whole rollout, because rollouts are not shortened.
OCT_CHECKED oct_err actor_run_batch_shape(actor_batch_shape *out, const config_experiment *config,
                                          const policy_spec *spec, uint32_t envs);
// Makes the core, which owns the environment from now on. spec must fit the environment
// (actor_fits). seed decides all random numbers. Errors as actor_run_batch_shape; then the
// environment stays the caller's.
OCT_CHECKED oct_err actor_run_create(actor_run **out, env *take, const config_experiment *config,
                                     const policy_spec *spec, const actor_seed *seed);
void actor_run_destroy(actor_run *run); // NULL is a no-op
const actor_batch_shape *actor_run_shape(const actor_run *run);
// Sets the policy of the next steps. net is borrowed until it is replaced; its spec equals that of
// create.
void actor_run_set_policy(actor_run *run, const policy_net *net);
// Empties a batch and makes it the next one. Call this before the first step and after each sealed
// batch. If the batch had rows, they are lost; their numbers are not used again, so that replay
// sees a gap in the streams.
void actor_run_open_batch(actor_run *run, actor_batch *batch);
// Ends the rollouts of all environments in the batch. Call this after the last step, before
// sealing.
void actor_run_end_rollout(actor_run *run, actor_batch *batch);
// Steps all environments once, into a batch that has room. OCT_EINTERNAL, with a reason in
// actor_run_error: the environment failed for good, or no environment could be reset before the
// first step or in ACTOR_STUCK_STEPS_MAX steps.
OCT_CHECKED oct_err actor_run_step(actor_run *run, actor_batch *batch);
const char *actor_run_error(const actor_run *run);
// Returns the current numbers. The caller may read them and clear the episode columns between
// steps.
actor_numbers *actor_run_numbers(actor_run *run);

#endif // ACTOR_ACTOR_RUN_H
