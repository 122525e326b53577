#ifndef ENVS_GYM_ENV_GYM_H
#define ENVS_GYM_ENV_GYM_H

#include <stdbool.h>

#include "include/octet/env.h"

// Environments of Gymnasium, "gym:NAME" or "gym:MODULE:NAME". Each handle has a Python process
// that steps all of its environments (env_gym_process.h). Options are the keyword arguments of
// gymnasium.make; info_metrics names values of info, which become the environment's metrics. A
// process that crashed or hangs is started again; all of its environments have failed in that
// step.
//
// Threads: one user of a handle at a time. Owns: its process.
bool env_gym_has(const char *id);         // true if id begins with "gym:"
const char *env_gym_name(const char *id); // what follows "gym:"

#define ENV_GYM_NAME_KEY "=" // option with the name; keys of the user have no "="
#define ENV_GYM_BEGINS   2u  // autoreset of a host that accepts rows with ENV_BEGINS; else 0 or 1
extern const octet_env_api env_gym_api;

#endif // ENVS_GYM_ENV_GYM_H
