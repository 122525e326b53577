#ifndef CLI_RUN_CLI_ENV_FILE_H
#define CLI_RUN_CLI_ENV_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/oct_err.h"
#include "config/config.h"

// CLI_ENV_FILE: a file beside a policy that says in which environment it plays, for a policy
// outside a run folder. Paths in it are absolute, as in a run's config.yaml; mjcf_dir is the option
// that is one. Threads: main thread.

// Makes the mjcf_dir among options absolute if the folder exists; otherwise env_open refuses it
// later. False: the options would be longer than size, and are unchanged.
OCT_CHECKED bool cli_env_file_resolve(char *options, size_t size);
// Sets the keys of env from an environment's name, which may be a plug-in's path, and its options.
// All other keys get their defaults. False: a value is too long for its key.
OCT_CHECKED bool cli_env_file_keys(config_experiment *out, const char *id, const char *options);
// Writes the keys of env to path. Errors are those of oct_file_write.
OCT_CHECKED oct_err cli_env_file_write(const char *path, const config_experiment *config);

#endif // CLI_RUN_CLI_ENV_FILE_H
