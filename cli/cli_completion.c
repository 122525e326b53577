// octet completion: prints a script with which bash, zsh or fish completes command lines of octet.
// For every word the script runs "octet completion words -- WORD...", which runs the command with a
// completer in place (cli_options_complete): the command stops where it would read its options, and
// the candidates are printed, one a line. So there is no second list of options that could differ
// from the tables.

#include "cli/cli_commands.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cli_presets.h"
#include "cli/cli_python.h"
#include "common/oct_file.h"
#include "common/oct_reason.h"
#include "common/oct_text.h"
#include "config/config_text.h"
#include "envs/env.h"

#define SCRIPT_BYTES_MAX 65536
#define WORD_BYTES       256
#define WORDS_MAX        4096
// printed if file names are candidates, too; the script then adds them
#define FILES ":files"

typedef struct completion_options {
    char *word[WORDS_MAX + 1]; // a shell, or "words" and the words of a command line
    size_t count;
} completion_options;

static const char *const shells[] = {"bash", "zsh", "fish", NULL};

static const oct_arg completion_rows[] = {
    {OCT_ARG_OPERANDS("words", completion_options, word, count),
     .missing = "name a shell: bash, zsh or fish"},
    {0},
};

static const oct_args completion_args = {
    .rows = completion_rows,
    .usage = "bash|zsh|fish\nwords -- WORD...",
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

// ---- candidates

static const cli_slot *slot; // the word to complete

static bool
begins(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

// Prints a candidate if it begins with the text that the user has typed. Shells replace the whole
// word, so what precedes the candidate ("env.id=") is printed, too.
static void
offer(const char *candidate)
{
    if (begins(candidate, slot->word)) {
        printf("%.*s%s\n", (int)(slot->word - slot->whole), slot->whole, candidate);
    }
}

// Offers each word of a NULL-terminated list, after a prefix such as "env.id=" or "--".
static void
offer_each(const char *prefix, const char *const *list)
{
    for (size_t i = 0; list[i] != NULL; i++) {
        char candidate[WORD_BYTES];
        (void)snprintf(candidate, sizeof(candidate), "%s%s", prefix, list[i]);
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

// Environments of this build, and of its modules if they are installed.
static void
offer_environments(const char *prefix)
{
    const char *tasks[ENV_MODULE_TASKS_MAX + 1];
    oct_reason why;
    offer_each(prefix, env_ids());
    if (env_module_ids(tasks, &why) == OCT_OK) { // this build has them
        offer_each(prefix, tasks);
    }
}

// Values depend on the option's name first, then on its words; paths are completed by the shell.
static void
offer_value(void)
{
    const char *name = slot->option->name;
    if (strcmp(name, "set") == 0 && begins(slot->word, "env.id=")) {
        offer_environments("env.id=");
    } else if (strcmp(name, "set") == 0) {
        config_offer_settings(slot->word, offer);
    } else if (strcmp(name, "env") == 0) {
        offer_environments("");
    } else if (strcmp(slot->command, "config") == 0 && strcmp(name, "explain") == 0) {
        config_offer_algorithms(offer);
    } else if (strcmp(slot->command, "config") == 0 && strcmp(name, "check") == 0) {
        offer_presets();
    } else if (slot->option->words != NULL) {
        offer_each("", slot->option->words);
    }
    if (slot->option->kind == OCT_ARG_KIND_PATH) {
        puts(FILES);
    }
}

// Operands that are presets may also be files.
static void
offer_argument(void)
{
    if (strcmp(slot->command, "presets") == 0) {
        offer_presets();
    } else if (strcmp(slot->command, "config") == 0) {
        config_offer_keys(offer);
    } else if (strcmp(slot->command, "completion") == 0) {
        offer_each("", shells);
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
offer_slot(const cli_slot *found)
{
    slot = found;
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

// The scripts are files beside the program, so that a package can also install them where shells
// look.
static int
script_print(const char *shell)
{
    char name[32], path[CLI_PATH_MAX];
    oct_reason why;
    uint8_t *text;
    size_t length;
    (void)snprintf(name, sizeof(name), "octet.%s", shell);
    if (cli_python_find(path, name, &why) != OCT_OK) {
        return cli_error("completion", "%s", why.text);
    }
    oct_err err = oct_file_read(path, SCRIPT_BYTES_MAX, &text, &length);
    if (err != OCT_OK) {
        return cli_error("completion", "cannot read '%s': %s", path, oct_strerror(err));
    }
    (void)fwrite(text, 1, length, stdout);
    free(text);
    return 0;
}

int
cli_completion(const cli_family *family, int argc, char **argv)
{
    static completion_options options;
    cli_args_parse(&completion_args, argc, argv, &options);
    const char *shell = options.word[0];
    if (strcmp(shell, "words") == 0) { // argv[0] for the command that is completed
        cli_options_complete(offer_slot);
        return options.count > 1 ? cli_family_run(family, (int)options.count, options.word) : 0;
    }
    if (!oct_text_is_one_of(shell, shells, OCT_COUNTOF(shells) - 1)) {
        cli_usage_error("completion", "SHELL is '%s'; allowed is bash, zsh or fish", shell);
    }
    if (options.count > 1) {
        cli_usage_error("completion", "unexpected argument '%s'", options.word[1]);
    }
    return script_print(shell);
}
