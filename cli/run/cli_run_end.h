#ifndef CLI_RUN_CLI_RUN_END_H
#define CLI_RUN_CLI_RUN_END_H

#include "cli/run/cli_report.h"
#include "cli/run/cli_run.h"
#include "cli/run/cli_supervisor.h"
#include "cli/status/cli_screen.h"

// What the folder of a run keeps.
typedef enum cli_run_rest {
    CLI_RUN_KEPT, // everything: the run trained, or was resumed
    CLI_RUN_LOGS, // config.yaml and the logs: a new run failed before its first update
    // nothing: a daemon refused the experiment before the first update, and the reason was printed
    CLI_RUN_NOTHING,
} cli_run_rest;

// The result of a run on this machine. Threads: main thread. Owns: summary_before; everything else
// is borrowed.
typedef struct cli_run_end {
    const cli_run_request *request;
    const cli_snapshot *state;
    const cli_supervisor *supervisor;
    int exit_code;                            // of the process
    const char *exit_reason;                  // "finished", "interrupted", "failed"
    char failure[OCT_FAILURE_TEXT_MAX + 128]; // what ended a failed run; "": it did not fail
    uint32_t failed;                          // index of the daemon that failed
    bool refused;                             // it refuses the configuration
    char *summary_before;                     // summary.json of the run that is resumed; NULL: none
    bool had_table[CONFIG_SHARDS_MAX];        // the shard's table existed before this run
    cli_energy_report energy;                 // of this command, not of the whole run
} cli_run_end;

// Call this before a daemon starts. The result is "failed" until something else is known.
void cli_run_end_init(cli_run_end *end, const cli_run_request *request, const cli_snapshot *state,
                      const cli_supervisor *supervisor);
// Returns true if the learner reported an update or wrote its summary, as it does whenever it has
// trained. The learner may end before it is first asked.
bool cli_run_end_has_trained(const cli_run_end *end);
// Completes summary.json, prints the report or the mistake that was found, and removes what is not
// kept. All daemons must have ended; the links to them need not be closed.
cli_run_rest cli_run_end_report(cli_run_end *end, cli_screen *screen);
void cli_run_end_free(cli_run_end *end);

#endif // CLI_RUN_CLI_RUN_END_H
