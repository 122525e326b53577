#ifndef CLI_REMOTE_CLI_REMOTE_RUN_H
#define CLI_REMOTE_CLI_REMOTE_RUN_H

#include "cli/remote/cli_remote.h"

// The live run that a command is about: named by its folder here, or by its learner's address.
// Threads: main thread.
typedef struct cli_remote_run {
    const char *run_dir; // NULL: the run is named by --learner
    cli_remote_options remote;
} cli_remote_run;

// A word of the command line that is no option: the folder. A second one ends the process as
// cli_usage_error.
void cli_remote_run_word(cli_remote_run *run, const char *command, const char *word);
// Ends the process with a message unless exactly one of the two is given and can be used. A folder
// is entered (chdir), and config is what its config.yaml says; the addresses are that run's then.
void cli_remote_run_enter(cli_remote_run *run, const char *command, oct_config *config);
// The addresses that config, of the run folder that is the working folder, names. Those that are
// not in the folder may be another run's by now: whose run this is, is known of one that has ended
// or has a checkpoint.
void cli_remote_run_address(cli_remote_options *out, const oct_config *config);
// Whether the address is surely the folder's run's, and not another's by now, or was given.
bool cli_remote_run_is_sure(const cli_remote_run *run);
// Whether nobody needs to be asked: the learner's socket in the folder is gone.
bool cli_remote_run_is_gone(const cli_remote_run *run);
#define CLI_REMOTE_RUN_GONE "the socket does not exist (yet, or any more)"
// Says that the run of a folder has not ended, but that its learner was not heard, and why.
void cli_remote_run_unheard(const cli_remote_run *run, const char *command, const char *why);

#endif // CLI_REMOTE_CLI_REMOTE_RUN_H
