#ifndef CLI_RUN_CLI_RUN_END_H
#define CLI_RUN_CLI_RUN_END_H

#include "cli/run/cli_report.h"
#include "cli/run/cli_run.h"
#include "cli/run/cli_supervisor.h"
#include "cli/status/cli_screen.h"

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
    cli_energy_report energy;              // of this command
} cli_run_end;

// As long as nothing else is known, the run has failed.
void cli_run_end_init(cli_run_end *end, const cli_run_request *request, const cli_state *state,
                      const cli_supervisor *supervisor);
// The learner said so, or wrote its summary, as it does whenever it has trained: it may end before
// it is first asked.
bool cli_run_end_has_trained(const cli_run_end *end);
// Completes summary.json, prints the report or the mistake that was found, and says what the folder
// keeps.
cli_run_rest cli_run_end_report(cli_run_end *end, cli_screen *screen);
void cli_run_end_free(cli_run_end *end);

#endif // CLI_RUN_CLI_RUN_END_H
