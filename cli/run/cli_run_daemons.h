#ifndef CLI_RUN_CLI_RUN_DAEMONS_H
#define CLI_RUN_CLI_RUN_DAEMONS_H

#include "cli/run/cli_run.h"
#include "cli/run/cli_supervisor.h"

// Adds the replays, the learner, the actors and an evaluator to a supervisor that has not started,
// and sets the variables of this process that the learner's BLAS reads. Returns the learner's index
// in the supervisor. Threads: main thread.
uint32_t cli_run_daemons_add(cli_supervisor *supervisor, const cli_run_request *request);

#endif // CLI_RUN_CLI_RUN_DAEMONS_H
