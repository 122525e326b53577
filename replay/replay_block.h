#ifndef REPLAY_REPLAY_BLOCK_H
#define REPLAY_REPLAY_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/oct_err.h"
#include "common/oct_reason.h"
#include "proto/wire.h"

// A block: up to block_rows consecutive rows of one stream, stored as columns after a header. It
// has a fixed size and no pointers, so a block can be copied, sent or written to a file as it is.
// Its numbers are in the byte order of the machine. Any change of the layout below needs another
// REPLAY_BLOCK_LAYOUT.
//
//   header 64 bytes · obs [rows][obs_bytes] · action [rows][action_bytes] · reward f32 [rows]
//   · version u32 [rows] · extra f32 [rows][extra_dim] · flags u8 [rows]
//
// Each column begins at a multiple of 64 bytes.
//
// Each block has a serial number, which is never used for another block. Blocks of one stream are
// linked while their rows continue without a gap. A block can be renewed: its rows stay where they
// are, and the block gets a later serial (replay_store.h).
#define REPLAY_BLOCK_LAYOUT   1
#define REPLAY_BLOCK_ROWS_MIN 8
#define REPLAY_BLOCK_ROWS_MAX 64
#define REPLAY_BLOCK_NONE     UINT64_MAX // no serial

typedef struct replay_block {
    uint32_t checksum; // over the rest of the block, only in data sets; 0: none
    uint16_t layout;   // REPLAY_BLOCK_LAYOUT
    uint16_t count;    // rows in use
    uint64_t serial;
    // Serial that the block with the preceding rows had when this block was opened; NONE: none.
    // That block may have left or been renewed since.
    uint64_t previous;
    uint64_t next; // serial of the block with the following rows; NONE: none
    uint64_t session;
    uint32_t actor_id;
    uint32_t stream;
    uint64_t first;       // number of row 0 in its stream
    uint32_t episode_age; // rows of row 0's episode before row 0, or REPLAY_BLOCK_AGE_UNKNOWN
    uint32_t renewed;     // how often the block was renewed
} replay_block;

#define REPLAY_BLOCK_AGE_UNKNOWN UINT32_MAX

// How files of blocks record the byte order: this number, in the machine's order.
#define REPLAY_BYTE_ORDER 0x01020304u
// Checks a file's header. OCT_EINVAL: the file comes from a machine with another byte order, or has
// a format version other than known, or another REPLAY_BLOCK_LAYOUT; reason holds one line.
OCT_CHECKED oct_err replay_block_readable(const char *path, uint32_t byte_order, uint32_t version,
                                          uint32_t known, uint32_t block_layout, oct_reason *why);

// Offsets of the columns, in bytes from the header.
typedef struct replay_layout {
    uint32_t rows;  // a power of two
    uint32_t shift; // rows == 1 << shift
    uint32_t obs_bytes;
    uint32_t action_bytes;
    uint32_t extra_dim;
    size_t obs;
    size_t action;
    size_t reward;
    size_t version;
    size_t extra;
    size_t flags;
    size_t bytes; // size of a block, a multiple of 64
} replay_layout;

replay_layout replay_layout_make(uint32_t rows, uint32_t obs_bytes, uint32_t action_bytes,
                                 uint32_t extra_dim);
// The columns in the order above, for code that treats them alike.
#define REPLAY_COLUMNS 6
typedef struct replay_column {
    size_t at;        // bytes from the header
    size_t row_bytes; // 0: there are no extras
} replay_column;
void replay_layout_columns(const replay_layout *layout, replay_column out[REPLAY_COLUMNS]);

// Rows row .. row + count - 1 of a batch, all of one run.
typedef struct replay_arrived {
    const wire_batch *batch;
    uint32_t row;
    uint32_t count;
    uint32_t version; // of the run
} replay_arrived;
// Appends rows to the block, which has room for them.
void replay_block_add(const replay_layout *layout, replay_block *block, replay_arrived rows);

static inline bool
replay_block_is_of_stream(const replay_block *block, const replay_block *other)
{
    return block->session == other->session && block->actor_id == other->actor_id &&
           block->stream == other->stream;
}

// Returns true if the rows of block directly follow those of before, which is full.
static inline bool
replay_block_is_behind(const replay_layout *layout, const replay_block *block,
                       const replay_block *before)
{
    return before->count == layout->rows && before->first + before->count == block->first &&
           replay_block_is_of_stream(block, before);
}

static inline const uint8_t *
replay_block_obs(const replay_layout *layout, const replay_block *block, uint32_t row)
{
    return (const uint8_t *)block + layout->obs + (size_t)row * layout->obs_bytes;
}

static inline const uint8_t *
replay_block_action(const replay_layout *layout, const replay_block *block, uint32_t row)
{
    return (const uint8_t *)block + layout->action + (size_t)row * layout->action_bytes;
}

static inline const float *
replay_block_reward(const replay_layout *layout, const replay_block *block, uint32_t row)
{
    return (const float *)((const uint8_t *)block + layout->reward) + row;
}

static inline const uint32_t *
replay_block_version(const replay_layout *layout, const replay_block *block, uint32_t row)
{
    return (const uint32_t *)((const uint8_t *)block + layout->version) + row;
}

static inline const float *
replay_block_extra(const replay_layout *layout, const replay_block *block, uint32_t row)
{
    return (const float *)((const uint8_t *)block + layout->extra) +
           (size_t)row * layout->extra_dim;
}

static inline const uint8_t *
replay_block_flags(const replay_layout *layout, const replay_block *block, uint32_t row)
{
    return (const uint8_t *)block + layout->flags + row;
}

// Returns the index of the first of count rows that has a flag of what; count if there is none.
// Eight rows are tested at a time, because flags are rare.
static inline uint32_t
replay_flags_find(const uint8_t *flags, uint32_t count, uint8_t what)
{
    const uint64_t each = 0x0101010101010101u * what;
    uint32_t i = 0;
    for (uint64_t eight; i + sizeof(eight) <= count; i += sizeof(eight)) {
        memcpy(&eight, flags + i, sizeof(eight));
        if ((eight & each) != 0) {
            break;
        }
    }
    while (i < count && (flags[i] & what) == 0) {
        i++;
    }
    return i;
}

// Checks the flags of a row against those of the preceding row of its stream. Returns NULL, or what
// is wrong. The rules are those within a run. An end row follows the last action of an episode, and
// only that, unless the end row is marked failed or ends a rollout. A first row follows an end row,
// and after an end row comes only a first row.
#define REPLAY_FLAGS_UNKNOWN 0x80u // the preceding row is not held
static inline const char *
replay_flags_fault(uint32_t before, uint32_t now)
{
    bool after_last = (before & (WIRE_TERMINATED | WIRE_TRUNCATED)) != 0;
    bool after_end = (before & WIRE_END) != 0;
    bool is_end = (now & (WIRE_END | WIRE_FAILED)) == WIRE_END;
    bool is_edge = (now & WIRE_ROLLOUT) != 0;
    return before == REPLAY_FLAGS_UNKNOWN                 ? NULL
           : after_end != ((now & WIRE_FIRST) != 0)       ? "a misplaced FIRST flag"
           : after_last != is_end && !(is_end && is_edge) ? "a misplaced END flag"
                                                          : NULL;
}

#endif // REPLAY_REPLAY_BLOCK_H
