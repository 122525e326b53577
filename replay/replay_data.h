#ifndef REPLAY_REPLAY_DATA_H
#define REPLAY_REPLAY_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"
#include "common/oct_reason.h"
#include "proto/wire_learner.h"
#include "proto/wire_replay.h"
#include "replay/replay_block.h"

// A data set (docs/internals/data-file.md): recorded steps in a file that no longer changes.
//
//   page 0: header · notes · blocks
//
// Numbers are in the byte order of the machine, and there are no pointers. Notes and blocks begin
// at multiples of 4096 bytes. Blocks are those of a table (replay_block.h), each with its sum in
// checksum. Block i has serial i. Blocks of a stream whose rows continue without a gap are
// neighbours and linked; all of them but the last are full. The header does not repeat what
// follows from the rows.
//
// Threads: any, once it is open; nothing changes. Owns: the mapping.
#define REPLAY_DATA_VERSION   1
#define REPLAY_DATA_PAGE      4096u      // alignment of notes and blocks
#define REPLAY_DATA_NOTES_MAX (1u << 20) // bytes
#define REPLAY_DATA_ENV_ID    264        // bytes, including the terminating 0
#define REPLAY_DATA_MADE_BY   64         // bytes, including the terminating 0

// A wire_env_spec without pointers. Unused elements of its arrays are 0.
typedef struct replay_data_env {
    char id[REPLAY_DATA_ENV_ID];
    double reward_threshold; // NaN: none
    uint32_t obs_dtype;      // policy_dtype
    uint32_t obs_count;
    uint32_t obs_rank;
    uint32_t obs_shape[WIRE_RANK_MAX];
    uint32_t action_kind; // policy_action_kind
    uint32_t action_count;
    uint32_t max_episode_steps;
    float action_low[WIRE_ACTIONS_MAX]; // of a box action; else 0
    float action_high[WIRE_ACTIONS_MAX];
} replay_data_env;

typedef struct replay_data_header {
    char magic[8]; // "OCTETDAT"
    uint32_t version;
    uint32_t byte_order; // 0x01020304
    uint64_t file_bytes;
    uint64_t notes_at; // from the file's first byte
    uint64_t blocks_at;
    uint64_t run_id; // run that recorded the steps; 0: none did
    uint64_t seed;   // of that run
    uint64_t made_s; // when the file was made, seconds since 1970
    uint32_t notes_bytes;
    uint32_t notes_crc;    // CRC-32
    uint32_t block_layout; // REPLAY_BLOCK_LAYOUT
    uint32_t block_rows;
    uint32_t blocks;
    uint32_t obs_bytes;
    uint32_t action_bytes;
    uint32_t extra_dim;
    char made_by[REPLAY_DATA_MADE_BY]; // "octet 0.4.0"
    replay_data_env env;
    uint32_t crc; // CRC-32 of all fields before
    uint32_t reserved;
} replay_data_header;

typedef struct replay_data {
    char *path;
    const uint8_t *base;
    uint64_t bytes; // length of the file
    const replay_data_header *header;
    // [header->notes_bytes] UTF-8: the run's config.yaml, or where the steps came from.
    const char *notes;
    const uint8_t *blocks; // [header->blocks][layout.bytes]
    replay_layout layout;
    bool is_mapped; // false: the bytes are borrowed
} replay_data;

// Maps the data set at path and checks its header and notes, but not its blocks. reason says why it
// cannot be used:
//   OCT_ENOTFOUND  there is no file
//   OCT_EINVAL     the file is not a data set, has another version, or is damaged
//   OCT_EIO        the file cannot be opened or mapped
OCT_CHECKED oct_err replay_data_open(replay_data **out, const char *path, oct_reason *why);
void replay_data_close(replay_data *data); // NULL is a no-op
// Opens a data set in memory. bytes are borrowed and begin at a multiple of 64. path is the name in
// messages. Errors and close as above.
OCT_CHECKED oct_err replay_data_view(replay_data **out, const char *path, const uint8_t *bytes,
                                     uint64_t length, oct_reason *why);
// Checks every block: its sum, its links, and its rows, which must be rows that a table would
// accept. Reads the whole file. OCT_EINVAL: reason names the block and what is wrong with it.
OCT_CHECKED oct_err replay_data_check(const replay_data *data, oct_reason *why);

// Makes a spec of env; its arrays and texts belong to env.
void replay_data_env_view(wire_env_spec *out, const replay_data_env *env);
// OCT_EINVAL: spec has a longer name, or more dimensions or actions, than env can hold.
OCT_CHECKED oct_err replay_data_env_make(replay_data_env *out, const wire_env_spec *spec);

// Checks that a table's rows can be steps of env: compares their sizes and whether they are floats,
// from table's obs_bytes, obs_is_float, action_bytes and action_is_float. OCT_EINVAL: reason says
// what both have.
OCT_CHECKED oct_err replay_data_env_fit(const replay_data_env *env, const wire_configure *table,
                                        oct_reason *why);

// For writers: computes the rest of a header in which env, block_rows, blocks, extra_dim,
// notes_bytes, notes_crc, run_id, seed, made_s and made_by are set. Returns the layout of its
// blocks.
replay_layout replay_data_header_make(replay_data_header *header);
// CRC-32 of a block after its checksum field.
uint32_t replay_data_block_sum(const replay_layout *layout, const replay_block *block);
// Returns why rows with these numbers cannot be in a data set, or NULL: a number is not finite, or
// an action does not exist in the environment or is outside a box's bounds (common/oct_box.h).
const char *replay_data_numbers_fault(const replay_data_env *env, const replay_layout *layout,
                                      const replay_block *block);

// Makes the table configuration that serves the data set to a learner that asked for wanted: all
// rows, and no limiter. If the data set stores another count of extra numbers with an action than
// wanted, the extras are left out (extra_dim 0), provided that the windows do not need them:
// windows of n steps, or a policy without extras. OCT_EINVAL: the data set's steps differ from
// wanted's, the windows need other extras, or each window is wanted once (FIFO); reason says which.
OCT_CHECKED oct_err replay_data_fit(wire_configure *out, const replay_data *data,
                                    const wire_configure *wanted, oct_reason *why);

// The layout of the blocks for a reader of extra_dim numbers with each action: the data set's own
// extra_dim, or 0.
static inline replay_layout
replay_data_layout(const replay_data *data, uint32_t extra_dim)
{
    replay_layout layout = data->layout;
    layout.extra_dim = extra_dim;
    return layout;
}

static inline const replay_block *
replay_data_block(const replay_data *data, uint32_t index)
{
    return (const replay_block *)(const void *)(data->blocks + index * data->layout.bytes);
}

#endif // REPLAY_REPLAY_DATA_H
