#ifndef CLI_RUNS_CLI_RUN_LIST_H
#define CLI_RUNS_CLI_RUN_LIST_H

#include <stdint.h>

// The run folders in some folders, as all commands that show several runs look for them. A run is a
// folder with a config.yaml. The folder that is named may be a run or a link; in it runs are looked
// for by name, up to CLI_RUN_LIST_DEPTH levels below, not behind symbolic links or names with a
// dot, and not within a run. No run is listed twice, by whatever path it is reached.
//
// Threads: one user at a time. Owns: its paths. Bounds: `max` runs; the others are counted.
typedef struct cli_run_list cli_run_list;

#define CLI_RUN_LIST_DEPTH 3

cli_run_list *cli_run_list_create(uint32_t max);
void cli_run_list_destroy(cli_run_list *list); // NULL is a no-op

// Answers how many runs are there, those that were listed before included. 0, with errno where the
// folder cannot be read and 0 otherwise: none.
uint32_t cli_run_list_add(cli_run_list *list, const char *folder);
uint32_t cli_run_list_count(const cli_run_list *list);
const char *cli_run_list_at(const cli_run_list *list, uint32_t i); // in the order of adding
// When something in its folder was last made, replaced or removed, in µs since 1970.
int64_t cli_run_list_changed_us(const cli_run_list *list, uint32_t i);
uint32_t cli_run_list_beyond(const cli_run_list *list); // runs for which there was no room

#endif // CLI_RUNS_CLI_RUN_LIST_H
