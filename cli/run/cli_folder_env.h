#ifndef CLI_RUN_CLI_FOLDER_ENV_H
#define CLI_RUN_CLI_FOLDER_ENV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "actor/actor_evaluate.h"
#include "cli/run/cli_trust.h"
#include "common/oct_err.h"
#include "common/oct_reason.h"
#include "config/config.h"
#include "envs/env.h"

// The environment in which a policy is played, as its folder describes it. Threads: main thread.
// Errors: reason gets one line for a person. Do not copy the struct: id and options may point into
// it.
// env.options, and env.mjcf_dir as an option
#define CLI_ENV_OPTIONS_BYTES (CONFIG_OPTIONS_MAX + CONFIG_TEXT_MAX + 16)
#define CLI_ENV_FILE          "env.yaml" // the keys of env of a policy outside a run folder
#define CLI_FOLDER_ENV_HINT   "; or give --env ID, with --options K=V,..."
typedef struct cli_folder_env {
    const char *id;           // as env_open takes it
    const char *options;      // likewise, with mjcf_dir among them
    const char *options_from; // where the options come from, or why there are none
    bool is_known;            // the options are known, even if there are none
    uint32_t max_steps;       // evaluation.max_steps beside the policy; 0: none
    bool sampling;            // evaluation.sampling beside the policy
    bool is_trusted;          // the user said --trust
    // why the word of the file that names code does not count (cli_trust_doubts); "": it counts
    char foreign[CLI_TRUST_BYTES];
    char own_id[CONFIG_TEXT_MAX]; // storage of id and options where they come from a file
    char own_options[CLI_ENV_OPTIONS_BYTES];
} cli_folder_env;
// Chooses the environment. env_id and options are as the user gave them (NULL and "": not given). A
// part that was not given comes from the config.yaml beside the policy, or from CLI_ENV_FILE if
// there is no config.yaml. Without either file it is trained_on, without options. With env_id no
// file is read. A plug-in that was moved is not searched for. is_trusted: code may run even if only
// the policy names it, or a file whose word does not count (cli_trust.h). Errors: the file exists
// and cannot be loaded; reason names it, its line and key.
OCT_CHECKED oct_err cli_folder_env_choose(cli_folder_env *out, const char *policy,
                                          const char *trained_on, const char *env_id,
                                          const char *options, bool is_trusted, oct_reason *why);
// Returns how the run's evaluator evaluates the policy there; the caller completes the request. Its
// env_id and options are borrowed from chosen.
actor_evaluate_request cli_folder_env_request(const cli_folder_env *chosen, uint32_t episodes,
                                              uint32_t envs, uint64_t seed);
// Prints one line: the environment, its options and where they come from, and whether actions are
// sampled.
void cli_folder_env_print(const cli_folder_env *chosen);
// Opens one environment with autoreset. Errors are those of env_open, and
//   OCT_ENOTFOUND  only the policy names the environment, and it does not come with Octet
//   OCT_EINVAL  a file whose word does not count names code, and --trust was not given
// With --trust, a line on standard error names the code that the command runs.
OCT_CHECKED oct_err cli_folder_env_open(env **out, const char *command,
                                        const cli_folder_env *chosen, uint64_t seed,
                                        oct_reason *why);

#endif // CLI_RUN_CLI_FOLDER_ENV_H
