// Selects windows in the order in which they became complete, each one once: the queue of an
// on-policy learner.
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "replay/replay_select.h"

struct fifo {
    uint32_t capacity;
    uint32_t first; // position of the oldest entry
    uint32_t count; // entries
    uint32_t *slot; // [capacity], a ring in the caller's memory
};

static size_t
fifo_bytes(uint32_t capacity)
{
    return sizeof(struct fifo) + (size_t)capacity * sizeof(uint32_t);
}

static size_t
fifo_kept_bytes(uint32_t capacity)
{
    return (size_t)capacity * sizeof(uint32_t);
}

static void *
fifo_create(uint32_t capacity, double exponent, void *kept)
{
    (void)exponent;
    struct fifo *self = oct_alloc(sizeof(*self));
    self->capacity = capacity;
    self->slot = kept;
    return self;
}

static void
fifo_destroy(void *select)
{
    free(select);
}

static void
fifo_save(const void *select, replay_select_state *state)
{
    const struct fifo *self = select;
    *state = (replay_select_state){.first = self->first, .count = self->count};
}

// Entry number index of the ring, counted from the oldest.
static uint32_t *
fifo_at(const struct fifo *self, uint32_t index)
{
    uint64_t place = (uint64_t)self->first + index;
    return &self->slot[place >= self->capacity ? place - self->capacity : place];
}

static void
fifo_inserted(void *select, uint32_t slot, uint32_t count)
{
    struct fifo *self = select;
    OCT_ASSERT(count <= self->capacity - self->count);
    for (uint32_t i = 0; i < count; i++) {
        *fifo_at(self, self->count++) = slot + i;
    }
}

static void
fifo_append(struct fifo *self, uint32_t slot)
{
    *fifo_at(self, self->count++) = slot;
}

// Takes over the ring's order, as far as it is valid: each entry must be a slot with a window,
// once. Windows that the ring lacks are appended, the oldest block first.
static void
fifo_restore(void *select, const replay_span *span, const replay_select_state *state, bool is_exact,
             uint64_t *scratch)
{
    (void)is_exact;
    struct fifo *self = select;
    uint32_t rows = 1u << span->shift, places = self->capacity >> span->shift;
    memcpy(scratch, span->mask, places * sizeof(uint64_t)); // windows that are not in the ring yet
    self->first = state->first < self->capacity ? state->first : 0;
    uint32_t count = OCT_MIN(state->count, self->capacity);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t slot = *fifo_at(self, i); // self->count <= i, so the entry was not overwritten
        uint64_t bit = 1ull << (slot & (rows - 1));
        if (slot < self->capacity && (scratch[slot >> span->shift] & bit) != 0) {
            scratch[slot >> span->shift] &= ~bit;
            fifo_append(self, slot);
        }
    }
    uint32_t place = span->first >> span->shift;
    for (uint32_t i = 0; i < span->size >> span->shift; i++) {
        for (uint64_t left = scratch[place]; left != 0; left &= left - 1) {
            fifo_append(self, place * rows + (uint32_t)__builtin_ctzll(left));
        }
        place = place + 1 == places ? 0 : place + 1;
    }
}

static void
fifo_drop_first(struct fifo *self, uint32_t count)
{
    OCT_ASSERT(count <= self->count);
    uint64_t first = (uint64_t)self->first + count;
    self->first = (uint32_t)(first >= self->capacity ? first - self->capacity : first);
    self->count -= count;
}

// O(entries), but rare: windows that were not fetched leave only if they must.
static void
fifo_removed(void *select, uint32_t slot, uint32_t count)
{
    struct fifo *self = select;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < self->count; i++) {
        uint32_t at = *fifo_at(self, i);
        if (at < slot || at - slot >= count) {
            *fifo_at(self, kept++) = at;
        }
    }
    self->count = kept;
}

static void
fifo_update(void *select, uint32_t slot, double priority)
{
    (void)select;
    (void)slot;
    (void)priority;
}

static void
fifo_draw(void *select, const replay_span *span, oct_rng *rng, replay_draws to)
{
    (void)span;
    (void)rng;
    struct fifo *self = select;
    for (uint32_t i = 0; i < to.count; i++) {
        to.slot[i] = *fifo_at(self, i);
        to.probability[i] = 1;
    }
    fifo_drop_first(self, to.count);
}

static uint32_t
fifo_filter(void *select, uint32_t wanted, bool (*is_good)(void *arg, uint32_t slot), void *arg)
{
    struct fifo *self = select;
    uint32_t seen = 0, bad = 0;
    while (seen < self->count && seen - bad < wanted) {
        uint32_t slot = *fifo_at(self, seen++);
        if (!is_good(arg, slot)) {
            bad++;
        } else {
            *fifo_at(self, seen - 1 - bad) = slot;
        }
    }
    // The good slots are in front, in order: move them to the end of the tested stretch.
    for (uint32_t i = seen - bad; bad > 0 && i > 0; i--) {
        *fifo_at(self, i - 1 + bad) = *fifo_at(self, i - 1);
    }
    fifo_drop_first(self, bad);
    return seen - bad;
}

const replay_select_ops replay_select_fifo = {
    .name = "fifo",
    .takes = true,
    .bytes = fifo_bytes,
    .kept_bytes = fifo_kept_bytes,
    .create = fifo_create,
    .destroy = fifo_destroy,
    .save = fifo_save,
    .restore = fifo_restore,
    .inserted = fifo_inserted,
    .removed = fifo_removed,
    .update = fifo_update,
    .draw = fifo_draw,
    .filter = fifo_filter,
};
