#ifndef CLI_RUN_CLI_SETTINGS_H
#define CLI_RUN_CLI_SETTINGS_H

#include <stddef.h>

#include "common/oct_args.h"

// Parses the options that set keys of an experiment: --set, and options such as --actors that stand
// for one key. A command that takes an experiment shares them (oct_args_shared).
//
// Threads: main thread. Owns: the settings, until cli_settings_free.

#define CLI_SETTINGS_MAX 256

typedef struct cli_settings {
    const char *data;             // --data; NULL: none
    char *list[CLI_SETTINGS_MAX]; // "key=value", in the order given
    size_t count;
} cli_settings;

extern const oct_arg cli_settings_rows[]; // their struct is a cli_settings
// Adds "KEY=TEXT", with the row's key, to the cli_settings that is the field; with key "" the text,
// which is a whole setting.
oct_err cli_settings_take(const oct_arg_given *given);
// Most of a row whose struct is a cli_settings.
#define CLI_SETTING(name_, value_, kind_, key_)                                                    \
    .name = (name_), .value = (value_), .kind = OCT_ARG_KIND_##kind_, .take = cli_settings_take,   \
    .key = (key_)
void cli_settings_free(cli_settings *settings);

#endif // CLI_RUN_CLI_SETTINGS_H
