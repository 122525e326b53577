#ifndef CLI_CLI_STATUS_HOSTS_H
#define CLI_CLI_STATUS_HOSTS_H

#include "cli/cli_remote.h"

// octet status across hosts: asks the daemons themselves and needs no run folder. Gives the exit
// code: 0 when the learner was heard. Threads: main thread.
typedef struct cli_status_hosts_options {
    cli_remote_options remote;
    bool watch;
    bool json;
} cli_status_hosts_options;

int cli_status_hosts(const cli_status_hosts_options *options);

#endif // CLI_CLI_STATUS_HOSTS_H
