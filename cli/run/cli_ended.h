#ifndef CLI_RUN_CLI_ENDED_H
#define CLI_RUN_CLI_ENDED_H

#include <stdbool.h>
#include <stdio.h>

#include "config/config.h"

// Prints the report of a run that has ended (cli_folder_state_of) to out. The working folder is the
// run folder; folder is its name for people. Without summary.json the report has the newest numbers
// of metrics.csv. With json the report is one line of JSON: {"folder", "ended": true, "env",
// "summary"}, where a summary that was not written is null. Threads: main thread.
void cli_ended_show(FILE *out, const char *folder, const config_experiment *config, bool json);

#endif // CLI_RUN_CLI_ENDED_H
