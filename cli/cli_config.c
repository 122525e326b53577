// octet config: prints and checks the keys of an experiment.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli_algorithms.h"
#include "cli/cli_commands.h"
#include "cli/cli_options.h"
#include "cli/cli_text.h"
#include "cli/run/cli_preflight.h"
#include "common/oct_config_effects.h"
#include "common/oct_config_text.h"
#include "common/oct_file.h"
#include "common/oct_suggest.h"

#define MESSAGE_BYTES 4096

enum { KEY_MARKDOWN = 256, KEY_CHECK, KEY_RESOLVED, KEY_EXPLAIN, KEY_ALGORITHMS };

typedef struct config_options {
    const char *key;
    const char *check;
    const char *explain;
    bool algorithms;
    bool markdown;
    bool resolved;
} config_options;

static const struct argp_option option_table[] = {
    {"markdown", KEY_MARKDOWN, NULL, 0,
     "Print the keys, or the table of --algorithms, as Markdown for the documentation", 0},
    {"check", KEY_CHECK, "FILE", 0,
     "Check an experiment file or a preset as octet train would, and report its errors", 0},
    {"resolved", KEY_RESOLVED, NULL, 0, "With --check, print every key with its value", 0},
    {"explain", KEY_EXPLAIN, "ALGO", 0, "Print the keys that an algorithm uses, with usual values",
     0},
    {"algorithms", KEY_ALGORITHMS, NULL, 0,
     "Print for each algorithm what it learns from, its actions, observations and networks", 0},
    {0},
};

static error_t
parse(int key, char *arg, struct argp_state *state)
{
    config_options *options = state->input;
    switch (key) {
    case KEY_MARKDOWN:
        options->markdown = true;
        return 0;
    case KEY_CHECK:
        options->check = arg;
        return 0;
    case KEY_EXPLAIN:
        options->explain = arg;
        return 0;
    case KEY_ALGORITHMS:
        options->algorithms = true;
        return 0;
    case KEY_RESOLVED:
        options->resolved = true;
        return 0;
    case ARGP_KEY_ARG:
        if (options->key != NULL) {
            cli_usage_error("config", "two keys, '%s' and '%s'; name one", options->key, arg);
        }
        options->key = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp config_argp = {
    .options = option_table,
    .parser = parse,
    .args_doc = "[KEY]",
    .doc = "Prints the keys of an experiment: type, bounds, default, meaning. KEY is a key or a "
           "section (learner.batch_size, learner).\v"
           "Examples:\n"
           "  octet config replay\n"
           "  octet config --explain sac\n"
           "  octet config --check cartpole --resolved",
};

static void
pass_over(void *arg, const char *line)
{
    (void)arg;
    (void)line;
}

// What octet train looks at before it makes a folder. Printed are the values as they stand in the
// file.
static bool
can_train(const cli_experiment *experiment, const oct_config *config)
{
    static cli_environment environment;
    static oct_config resolved;
    resolved = *config;
    return cli_experiment_resolve(experiment, &resolved) &&
           cli_preflight_passes(&environment, experiment, &resolved, pass_over);
}

static int
check_file(const char *file, bool resolved)
{
    static oct_config config;
    char message[MESSAGE_BYTES] = "";
    cli_experiment experiment = {.command = "config", .file = file};
    cli_experiment_find(&experiment);
    oct_config_default(&config);
    if (oct_config_load(&config, experiment.file, message, sizeof(message)) != OCT_OK) {
        fprintf(stderr, "%s", message);
        return CLI_EXIT_FAILED;
    }
    if (oct_config_check(&config, message, sizeof(message)) != OCT_OK) {
        cli_experiment_print_lines(&experiment, message);
        return CLI_EXIT_FAILED;
    }
    oct_config_warn_idle(&config, &config, message, sizeof(message));
    fputs(message, stderr);
    if (!can_train(&experiment, &config)) {
        return CLI_EXIT_FAILED;
    }
    if (resolved) {
        char *text = oct_config_print(&config);
        (void)fputs(text, stdout);
        free(text);
    } else {
        printf("%s: ok\n", experiment.file);
    }
    return 0;
}

// ---- one key out of the description: sections stand at column 0, keys at 2, details at 6

#define KEYS_MAX 256

typedef struct key_list {
    char *name[KEYS_MAX + 1]; // "learner.batch_size"
    size_t count;
} key_list;

static bool
key_matches(const char *key, const char *wanted)
{
    size_t length = strlen(wanted);
    return strncmp(key, wanted, length) == 0 && (key[length] == '\0' || key[length] == '.');
}

// Prints what of description is about wanted; adds every key's name to names. Returns how many
// keys were printed.
static size_t
print_matching(char *description, const char *wanted, key_list *names)
{
    char section[64] = "";
    size_t printed = 0;
    bool is_wanted = false;
    char *rest = description;
    for (char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n")) {
        size_t indent = strspn(line, " ");
        int length = (int)strcspn(line + indent, ":");
        if (indent == 0) {
            (void)snprintf(section, sizeof(section), "%.*s", length, line);
            is_wanted = false;
            continue;
        }
        if (indent == 2 && names->count < KEYS_MAX) {
            char name[128];
            (void)snprintf(name, sizeof(name), "%s.%.*s", section, length, line + indent);
            is_wanted = key_matches(name, wanted);
            printed += is_wanted;
            names->name[names->count] = strdup(name);
            OCT_ASSERT(names->name[names->count] != NULL);
            names->count++;
            if (is_wanted) {
                printf("%s.%s\n", section, line + indent);
            }
        } else if (is_wanted) {
            printf("%s\n", line);
        }
    }
    return printed;
}

static void
print_key(const char *wanted)
{
    char *description = oct_config_describe(false);
    key_list names = {.count = 0};
    size_t printed = print_matching(description, wanted, &names);
    free(description);
    if (printed == 0 && oct_file_is_there(wanted)) {
        cli_usage_error(
            "config",
            "'%s' is a file, not a key; to see its values: octet config --check %s --resolved",
            wanted, cli_text_word(wanted).text);
    }
    if (printed == 0) {
        const char *near = oct_config_key_meant(wanted);
        near = near != NULL ? near : oct_suggest(wanted, (const char *const *)names.name);
        if (oct_config_is_algorithm(wanted)) {
            cli_usage_error("config",
                            "'%s' is an algorithm, not a key; octet config --explain %s lists its "
                            "keys",
                            wanted, wanted);
        }
        if (near != NULL) {
            cli_usage_error("config", "no key '%s'; did you mean %s?", wanted, near);
        }
        cli_usage_error("config", "no key '%s'; octet config prints all keys", wanted);
    }
    for (size_t i = 0; i < names.count; i++) {
        free(names.name[i]);
    }
}

static void
explain(const char *algorithm)
{
    char *text = oct_config_explain(algorithm);
    if (text == NULL) {
        char hint[OCT_CONFIG_NAME_MAX + 32];
        cli_usage_error("config", "no algorithm '%s'%s\n  allowed: %s", algorithm,
                        oct_config_suggest_algorithm(algorithm, hint, sizeof(hint)),
                        oct_config_algo_words());
    }
    (void)fputs(text, stdout);
    free(text);
}

// Each of these prints something else.
static void
check_one(const config_options *options)
{
    const struct {
        bool is_given;
        const char *name;
    } asked[] = {{options->key != NULL, options->key},
                 {options->check != NULL, "--check"},
                 {options->explain != NULL, "--explain"},
                 {options->algorithms, "--algorithms"},
                 {options->markdown && !options->algorithms, "--markdown"}};
    const char *first = NULL;
    for (size_t i = 0; i < OCT_COUNTOF(asked); i++) {
        if (asked[i].is_given && first != NULL) {
            cli_usage_error("config", "%s and %s cannot be used together", first, asked[i].name);
        }
        first = asked[i].is_given ? asked[i].name : first;
    }
}

int
cli_config(int argc, char **argv)
{
    config_options options = {0};
    cli_options_parse(&config_argp, argc, argv, &options);
    check_one(&options);
    if (options.check != NULL) {
        return check_file(options.check, options.resolved);
    }
    if (options.resolved) {
        cli_usage_error("config", "--resolved needs --check FILE");
    }
    if (options.explain != NULL) {
        explain(options.explain);
        return 0;
    }
    if (options.algorithms) {
        cli_algorithms_print(stdout, options.markdown);
        return 0;
    }
    if (options.key != NULL) {
        print_key(options.key);
        return 0;
    }
    char *description = oct_config_describe(options.markdown);
    (void)fputs(description, stdout);
    free(description);
    return 0;
}
