#ifndef CLI_RUN_CLI_CHECK_H
#define CLI_RUN_CLI_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/oct_config.h"
#include "learner/learner_checkpoint.h"

// Looks at what a resumed run would read from its folder, and changes nothing: octet run check, and
// octet train --resume before it starts anything.
//
// Threads: main thread. Owns: nothing; texts are in the caller's cli_check.

typedef enum cli_check_level {
    CLI_CHECK_OK,
    CLI_CHECK_WARNING, // something is missing or damaged; a resume continues without it
    CLI_CHECK_ERROR,   // a resume is refused
    CLI_CHECK_LEVELS,
} cli_check_level;
extern const char *const cli_check_words[CLI_CHECK_LEVELS]; // "ok", "warning", "error"

#define CLI_CHECK_ITEMS_MAX (OCT_SHARDS_MAX + 16)
#define CLI_CHECK_TEXT_MAX  512

typedef struct cli_check_item {
    char name[32]; // "checkpoint", "replay-1"
    cli_check_level level;
    char text[CLI_CHECK_TEXT_MAX];
} cli_check_item;

typedef struct cli_check {
    uint32_t count; // items; what exceeds CLI_CHECK_ITEMS_MAX is left out
    cli_check_item item[CLI_CHECK_ITEMS_MAX];
} cli_check;

// Appends one item for the table of each shard that config names: its file against the checkpoint.
// Nothing is appended for a data set. counts_rows: opens the table to count its rows, which reads
// all of the file after a power failure; otherwise only headers are read.
void cli_check_tables(cli_check *check, const char *folder, const oct_config *config,
                      const learner_checkpoint *checkpoint, bool counts_rows);
// Appends an item for all of a run folder: configuration, checkpoint, tables, policies, keys, data
// set. A live run gets one item, an error.
void cli_check_folder(cli_check *check, const char *folder);
// The most severe level of all items.
cli_check_level cli_check_worst(const cli_check *check);

#endif // CLI_RUN_CLI_CHECK_H
