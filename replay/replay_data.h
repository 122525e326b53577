#ifndef REPLAY_REPLAY_DATA_H
#define REPLAY_REPLAY_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"
#include "proto/wire_learner.h"
#include "proto/wire_replay.h"
#include "replay/replay_block.h"

// A data set (docs/internals/data-file.md): steps that were recorded, in a file that nobody changes
// any more.
//
//   page 0: header · notes · blocks
//
// Numbers are in the byte order of the machine, there are no pointers; notes and blocks begin at
// multiples of 4096 bytes. Blocks are those of a table (replay_block.h), each with its sum in
// checksum. Block i has serial i. The blocks of a stream that follow each other without a gap are
// neighbours and linked; all of these but the last are full. Nothing that follows from the rows is
// said a second time.
//
// Threads: any, once it is open; nothing changes. Owns: the mapping.
#define REPLAY_DATA_VERSION   1
#define REPLAY_DATA_PAGE      4096u
#define REPLAY_DATA_NOTES_MAX (1u << 20)
#define REPLAY_DATA_ENV_ID    264 // bytes, with the 0 that ends it
#define REPLAY_DATA_MADE_BY   64

// A wire_env_spec without pointers. What its counts leave over is 0.
typedef struct replay_data_env {
    char id[REPLAY_DATA_ENV_ID];
    double reward_threshold; // NaN: none
    uint32_t obs_dtype;
    uint32_t obs_count;
    uint32_t obs_rank;
    uint32_t obs_shape[WIRE_RANK_MAX];
    uint32_t action_kind;
    uint32_t action_count;
    uint32_t max_episode_steps;
    float action_low[WIRE_ACTIONS_MAX]; // box
    float action_high[WIRE_ACTIONS_MAX];
} replay_data_env;

typedef struct replay_data_header {
    char magic[8]; // "OCTETDAT"
    uint32_t version;
    uint32_t byte_order; // 0x01020304
    uint64_t file_bytes;
    uint64_t notes_at; // from the file's first byte
    uint64_t blocks_at;
    uint64_t run_id; // that recorded it; 0: none did
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
    uint32_t crc; // CRC-32 of all before
    uint32_t reserved;
} replay_data_header;

typedef struct replay_data {
    char *path;
    const uint8_t *base;
    uint64_t bytes;
    const replay_data_header *header;
    const char *notes; // [header->notes_bytes] UTF-8: the run's config.yaml, or where it came from
    const uint8_t *blocks; // [header->blocks][layout.bytes]
    replay_layout layout;
    bool is_mapped;
} replay_data;

// Maps the file at path; its header and notes have been checked, its blocks have not.
// OCT_ENOTFOUND: nothing there; OCT_EINVAL: no data set, of another version, damaged; OCT_EIO.
// reason says which.
OCT_CHECKED oct_err replay_data_open(replay_data **out, const char *path, char *reason,
                                     size_t reason_size);
void replay_data_close(replay_data *data); // NULL is a no-op
// The same of bytes in memory, which begin at a multiple of 64 and are borrowed; path is what
// messages call them. Close as above.
OCT_CHECKED oct_err replay_data_view(replay_data **out, const char *path, const uint8_t *bytes,
                                     uint64_t length, char *reason, size_t reason_size);
// Every block: its sum, its place, and that its rows are such as a table would take. Reads all of
// the file. OCT_EINVAL: reason names the block and what is wrong with it.
OCT_CHECKED oct_err replay_data_check(const replay_data *data, char *reason, size_t reason_size);

// Its rows and texts lie in env.
void replay_data_env_view(wire_env_spec *out, const replay_data_env *env);
// OCT_EINVAL: spec has a longer name or more actions than there is room for.
OCT_CHECKED oct_err replay_data_env_make(replay_data_env *out, const wire_env_spec *spec);

// Whether a table's rows can be steps of env, by their sizes and by whether they are floats: of
// table obs_bytes to action_is_float. OCT_EINVAL: reason says what both have.
OCT_CHECKED oct_err replay_data_env_fit(const replay_data_env *env, const wire_configure *table,
                                        char *reason, size_t reason_size);

// For who writes one: the rest of a header whose env, block_rows, blocks, extra_dim, notes_bytes,
// notes_crc, run_id, seed, made_s and made_by are set. Gives the layout of its blocks.
replay_layout replay_data_header_make(replay_data_header *header);
uint32_t replay_data_block_sum(const replay_layout *layout, const replay_block *block);
// Why rows with these numbers cannot be in a data set: not finite, or no action of the environment.
// NULL: they can be. Actions of a box are within their bounds by common/oct_box.h.
const char *replay_data_numbers_fault(const replay_data_env *env, const replay_layout *layout,
                                      const replay_block *block);

// The table that serves the data set to a learner that asked for wanted: whole, and without a
// limiter. What is beside an action is left out (extra_dim 0) where the data set has other numbers
// there than wanted and the windows are learned from without: those of n steps, and of a policy
// that has none. OCT_EINVAL: it has other steps than wanted, or each window is wanted once; reason
// says it.
OCT_CHECKED oct_err replay_data_fit(wire_configure *out, const replay_data *data,
                                    const wire_configure *wanted, char *reason, size_t reason_size);

// The layout of its blocks for who reads extra_dim numbers beside each action: its own, or 0.
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
