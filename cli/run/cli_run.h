#ifndef CLI_RUN_CLI_RUN_H
#define CLI_RUN_CLI_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/run/cli_energy.h"
#include "cli/run/cli_experiment.h"
#include "cli/run/cli_preflight.h"
#include "common/oct_config.h"

// One run on this machine: the daemons under supervision, the live status, the way to its end.
//
// Threads: main thread; returns when every child has been reaped. The working folder is the run
// folder. End: the learner exits with 0 (done), a daemon refuses or dies too often (failed), or
// a signal that stops (cli_signals.h: the learner is asked to stop; CLI_RUN_STOP_MS later all are
// killed). Either way a learner that is in an update or writes is waited for.

// In the run folder: what the preflight has found (cli_preflight.h), for the learner.
#define CLI_RUN_ENVIRONMENT "environment.oct"
#define CLI_RUN_LEARNER     "ipc://learner.ipc"
#define CLI_RUN_REPLAY      "ipc://replay.ipc" // of the first shard: oct_config_shard_name
#define CLI_RUN_DATA        "ipc://data.ipc"   // of a data set beside it
#define CLI_RUN_STOP_MS     4000u

typedef struct cli_run_request {
    const oct_config *config;
    const cli_experiment *experiment;   // where its values come from
    const cli_environment *environment; // that the preflight has found
    cli_folder *folder;   // the working folder; unlocked while dash_stays after the end
    const char *shown_as; // what a person calls the folder
    const char *replay;   // executables, absolute
    const char *learner;
    const char *actor;
    bool resume;
    const char *const *metrics;    // [metrics_count] --metrics of the learner, checked
    unsigned metrics_count;        // at most NET_DAEMON_METRICS_MAX
    const char *config_before;     // put back into config.yaml when a daemon refuses; NULL: none
    const char *dash;              // --dash, an http:// address; NULL: none
    int dash_fd;                   // a socket that listens there; cli_run takes it
    bool dash_stays;               // after a run that was not interrupted, until Ctrl-C
    const char *energy_command;    // of a meter; NULL: the kernel's counters
    cli_energy_model energy_model; // watts 0: none
    bool live;                     // a block on a terminal instead of plain lines
} cli_run_request;

// The exit code for the process: 0, 1, or 128 + signal. Of a new run that failed before its first
// update the folder keeps config.yaml and the logs, or nothing where a daemon refused it.
int cli_run(const cli_run_request *request);

#endif // CLI_RUN_CLI_RUN_H
