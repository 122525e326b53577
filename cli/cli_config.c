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
#include "common/oct_file.h"
#include "config/config_effects.h"
#include "config/config_text.h"

#define MESSAGE_BYTES 4096

typedef struct config_options {
    const char *key;
    const char *check;
    const char *explain;
    bool all;
    bool algorithms;
    bool markdown;
    bool resolved;
} config_options;

static const oct_arg config_rows[] = {
    {OCT_ARG_OPERAND("keys", config_options, key)},
    {OCT_ARG_FLAG("all", config_options, all),
     .help = "Print all keys, also those that few experiments choose"},
    {OCT_ARG_FLAG("markdown", config_options, markdown),
     .help = "Print all keys, or the table of --algorithms, as Markdown for the documentation"},
    {OCT_ARG_PATH("check", "FILE", config_options, check),
     .help = "Check an experiment file or a preset as octet train would, and report its errors"},
    {OCT_ARG_FLAG("resolved", config_options, resolved),
     .help = "With --check, print every key with its value"},
    {OCT_ARG_TEXT("explain", "ALGO", config_options, explain),
     .help = "Print the keys that an algorithm uses, with usual values"},
    {OCT_ARG_FLAG("algorithms", config_options, algorithms),
     .help =
         "Print for each algorithm what it learns from, its actions, observations and networks"},
    {0},
};

static const oct_args config_args = {
    .rows = config_rows,
    .usage = "[KEY]",
    .doc = "Prints the keys that most experiments choose: type, bounds, default, meaning. KEY is "
           "any key or a section (learner.batch_size, learner).\v"
           "Examples:\n"
           "  octet config --all\n"
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

// Checks what octet train checks before it makes a folder. The caller's config keeps the values of
// the file, which --resolved prints.
static bool
can_train(const cli_experiment *experiment, const config_experiment *config)
{
    static cli_environment environment;
    static config_experiment resolved;
    resolved = *config;
    return cli_experiment_resolve(experiment, &resolved) &&
           cli_preflight_passes(&environment, experiment, &resolved, pass_over);
}

static int
check_file(const char *file, bool resolved)
{
    static config_experiment config;
    char message[MESSAGE_BYTES] = "";
    cli_experiment experiment = {.command = "config", .file = file};
    cli_experiment_find(&experiment);
    config_default(&config);
    if (config_load(&config, experiment.file, message, sizeof(message)) != OCT_OK) {
        fprintf(stderr, "%s", message);
        return CLI_EXIT_FAILED;
    }
    if (config_check(&config, message, sizeof(message)) != OCT_OK) {
        cli_experiment_print_lines(&experiment, message);
        return CLI_EXIT_FAILED;
    }
    config_warn_idle(&config, &config, message, sizeof(message));
    fputs(message, stderr);
    if (!can_train(&experiment, &config)) {
        return CLI_EXIT_FAILED;
    }
    if (resolved) {
        char *text = config_print(&config);
        (void)fputs(text, stdout);
        free(text);
    } else {
        printf("%s: ok\n", experiment.file);
    }
    return 0;
}

static void
print_key(const char *wanted)
{
    char *text = config_describe_key(wanted), hint[MESSAGE_BYTES];
    if (text == NULL && oct_file_is_there(wanted)) {
        cli_usage_error(
            "config",
            "'%s' is a file, not a key; to see its values: octet config --check %s --resolved",
            wanted, cli_text_word(wanted).text);
    }
    if (text == NULL && config_is_algorithm(wanted)) {
        cli_usage_error("config",
                        "'%s' is an algorithm, not a key; octet config --explain %s lists its keys",
                        wanted, wanted);
    }
    if (text == NULL) {
        cli_usage_error("config", "no key '%s'%s", wanted,
                        config_suggest_key(wanted, hint, sizeof(hint)));
    }
    (void)fputs(text, stdout);
    free(text);
}

static void
explain(const char *algorithm)
{
    char *text = config_explain(algorithm);
    if (text == NULL) {
        char hint[CONFIG_NAME_MAX + 32];
        cli_usage_error("config", "no algorithm '%s'%s\n  allowed: %s", algorithm,
                        config_suggest_algorithm(algorithm, hint, sizeof(hint)),
                        config_algo_words());
    }
    (void)fputs(text, stdout);
    free(text);
}

// Refuses two requests that print different things.
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
                 {options->all, "--all"},
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
    cli_args_parse(&config_args, argc, argv, &options);
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
    char *description =
        options.markdown ? config_describe_markdown() : config_describe(options.all);
    (void)fputs(description, stdout);
    free(description);
    if (!options.markdown && !options.all) {
        puts("\noctet config --all prints all keys.");
    }
    return 0;
}
