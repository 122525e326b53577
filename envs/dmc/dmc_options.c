// Parses the options of a Control Suite environment: task, folder of models, episode length.
#include "envs/dmc/dmc_options.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/oct_action_repeat.h"
#include "common/oct_text.h"
#include "envs/env_stack.h"

#define PREFIX    "dmc:"
#define STEPS_MAX 1000000000

static const dmc_task *
task_find(const char *name)
{
    if (strncmp(name, PREFIX, strlen(PREFIX)) == 0) {
        name += strlen(PREFIX);
    }
    for (const dmc_task *const *task = dmc_tasks(); *task != NULL; task++) {
        if (strcmp((*task)->id + strlen(PREFIX), name) == 0) {
            return *task;
        }
    }
    return NULL;
}

static bool
steps_read(uint32_t *out, const char *text, char *error, uint32_t error_size)
{
    char *end = NULL;
    double value = oct_text_number(text, &end);
    if (end == text || *end != '\0' || !(value >= 0 && value <= STEPS_MAX) ||
        value != floor(value)) {
        snprintf(error, error_size,
                 "option max_episode_steps=%s is not an integer from 0 to %d (0: no limit)", text,
                 STEPS_MAX);
        return false;
    }
    *out = (uint32_t)value;
    return true;
}

static bool
option_read(dmc_options *out, const octet_env_option *option, char *error, uint32_t error_size)
{
    if (strcmp(option->key, "task") == 0) {
        if (out->task != NULL) {
            snprintf(error, error_size, "option task is given twice (dmc:NAME gives it)");
            return false;
        }
        out->task = task_find(option->value);
        if (out->task == NULL) {
            snprintf(error, error_size, "the Control Suite has no task \"%.63s\"", option->value);
        }
        return out->task != NULL;
    }
    if (strcmp(option->key, "mjcf_dir") == 0) {
        if (out->mjcf_dir != NULL) {
            snprintf(error, error_size, "option mjcf_dir is given twice (env.mjcf_dir gives it)");
            return false;
        }
        out->mjcf_dir = option->value;
        return true;
    }
    if (strcmp(option->key, "max_episode_steps") == 0) {
        return steps_read(&out->max_episode_steps, option->value, error, error_size);
    }
    snprintf(error, error_size,
             "the Control Suite has no option \"%s\"; it has: task, mjcf_dir, "
             "max_episode_steps, " OCT_ACTION_REPEAT_KEY ", " ENV_STACK_KEY,
             option->key);
    return false;
}

bool
dmc_options_read(dmc_options *out, const octet_env_config *config, char *error, uint32_t error_size)
{
    *out = (dmc_options){.max_episode_steps = DMC_STEPS};
    for (uint32_t i = 0; i < config->option_count; i++) {
        if (!option_read(out, &config->options[i], error, error_size)) {
            return false;
        }
    }
    if (out->task == NULL) {
        snprintf(error, error_size, "option task is missing, such as task=%s",
                 dmc_tasks()[0]->id + strlen(PREFIX));
        return false;
    }
    if (out->task->has_no_file && out->mjcf_dir != NULL) {
        snprintf(error, error_size,
                 "option mjcf_dir=%.200s: %s has no model file: dm_control builds this model in "
                 "code; leave mjcf_dir out for Octet's own",
                 out->mjcf_dir, out->task->id);
        return false;
    }
    return true;
}
