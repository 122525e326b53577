#ifndef CLI_PLAN_CLI_PLAN_GOALS_H
#define CLI_PLAN_CLI_PLAN_GOALS_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/plan/cli_plan.h"
#include "cli/run/cli_experiment.h"

// How many environment steps presets took to their goals, where that was measured:
// presets/goals.csv, which bench/preset_goals.py makes of docs/data. A line is
// "preset,runs,low,median,high", the first line has these names, and "#" begins a comment.
//
// Threads: main thread.

// The goal of an experiment; what is not known of it stays 0 or NaN. It is known of a preset whose
// settings are those that were measured, but for the seed and what does not concern learning.
void cli_plan_goals_find(cli_plan_goal *out, const cli_experiment *experiment,
                         const oct_config *config);
// The line of a preset in the text of such a file. False: there is none, or it is not such a line.
bool cli_plan_goals_parse(cli_plan_goal *out, const char *text, const char *preset);

#endif // CLI_PLAN_CLI_PLAN_GOALS_H
