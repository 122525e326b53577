// The defaults of `octet env`'s options.

#include "cli/cli_env_settings.h"

#include "cli/cli_options.h"
#include "envs/env_replay.h"

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

int
cli_env_failure(const cli_env_settings *settings, const char *reason)
{
    return cli_error(settings->command, "%s", reason);
}
