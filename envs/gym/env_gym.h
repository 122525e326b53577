#ifndef ENVS_GYM_ENV_GYM_H
#define ENVS_GYM_ENV_GYM_H

#include <stdbool.h>

#include "include/octet/env.h"

// Environments of Gymnasium, "gym:NAME" or "gym:MODULE:NAME": each handle has a Python process that
// steps all of its environments (env_gym_process.h). Options are the keyword arguments of
// gymnasium.make; info_metrics names values of info, which are the environment's metrics. A process
// that crashed or hangs is started again, and its environments have failed in that step.
//
// Threads: as every handle. Owns: its process.
bool env_gym_has(const char *id);         // begins with "gym:"
const char *env_gym_name(const char *id); // what follows

#define ENV_GYM_NAME_KEY "=" // the option that has the name; no option of a user has an equals sign
#define ENV_GYM_BEGINS   2u  // an autoreset: 1, by a host that takes rows with ENV_BEGINS
extern const octet_env_api env_gym_api;

#endif // ENVS_GYM_ENV_GYM_H
