#ifndef CLI_RUN_CLI_ENV_FILE_H
#define CLI_RUN_CLI_ENV_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/oct_config.h"
#include "common/oct_err.h"

// CLI_ENV_FILE: the environment of a policy that no run folder tells it of, beside the policy.
// Paths are absolute there, as in a run's config.yaml: mjcf_dir is the option that is one.
// Threads: main thread.

// Makes the mjcf_dir among options absolute where the folder is there; others stay for env_open to
// refuse. False: options are then longer than size, and stay as they are.
OCT_CHECKED bool cli_env_file_resolve(char *options, size_t size);
// The keys of an environment, which may be a plug-in's path, and its options: all others are
// defaults. False: one is too long for its key.
OCT_CHECKED bool cli_env_file_keys(oct_config *out, const char *id, const char *options);
// Writes the keys of env. Errors as of oct_file_write.
OCT_CHECKED oct_err cli_env_file_write(const char *path, const oct_config *config);

#endif // CLI_RUN_CLI_ENV_FILE_H
