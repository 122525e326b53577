#ifndef DATA_DATA_SOURCE_H
#define DATA_DATA_SOURCE_H

#include "replay/replay_data.h"

// Recorded steps, wherever they lie: a data set, or the file of a replay table
// (docs/internals/replay-file.md) as it was when its last process ended. Neither is changed.
//
// Threads: any, once it is open. Owns: the mapping, and the list of blocks.
typedef struct data_source data_source;

// path: of the file. Of a replay file the environment is in environment.oct beside it, or in the
// file of that kind at environment (NULL: beside), and the experiment in config.yaml beside it, if
// that is there. All blocks are checked. OCT_ENOTFOUND, OCT_EINVAL, OCT_EIO: reason names the file
// and says why; a file that octet-replay uses now is refused.
OCT_CHECKED oct_err data_source_open(data_source **out, const char *path, const char *environment,
                                     char *reason, size_t reason_size);
// Where steps lie.
#define DATA_SOURCE_PATH_BYTES 4096
typedef struct data_source_place {
    char path[DATA_SOURCE_PATH_BYTES]; // of the file, or of a run's first shard
    char home[DATA_SOURCE_PATH_BYTES]; // environment.oct and config.yaml are beside this name
    uint32_t shards;                   // at least 1
} data_source_place;
// given: a file, or the folder of a run, whose config.yaml names the file (replay.path; replay.oct
// where none can be read) and the number of shards, of which more may be there. OCT_ENOTFOUND: the
// run kept no table.
OCT_CHECKED oct_err data_source_find(data_source_place *out, const char *given, char *reason,
                                     size_t reason_size);
// As data_source_open, of all shards; those but the first have the names that oct_config_shard_name
// makes. Also OCT_EINVAL: they are of several runs, or have blocks of different sizes.
// OCT_ENOTFOUND: also, one of them is missing.
OCT_CHECKED oct_err data_source_open_place(data_source **out, const data_source_place *place,
                                           const char *environment, char *reason,
                                           size_t reason_size);
void data_source_close(data_source *source); // NULL is a no-op

// What a data set of these steps says of them (replay_data.h): env, run_id, seed, block_rows,
// extra_dim; of a data set also made_s and made_by.
const replay_data_header *data_source_header(const data_source *source);
bool data_source_is_data_set(const data_source *source);
// What of replay files could not be read (replay_recover.h). Of a data set nothing: it is refused.
typedef struct data_source_loss {
    uint64_t blocks; // damaged
    uint64_t rows;   // not synced before a power failure or a copy
} data_source_loss;
data_source_loss data_source_lost(const data_source *source);
const char *data_source_notes(const data_source *source, uint32_t *bytes);
const replay_layout *data_source_layout(const data_source *source);

// Blocks that hold rows; those of a stream are neighbours, in the order of its rows.
uint32_t data_source_blocks(const data_source *source);
const replay_block *data_source_block(const data_source *source, uint32_t index);
// Whether its rows follow those of the block before it without a gap.
bool data_source_goes_on(const data_source *source, uint32_t index);
// When a row came, compared with others: greater is later. Of a data set: its place in the file. A
// table knows in which order its blocks were begun, but not when their rows came: they are taken as
// spread evenly until the stream's next block, those of its last block as closely as those of the
// block before, and without one until now. So it is right to about one block of each stream. Of
// several shards: as if all had been filled at the same pace until they ended.
double data_source_order(const data_source *source, uint32_t index, uint32_t row);

#endif // DATA_DATA_SOURCE_H
