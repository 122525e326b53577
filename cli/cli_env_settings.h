#ifndef CLI_CLI_ENV_SETTINGS_H
#define CLI_CLI_ENV_SETTINGS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

// What the commands of `octet env` are told, and the commands: each is in a file of its own and
// answers the exit code. Threads: main thread.

typedef struct cli_env_settings {
    const char *command; // "env bench", for messages
    const char *id;      // ID of an environment, path of a plug-in, or name of a new one
    const char *file;    // of a replay
    const char *out;     // of a picture
    const char *options; // "" for none
    uint64_t seed;
    uint32_t envs, steps;
    uint32_t width, height; // of a picture; 0: what suits the environment
    double seconds, timeout_s;
    double tolerance; // below 0: the default of the replay
    bool one_step, partial;
} cli_env_settings;

void cli_env_settings_default(cli_env_settings *settings, const char *command);

// The keys of the options; one parser takes them all, each command's table allows its own.
enum {
    CLI_ENV_OPTIONS = 256,
    CLI_ENV_SEED,
    CLI_ENV_ENVS,
    CLI_ENV_SECONDS,
    CLI_ENV_TOLERANCE,
    CLI_ENV_TIMEOUT,
    CLI_ENV_ONE_STEP,
    CLI_ENV_PARTIAL,
    CLI_ENV_OUT,
    CLI_ENV_STEPS,
    CLI_ENV_SIZE
};
// input: cli_env_settings. The first word is the id; a second one, of a replay, the file.
error_t cli_env_settings_parse(int key, char *arg, struct argp_state *state);

// Says why the command failed; answers the exit code.
int cli_env_failure(const cli_env_settings *settings, const char *reason);

int cli_env_bench(const cli_env_settings *settings);
int cli_env_check(const cli_env_settings *settings);
int cli_env_list(const cli_env_settings *settings);
int cli_env_new(const cli_env_settings *settings);
int cli_env_replay(const cli_env_settings *settings);

#endif // CLI_CLI_ENV_SETTINGS_H
