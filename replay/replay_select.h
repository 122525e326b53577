#ifndef REPLAY_REPLAY_SELECT_H
#define REPLAY_REPLAY_SELECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_rng.h"

// Which windows a sample gets. One sampler is one const table of functions; a new one is a file
// and a row in replay_select.c.
//
// A window is known by the slot of its first row (replay_store.h). Not every slot has one: those
// that do are set in a mask of bits, 64 or fewer for each block. The slots of the blocks that are
// held are first .. first + size - 1 and wrap around at capacity.
//
// Threads: one user at a time.
typedef struct replay_span {
    uint32_t first; // multiples of 1 << shift, as are size and capacity
    uint32_t size;
    uint32_t capacity;
    uint32_t shift;       // a block has 1 << shift slots
    uint32_t windows;     // of the slots
    const uint64_t *mask; // [capacity >> shift]
} replay_span;

static inline bool
replay_span_has(const replay_span *span, uint32_t slot)
{
    return (span->mask[slot >> span->shift] >> (slot & ((1u << span->shift) - 1)) & 1) != 0;
}

// What a sampler knows beside its memory, and what has to be kept with it. Zero for those that have
// no such thing.
typedef struct replay_select_state {
    double weight_max; // prioritized: what a new window gets
    uint32_t first;    // fifo: place of the oldest
    uint32_t count;    // fifo
} replay_select_state;

typedef struct replay_select_ops {
    const char *name;
    bool takes; // what was drawn leaves the table: each window is returned once
    size_t (*bytes)(uint32_t capacity);      // all of its memory
    size_t (*kept_bytes)(uint32_t capacity); // of it, the part that is the caller's
    // kept: [kept_bytes] zero, or what an earlier one left there (then restore comes first); at a
    // multiple of 64 bytes, borrowed.
    void *(*create)(uint32_t capacity, double exponent, void *kept);
    void (*destroy)(void *select);
    void (*save)(const void *select, replay_select_state *state);
    // Takes over what is in kept, where the span's mask says which slots have a window; scratch:
    // [capacity >> shift]. is_exact: what kept says of them was written together with state.
    void (*restore)(void *select, const replay_span *span, const replay_select_state *state,
                    bool is_exact, uint64_t *scratch);
    // Each of slot .. slot + count - 1, of one block, has a window from now on.
    void (*inserted)(void *select, uint32_t slot, uint32_t count);
    // None of them has one any more. Those that had none already are no mistake.
    void (*removed)(void *select, uint32_t slot, uint32_t count);
    // Of a slot with a window. priority: finite and >= 0.
    void (*update)(void *select, uint32_t slot, double priority);
    // slot, probability: [count]. The span has a window; one that takes is asked for at most
    // span->windows, gives the oldest in order, and has removed them.
    void (*draw)(void *select, const replay_span *span, oct_rng *rng, uint32_t count,
                 uint32_t *slot, float *probability);
    // What draw draws in proportion to, summed over all windows; NULL: each counts as 1.
    double (*mass)(void *select);
    // One that takes: looks at the oldest until wanted of them are good, removes those that are
    // not, and gives how many are. NULL for others.
    uint32_t (*filter)(void *select, uint32_t wanted, bool (*is_good)(void *arg, uint32_t slot),
                       void *arg);
} replay_select_ops;

extern const replay_select_ops replay_select_uniform;
extern const replay_select_ops replay_select_prioritized;
extern const replay_select_ops replay_select_fifo;

// sampler is a wire_sampler; NULL when there is none of that number.
const replay_select_ops *replay_select_find(int sampler);

#endif // REPLAY_REPLAY_SELECT_H
