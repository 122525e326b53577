#ifndef ENVS_ENV_NATIVE_OPTION_H
#define ENVS_ENV_NATIVE_OPTION_H

#include <stdbool.h>

#include "include/octet/env.h"

// The options of native environments. Threads: any. Owns: nothing.

#define ENV_NATIVE_OPTIONS_MAX 6

// One option: a number between low and high, one of several words, or a text. Every environment has
// max_episode_steps besides its own options. Options that are whole numbers from 0 to 1 also accept
// false and true.
typedef struct env_native_option {
    const char *key;
    double initial;
    double low, high;
    bool whole;        // only integers are allowed
    const char *words; // "4x4 8x8": the value is the index of the word, from 0. NULL: a number
    bool text;         // env_native_option_text reads it; the value is 1 if it is given, else 0
} env_native_option;

// Reads config's options into values[ENV_NATIVE_OPTIONS_MAX] (initial where not given) and *limit
// (unchanged if not given). options[ENV_NATIVE_OPTIONS_MAX] ends at the first entry without a key.
// Returns 0, or 1 with a line in error: an unknown key, or a value out of range.
int env_native_options_set(const char *id, const env_native_option *options,
                           const octet_env_config *config, double *values, uint32_t *limit,
                           char *error, uint32_t error_size);
// Returns config's text for key; NULL: not given.
const char *env_native_option_text(const octet_env_config *config, const char *key);

#endif // ENVS_ENV_NATIVE_OPTION_H
