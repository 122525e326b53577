#ifndef ACTOR_ACTOR_EVALUATE_H
#define ACTOR_ACTOR_EVALUATE_H

#include "common/oct_metric.h"
#include "common/oct_reason.h"
#include "envs/env.h"
#include "policy/policy_net.h"

// Evaluates a policy exactly as it ships, greedily. This is the return that Octet reports. With
// sampling, actions are sampled from the policy's distribution, as actors do.
//
// Every episode counts once and whole. With E environments and n episodes, environment i plays
// episodes i, i + E, …; an environment that has played its share continues, but its episodes are
// not counted. So short episodes are not favoured. An episode in which the environment failed is
// played again and counted in failed. Returns are undiscounted. Metrics of the environment are of
// the same episodes.
//
// Threads: any, one call at a time per result. The call opens the environment and closes it. Owns:
// nothing.
// Errors, with one line in reason:
//   OCT_EINVAL  the policy does not fit the environment, or has no distribution to sample from
//   OCT_EINTERNAL  the environment failed for good, or in more than ACTOR_EVALUATE_FAILURES_MAX
//     consecutive steps and resets of one environment before an episode ended
//   OCT_ECLOSED  *stop became true
// Other errors are those of env_open and of look.
#define ACTOR_EVALUATE_FAILURES_MAX 100u   // of one environment since its last whole episode
#define ACTOR_EVALUATE_STEPS_MAX    10000u // environment steps of an episode without a limit

typedef struct actor_evaluate_request {
    const char *env_id;
    const char *options;  // "key=value,…"; NULL: none
    const char *mjcf_dir; // as in env_request; NULL or "": none
    uint32_t episodes;    // >= 1
    uint32_t envs;        // stepped together; no more than episodes are opened
    uint64_t seed;        // of the environments and, with sampling, of the actions
    // Actions are sampled from the policy's distribution. Environment i has its own generator,
    // with this seed and stream i, as octet_policy_rng_init makes it.
    bool sampling;
    // Environment steps after which an episode is truncated: the environment is reset, and the
    // return so far counts. 0: the environment's own limit, or ACTOR_EVALUATE_STEPS_MAX if it has
    // none.
    uint32_t max_steps;
    const _Atomic(int) *stop; // may be NULL; read before each step
    // Called before acting, if not NULL: with the environments, the environment steps of the next
    // action in all of them, and the number of episodes counted so far.
    void (*watch)(void *arg, const env *e, uint32_t env_steps, uint32_t counted);
    void *watch_arg;
    // Called before acting, if not NULL, with each observation of the episodes that count, as the
    // policy reads it; obs is valid during the call. Observations of episodes that fail and are
    // played again are among them. An environment that could not be reset has no observation.
    void (*observe)(void *arg, const void *obs);
    void *observe_arg;
    // Called before acting, if not NULL and environment 0 could be reset: with the environments,
    // environment 0's observation as the environment wrote it, and the number of its episodes that
    // have ended. An error ends the evaluation, which returns it and the reason.
    oct_err (*look)(void *arg, env *e, const void *obs, uint32_t ended, oct_reason *why);
    void *look_arg;
} actor_evaluate_request;

typedef struct actor_evaluate_result {
    uint32_t episodes;
    double mean, std, min, max; // of the returns; std divides by n - 1
    double mean_length;         // in actions
    uint64_t env_steps;         // of all environments, also of episodes that do not count
    double seconds;             // wall time, without opening the environments
    uint32_t failed;            // further episodes, in which the environment failed
    uint32_t truncated;         // episodes that max_steps ended
    uint32_t max_steps;         // the limit that applied, in environment steps
    uint64_t env_failures;      // steps and resets that failed; set on errors, too
    char failure[256];          // cause of the last failure; "": none failed
    float *returns;             // [episodes] from the caller, or NULL
    uint32_t *lengths;          // [episodes] from the caller, or NULL; in actions
    // Metrics of the environment: for each the sum over the episodes that have it.
    oct_metric_names metric_names;
    oct_metric metrics[OCT_METRICS_MAX];
} actor_evaluate_result;

// The caller sets returns and lengths in *result; actor_evaluate sets the rest. On an error only
// env_steps, failed, truncated, max_steps and env_failures are meaningful, once the environment
// was opened.
OCT_CHECKED oct_err actor_evaluate(const policy_net *net, const actor_evaluate_request *request,
                                   actor_evaluate_result *result, oct_reason *why);

// Checks that a policy fits an environment of this spec: types, shapes, and the bounds of actions
// unless the policy was imported. OCT_EINVAL, with one line in reason.
OCT_CHECKED oct_err actor_fits(const policy_spec *spec, const policy_origin *origin,
                               const octet_env_spec *task, oct_reason *why);

#endif // ACTOR_ACTOR_EVALUATE_H
