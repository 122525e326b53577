#ifndef CLI_CLI_ENV_SETTINGS_H
#define CLI_CLI_ENV_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

// The options of the commands of `octet env`, and these commands, each in a file of its own. Each
// returns the exit code. Threads: main thread.

typedef struct cli_env_settings {
    const char *command; // "env bench", for messages
    const char *id; // an environment's ID, the path of a plug-in, or the name of a new environment
    const char *file;    // input of a replay
    const char *out;     // output of a picture
    const char *options; // "" for none
    uint64_t seed;
    uint32_t envs, steps;
    uint32_t size[2]; // width and height of a picture in pixels; 0: chosen by the environment
    double seconds, timeout_s;
    double tolerance; // negative: the default of the replay
    bool one_step, partial;
} cli_env_settings;

void cli_env_settings_default(cli_env_settings *settings, const char *command);

// Prints why the command failed and returns its exit code.
int cli_env_failure(const cli_env_settings *settings, const char *reason);

int cli_env_bench(const cli_env_settings *settings);
int cli_env_check(const cli_env_settings *settings);
int cli_env_list(const cli_env_settings *settings);
int cli_env_new(const cli_env_settings *settings);
int cli_env_replay(const cli_env_settings *settings);

#endif // CLI_CLI_ENV_SETTINGS_H
