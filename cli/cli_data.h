#ifndef CLI_CLI_DATA_H
#define CLI_CLI_DATA_H

#include "data/data_source.h"

// octet data: what its commands share. Threads: main thread.

// What is in it, for a person, on standard output.
void cli_data_print(const char *path, const data_source *source);
// The same as one line of JSON.
void cli_data_print_json(const char *path, const data_source *source);

// octet data drop, a cli_command.
int cli_data_drop(int argc, char **argv);

// OCT_EINVAL: steps were recorded in another environment than own: another name, observations or
// actions. reason has both in words.
OCT_CHECKED oct_err cli_data_check_env(const replay_data_env *recorded, const wire_env_spec *own,
                                       char *reason, size_t reason_size);

#endif // CLI_CLI_DATA_H
