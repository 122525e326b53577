#ifndef CLI_RUN_CLI_CHECK_H
#define CLI_RUN_CLI_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "learner/learner_checkpoint.h"

// Examines what a resumed run would read from its folder, and changes nothing. octet run check
// prints the result; octet train --resume uses it before it starts a daemon.
//
// Threads: main thread. Owns: nothing; texts are in the caller's cli_check.

typedef enum cli_check_level {
    CLI_CHECK_OK,
    CLI_CHECK_WARNING, // something is missing or damaged; a resume continues without it
    CLI_CHECK_ERROR,   // a resume is refused
    CLI_CHECK_LEVELS,
} cli_check_level;
extern const char *const cli_check_words[CLI_CHECK_LEVELS]; // "ok", "warning", "error"

#define CLI_CHECK_ITEMS_MAX (CONFIG_SHARDS_MAX + 16) // one a shard, and what cli_check_folder adds
#define CLI_CHECK_TEXT_MAX  512

typedef struct cli_check_item {
    char name[32]; // "checkpoint", "replay-1"
    cli_check_level level;
    char text[CLI_CHECK_TEXT_MAX];
} cli_check_item;

typedef struct cli_check {
    uint32_t count; // items; an item beyond CLI_CHECK_ITEMS_MAX is left out
    cli_check_item item[CLI_CHECK_ITEMS_MAX];
} cli_check;

// Appends one item for the table of each shard of config: its file, compared with the checkpoint. A
// run from a data set alone has no tables, and nothing is appended. counts_rows: the table is
// opened to count its rows, which reads the whole file after a power failure; otherwise only its
// headers are read.
void cli_check_tables(cli_check *check, const char *folder, const config_experiment *config,
                      const learner_checkpoint *checkpoint, bool counts_rows);
// Appends items for everything in a run folder: configuration, checkpoint, tables, policies, keys,
// data set. A live run gets a single item, an error.
void cli_check_folder(cli_check *check, const char *folder);
// Returns the most severe level of all items, CLI_CHECK_OK if there are none.
cli_check_level cli_check_worst(const cli_check *check);

#endif // CLI_RUN_CLI_CHECK_H
