#ifndef CLI_PLAN_CLI_PLAN_BEGIN_H
#define CLI_PLAN_CLI_PLAN_BEGIN_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/run/cli_run.h"
#include "cli/run/cli_supervisor.h"
#include "cli/status/cli_snapshot.h"

// Makes the line of octet train that says what the run will take. It measures the run itself in its
// first moments, so the line costs no time.
//
// Threads: the loop thread. Owns: its meter; borrows the request.
typedef struct cli_plan_begin cli_plan_begin;

// Call it just before the daemons start, wall_s after the command began.
cli_plan_begin *cli_plan_begin_create(const cli_run_request *request, double wall_s);
// Takes the numbers in state. Call it after each answer. Returns true once: when enough has been
// measured, line holds the plan (cli_plan_line).
bool cli_plan_begin_sample(cli_plan_begin *begin, double wall_s, const cli_snapshot *state,
                           cli_supervisor *supervisor, char *line, size_t line_size);
void cli_plan_begin_destroy(cli_plan_begin *begin); // NULL is a no-op

#endif // CLI_PLAN_CLI_PLAN_BEGIN_H
