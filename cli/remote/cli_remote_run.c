// A run by its folder or its learner's address.

#include "cli/remote/cli_remote_run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli_options.h"

void
cli_remote_run_word(cli_remote_run *run, const char *command, const char *word)
{
    if (run->run_dir != NULL) {
        cli_usage_error(command, "two folders, '%s' and '%s'; name one", run->run_dir, word);
    }
    run->run_dir = word;
}

static void
folder_enter(const char *command, oct_config *config, const char *run_dir)
{
    char message[1024] = "";
    if (chdir(run_dir) != 0) {
        cli_error(command, "cannot enter '%s': %s", run_dir, strerror(errno));
        exit(CLI_EXIT_FAILED);
    }
    if (access("config.yaml", R_OK) != 0) {
        cli_error(command, "'%s' is not a run folder: it has no config.yaml", run_dir);
        exit(CLI_EXIT_FAILED);
    }
    oct_config_default(config);
    if (oct_config_load(config, "config.yaml", message, sizeof(message)) != OCT_OK) {
        (void)fputs(message, stderr);
        exit(CLI_EXIT_FAILED);
    }
}

void
cli_remote_run_enter(cli_remote_run *run, const char *command, oct_config *config)
{
    cli_remote_check(command, &run->remote);
    if (run->remote.learner != NULL && run->run_dir != NULL) {
        cli_usage_error(command, "RUN_DIR or --learner, not both");
    }
    if (run->remote.learner == NULL && run->run_dir == NULL) {
        cli_usage_error(command, "no RUN_DIR given, and no --learner");
    }
    if (run->run_dir != NULL) {
        folder_enter(command, config, run->run_dir);
        run->remote.learner = config->net.learner;
        run->remote.replay = config->net.replay;
    }
}

bool
cli_remote_run_is_gone(const cli_remote_run *run)
{
    const char *url = run->remote.learner;
    return run->run_dir != NULL && strncmp(url, "ipc://", 6) == 0 && access(url + 6, F_OK) != 0;
}
