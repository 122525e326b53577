#ifndef CLI_CLUSTER_CLI_CLUSTER_SHELL_H
#define CLI_CLUSTER_CLI_CLUSTER_SHELL_H

#include <stdio.h>

#include "cli/cluster/cli_cluster_plan.h"
#include "common/oct_err.h"

// A plan as text for bash, and the shell programs that start it. Threads: main thread.

// Marks of cli_cluster_place that the shell replaces when it knows them; @PORT+5@ is $((port + 5)).
#define CLI_SHELL_HEAD    "@HEAD@"    // ${head}: the host of replay, and of the learner
#define CLI_SHELL_LEARNER "@LEARNER@" // ${learner_host}: of the learner, where it has another one
#define CLI_SHELL_WORK    "@WORK@"    // ${work}: a private folder
#define CLI_SHELL_RUN     "@RUN@"     // ${run}: the run folder
#define CLI_SHELL_PLACE   "@PLACE@"   // ${place}: which of the daemons that are alike

// One word, quoted, so that bash reads it as it is, but for the marks.
void cli_cluster_shell_word(FILE *out, const char *word);
// NAME=WORD, and a line's end.
void cli_cluster_shell_set(FILE *out, const char *name, const char *word);
// `daemons` (names), and of each NAME_count, NAME_role and NAME_env ("" for none), and a function
// `plan` that sets an array NAME to its command line. In names of variables '-' is '_'.
void cli_cluster_shell_plan(FILE *out, const cli_cluster_plan *plan);
// The text of a shell program that comes with Octet, without its first line (#!), malloc'd; ends
// the process when it is not there.
char *cli_cluster_shell_program(const char *command, const char *name);

#endif // CLI_CLUSTER_CLI_CLUSTER_SHELL_H
