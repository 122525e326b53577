// Finds the experiment that a user names, a file or a preset. If the name is something else (an
// algorithm, an environment, a run folder), the error says so and lists experiments that use it.

#include "cli/run/cli_experiment.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli_options.h"
#include "cli/cli_presets.h"
#include "cli/cli_text.h"
#include "common/oct_file.h"
#include "common/oct_text.h"
#include "envs/env.h"

#define MESSAGE_BYTES 4096
#define USERS_SHOWN   5 // presets that are listed for an algorithm or an environment
#define SUFFIX        ".yaml"

// Returns true if a preset already has this value of key. *is_own: its environment comes with
// Octet.
static bool
preset_has(const char *preset, const char *key, const char *value, bool *is_own)
{
    static config_experiment config, other;
    char path[CLI_PATH_MAX], setting[CLI_PATH_MAX], message[MESSAGE_BYTES];
    config_change change;
    size_t at = 0;
    (void)snprintf(setting, sizeof(setting), "%s=%s", key, value);
    config_default(&config);
    if (cli_preset_find(preset, path) != OCT_OK ||
        config_load(&config, path, message, sizeof(message)) != OCT_OK) {
        return false;
    }
    other = config;
    *is_own = env_is_built_in(config.env.id);
    return config_set(&other, setting, message, sizeof(message)) == OCT_OK &&
           !config_next_change(&change, &config, &other, &at);
}

// Adds a line with the first presets that have the value. Returns the preset to suggest, malloc'd:
// if possible one that needs nothing beyond Octet, and among these the one with the shortest name.
// NULL: no preset has the value.
static const char *
users_list(oct_text *out, const char *key, const char *value)
{
    char **presets = cli_presets_list(), *best = NULL;
    bool is_best_own = false, is_own;
    size_t count = 0;
    for (size_t i = 0; presets[i] != NULL; i++) {
        if (!preset_has(presets[i], key, value, &is_own)) {
            continue;
        }
        if (best == NULL || (is_own && !is_best_own) ||
            (is_own == is_best_own && strlen(presets[i]) < strlen(best))) {
            free(best);
            best = strdup(presets[i]);
            is_best_own = is_own;
        }
        if (count++ < USERS_SHOWN) {
            oct_text_add(out, "%s%s", count > 1 ? ", " : "\n  presets that use it: ", presets[i]);
        }
    }
    if (count > USERS_SHOWN) {
        oct_text_add(out, " and %zu more", count - USERS_SHOWN);
    }
    cli_presets_free(presets);
    return best;
}

// Returns a preset whose environment suits an algorithm that no preset uses.
static const char *
preset_for(const char *algorithm)
{
    static config_experiment config;
    char setting[CONFIG_VALUE_MAX], message[MESSAGE_BYTES];
    (void)snprintf(setting, sizeof(setting), "algo.name=%s", algorithm);
    config_default(&config);
    oct_err err = config_set(&config, setting, message, sizeof(message));
    OCT_ASSERT(err == OCT_OK);
    return config.algo.name == CONFIG_ALGO_TABLE  ? "toy_text/taxi"
           : config.algo.name == CONFIG_ALGO_DDPG ? "pendulum"
                                                  : "cartpole";
}

// Ends the process if name is an algorithm. The three functions after this one do the same for an
// environment, a folder and a preset with the suffix of a file.
static void
refuse_algorithm(const char *command, const char *name)
{
    char list[MESSAGE_BYTES], start[CLI_PATH_MAX], word[CONFIG_NAME_MAX] = "";
    oct_text users;
    for (size_t i = 0; name[i] != '\0' && i + 1 < sizeof(word); i++) {
        word[i] = (char)tolower((unsigned char)name[i]);
    }
    if (!config_is_algorithm(word)) {
        return;
    }
    oct_text_init(&users, list, sizeof(list));
    const char *first = users_list(&users, "algo.name", word);
    (void)snprintf(start, sizeof(start), first != NULL ? "%s" : "%s --set algo.name=%s",
                   first != NULL ? first : preset_for(word), word);
    cli_usage_error(command,
                    "'%s' is an algorithm, not an experiment; try: octet %s %s%s\n  its keys, for "
                    "your own experiment: octet config --explain %s",
                    word, command, start, list, word);
}

// Includes libraries that do not exist: a name that ends in .so is meant as one.
static bool
is_environment(const char *name)
{
    size_t length = strlen(name);
    bool is_library = length > 3 && strcmp(name + length - 3, ".so") == 0;
    return is_library || env_is_built_in(name) || (env_is_code(name) && !env_is_plugin(name));
}

static void
refuse_environment(const char *command, const char *name)
{
    char list[MESSAGE_BYTES];
    oct_text users;
    if (!is_environment(name)) {
        return;
    }
    oct_text_init(&users, list, sizeof(list));
    const char *first = users_list(&users, "env.id", name);
    if (first != NULL) {
        cli_usage_error(command, "'%s' is an environment, not an experiment; try: octet %s %s%s",
                        name, command, first, list);
    }
    cli_usage_error(command,
                    "'%s' is an environment, not an experiment; write a file with this line:\n"
                    "  env: {id: \"%s\"}",
                    name, name);
}

static void
refuse_folder(const char *command, const char *name)
{
    char resume[CLI_TEXT_WORD_MAX + 128] = "";
    if (!cli_folder_has(name, "config.yaml")) {
        cli_usage_error(
            command, "'%s' is a folder, not an experiment; octet presets lists the presets", name);
    }
    if (strcmp(command, "train") == 0) {
        (void)snprintf(resume, sizeof(resume),
                       "\n  to continue its run: octet train --resume --run-dir %s",
                       cli_text_word(name).text);
    }
    cli_usage_error(command, "'%s' is a run folder; its experiment is %s/config.yaml%s", name, name,
                    resume);
}

// "cartpole.yaml" is no file, but the preset is called cartpole.
static void
refuse_preset_file(const char *command, const char *name)
{
    char stem[CLI_PATH_MAX], path[CLI_PATH_MAX];
    const char *below = strncmp(name, "presets/", 8) == 0 ? name + 8 : name;
    size_t length = strlen(below), suffix = strlen(SUFFIX);
    if (length <= suffix || length >= sizeof(stem) ||
        strcmp(below + length - suffix, SUFFIX) != 0) {
        return;
    }
    (void)snprintf(stem, sizeof(stem), "%.*s", (int)(length - suffix), below);
    if (cli_preset_find(stem, path) == OCT_OK) {
        cli_usage_error(command, "no file '%s'; the preset of that name is '%s'", name, stem);
    }
}

static bool
ends_in(const char *name, const char *suffix)
{
    size_t length = strlen(name), end = strlen(suffix);
    return length > end && strcmp(name + length - end, suffix) == 0;
}

// Decides what the name means. A name without the suffix of a file means a preset, whatever files
// the current folder has, because another user may have put them there. A path with a slash that is
// no preset's name means a file.
static void
find_preset(cli_experiment *experiment)
{
    const char *command = experiment->command != NULL ? experiment->command : "train";
    const char *name = experiment->file;
    struct stat status;
    bool is_there = oct_file_stat(name, &status) == 0,
         is_folder = is_there && S_ISDIR(status.st_mode);
    bool is_file = ends_in(name, SUFFIX) || ends_in(name, ".yml");
    if (!is_file && cli_preset_find(name, experiment->preset) == OCT_OK) {
        experiment->file = experiment->preset;
        return;
    }
    if (is_folder) {
        refuse_folder(command, name);
    }
    refuse_environment(command, name);
    if (!is_there) {
        refuse_preset_file(command, name);
    }
    if (is_file || (is_there && strchr(name, '/') != NULL)) {
        return;
    }
    refuse_algorithm(command, name);
    if (is_there) {
        cli_usage_error(command, "no preset '%s'; for the file of that name give ./%s", name, name);
    }
    char **names = cli_presets_list();
    const char *near = cli_preset_near(name, names);
    if (near != NULL) {
        cli_usage_error(command, "no file or preset '%s'; did you mean '%s'?", name, near);
    }
    cli_usage_error(command, "no file or preset '%s'; octet presets lists the presets", name);
}

void
cli_experiment_find(cli_experiment *experiment)
{
    find_preset(experiment);
    if (realpath(experiment->file, experiment->path) == NULL) {
        (void)snprintf(experiment->path, sizeof(experiment->path), "%s", experiment->file);
    }
}
