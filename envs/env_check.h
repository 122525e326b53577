#ifndef ENVS_ENV_CHECK_H
#define ENVS_ENV_CHECK_H

#include "envs/env.h"
#include "envs/env_check_said.h"

// Checks an environment against the rules of include/octet/env.h, and asks whether a policy can be
// trained on it. Every rule runs in a child process of its own, so that an environment that
// crashes, exits or hangs breaks that rule only.
//
// Threads: the caller's process has one thread (it forks). Owns: nothing.
typedef enum env_check_verdict {
    ENV_CHECK_PASS,
    ENV_CHECK_FAIL,
    ENV_CHECK_SKIP, // does not apply, or never happened; detail says why
    ENV_CHECK_WARN, // no rule is broken, but detail says what may become of it
    // The interface is kept, but octet train does not take such an environment; detail says why.
    ENV_CHECK_UNFIT
} env_check_verdict;

typedef struct env_check_result {
    const char *rule;  // its name
    const char *means; // the rule in a few words
    env_check_verdict verdict;
    char detail[256]; // FAIL: what broke and how; SKIP, WARN, UNFIT: why
} env_check_result;

typedef struct env_check_request {
    const char *id;
    const char *options;
    uint64_t seed;
    uint32_t rule_timeout_ms; // after which a rule's process is killed
    // What training asks of a spec, with one line in reason for OCT_EINVAL. NULL: not asked.
    oct_err (*trains)(const octet_env_spec *spec, char *reason, size_t reason_size);
    // Gets what the environment writes on standard error. NULL: it is not kept, and shown at once.
    env_check_said *said;
} env_check_request;

typedef void env_check_report(void *arg, const env_check_result *result);

// Reports every rule in order and answers how many failed. When the environment cannot be opened or
// stepped at all, the others are not tried.
uint32_t env_check_run(const env_check_request *request, env_check_report *report, void *arg);

#endif // ENVS_ENV_CHECK_H
