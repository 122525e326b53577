#ifndef REPLAY_REPLAY_SELECT_H
#define REPLAY_REPLAY_SELECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_rng.h"

// Which transitions a sample gets. One sampler is one const table of functions; a new one is a file
// and a row in replay_select.c.
//
// A transition is known by its slot, its place in the store's ring: slots of a range wrap around
// at capacity. The slots that hold transitions are first .. first + size - 1, oldest first.
//
// Threads: one user at a time.
typedef struct replay_span {
    uint32_t first;
    uint32_t size;
    uint32_t capacity;
} replay_span;

typedef struct replay_select_ops {
    const char *name;
    bool takes; // what was drawn leaves the table: each transition is returned once
    size_t (*bytes)(uint32_t capacity);
    void *(*create)(uint32_t capacity, double exponent);
    void (*destroy)(void *select);
    // slot .. slot + count - 1 do not wrap.
    void (*inserted)(void *select, uint32_t slot, uint32_t count);
    void (*removed)(void *select, uint32_t slot, uint32_t count);
    // priority: finite and >= 0.
    void (*update)(void *select, uint32_t slot, double priority);
    // slot, probability: [count]. The span is not empty; one that takes is asked for at most
    // span->size, and gives the oldest in order.
    void (*draw)(void *select, const replay_span *span, oct_rng *rng, uint32_t count,
                 uint32_t *slot, float *probability);
} replay_select_ops;

extern const replay_select_ops replay_select_uniform;
extern const replay_select_ops replay_select_prioritized;
extern const replay_select_ops replay_select_fifo;

// sampler is a wire_sampler; NULL when there is none of that number.
const replay_select_ops *replay_select_find(int sampler);

#endif // REPLAY_REPLAY_SELECT_H
