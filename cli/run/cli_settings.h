#ifndef CLI_RUN_CLI_SETTINGS_H
#define CLI_RUN_CLI_SETTINGS_H

#include <argp.h>
#include <stddef.h>

// Parses the options that set keys of an experiment: --set, and options such as --actors that stand
// for one key. A command that takes an experiment adds them to its own options as an argp child.
//
// Threads: main thread. Owns: the settings, until cli_settings_free.

#define CLI_SETTINGS_MAX 256

typedef struct cli_settings {
    const char *command;          // named in messages: "train"; set it before parsing
    const char *data;             // --data; NULL: none
    char *list[CLI_SETTINGS_MAX]; // "key=value", in the order given
    size_t count;
} cli_settings;

// Input: a cli_settings. Wrong use ends the process with CLI_EXIT_USAGE.
extern const struct argp cli_settings_argp;
void cli_settings_free(cli_settings *settings);

#endif // CLI_RUN_CLI_SETTINGS_H
