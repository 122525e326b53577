#ifndef CLI_RUN_CLI_RUN_H
#define CLI_RUN_CLI_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/run/cli_energy.h"
#include "cli/run/cli_experiment.h"
#include "cli/run/cli_preflight.h"
#include "config/config.h"

// One run on this machine: the daemons under supervision, the live status and the shutdown.
//
// Threads: main thread. cli_run returns when every child has been reaped. The current folder is the
// run folder. The run ends when the learner exits with 0 (finished), when a daemon refuses its
// configuration or dies too often (failed), or by a signal that stops (cli_signals.h): the learner
// is asked to stop, and CLI_RUN_STOP_MS later all daemons are killed. In any case octet waits for a
// learner that is within an update or is writing.

// The file in the run folder with what the preflight found (cli_preflight.h), for the learner.
#define CLI_RUN_ENVIRONMENT "environment.oct"
#define CLI_RUN_LEARNER     "ipc://learner.ipc"
// of the first shard; config_shard_name gives the others
#define CLI_RUN_REPLAY  "ipc://replay.ipc"
#define CLI_RUN_DATA    "ipc://data.ipc" // of a data set that is used beside actors
#define CLI_RUN_STOP_MS 4000u

typedef struct cli_run_request {
    const config_experiment *config;
    const cli_experiment *experiment;   // for the positions of keys in messages
    const cli_environment *environment; // as the preflight found it
    cli_folder *folder;   // the current folder; unlocked while dash_stays after the end
    const char *shown_as; // the folder's name in messages
    const char *replay;   // paths of executables, absolute, as the next two
    const char *learner;
    const char *actor;
    bool resume;
    const char *const *metrics; // [metrics_count] addresses of the learner's --metrics, checked
    unsigned metrics_count;     // at most NET_DAEMON_METRICS_MAX
    const char *config_before;  // restored in config.yaml if a daemon refuses; NULL: none
    const char *dash;           // --dash, an http:// address; NULL: none
    int dash_fd;                // a socket that listens there; cli_run takes it
    bool dash_stays;            // after a run that was not interrupted, serve the page until Ctrl-C
    const char *energy_command; // of --energy-command; NULL: the kernel's counters
    cli_energy_model energy_model; // watts 0: none
    bool live;                     // draw on a terminal instead of printing plain lines
} cli_run_request;

// Returns the exit code of the process: 0, 1, or 128 + signal. The folder of a new run that failed
// before its first update keeps config.yaml and the logs, or nothing if a daemon refused the run.
int cli_run(const cli_run_request *request);

#endif // CLI_RUN_CLI_RUN_H
