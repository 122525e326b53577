// Parses the options of native environments and checks them against their bounds.
#include "envs/env_native_option.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/oct_action_repeat.h"
#include "common/oct_text.h"
#include "envs/env_stack.h"

#define LIMIT_KEY "max_episode_steps" // the option that every environment has
#define LIMIT_MAX 1000000000

static int
unknown(const char *id, const env_native_option *options, const char *key, char *error,
        uint32_t error_size)
{
    char known[200] = LIMIT_KEY ", " OCT_ACTION_REPEAT_KEY ", " ENV_STACK_KEY ", " ENV_CHANNELS_KEY;
    for (size_t i = 0; i < ENV_NATIVE_OPTIONS_MAX && options[i].key != NULL; i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof(known) - used, ", %s", options[i].key);
    }
    snprintf(error, error_size, "%s has no option \"%s\"; it has: %s", id, key, known);
    return 1;
}

static bool
is_flag(const env_native_option *option)
{
    return option->whole && option->low == 0 && option->high == 1;
}

static int
word_read(const env_native_option *option, const char *text, double *out, char *error,
          uint32_t error_size)
{
    size_t length = strlen(text), place = 0;
    for (const char *at = option->words; *at != '\0'; place++) {
        size_t letters = strcspn(at, " ");
        if (letters == length && memcmp(at, text, letters) == 0) {
            *out = (double)place;
            return 0;
        }
        at += letters;
        at += strspn(at, " ");
    }
    snprintf(error, error_size, "option %s=%s is not one of: %s", option->key, text, option->words);
    return 1;
}

static int
number_read(const env_native_option *option, const char *text, double *out, char *error,
            uint32_t error_size)
{
    if (is_flag(option) && (strcasecmp(text, "true") == 0 || strcasecmp(text, "false") == 0)) {
        *out = strcasecmp(text, "true") == 0;
        return 0;
    }
    char *end = NULL;
    double value = oct_text_number(text, &end);
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
value_read(const env_native_option *option, const char *text, double *out, char *error,
           uint32_t error_size)
{
    if (option->text) {
        *out = 1;
        return 0;
    }
    return option->words != NULL ? word_read(option, text, out, error, error_size)
                                 : number_read(option, text, out, error, error_size);
}

static int
one_set(const char *id, const env_native_option *options, const octet_env_option *given,
        double *values, uint32_t *limit, char *error, uint32_t error_size)
{
    if (strcmp(given->key, LIMIT_KEY) == 0) {
        const env_native_option option = {.key = LIMIT_KEY, .high = LIMIT_MAX, .whole = true};
        double steps = 0;
        if (number_read(&option, given->value, &steps, error, error_size) != 0) {
            return 1;
        }
        *limit = (uint32_t)steps;
        return 0;
    }
    for (size_t i = 0; i < ENV_NATIVE_OPTIONS_MAX && options[i].key != NULL; i++) {
        if (strcmp(given->key, options[i].key) == 0) {
            return value_read(&options[i], given->value, &values[i], error, error_size);
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

const char *
env_native_option_text(const octet_env_config *config, const char *key)
{
    for (uint32_t i = 0; i < config->option_count; i++) {
        if (strcmp(config->options[i].key, key) == 0) {
            return config->options[i].value;
        }
    }
    return NULL;
}
