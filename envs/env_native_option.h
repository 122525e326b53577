#ifndef ENVS_ENV_NATIVE_OPTION_H
#define ENVS_ENV_NATIVE_OPTION_H

#include <stdbool.h>

#include "include/octet/env.h"

// The options of the native environments: numbers. Threads: any. Owns: nothing.

#define ENV_NATIVE_OPTIONS_MAX 4

// One option: a number between low and high. Every environment has max_episode_steps beside its
// own.
typedef struct env_native_option {
    const char *key;
    double initial;
    double low, high;
    bool whole; // an integer
} env_native_option;

// Reads config's options into values[ENV_NATIVE_OPTIONS_MAX] (initial where nothing is given) and
// *limit (kept where nothing is given). options[ENV_NATIVE_OPTIONS_MAX] ends at the first without a
// key. 0, or 1 with a line in error: an unknown key, a value out of range.
int env_native_options_set(const char *id, const env_native_option *options,
                           const octet_env_config *config, double *values, uint32_t *limit,
                           char *error, uint32_t error_size);

#endif // ENVS_ENV_NATIVE_OPTION_H
