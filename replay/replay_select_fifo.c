#include "replay/replay_select.h"

// Oldest first, each transition once: the queue of an on-policy learner. It keeps nothing: the span
// says all.

static size_t
fifo_bytes(uint32_t capacity)
{
    (void)capacity;
    return 0;
}

static void *
fifo_create(uint32_t capacity, double exponent)
{
    (void)capacity;
    (void)exponent;
    return NULL;
}

static void
fifo_destroy(void *select)
{
    (void)select;
}

static void
fifo_changed(void *select, uint32_t slot, uint32_t count)
{
    (void)select;
    (void)slot;
    (void)count;
}

static void
fifo_update(void *select, uint32_t slot, double priority)
{
    (void)select;
    (void)slot;
    (void)priority;
}

static void
fifo_draw(void *select, const replay_span *span, oct_rng *rng, uint32_t count, uint32_t *slot,
          float *probability)
{
    (void)select;
    (void)rng;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t at = (uint64_t)span->first + i;
        slot[i] = (uint32_t)(at >= span->capacity ? at - span->capacity : at);
        probability[i] = 1;
    }
}

const replay_select_ops replay_select_fifo = {
    .name = "fifo",
    .takes = true,
    .bytes = fifo_bytes,
    .create = fifo_create,
    .destroy = fifo_destroy,
    .inserted = fifo_changed,
    .removed = fifo_changed,
    .update = fifo_update,
    .draw = fifo_draw,
};
