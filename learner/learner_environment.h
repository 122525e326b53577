#ifndef LEARNER_LEARNER_ENVIRONMENT_H
#define LEARNER_LEARNER_ENVIRONMENT_H

#include <stddef.h>

#include "common/oct_metric.h"
#include "policy/policy_spec.h"
#include "proto/wire_learner.h"

// What the run's environment is: observations and actions, as they decide the network's shape. It
// is known from the file that `octet train` writes of the environment that it has opened, or from
// the first actor, and then kept in the run folder; who registers with another one is refused.
//
// Threads: any; no shared state.
#define LEARNER_ENVIRONMENT_FILE "environment.oct" // in the run folder (proto/wire_env.h)

// Of a policy_spec what an environment decides; the rest is 0.
void learner_environment_of(policy_spec *out, const wire_env_spec *env);
// OCT_EINVAL: other observations or actions; reason has both in words.
OCT_CHECKED oct_err learner_environment_alike(const policy_spec *run, const policy_spec *actor,
                                              char *reason, size_t reason_size);
// "CartPole-v1: observations 4 float32, actions 2 to choose from".
void learner_environment_words(const policy_spec *spec, char *out, size_t out_size);

// metrics (NULL: not wanted): what it measures itself. OCT_ENOTFOUND: there is no such file;
// OCT_EPROTO: it is damaged, or of another release. reason names it.
OCT_CHECKED oct_err learner_environment_read(const char *path, policy_spec *out,
                                             oct_metric_names *metrics, char *reason,
                                             size_t reason_size);

#endif // LEARNER_LEARNER_ENVIRONMENT_H
