// octet completion: the scripts by which shells complete octet's commands, and the words that these
// scripts ask for: commands, options, presets, keys and values of --set, environments.

#include "cli/cli_completion.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cli_presets.h"
#include "cli/cli_python.h"
#include "common/oct_config_text.h"
#include "common/oct_file.h"
#include "envs/env.h"

#define SCRIPT_BYTES_MAX 65536
#define WORD_BYTES       256
#define FILES            ":files" // names of files may follow

typedef struct completion_options {
    const char *shell; // "words": the words themselves
    char **words;      // the name of the program, words, NULL
    int word_count, words_max;
} completion_options;

static const char *const shells[] = {"bash", "zsh", "fish", "words", NULL};

static error_t
parse(int key, char *arg, struct argp_state *state)
{
    completion_options *options = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        if (options->shell == NULL) {
            options->shell =
                shells[cli_option_word("completion", "SHELL", arg, shells, "bash, zsh or fish")];
        } else if (strcmp(options->shell, "words") == 0) {
            OCT_ASSERT(options->word_count < options->words_max);
            options->words[options->word_count++] = arg;
        } else {
            cli_usage_error("completion", "unexpected argument '%s'", arg);
        }
        return 0;
    case ARGP_KEY_END:
        if (options->shell == NULL) {
            cli_usage_error("completion", "name a shell: bash, zsh or fish");
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp completion_argp = {
    .parser = parse,
    .args_doc = "bash|zsh|fish\nwords -- WORD...",
    .doc = "Prints a script that makes a shell complete commands, options, presets, keys and "
           "environments. Add the line for your shell to the start-up file of the shell. An "
           "installed Octet may "
           "have it in place already.\v"
           "Examples:\n"
           "  . <(octet completion bash)         # in ~/.bashrc\n"
           "  . <(octet completion zsh)          # in ~/.zshrc, after compinit\n"
           "  octet completion fish | source     # in ~/.config/fish/config.fish\n\n"
           "The scripts call octet completion words, which prints the possible completions of the "
           "last word of a command line, one per line; " FILES " stands for the names of files."};

// ---- what can stand in a slot

static const cli_slot *slot; // that is told of

static bool
begins(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

// Prints what the whole word becomes with a candidate for its end.
static void
offer(const char *candidate)
{
    if (begins(candidate, slot->word)) {
        printf("%.*s%s\n", (int)(slot->word - slot->whole), slot->whole, candidate);
    }
}

// Each of a NULL-terminated list with what stands before it: "env.id=", "--".
static void
offer_each(const char *before, const char *const *list)
{
    for (size_t i = 0; list[i] != NULL; i++) {
        char candidate[WORD_BYTES];
        (void)snprintf(candidate, sizeof(candidate), "%s%s", before, list[i]);
        offer(candidate);
    }
}

static void
offer_presets(void)
{
    char **presets = cli_presets_list();
    offer_each("", (const char *const *)presets);
    cli_presets_free(presets);
}

static void
offer_environments(const char *before)
{
    const char *tasks[ENV_MODULE_TASKS_MAX + 1];
    char reason[ENV_REASON_BYTES];
    offer_each(before, env_ids());
    if (env_module_ids(tasks, reason, sizeof(reason)) == OCT_OK) { // this build has them
        offer_each(before, tasks);
    }
}

static void
offer_value(void)
{
    if (strcmp(slot->option, "set") == 0 && begins(slot->word, "env.id=")) {
        offer_environments("env.id=");
        return;
    }
    if (strcmp(slot->option, "set") == 0) {
        oct_config_offer_settings(slot->word, offer);
        return;
    }
    if (strcmp(slot->option, "env") == 0) {
        offer_environments("");
    } else if (strcmp(slot->command, "config") == 0 && strcmp(slot->option, "explain") == 0) {
        oct_config_offer_algorithms(offer);
        return;
    } else if (strcmp(slot->command, "config") == 0 && strcmp(slot->option, "check") == 0) {
        offer_presets();
    }
    puts(FILES);
}

static void
offer_argument(void)
{
    if (strcmp(slot->command, "presets") == 0) {
        offer_presets();
    } else if (strcmp(slot->command, "config") == 0) {
        oct_config_offer_keys(offer);
    } else if (strcmp(slot->command, "completion") == 0) {
        for (size_t i = 0; i < 3; i++) {
            offer(shells[i]);
        }
    } else {
        if (begins(slot->command, "env ")) {
            offer_environments("");
        } else if (strcmp(slot->command, "train") == 0 || strcmp(slot->command, "plan") == 0 ||
                   strcmp(slot->command, "doctor") == 0 || strcmp(slot->command, "sweep") == 0 ||
                   begins(slot->command, "cluster ")) {
            offer_presets();
        }
        puts(FILES);
    }
}

static void
tell(const cli_slot *told)
{
    slot = told;
    if (slot->is_option) {
        offer_each("--", slot->names);
    } else if (slot->names != NULL) {
        offer_each("", slot->names);
        offer("--help");
    } else if (slot->option != NULL) {
        offer_value();
    } else {
        offer_argument();
    }
    if (slot->names != NULL && slot->command[0] == '\0') {
        offer("--version");
    }
}

// ---- the command

static int
script_print(const char *shell)
{
    char name[32], path[CLI_PATH_MAX], reason[CLI_PATH_MAX + 256];
    uint8_t *text;
    size_t length;
    (void)snprintf(name, sizeof(name), "octet.%s", shell);
    if (cli_python_find(path, name, reason, sizeof(reason)) != OCT_OK) {
        cli_error("completion", "%s", reason);
        return CLI_EXIT_FAILED;
    }
    oct_err err = oct_file_read(path, SCRIPT_BYTES_MAX, &text, &length);
    if (err != OCT_OK) {
        cli_error("completion", "cannot read '%s': %s", path, oct_strerror(err));
        return CLI_EXIT_FAILED;
    }
    (void)fwrite(text, 1, length, stdout);
    free(text);
    return 0;
}

int
cli_completion(const cli_family *family, int argc, char **argv)
{
    completion_options options = {.words = oct_alloc(((size_t)argc + 1) * sizeof(char *)),
                                  .word_count = 1,
                                  .words_max = argc};
    options.words[0] = argv[0];
    cli_options_parse(&completion_argp, argc, argv, &options);
    int exit_code = 0;
    if (strcmp(options.shell, "words") != 0) {
        exit_code = script_print(options.shell);
    } else if (options.word_count > 1) {
        options.words[options.word_count] = NULL;
        cli_options_complete(tell);
        exit_code = cli_family_run(family, options.word_count, options.words);
    }
    free(options.words);
    return exit_code;
}
