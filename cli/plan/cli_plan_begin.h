#ifndef CLI_PLAN_CLI_PLAN_BEGIN_H
#define CLI_PLAN_CLI_PLAN_BEGIN_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/run/cli_run.h"
#include "cli/run/cli_supervisor.h"
#include "cli/status/cli_state.h"

// The plan of a run that has just begun, in one line: measured of the run itself, so that it costs
// no time.
//
// Threads: the loop thread. Owns: plain values; the request is borrowed.
typedef struct cli_plan_begin cli_plan_begin;

// Just before the daemons start.
cli_plan_begin *cli_plan_begin_create(const cli_run_request *request, double wall_s);
// Call whenever the state has new numbers, wall_s after the run began. True, once: enough was
// measured, and line has the plan (cli_plan_line).
bool cli_plan_begin_look(cli_plan_begin *begin, double wall_s, const cli_state *state,
                         cli_supervisor *supervisor, char *line, size_t line_size);
void cli_plan_begin_destroy(cli_plan_begin *begin); // NULL is a no-op

#endif // CLI_PLAN_CLI_PLAN_BEGIN_H
