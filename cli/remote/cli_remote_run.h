#ifndef CLI_REMOTE_CLI_REMOTE_RUN_H
#define CLI_REMOTE_CLI_REMOTE_RUN_H

#include "cli/remote/cli_remote.h"

// The live run that a command is about, named by its folder on this machine or by its learner's
// address. Threads: main thread.
typedef struct cli_remote_run {
    const char *run_dir; // the operand of the command; NULL: the run is named by --learner
    cli_remote_options remote;
} cli_remote_run;

// Ends the process with a message unless exactly one of the two is given and can be used. A folder
// is entered (chdir), and config becomes its config.yaml; run->remote then has the addresses of
// that run.
void cli_remote_run_enter(cli_remote_run *run, const char *command, config_experiment *config);
// Sets the addresses that config names; config is of the run folder that is the current folder. An
// address outside the folder may belong to another run by now. out->run_id tells them apart; it is
// known if the run has ended or has a checkpoint.
void cli_remote_run_address(cli_remote_options *out, const config_experiment *config);
// Returns true if the address was given, or certainly belongs to the run of the folder.
bool cli_remote_run_is_sure(const cli_remote_run *run);
// Returns true if no daemon can be asked, because the learner's socket in the folder does not
// exist.
bool cli_remote_run_is_gone(const cli_remote_run *run);
#define CLI_REMOTE_RUN_GONE "the socket does not exist (yet, or any more)"
// Prints that the run of a folder has not ended, but that its learner did not answer, and why.
void cli_remote_run_unheard(const cli_remote_run *run, const char *command, const char *why);

#endif // CLI_REMOTE_CLI_REMOTE_RUN_H
