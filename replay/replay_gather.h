#ifndef REPLAY_REPLAY_GATHER_H
#define REPLAY_REPLAY_GATHER_H

#include "replay/replay_store.h"
#include "replay/replay_window.h"

// Copies windows out of the blocks, into the columns of wire_sampled.
//
// Threads: one user at a time. Owns: powers of the discount, for one window.

// Columns with room for count windows; of n_step: all but flags and version; of sequences: all but
// next and discount.
typedef struct replay_columns {
    uint8_t *obs;
    uint8_t *next;
    uint8_t *action;
    float *reward;
    float *discount;
    uint8_t *flags;
    uint32_t *version;
    float *extra;
    uint64_t *key;
} replay_columns;

typedef struct replay_gather {
    replay_window window;
    float reward_clip; // 0: off
    float *powers;     // [steps + 1] discount^i, of n_step
} replay_gather;

void replay_gather_init(replay_gather *gather, const wire_configure *configure);
void replay_gather_fini(replay_gather *gather);
// slot: [count] first rows of complete windows.
//   reward = sum_{i<k} discount^i r_{t+i}, discount = discount^k (0 when the episode terminated),
//   next = s_{t+k}, k = n or as many actions as the episode still has
// (Sutton & Barto, Reinforcement Learning, 2nd ed., eq. 7.1), summed in this order in float32. A
// sum that exceeds float32 on the way is +-FLT_MAX.
void replay_gather_rows(const replay_gather *gather, const replay_store *store,
                        const uint32_t *slot, uint32_t count, const replay_columns *out);

// How many rows the window has, the one behind it included.
uint32_t replay_gather_length(const replay_window *window, const replay_store *store,
                              uint32_t slot);
// The oldest policy that chose an action of the window; UINT32_MAX when it has none.
uint32_t replay_gather_version(const replay_window *window, const replay_store *store,
                               uint32_t slot);
// How many rows of its stream the window uses up: those before the next one, at most its own.
uint32_t replay_gather_used(const replay_window *window, const replay_store *store, uint32_t slot);

#endif // REPLAY_REPLAY_GATHER_H
