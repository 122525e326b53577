#ifndef CLI_RUN_CLI_FOLDER_ENV_H
#define CLI_RUN_CLI_FOLDER_ENV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "actor/actor_evaluate.h"
#include "cli/run/cli_trust.h"
#include "common/oct_config.h"
#include "common/oct_err.h"
#include "envs/env.h"

// The environment that a policy is played in, as its folder tells it. Threads: main thread.
// Errors: one line for a person in reason. Not copied: id and options may point into it.
#define CLI_ENV_OPTIONS_BYTES (OCT_CONFIG_OPTIONS_MAX + OCT_CONFIG_TEXT_MAX + 16)
#define CLI_ENV_FILE          "env.yaml" // of a policy without a run: config.yaml's keys of env
#define CLI_FOLDER_ENV_HINT   "; or give --env ID, with --options K=V,..."
typedef struct cli_folder_env {
    const char *id;                 // as env_open takes it
    const char *options;            // likewise, with mjcf_dir among them
    const char *options_from;       // where they come from, or why there are none
    bool is_known;                  // something says what the options are
    uint32_t max_steps;             // evaluation.max_steps beside the policy; 0: none
    bool sampling;                  // evaluation.sampling beside the policy
    bool is_trusted;                // the user said --trust
    char stranger[CLI_TRUST_BYTES]; // whose word names code (cli_trust_doubts); "": the user's
    char own_id[OCT_CONFIG_TEXT_MAX];
    char own_options[CLI_ENV_OPTIONS_BYTES];
} cli_folder_env;
// env_id and options as given (NULL, "": not). What is not given is that of the config.yaml beside
// the policy, or the CLI_ENV_FILE where there is no config.yaml; without either it is trained_on,
// without options. With env_id the files are not looked at. A moved plug-in is looked for no
// further. is_trusted: code also counts if only the policy names it, or a file whose word does not
// count (cli_trust.h). Errors: the file is there and cannot be loaded; reason names it, its line
// and key.
OCT_CHECKED oct_err cli_folder_env_choose(cli_folder_env *out, const char *policy,
                                          const char *trained_on, const char *env_id,
                                          const char *options, bool is_trusted, char *reason,
                                          size_t reason_size);
// How the policy is evaluated there, as by the run's evaluator; the caller adds the rest. env_id
// and options point where those of chosen do.
actor_evaluate_request cli_folder_env_request(const cli_folder_env *chosen, uint32_t episodes,
                                              uint32_t envs, uint64_t seed);
// Prints one line: the environment, its options and where they come from, and whether actions are
// sampled.
void cli_folder_env_print(const cli_folder_env *chosen);
// Opens one environment with autoreset. Errors as env_open, and OCT_EINVAL if the folder is not the
// user's own, names code, and --trust was not given; reason then says what to do. With --trust a
// line on standard error names the code that the command runs.
OCT_CHECKED oct_err cli_folder_env_open(env **out, const char *command,
                                        const cli_folder_env *chosen, uint64_t seed, char *reason,
                                        size_t reason_size);

#endif // CLI_RUN_CLI_FOLDER_ENV_H
