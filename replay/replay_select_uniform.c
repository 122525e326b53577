#include "replay/replay_select.h"

// Every transition alike, with replacement. It keeps nothing: the span says all.

static size_t
uniform_bytes(uint32_t capacity)
{
    (void)capacity;
    return 0;
}

static void *
uniform_create(uint32_t capacity, double exponent)
{
    (void)capacity;
    (void)exponent;
    return NULL;
}

static void
uniform_destroy(void *select)
{
    (void)select;
}

static void
uniform_changed(void *select, uint32_t slot, uint32_t count)
{
    (void)select;
    (void)slot;
    (void)count;
}

static void
uniform_update(void *select, uint32_t slot, double priority)
{
    (void)select;
    (void)slot;
    (void)priority;
}

static void
uniform_draw(void *select, const replay_span *span, oct_rng *rng, uint32_t count, uint32_t *slot,
             float *probability)
{
    (void)select;
    float each = (float)(1.0 / span->size);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t at = (uint64_t)span->first + oct_rng_below(rng, span->size);
        slot[i] = (uint32_t)(at >= span->capacity ? at - span->capacity : at);
        probability[i] = each;
    }
}

const replay_select_ops replay_select_uniform = {
    .name = "uniform",
    .takes = false,
    .bytes = uniform_bytes,
    .create = uniform_create,
    .destroy = uniform_destroy,
    .inserted = uniform_changed,
    .removed = uniform_changed,
    .update = uniform_update,
    .draw = uniform_draw,
};
