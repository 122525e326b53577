#ifndef CLI_CLUSTER_CLI_CLUSTER_SHELL_H
#define CLI_CLUSTER_CLI_CLUSTER_SHELL_H

#include <stdio.h>

#include "cli/cluster/cli_cluster_plan.h"
#include "common/oct_err.h"

// A plan as text for bash, and the shell programs that run it. Threads: main thread.

// Marks in a cli_cluster_layout that the shell replaces once it knows the values. @PORT+5@ becomes
// $((port + 5)).
#define CLI_SHELL_HEAD        "@HEAD@"    // ${head}: the host of replay, and of the learner
#define CLI_SHELL_LEARNER     "@LEARNER@" // ${learner_host}: the learner's host, where it differs
#define CLI_SHELL_WORK        "@WORK@"    // ${work}: a private folder
#define CLI_SHELL_RUN         "@RUN@"     // ${run}: the run folder
#define CLI_SHELL_RELAY_INDEX "@RELAY@" // ${relay_index}: number of the relay on the daemon's host

// Writes a quoted word that bash reads literally, except for the marks.
void cli_cluster_shell_word(FILE *out, const char *word);
// Writes NAME=WORD as a line.
void cli_cluster_shell_set(FILE *out, const char *name, const char *word);
// Writes `daemons`, an array of names; for each NAME the variables NAME_count, NAME_role and
// NAME_env
// ("" for none); and a function `plan` that sets an array NAME to its command line. In names of
// variables '-' is replaced by '_'.
void cli_cluster_shell_plan(FILE *out, const cli_cluster_plan *plan);
// Returns the text of a shell program that comes with Octet, malloc'd, without its first line (#!).
// Ends the process if the program is missing.
char *cli_cluster_shell_program(const char *command, const char *name);

#endif // CLI_CLUSTER_CLI_CLUSTER_SHELL_H
