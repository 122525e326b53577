// Finds a live run by its folder or by its learner's address.

#include "cli/remote/cli_remote_run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "cli/cli_json.h"
#include "cli/cli_options.h"
#include "common/oct_file.h"
#include "learner/learner_checkpoints.h"
#include "net/net_url.h"

// Enters a run folder and loads its configuration, or ends the process.
static void
folder_enter(const char *command, config_experiment *config, const char *run_dir)
{
    char message[1024] = "";
    oct_file_confine(run_dir);
    if (chdir(run_dir) != 0) {
        exit(cli_error(command, "cannot enter '%s': %s", run_dir, oct_file_strerror(errno)));
    }
    if (access("config.yaml", R_OK) != 0) {
        exit(cli_error(command, "'%s' is not a run folder: it has no config.yaml", run_dir));
    }
    config_default(config);
    if (config_load(config, "config.yaml", message, sizeof(message)) != OCT_OK) {
        (void)fputs(message, stderr);
        exit(CLI_EXIT_FAILED);
    }
}

// Returns the id of the run in the current folder, or 0 if it is not known.
static uint64_t
run_id_here(void)
{
    char words[1024];
    learner_checkpoint checkpoint;
    uint32_t number;
    json_t *summary = cli_json_read("summary.json"); // exists once the run has ended
    const char *text = json_string_value(json_object_get(summary, "run_id"));
    uint64_t run_id = text != NULL ? strtoull(text, NULL, 16) : 0;
    json_decref(summary);
    if (run_id == 0 &&
        learner_checkpoints_read(".", &checkpoint, &number, words, sizeof(words)) == OCT_OK) {
        run_id = checkpoint.run_id;
        learner_checkpoint_fini(&checkpoint);
    }
    return run_id;
}

// Returns true if a learner listens in its run folder, as that of octet train does.
static bool
is_in_folder(const char *learner)
{
    const char *path = net_url_ipc_path(learner);
    return path != NULL && strchr(path, '/') == NULL;
}

void
cli_remote_run_address(cli_remote_options *out, const config_experiment *config)
{
    out->learner = config->net.learner;
    out->replay = config->net.replay;
    out->run_id = is_in_folder(out->learner) ? 0 : run_id_here();
}

void
cli_remote_run_enter(cli_remote_run *run, const char *command, config_experiment *config)
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
        cli_remote_run_address(&run->remote, config);
    }
}

bool
cli_remote_run_is_sure(const cli_remote_run *run)
{
    return run->run_dir == NULL || run->remote.run_id != 0 || is_in_folder(run->remote.learner);
}

bool
cli_remote_run_is_gone(const cli_remote_run *run)
{
    const char *path = net_url_ipc_path(run->remote.learner);
    return run->run_dir != NULL && path != NULL && !oct_file_is_there(path);
}

void
cli_remote_run_unheard(const cli_remote_run *run, const char *command, const char *why)
{
    bool may_be_other = !is_in_folder(run->remote.learner);
    cli_error(command, "%s: the run has not ended, but its learner cannot be reached: %s: %s%s%s%s",
              run->run_dir, run->remote.learner, why,
              may_be_other ? "; config.yaml has this address: if the learner was started with "
                             "another one, use: octet "
                           : "",
              may_be_other ? command : "", may_be_other ? " --learner ADDRESS" : "");
}
