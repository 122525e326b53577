#ifndef CLI_RUN_CLI_ENDED_H
#define CLI_RUN_CLI_ENDED_H

#include <stdbool.h>
#include <stdio.h>

#include "common/oct_config.h"

// A run that has ended (cli_folder_look), from its folder, which is the working folder; a person
// calls it folder. Prints its report to out, or with json one line of JSON: {"folder", "ended":
// true, "env", "summary"}, null for a summary that was not written; a person gets what the last
// rows of metrics.csv say instead. Threads: main thread.
void cli_ended_show(FILE *out, const char *folder, const oct_config *config, bool json);

#endif // CLI_RUN_CLI_ENDED_H
