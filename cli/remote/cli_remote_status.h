#ifndef CLI_REMOTE_CLI_REMOTE_STATUS_H
#define CLI_REMOTE_CLI_REMOTE_STATUS_H

#include "cli/remote/cli_remote.h"

// octet status across hosts: asks the daemons themselves and needs no run folder. Gives the exit
// code: 0 when the learner was heard. Threads: main thread.
typedef struct cli_remote_status_options {
    cli_remote_options remote;
    bool watch;
    bool json;
} cli_remote_status_options;

int cli_remote_status(const cli_remote_status_options *options);

#endif // CLI_REMOTE_CLI_REMOTE_STATUS_H
