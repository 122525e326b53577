#ifndef REPLAY_REPLAY_SELECT_H
#define REPLAY_REPLAY_SELECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_rng.h"

// Samplers: each chooses the windows of a sample. A sampler is a const table of functions; a new
// one is a file and a row in replay_select.c.
//
// A window is identified by the slot of its first row (replay_store.h). The bits of a mask, 64 or
// fewer for each block, say which slots have a window. The blocks that are held have the slots
// first .. first + size - 1, which wrap around at capacity.
//
// Threads: one user at a time.
typedef struct replay_span {
    uint32_t first; // slots; a multiple of 1 << shift, as are size and capacity
    uint32_t size;
    uint32_t capacity;
    uint32_t shift;       // a block has 1 << shift slots
    uint32_t windows;     // slots in the range that have a window
    const uint64_t *mask; // bit r of word b: slot (b << shift) + r has a window
} replay_span;

static inline bool
replay_span_has(const replay_span *span, uint32_t slot)
{
    return (span->mask[slot >> span->shift] >> (slot & ((1u << span->shift) - 1)) & 1) != 0;
}

// State of a sampler besides its memory that has to be kept with it. A sampler that has no such
// state leaves its fields 0.
typedef struct replay_select_state {
    double weight_max; // prioritized: weight of a new window
    uint32_t first;    // fifo: position of the oldest entry in the ring
    uint32_t count;    // fifo: entries of the ring
} replay_select_state;

// Windows to draw, and where they go.
typedef struct replay_draws {
    uint32_t count;
    uint32_t *slot;     // [count]
    float *probability; // [count]
} replay_draws;

typedef struct replay_select_ops {
    const char *name;
    bool takes; // windows that were drawn leave the table: each window is returned once
    size_t (*bytes)(uint32_t capacity);      // total memory
    size_t (*kept_bytes)(uint32_t capacity); // the part of bytes that the caller provides
    // kept: [kept_bytes] zero, or what an earlier sampler left there (then restore comes first). It
    // begins at a multiple of 64 bytes and is borrowed.
    void *(*create)(uint32_t capacity, double exponent, void *kept);
    void (*destroy)(void *select);
    void (*save)(const void *select, replay_select_state *state);
    // Takes over the data in kept; the span's mask says which slots have a window. scratch:
    // [capacity >> shift]. is_exact: kept was written together with state.
    void (*restore)(void *select, const replay_span *span, const replay_select_state *state,
                    bool is_exact, uint64_t *scratch);
    // Slots slot .. slot + count - 1, all of one block, have a window from now on.
    void (*inserted)(void *select, uint32_t slot, uint32_t count);
    // These slots have no window from now on. Slots without one are allowed.
    void (*removed)(void *select, uint32_t slot, uint32_t count);
    // Sets the priority of a slot that has a window; finite and >= 0.
    void (*update)(void *select, uint32_t slot, double priority);
    // Draws windows. The span has a window. A sampler that takes is asked for at most
    // span->windows, gives the oldest in order, and removes them.
    void (*draw)(void *select, const replay_span *span, oct_rng *rng, replay_draws to);
    // Sum of the weights that draw draws in proportion to; NULL: every window counts as 1.
    double (*mass)(void *select);
    // For a sampler that takes, else NULL: tests the oldest windows until `wanted` of them are
    // good, and removes those that are not. Returns how many are good.
    uint32_t (*filter)(void *select, uint32_t wanted, bool (*is_good)(void *arg, uint32_t slot),
                       void *arg);
} replay_select_ops;

extern const replay_select_ops replay_select_uniform;
extern const replay_select_ops replay_select_prioritized;
extern const replay_select_ops replay_select_fifo;

// sampler is a wire_sampler; NULL if there is none of this number.
const replay_select_ops *replay_select_find(int sampler);

#endif // REPLAY_REPLAY_SELECT_H
