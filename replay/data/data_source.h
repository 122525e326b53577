#ifndef REPLAY_DATA_DATA_SOURCE_H
#define REPLAY_DATA_DATA_SOURCE_H

#include "common/oct_reason.h"
#include "replay/replay_data.h"

// Recorded steps from a data set, or from the file of a replay table
// (docs/internals/replay-file.md) as it was when its last process ended. The files are not changed.
//
// Threads: any, once it is open. Owns: the mapping, and the list of blocks.
typedef struct data_source data_source;

// Opens the file at path and checks all its blocks. A replay file needs its environment: it is read
// from the file `environment`, or if that is NULL from environment.oct beside path. The experiment
// is read from config.yaml beside path, if that exists. OCT_ENOTFOUND, OCT_EINVAL, OCT_EIO: reason
// names the file and says why. A file that octet-replay uses now is refused.
OCT_CHECKED oct_err data_source_open(data_source **out, const char *path, const char *environment,
                                     oct_reason *why);
// Location of recorded steps.
#define DATA_SOURCE_PATH_BYTES 4096
typedef struct data_source_place {
    char path[DATA_SOURCE_PATH_BYTES]; // of the file, or of a run's first shard
    char home[DATA_SOURCE_PATH_BYTES]; // a name beside environment.oct and config.yaml
    uint32_t shards;                   // at least 1
} data_source_place;
// Finds the steps that `given` names: a file, or the folder of a run. The run's config.yaml names
// the file (replay.path; replay.oct if config.yaml cannot be read) and the number of shards; shards
// beyond that number count if their files exist. OCT_ENOTFOUND: the run kept no table. OCT_EINVAL:
// a name is too long.
OCT_CHECKED oct_err data_source_find(data_source_place *out, const char *given, oct_reason *why);
// Like data_source_open, for all shards of a data set; config_shard_name makes the names of all
// but the first. Also OCT_EINVAL: the shards belong to several runs, or have rows or blocks of
// different sizes. Also OCT_ENOTFOUND: a shard is missing.
OCT_CHECKED oct_err data_source_open_place(data_source **out, const data_source_place *place,
                                           const char *environment, oct_reason *why);
void data_source_close(data_source *source); // NULL is a no-op

// Returns what the header of a data set of these steps says (replay_data.h): env, run_id, seed,
// block_rows, extra_dim; for a data set also made_s and made_by.
const replay_data_header *data_source_header(const data_source *source);
bool data_source_is_data_set(const data_source *source);
// What could not be read from replay files (replay_recover.h). 0 for a data set, because a damaged
// one is refused.
typedef struct data_source_loss {
    uint64_t blocks; // damaged
    uint64_t rows;   // not synced before a power failure or a copy
} data_source_loss;
data_source_loss data_source_lost(const data_source *source);
// The experiment, as UTF-8 of this many bytes; not terminated.
const char *data_source_notes(const data_source *source, uint32_t *bytes);
const replay_layout *data_source_layout(const data_source *source);

// Blocks that hold rows. Blocks of a stream are neighbours, in the order of its rows.
uint32_t data_source_blocks(const data_source *source);
const replay_block *data_source_block(const data_source *source, uint32_t index);
// Returns true if the block's rows follow those of the block before it without a gap.
bool data_source_continues(const data_source *source, uint32_t index);
// Returns when a row came, compared with others: a greater number is later. For a data set it is
// the position in the file. A table knows in which order its blocks were begun, but not when their
// rows came. So the rows of a block count as spread evenly over the time until the stream's next
// block; those of the last block as densely as those of the block before; and without a block
// before, over the time until now. The result is right to about one block of each stream. Several
// shards count as filled at the same pace until they ended.
double data_source_order(const data_source *source, uint32_t index, uint32_t row);

#endif // REPLAY_DATA_DATA_SOURCE_H
