#ifndef REPLAY_REPLAY_CONFIG_H
#define REPLAY_REPLAY_CONFIG_H

#include <stddef.h>
#include <stdint.h>

#include "common/oct_reason.h"
#include "common/oct_rng.h"
#include "proto/wire_replay.h"
#include "replay/replay_limiter.h"

// Meaning of a Configure request: whether it is allowed, what the table has to do, and how much
// memory it takes.
//
// Threads: any; no state.

#define REPLAY_CAPACITY_MAX  4294967232u     // rows, because a slot has 32 bits
#define REPLAY_STREAM_BLOCKS 4               // blocks that each stream needs at least
#define REPLAY_STREAMS_MAX   (1 << 24)       // that a run may have at the same time
#define REPLAY_SESSIONS_MAX  WIRE_PLACES_MAX // sessions that a table keeps

typedef enum replay_config_action {
    REPLAY_CONFIG_CREATE,  // there is no table yet
    REPLAY_CONFIG_KEEP,    // the table is the wanted one; set its limiter and its window
    REPLAY_CONFIG_REPLACE, // another run: a new table replaces the present one
    REPLAY_CONFIG_REFUSE,  // reason says why
} replay_config_action;

typedef struct replay_budget_line {
    const char *name;
    uint64_t bytes;
} replay_budget_line;

#define REPLAY_BUDGET_LINES 6

// Checks the bounds of every number, with limiter_only those of the limiter's numbers. OCT_EINVAL:
// reason names the number and what is allowed.
OCT_CHECKED oct_err replay_config_check(const wire_configure *wanted, oct_reason *why);
// Layout of a table's rows in whole blocks. Blocks have REPLAY_BLOCK_ROWS_MAX rows, and fewer where
// there are many streams, so that each stream has at least REPLAY_STREAM_BLOCKS blocks, and as many
// as a window needs. configure has passed the check.
typedef struct replay_config_blocks {
    uint32_t rows;  // rows of a block, a power of two
    uint32_t count; // rows * count >= capacity
} replay_config_blocks;
replay_config_blocks replay_config_layout(const wire_configure *configure);

// Decides what to do with a Configure. current and blocks describe the present table; current is
// NULL if there is none, blocks is NULL if they suffice for every window. wanted has passed the
// check.
replay_config_action replay_config_decide(const wire_configure *current,
                                          const replay_config_blocks *blocks,
                                          const wire_configure *wanted, oct_reason *why);
// The limiter's numbers; min_size 0 counts as 1.
replay_limiter_spec replay_config_limiter(const wire_configure *configure);
// Makes the generator for samples from the seed alone: the run's id is random, and would make runs
// differ.
oct_rng replay_config_rng(uint64_t seed);

// Memory of a table with these blocks, by name. Returns the total.
uint64_t replay_config_budget(const wire_configure *wanted, replay_config_blocks blocks,
                              replay_budget_line out[REPLAY_BUDGET_LINES]);
// Returns the part of that memory that is in the file of a durable table.
uint64_t replay_config_kept(const wire_configure *wanted);
// Returns the name of a wire_window, NULL if there is none of this number.
const char *replay_config_window_name(int window);

// Bytes of one window in a Sample reply, and the most windows of a reply.
uint64_t replay_config_window_bytes(const wire_configure *configure);
uint32_t replay_config_reply_windows(const wire_configure *configure);
// The most windows of one batch: a reply must hold them, and a sampler that takes must come to hold
// them in a table of these blocks (oct_fifo.h). configure has passed the check.
uint32_t replay_config_batch_windows(const wire_configure *configure,
                                     const replay_config_blocks *blocks);
// Returns a capacity, at least configure's, at which a batch may have this number of windows; 0 if
// there is none.
uint64_t replay_config_capacity_for(const wire_configure *configure, uint32_t windows);
// The most rows, and the most runs, of one batch.
uint32_t replay_config_batch_rows(const wire_configure *configure);

#endif // REPLAY_REPLAY_CONFIG_H
