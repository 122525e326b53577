#ifndef CLI_RUN_CLI_RUN_END_H
#define CLI_RUN_CLI_RUN_END_H

#include "cli/run/cli_report.h"
#include "cli/run/cli_run.h"
#include "cli/run/cli_supervisor.h"
#include "cli/status/cli_screen.h"

// What a run leaves in its folder.
typedef enum cli_run_rest {
    CLI_RUN_KEPT, // a run, or one that was resumed
    CLI_RUN_LOGS, // a new run failed before its first update: only config.yaml and the logs count
    CLI_RUN_NOTHING, // a daemon refused the experiment before the first update: all was said
} cli_run_rest;

// How a run on this machine ended. Threads: main thread. Owns: summary_before; the rest is
// borrowed.
typedef struct cli_run_end {
    const cli_run_request *request;
    const cli_state *state;
    const cli_supervisor *supervisor;
    int exit_code;                         // of the process
    const char *exit_reason;               // "finished", "interrupted", "failed"
    char failure[CLI_REFUSAL_BYTES + 128]; // what ended a failed run; ""
    uint32_t failed;                       // which daemon
    bool refused;                          // it cannot use the configuration
    char *summary_before;                  // of the run that is resumed; NULL: none
    bool had_table[OCT_SHARDS_MAX];        // of replay.path, before the run
    cli_energy_report energy;              // of this command
} cli_run_end;

// Before a daemon starts. As long as nothing else is known, the run has failed.
void cli_run_end_init(cli_run_end *end, const cli_run_request *request, const cli_state *state,
                      const cli_supervisor *supervisor);
// The learner said so, or wrote its summary, as it does whenever it has trained: it may end before
// it is first asked.
bool cli_run_end_has_trained(const cli_run_end *end);
// Completes summary.json, prints the report or the mistake that was found, and clears away what is
// not kept: no daemon may be left, and none of the run's links need to be closed.
cli_run_rest cli_run_end_report(cli_run_end *end, cli_screen *screen);
void cli_run_end_free(cli_run_end *end);

#endif // CLI_RUN_CLI_RUN_END_H
