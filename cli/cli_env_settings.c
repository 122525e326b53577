// The options of `octet env`: one parser for all of its commands.

#include "cli/cli_env_settings.h"

#include <math.h>
#include <string.h>

#include "cli/cli_options.h"
#include "common/oct_base.h"
#include "envs/env_replay.h"
#include "render/render_scene.h"

#define ENVS_MAX   (1u << 20)
#define STEPS_MAX  1000000
#define TIME_MAX_S 3600
#define TIME_MIN_S 0.001 // of a rule

void
cli_env_settings_default(cli_env_settings *settings, const char *command)
{
    *settings = (cli_env_settings){.command = command,
                                   .options = "",
                                   .envs = 64,
                                   .seconds = 1,
                                   .timeout_s = 60,
                                   .tolerance = ENV_REPLAY_TOLERANCE};
}

static void
word_take(cli_env_settings *settings, const char *word)
{
    bool has_file = strcmp(settings->command, "env replay") == 0;
    if (strcmp(settings->command, "env list") == 0) {
        cli_usage_error(settings->command, "unexpected argument '%s'", word);
    } else if (settings->id == NULL) {
        settings->id = word;
    } else if (has_file && settings->file == NULL) {
        settings->file = word;
    } else {
        cli_usage_error(settings->command, "unexpected argument '%s'; name one environment", word);
    }
}

static uint64_t
whole(const cli_env_settings *settings, const char *option, const char *arg, uint64_t min,
      uint64_t max)
{
    return cli_option_number(settings->command, option, arg, min, max);
}

static double
real(const cli_env_settings *settings, const char *option, const char *arg, double min, double max)
{
    return cli_option_real(settings->command, option, arg, min, max);
}

error_t
cli_env_settings_parse(int key, char *arg, struct argp_state *state)
{
    cli_env_settings *settings = state->input;
    switch (key) {
    case CLI_ENV_OPTIONS:
        settings->options = arg;
        return 0;
    case CLI_ENV_SEED:
        settings->seed = whole(settings, "--seed", arg, 0, CLI_SEED_MAX);
        return 0;
    case CLI_ENV_ENVS:
        settings->envs = (uint32_t)whole(settings, "--envs", arg, 1, ENVS_MAX);
        return 0;
    case CLI_ENV_STEPS:
        settings->steps = (uint32_t)whole(settings, "--steps", arg, 0, STEPS_MAX);
        return 0;
    case CLI_ENV_SECONDS:
        settings->seconds = real(settings, "--seconds", arg, 0, TIME_MAX_S);
        return 0;
    case CLI_ENV_TIMEOUT:
        settings->timeout_s = real(settings, "--timeout", arg, TIME_MIN_S, TIME_MAX_S);
        return 0;
    case CLI_ENV_TOLERANCE:
        settings->tolerance = real(settings, "--tolerance", arg, 0, INFINITY);
        return 0;
    case CLI_ENV_ONE_STEP:
        settings->one_step = true;
        return 0;
    case CLI_ENV_PARTIAL:
        settings->partial = true;
        return 0;
    case CLI_ENV_OUT:
        settings->out = arg;
        return 0;
    case CLI_ENV_SIZE:
        if (!render_size_parse(arg, &settings->width, &settings->height)) {
            cli_usage_error(settings->command, "--size is '%s'; allowed is " RENDER_SIZE_ALLOWED,
                            arg);
        }
        return 0;
    case ARGP_KEY_ARG:
        word_take(settings, arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int
cli_env_failure(const cli_env_settings *settings, const char *reason)
{
    cli_error(settings->command, "%s", reason);
    return CLI_EXIT_FAILED;
}
