// Parses the numeric options of native environments and checks them against their bounds.
#include "envs/env_native_option.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_KEY "max_episode_steps"
#define LIMIT_MAX 1000000000

static int
unknown(const char *id, const env_native_option *options, const char *key, char *error,
        uint32_t error_size)
{
    char known[200] = LIMIT_KEY;
    for (size_t i = 0; i < ENV_NATIVE_OPTIONS_MAX && options[i].key != NULL; i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof(known) - used, ", %s", options[i].key);
    }
    snprintf(error, error_size, "%s has no option \"%s\"; it has: %s", id, key, known);
    return 1;
}

static int
number_read(const env_native_option *option, const char *text, double *out, char *error,
            uint32_t error_size)
{
    char *end = NULL;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= option->low && value <= option->high) ||
        (option->whole && value != floor(value))) {
        snprintf(error, error_size, "option %s=%s is not %s from %g to %g", option->key, text,
                 option->whole ? "an integer" : "a number", option->low, option->high);
        return 1;
    }
    *out = value;
    return 0;
}

static int
one_set(const char *id, const env_native_option *options, const octet_env_option *given,
        double *values, uint32_t *limit, char *error, uint32_t error_size)
{
    if (strcmp(given->key, LIMIT_KEY) == 0) {
        const env_native_option option = {LIMIT_KEY, 0, 0, LIMIT_MAX, true};
        double steps = 0;
        if (number_read(&option, given->value, &steps, error, error_size) != 0) {
            return 1;
        }
        *limit = (uint32_t)steps;
        return 0;
    }
    for (size_t i = 0; i < ENV_NATIVE_OPTIONS_MAX && options[i].key != NULL; i++) {
        if (strcmp(given->key, options[i].key) == 0) {
            return number_read(&options[i], given->value, &values[i], error, error_size);
        }
    }
    return unknown(id, options, given->key, error, error_size);
}

int
env_native_options_set(const char *id, const env_native_option *options,
                       const octet_env_config *config, double *values, uint32_t *limit, char *error,
                       uint32_t error_size)
{
    for (size_t i = 0; i < ENV_NATIVE_OPTIONS_MAX; i++) {
        values[i] = options[i].initial;
    }
    for (uint32_t i = 0; i < config->option_count; i++) {
        if (one_set(id, options, &config->options[i], values, limit, error, error_size) != 0) {
            return 1;
        }
    }
    return 0;
}
