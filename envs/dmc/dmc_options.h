#ifndef ENVS_DMC_DMC_OPTIONS_H
#define ENVS_DMC_DMC_OPTIONS_H

#include <stdbool.h>

#include "envs/dmc/dmc_task.h"
#include "include/octet/env.h"

// The options of a Control Suite environment. Threads: any. Owns: nothing; mjcf_dir is the caller's
// text.
#define DMC_STEPS 1000 // control steps of an episode in dm_control, for every task

typedef struct dmc_options {
    const dmc_task *task;
    const char *mjcf_dir; // NULL: Octet's own models
    uint32_t max_episode_steps;
} dmc_options;

// Reads the options. Returns false with one line in error: an unknown key, task or number.
bool dmc_options_read(dmc_options *out, const octet_env_config *config, char *error,
                      uint32_t error_size);

#endif // ENVS_DMC_DMC_OPTIONS_H
