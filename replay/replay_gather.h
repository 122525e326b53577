#ifndef REPLAY_REPLAY_GATHER_H
#define REPLAY_REPLAY_GATHER_H

#include "replay/replay_store.h"
#include "replay/replay_window.h"

// Copies windows from the blocks into the columns of wire_sampled.
//
// Threads: one user at a time. Owns: the powers of the discount, for one window.

// Columns with space for count windows. n_step windows use all but flags and version, sequences and
// rollouts all but next and discount.
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
    float *powers;     // [steps + 1] discount^i, for n_step
} replay_gather;

void replay_gather_init(replay_gather *gather, const wire_configure *configure);
void replay_gather_fini(replay_gather *gather);
// Copies the windows that begin at the slots. slot: [count], each of a complete window. For n_step:
//   reward = sum_{i<k} discount^i r_{t+i}, discount = discount^k (0 when the episode terminated),
//   next = s_{t+k}, k = n, or the number of actions left in the episode if that is less
// (Sutton & Barto, Reinforcement Learning, 2nd ed., eq. 7.1). The sum is taken in this order in
// float32; a result beyond float32 becomes +-FLT_MAX.
void replay_gather_rows(const replay_gather *gather, const replay_store *store,
                        const uint32_t *slot, uint32_t count, const replay_columns *out);

// Returns the number of rows of the window, including the row after it.
uint32_t replay_gather_length(const replay_window *window, const replay_store *store,
                              uint32_t slot);
// Returns the version of the oldest policy that chose an action of the window; UINT32_MAX if the
// window has no action.
uint32_t replay_gather_version(const replay_window *window, const replay_store *store,
                               uint32_t slot);
// Returns the number of rows that the window uses up: those before the next window begins, at most
// its own.
uint32_t replay_gather_used(const replay_window *window, const replay_store *store, uint32_t slot);

#endif // REPLAY_REPLAY_GATHER_H
