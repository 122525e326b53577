// Selects windows uniformly, with replacement. It has no data of its own.
#include "common/oct_base.h"
#include "replay/replay_select.h"

#define PLACES 256 // drawn at once

static size_t
uniform_bytes(uint32_t capacity)
{
    (void)capacity;
    return 0;
}

static void *
uniform_create(uint32_t capacity, double exponent, void *kept)
{
    (void)capacity;
    (void)exponent;
    (void)kept;
    return NULL;
}

static void
uniform_save(const void *select, replay_select_state *state)
{
    (void)select;
    *state = (replay_select_state){0};
}

static void
uniform_restore(void *select, const replay_span *span, const replay_select_state *state,
                bool is_exact, uint64_t *scratch)
{
    (void)select;
    (void)span;
    (void)state;
    (void)is_exact;
    (void)scratch;
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

// Slot number place of the range, counted from the oldest.
static uint32_t
slot_at(const replay_span *span, uint32_t place)
{
    uint64_t at = (uint64_t)span->first + place;
    return (uint32_t)(at >= span->capacity ? at - span->capacity : at);
}

// Draws slots uniformly and rejects those without a window; windows / size of them have one. There
// is no branch on the test, because its outcome is random.
static void
draw_by_rejection(const replay_span *span, oct_rng *rng, uint32_t count, uint32_t *slot)
{
    const replay_span all = *span; // a copy, which no store below can change
    for (uint32_t done = 0; done < count;) {
        uint32_t place[PLACES], wanted = OCT_MIN(count - done, PLACES);
        oct_rng_fill_below(rng, span->size, wanted, place);
        for (uint32_t i = 0; i < wanted; i++) {
            uint32_t at = slot_at(&all, place[i]);
            slot[done] = at; // without a window, the next draw overwrites this slot
            done += replay_span_has(&all, at);
        }
    }
}

// Returns the index-th window, counted from the oldest slot. For a range with very few windows.
static uint32_t
slot_by_index(const replay_span *span, uint32_t index)
{
    for (uint32_t place = 0;; place += 1u << span->shift) {
        uint32_t slot = slot_at(span, place);
        uint64_t mask = span->mask[slot >> span->shift];
        uint32_t here = (uint32_t)__builtin_popcountll(mask);
        if (index >= here) {
            index -= here;
            continue;
        }
        for (; index > 0; index--) {
            mask &= mask - 1;
        }
        return slot + (uint32_t)__builtin_ctzll(mask);
    }
}

static void
draw_by_index(const replay_span *span, oct_rng *rng, uint32_t count, uint32_t *slot)
{
    for (uint32_t i = 0; i < count; i++) {
        slot[i] = slot_by_index(span, oct_rng_below(rng, span->windows));
    }
}

static void
uniform_draw(void *select, const replay_span *span, oct_rng *rng, replay_draws to)
{
    (void)select;
    // Rejection tests size / windows slots per draw, the search visits up to size >> shift blocks.
    (span->windows >> span->shift != 0 ? draw_by_rejection : draw_by_index)(span, rng, to.count,
                                                                            to.slot);
    float each = (float)(1.0 / span->windows);
    for (uint32_t i = 0; i < to.count; i++) {
        to.probability[i] = each;
    }
}

const replay_select_ops replay_select_uniform = {
    .name = "uniform",
    .takes = false,
    .bytes = uniform_bytes,
    .kept_bytes = uniform_bytes,
    .create = uniform_create,
    .destroy = uniform_destroy,
    .save = uniform_save,
    .restore = uniform_restore,
    .inserted = uniform_changed,
    .removed = uniform_changed,
    .update = uniform_update,
    .draw = uniform_draw,
};
