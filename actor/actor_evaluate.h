#ifndef ACTOR_ACTOR_EVALUATE_H
#define ACTOR_ACTOR_EVALUATE_H

#include "common/oct_metric.h"
#include "envs/env.h"
#include "policy/policy_net.h"

// Evaluation of a policy exactly as it ships, greedily: the return that Octet reports. With
// sampling actions are drawn from the policy's distribution, as actors draw them.
//
// Every episode counts once and whole: with E environments stepped together and n episodes asked
// for, environment i plays episodes i, i + E, …; episodes begun beyond n are not counted, so short
// episodes are not favoured. An episode in which the environment failed is played again and counted
// apart: returns are of those that did not fail.
// Undiscounted returns, no other exploration. What the environment itself measures counts of the
// same episodes.
//
// Threads: any, one call at a time per request's environment. Errors: OCT_EINVAL when the policy
// does not fit the environment or has no distribution to sample from, OCT_EINTERNAL when the
// environment fails (for good, or ACTOR_EVALUATE_FAILURES_MAX times before an episode of one
// environment came to its end), OCT_ECLOSED when *stop became true; each with one line in reason.
#define ACTOR_EVALUATE_FAILURES_MAX 100u
#define ACTOR_EVALUATE_STEPS_MAX    10000u // of an episode of an environment without a limit

typedef struct actor_evaluate_request {
    const char *env_id;
    const char *options;
    const char *mjcf_dir; // as in env_request; NULL or "": none
    uint32_t episodes;    // >= 1
    uint32_t envs;        // stepped together, at most episodes are used
    uint64_t seed;
    // Actions are drawn from the policy's distribution. Environment i draws from a generator of its
    // own, of this seed and stream i, as octet_policy_rng_init makes it.
    bool sampling;
    // Environment steps after which an episode is truncated: its environment is reset, and its
    // return counts. 0: the environment's own limit, or ACTOR_EVALUATE_STEPS_MAX if it has none.
    uint32_t max_steps;
    const _Atomic(int) *stop; // NULL, or asked each step
    // NULL, or called before acting, with the environments, how many steps the action makes, and
    // how many episodes were counted so far.
    void (*watch)(void *arg, const env *e, uint32_t env_steps, uint32_t counted);
    void *watch_arg;
    // NULL, or told, before acting, each observation of the episodes that were asked for, as the
    // policy reads it; valid during the call. Those of an episode that fails, and is played again,
    // are among them. An environment that could not be reset has none.
    void (*observe)(void *arg, const void *obs);
    void *observe_arg;
    // NULL, or asked each step, before acting: environment 0 of e as it is now, its observation,
    // and how many episodes it has ended; not while it could not be reset. Another answer than
    // OCT_OK ends the evaluation with it and with what was written to reason.
    oct_err (*look)(void *arg, env *e, const void *obs, uint32_t ended, char *reason,
                    size_t reason_size);
    void *look_arg;
} actor_evaluate_request;

typedef struct actor_evaluate_result {
    uint32_t episodes;
    double mean, std, min, max; // of the returns; std with n - 1
    double mean_length;
    uint64_t env_steps;
    double seconds;
    uint32_t failed;       // further episodes, in which the environment failed
    uint32_t truncated;    // of the episodes, by max_steps: the environment had not ended them
    uint32_t max_steps;    // that applied, in environment steps
    uint64_t env_failures; // steps and resets that failed, also where the evaluation did
    char failure[256];     // why, the last time: env_failure; "": none did
    float *returns;        // [episodes] room given by the caller, or NULL
    uint32_t *lengths;     // [episodes] room given by the caller, or NULL
    // What the environment itself measures.
    oct_metric_names metric_names;
    oct_metric metrics[OCT_METRICS_MAX];
} actor_evaluate_result;

OCT_CHECKED oct_err actor_evaluate(const policy_net *net, const actor_evaluate_request *request,
                                   actor_evaluate_result *result, char *reason, size_t reason_size);

// Does this policy fit an environment of this spec: types, shapes, and, unless it was imported, the
// bounds of actions? OCT_EINVAL with one line in reason.
OCT_CHECKED oct_err actor_fits(const policy_spec *spec, const policy_origin *origin,
                               const octet_env_spec *task, char *reason, size_t reason_size);

#endif // ACTOR_ACTOR_EVALUATE_H
