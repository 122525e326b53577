// Turns the environment of a policy into the keys of env, with absolute paths, and into a file.

#include "cli/run/cli_env_file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/run/cli_experiment.h"
#include "cli/run/cli_folder_env.h"
#include "common/oct_base.h"
#include "common/oct_file.h"
#include "common/oct_option.h"
#include "common/oct_text.h"
#include "config/config_text.h"

#define MODELS "mjcf_dir=" // the one option that is a path; it also has a key of its own

// Takes the next option from *options. False: there is none.
static bool
option_next(const char **options, char out[CLI_ENV_OPTIONS_BYTES])
{
    if (**options == '\0') {
        return false;
    }
    const char *end = oct_option_end(*options);
    size_t length = end != NULL ? (size_t)(end - *options) : strlen(*options);
    (void)snprintf(out, CLI_ENV_OPTIONS_BYTES, "%.*s", (int)length, *options);
    *options += length;
    *options += **options == ',';
    return true;
}

// Returns true if an option names a folder that exists, and writes its absolute path.
static bool
option_folder(const char *option, char out[PATH_MAX])
{
    return strncmp(option, MODELS, strlen(MODELS)) == 0 &&
           cli_experiment_is_path("env.mjcf_dir", option + strlen(MODELS)) &&
           realpath(option + strlen(MODELS), out) != NULL;
}

// False: the options do not fit in size with an absolute path.
bool
cli_env_file_resolve(char *options, size_t size)
{
    char option[CLI_ENV_OPTIONS_BYTES], models[PATH_MAX], made[CLI_ENV_OPTIONS_BYTES + PATH_MAX];
    bool is_changed = false;
    oct_text text;
    oct_text_init(&text, made, sizeof(made));
    for (const char *at = options; option_next(&at, option);) {
        bool is_folder = option_folder(option, models);
        is_changed = is_changed || is_folder;
        oct_text_add(&text, "%s%s%s", text.used > 0 ? "," : "", is_folder ? MODELS : option,
                     is_folder ? models : "");
    }
    bool has_room = !text.truncated && text.used < size;
    if (is_changed && has_room) {
        memcpy(options, made, text.used + 1);
    }
    return has_room || !is_changed;
}

// Splits options into the keys env.options and env.mjcf_dir. False: one of them is too long for a
// key.
bool
cli_env_file_keys(config_experiment *out, const char *id, const char *options)
{
    char option[CLI_ENV_OPTIONS_BYTES], models[PATH_MAX] = "", plug_in[PATH_MAX];
    oct_text others;
    config_default(out);
    oct_text_init(&others, out->env.options, sizeof(out->env.options));
    if (cli_experiment_is_path("env.id", id) && realpath(id, plug_in) != NULL) {
        id = plug_in;
    }
    for (const char *at = options; option_next(&at, option);) {
        if (!option_folder(option, models)) {
            oct_text_add(&others, "%s%s", others.used > 0 ? "," : "", option);
        }
    }
    if (others.truncated || strlen(id) >= sizeof(out->env.id) ||
        strlen(models) >= sizeof(out->env.mjcf_dir)) {
        return false;
    }
    memcpy(out->env.id, id, strlen(id) + 1);
    memcpy(out->env.mjcf_dir, models, strlen(models) + 1);
    return true;
}

// Writes the same keys as config.yaml, so that the same reader can load the file.
oct_err
cli_env_file_write(const char *path, const config_experiment *config)
{
    static const char *const keys[] = {"env.id", "env.options", "env.mjcf_dir"};
    char value[CONFIG_VALUE_MAX], content[OCT_COUNTOF(keys) * sizeof(value)];
    oct_text text;
    oct_text_init(&text, content, sizeof(content));
    oct_text_add(&text, "env:\n");
    for (size_t i = 0; i < OCT_COUNTOF(keys); i++) {
        bool is_key = config_key_print(config, keys[i], value);
        OCT_ASSERT(is_key);
        oct_text_add(&text, "  %s: %s\n", strchr(keys[i], '.') + 1, value);
    }
    return oct_file_write(path, content, text.used);
}
