#ifndef REPLAY_REPLAY_CONFIG_H
#define REPLAY_REPLAY_CONFIG_H

#include <stddef.h>
#include <stdint.h>

#include "common/oct_rng.h"
#include "proto/wire_replay.h"
#include "replay/replay_limiter.h"

// What a Configure means: may it be, how much memory does it take, what has to be done.
// Threads: any; no state.

#define REPLAY_CAPACITY_MAX  4294967232u // rows: a slot is 32 bits
#define REPLAY_STREAM_BLOCKS 4           // that there must be for each stream
#define REPLAY_STREAMS_MAX   (1 << 24)   // expected at the same time
#define REPLAY_SESSIONS_MAX  WIRE_PLACES_MAX

typedef enum replay_config_action {
    REPLAY_CONFIG_CREATE,  // there is no table yet
    REPLAY_CONFIG_KEEP,    // the table is the one wanted; set its limiter, and its window
    REPLAY_CONFIG_REPLACE, // another run: a new table in place of the old
    REPLAY_CONFIG_REFUSE,  // reason says why
} replay_config_action;

typedef struct replay_budget_line {
    const char *name;
    uint64_t bytes;
} replay_budget_line;

#define REPLAY_BUDGET_LINES 6

// Bounds of every number (limiter_only: of the limiter's). OCT_EINVAL: reason says which, and what
// is allowed.
OCT_CHECKED oct_err replay_config_check(const wire_configure *wanted, char *reason,
                                        size_t reason_size);
// How the rows of a table are laid out: whole blocks, of at most REPLAY_BLOCK_ROWS_MAX rows, and
// smaller ones where streams are many: then each still has four, and as many as a window needs.
// configure has passed the check.
typedef struct replay_config_blocks {
    uint32_t rows;  // of a block
    uint32_t count; // rows * count >= capacity
} replay_config_blocks;
replay_config_blocks replay_config_layout(const wire_configure *configure);

// current, blocks: what the table is, NULL when there is none; blocks NULL: they are right for
// every window. wanted has passed the check.
replay_config_action replay_config_decide(const wire_configure *current,
                                          const replay_config_blocks *blocks,
                                          const wire_configure *wanted, char *reason,
                                          size_t reason_size);
replay_limiter_spec replay_config_limiter(const wire_configure *configure);
// What draws samples, from its seed alone: a run's id is of chance.
oct_rng replay_config_rng(uint64_t seed);

// All memory of a table with these blocks, by name; gives the total.
uint64_t replay_config_budget(const wire_configure *wanted, replay_config_blocks blocks,
                              replay_budget_line out[REPLAY_BUDGET_LINES]);
// Of that, what lies in the file of a durable table.
uint64_t replay_config_kept(const wire_configure *wanted);
// What a wire_window is called; NULL: there is none of this number.
const char *replay_config_window_name(int window);

// Bytes of one window in a Sample reply, and the largest reply in windows.
uint64_t replay_config_window_bytes(const wire_configure *configure);
uint32_t replay_config_reply_windows(const wire_configure *configure);
// Windows that one batch may have: what a reply holds, and of a sampler that takes what a table of
// these blocks comes to hold (oct_fifo.h). configure has passed the check.
uint32_t replay_config_batch_windows(const wire_configure *configure,
                                     const replay_config_blocks *blocks);
// A capacity, at least configure's, with which one batch may have so many windows; 0: there is
// none.
uint64_t replay_config_capacity_for(const wire_configure *configure, uint32_t windows);
// Rows, and runs, that one batch may hold.
uint32_t replay_config_batch_rows(const wire_configure *configure);

#endif // REPLAY_REPLAY_CONFIG_H
