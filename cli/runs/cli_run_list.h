#ifndef CLI_RUNS_CLI_RUN_LIST_H
#define CLI_RUNS_CLI_RUN_LIST_H

#include <stdint.h>

// The run folders in some folders, found in the same way by all commands that show several runs. A
// run is a folder with a config.yaml. A named folder may be a run or a link. Within it, runs are
// searched up to CLI_RUN_LIST_DEPTH levels down, in the order of names, but not through symbolic
// links, under names that begin with a dot, or within a run. Each run is listed once, whatever
// paths lead to it.
//
// Threads: one user at a time. Owns: its paths. Full: after `max` runs, further ones are only
// counted.
typedef struct cli_run_list cli_run_list;

#define CLI_RUN_LIST_DEPTH 3

cli_run_list *cli_run_list_create(uint32_t max);
void cli_run_list_destroy(cli_run_list *list); // NULL is a no-op

// Adds the runs in a folder. Returns how many there are, including those that were listed before.
// 0: there is none; errno says why the folder cannot be read, or is 0.
uint32_t cli_run_list_add(cli_run_list *list, const char *folder);
uint32_t cli_run_list_count(const cli_run_list *list);
const char *cli_run_list_at(const cli_run_list *list, uint32_t i); // in the order of adding
// Returns when an entry of the run's folder was last made, replaced or removed, in µs since 1970.
int64_t cli_run_list_changed_us(const cli_run_list *list, uint32_t i);
uint32_t cli_run_list_beyond(const cli_run_list *list); // runs beyond `max`

#endif // CLI_RUNS_CLI_RUN_LIST_H
