#ifndef CLI_PLAN_CLI_PLAN_GOALS_H
#define CLI_PLAN_CLI_PLAN_GOALS_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/plan/cli_plan.h"
#include "cli/run/cli_experiment.h"

// Looks up how many environment steps a preset took to its goal. presets/goals.csv has these
// numbers; bench/preset_goals.py makes the file from docs/data. A line is
// "preset,runs,low,median,high". "#" begins a comment.
//
// Threads: main thread.

// Fills out with the goal of an experiment. The steps are known if the experiment is a preset of
// the file and no setting changes its learning: run.seed, for example, changes nothing.
void cli_plan_goals_find(cli_plan_goal *out, const cli_experiment *experiment,
                         const config_experiment *config);
// Finds the line of a preset in text, which is such a file. Returns false, and leaves out
// unchanged, if there is no valid line.
bool cli_plan_goals_parse(cli_plan_goal *out, const char *text, const char *preset);

#endif // CLI_PLAN_CLI_PLAN_GOALS_H
