#ifndef CLI_CLI_DATA_H
#define CLI_CLI_DATA_H

#include "common/oct_reason.h"
#include "replay/data/data_source.h"

// What the commands of octet data share. Threads: main thread.

// Prints for a person what source contains, on standard output.
void cli_data_print(const char *path, const data_source *source);
// Prints the same as one line of JSON.
void cli_data_print_json(const char *path, const data_source *source);

// octet data drop, a cli_command.
int cli_data_drop(int argc, char **argv);

// Checks that steps were recorded in this environment. OCT_EINVAL: the name, the observations or
// the actions differ; reason describes both environments.
OCT_CHECKED oct_err cli_data_check_env(const replay_data_env *recorded, const wire_env_spec *own,
                                       oct_reason *why);

#endif // CLI_CLI_DATA_H
