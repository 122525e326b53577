#ifndef ENVS_ENV_CHECK_H
#define ENVS_ENV_CHECK_H

#include "common/oct_reason.h"
#include "envs/env.h"
#include "envs/env_check_said.h"

// Checks an environment against the rules of include/octet/env.h, and whether a policy can be
// trained on it. Every rule runs in a child process of its own, so that an environment that
// crashes, exits or hangs breaks only that rule.
//
// Threads: the caller's process must have one thread, because it forks. Owns: nothing.
typedef enum env_check_verdict {
    ENV_CHECK_PASS,
    ENV_CHECK_FAIL,
    ENV_CHECK_SKIP, // the rule does not apply, or its case did not occur; detail says why
    ENV_CHECK_WARN, // no rule is broken, but detail says what may go wrong
    // The interface is right, but octet train refuses such an environment; detail says why.
    ENV_CHECK_UNFIT
} env_check_verdict;

typedef struct env_check_result {
    const char *rule;  // what the rule asks, in a few words
    const char *means; // the rule in a few words
    env_check_verdict verdict;
    char detail[256]; // FAIL: what broke and how; SKIP, WARN, UNFIT: why; PASS: ""
} env_check_result;

typedef struct env_check_request {
    const char *id;
    const char *options;
    uint64_t seed;
    uint32_t rule_timeout_ms; // a rule's process is killed after this
    // What training requires of a spec; OCT_EINVAL with one line in reason. NULL: not checked.
    oct_err (*trains)(const octet_env_spec *spec, oct_reason *why);
    // Gets what the environment writes to standard error. NULL: that is shown at once and not kept.
    env_check_said *said;
} env_check_request;

typedef void env_check_report(void *arg, const env_check_result *result);

// Reports every rule in order and returns how many failed. If the environment cannot be opened or
// stepped at all, the other rules are not tried.
uint32_t env_check_run(const env_check_request *request, env_check_report *report, void *arg);

#endif // ENVS_ENV_CHECK_H
