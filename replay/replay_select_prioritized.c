// Selects windows in proportion to priority ^ exponent, with replacement (Schaul et al.,
// Prioritized Experience Replay, eq. 1). A new window gets the largest weight so far (1 at first),
// so that it is likely to be drawn before the learner knows its error. If all weights are 0, the
// draw is uniform.
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "common/oct_base.h"
#include "replay/replay_select.h"
#include "replay/replay_sumtree.h"

// Largest weight, so that no sum of 2^32 weights overflows.
#define WEIGHT_MAX 1e200
// shares drawn and searched for at once
#define SHARES 256

struct prioritized {
    replay_sumtree *tree;
    double exponent;
    double weight_max; // largest weight so far, which a new window gets
};

static size_t
prioritized_bytes(uint32_t capacity)
{
    return sizeof(struct prioritized) + replay_sumtree_bytes(capacity);
}

static size_t
prioritized_kept_bytes(uint32_t capacity)
{
    return replay_sumtree_leaf_bytes(capacity);
}

static void *
prioritized_create(uint32_t capacity, double exponent, void *kept)
{
    OCT_ASSERT(isfinite(exponent) && exponent >= 0);
    struct prioritized *self = oct_alloc(sizeof(*self));
    self->tree = replay_sumtree_create(capacity, kept);
    self->exponent = exponent;
    self->weight_max = 1;
    return self;
}

static void
prioritized_destroy(void *select)
{
    struct prioritized *self = select;
    replay_sumtree_destroy(self->tree);
    free(self);
}

static void
prioritized_save(const void *select, replay_select_state *state)
{
    const struct prioritized *self = select;
    *state = (replay_select_state){.weight_max = self->weight_max};
}

// Returns the weight of a slot with a window, from what kept holds. If kept is not exact, a weight
// of 0 may come from a window that had left, so it is replaced.
static double
weight_kept(const struct prioritized *self, double weight, bool is_exact)
{
    bool is_kept =
        isfinite(weight) && weight <= WEIGHT_MAX && (is_exact ? weight >= 0 : weight > 0);
    return is_kept ? weight : self->weight_max;
}

static void
prioritized_restore(void *select, const replay_span *span, const replay_select_state *state,
                    bool is_exact, uint64_t *scratch)
{
    (void)scratch;
    struct prioritized *self = select;
    bool is_known =
        isfinite(state->weight_max) && state->weight_max >= 1 && state->weight_max <= WEIGHT_MAX;
    self->weight_max = is_known ? state->weight_max : 1;
    for (uint32_t slot = 0; slot < span->capacity; slot++) {
        double now = replay_sumtree_get(self->tree, slot);
        double wanted = replay_span_has(span, slot) ? weight_kept(self, now, is_exact) : 0;
        if (!(now == wanted)) { // a page that needs no change is not written
            replay_sumtree_set(self->tree, slot, wanted);
        }
    }
    replay_sumtree_renew(self->tree);
}

static void
prioritized_inserted(void *select, uint32_t slot, uint32_t count)
{
    struct prioritized *self = select;
    replay_sumtree_set_range(self->tree, slot, count, self->weight_max);
}

static void
prioritized_removed(void *select, uint32_t slot, uint32_t count)
{
    struct prioritized *self = select;
    replay_sumtree_set_range(self->tree, slot, count, 0);
}

static void
prioritized_update(void *select, uint32_t slot, double priority)
{
    struct prioritized *self = select;
    OCT_ASSERT(isfinite(priority) && priority >= 0);
    double weight = fmin(pow(priority, self->exponent), WEIGHT_MAX);
    self->weight_max = fmax(self->weight_max, weight);
    replay_sumtree_set(self->tree, slot, weight);
}

static void
prioritized_draw(void *select, const replay_span *span, oct_rng *rng, replay_draws to)
{
    struct prioritized *self = select;
    double total = replay_sumtree_total(self->tree);
    if (!(total > 0)) {
        replay_select_uniform.draw(NULL, span, rng, to);
        return;
    }
    for (uint32_t done = 0; done < to.count;) {
        double share[SHARES];
        uint32_t part = OCT_MIN(to.count - done, SHARES);
        for (uint32_t i = 0; i < part; i++) {
            share[i] = oct_rng_double(rng);
        }
        replay_sumtree_find(self->tree, part, share, to.slot + done);
        done += part;
    }
    for (uint32_t i = 0; i < to.count; i++) {
        double share = replay_sumtree_get(self->tree, to.slot[i]) / total;
        to.probability[i] = (float)fmax(share, FLT_MIN); // the learner divides by it
    }
}

static double
prioritized_mass(void *select)
{
    struct prioritized *self = select;
    return replay_sumtree_total(self->tree);
}

const replay_select_ops replay_select_prioritized = {
    .name = "prioritized",
    .takes = false,
    .bytes = prioritized_bytes,
    .kept_bytes = prioritized_kept_bytes,
    .create = prioritized_create,
    .destroy = prioritized_destroy,
    .save = prioritized_save,
    .restore = prioritized_restore,
    .inserted = prioritized_inserted,
    .removed = prioritized_removed,
    .update = prioritized_update,
    .draw = prioritized_draw,
    .mass = prioritized_mass,
};
