#ifndef LEARNER_LEARNER_ENVIRONMENT_H
#define LEARNER_LEARNER_ENVIRONMENT_H

#include <stddef.h>

#include "common/oct_metric.h"
#include "common/oct_reason.h"
#include "policy/policy_spec.h"
#include "proto/wire_learner.h"

// The run's environment: its observations and actions, which decide the network's shape. The run
// takes it from the file that `octet train` writes about the environment that it opened, or else
// from the first actor, and keeps it in the run folder. A peer that registers with another
// environment is refused.
//
// Threads: any; no shared state.
#define LEARNER_ENVIRONMENT_FILE "environment.oct" // in the run folder (proto/wire_env.h)

// Fills the fields of a policy_spec that an environment decides; the rest is 0.
void learner_environment_of(policy_spec *out, const wire_env_spec *env);
// Compares two environments. OCT_EINVAL: observations or actions differ; reason describes both.
OCT_CHECKED oct_err learner_environment_alike(const policy_spec *run, const policy_spec *actor,
                                              oct_reason *why);
// Describes an environment: "CartPole-v1: observations 4 float32, actions 2 to choose from".
void learner_environment_words(const policy_spec *spec, char *out, size_t out_size);

// Reads the file of an environment. metrics: the names of its own metrics; NULL: not wanted.
//   OCT_ENOTFOUND  there is no such file
//   OCT_EPROTO     the file is damaged, or of another release; reason names it
OCT_CHECKED oct_err learner_environment_read(const char *path, policy_spec *out,
                                             oct_metric_names *metrics, oct_reason *why);

#endif // LEARNER_LEARNER_ENVIRONMENT_H
