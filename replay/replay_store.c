#include "replay/replay_store.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"

#define OBS_LOOKBACK_MAX 4096
#define GATHER_BLOCK     32

// `oldest` is a queue of slots in order of insertion, each needing a lower observation than all
// inserted after it (a transition is left out of it when a later one needs an older observation).
// Its front is therefore the transition that needs the oldest observation of all: what decides when
// an observation may be overwritten, at O(1) per insert although actors' batches interleave.
struct replay_store {
    replay_store_spec spec;
    uint64_t obs_capacity;
    uint64_t obs_next; // number of the next observation
    uint8_t *obs;      // [obs_capacity][obs_bytes]

    uint64_t key_first; // of the oldest transition
    replay_span span;

    uint64_t *obs_number;  // [capacity] of s_t
    uint64_t *next_number; // [capacity] of s_{t+k}
    uint8_t *action;       // [capacity][action_bytes]
    float *reward;
    float *discount;
    uint8_t *flags;
    float *extra; // [capacity][extra_dim]

    uint32_t *oldest; // [capacity], a ring of slots
    uint32_t oldest_first;
    uint32_t oldest_count;
};

uint64_t
replay_store_obs_capacity(uint32_t capacity)
{
    return (uint64_t)capacity + capacity / 4 + OCT_MIN(capacity, OBS_LOOKBACK_MAX) + 2;
}

uint64_t
replay_store_obs_ring_bytes(const replay_store_spec *spec)
{
    return replay_store_obs_capacity(spec->capacity) * spec->obs_bytes;
}

uint64_t
replay_store_column_bytes(const replay_store_spec *spec)
{
    uint64_t row = 2 * sizeof(uint64_t) + spec->action_bytes + 2 * sizeof(float) + 1 +
                   spec->extra_dim * sizeof(float) + sizeof(uint32_t);
    return spec->capacity * row;
}

replay_store *
replay_store_create(const replay_store_spec *spec)
{
    OCT_ASSERT(spec->capacity > 0 && spec->capacity < UINT32_MAX && spec->obs_bytes > 0);
    replay_store *store = oct_alloc(sizeof(*store));
    size_t capacity = spec->capacity;
    store->spec = *spec;
    store->span.capacity = spec->capacity;
    store->obs_capacity = replay_store_obs_capacity(spec->capacity);
    store->obs = oct_alloc(replay_store_obs_ring_bytes(spec));
    store->obs_number = oct_alloc(capacity * sizeof(uint64_t));
    store->next_number = oct_alloc(capacity * sizeof(uint64_t));
    store->action = oct_alloc(capacity * spec->action_bytes);
    store->reward = oct_alloc(capacity * sizeof(float));
    store->discount = oct_alloc(capacity * sizeof(float));
    store->flags = oct_alloc(capacity);
    store->extra = oct_alloc(capacity * spec->extra_dim * sizeof(float));
    store->oldest = oct_alloc(capacity * sizeof(uint32_t));
    return store;
}

void
replay_store_destroy(replay_store *store)
{
    if (!store) {
        return;
    }
    free(store->obs);
    free(store->obs_number);
    free(store->next_number);
    free(store->action);
    free(store->reward);
    free(store->discount);
    free(store->flags);
    free(store->extra);
    free(store->oldest);
    free(store);
}

replay_span
replay_store_span(const replay_store *store)
{
    return store->span;
}

uint64_t
replay_store_key_first(const replay_store *store)
{
    return store->key_first;
}

static uint32_t
slot_wrap(const replay_store *store, uint64_t slot)
{
    return (uint32_t)(slot >= store->span.capacity ? slot - store->span.capacity : slot);
}

// The lower of the two observations that a transition needs.
static uint64_t
slot_needs(const replay_store *store, uint32_t slot)
{
    return OCT_MIN(store->obs_number[slot], store->next_number[slot]);
}

static void
oldest_push(replay_store *store, uint32_t slot)
{
    uint64_t needs = slot_needs(store, slot);
    while (store->oldest_count > 0) {
        uint64_t last = (uint64_t)store->oldest_first + store->oldest_count - 1;
        if (slot_needs(store, store->oldest[slot_wrap(store, last)]) < needs) {
            break;
        }
        store->oldest_count--;
    }
    uint64_t end = (uint64_t)store->oldest_first + store->oldest_count;
    store->oldest[slot_wrap(store, end)] = slot;
    store->oldest_count++;
}

uint64_t
replay_store_obs_next(const replay_store *store)
{
    return store->obs_next;
}

uint64_t
replay_store_obs_floor(const replay_store *store, uint64_t obs_count)
{
    uint64_t end = store->obs_next + obs_count;
    return end > store->obs_capacity ? end - store->obs_capacity : 0;
}

uint32_t
replay_store_excess(const replay_store *store, uint64_t obs_count, uint32_t count)
{
    OCT_ASSERT(count <= store->span.capacity && obs_count <= store->obs_capacity);
    uint64_t size = store->span.size;
    uint32_t drop = 0;
    if (size + count > store->span.capacity) {
        drop = (uint32_t)(size + count - store->span.capacity);
    }
    // Up to and with the last transition that needs an observation below the floor.
    uint64_t floor = replay_store_obs_floor(store, obs_count);
    for (uint32_t i = 0; i < store->oldest_count; i++) {
        uint32_t slot = store->oldest[slot_wrap(store, (uint64_t)store->oldest_first + i)];
        if (slot_needs(store, slot) >= floor) {
            break;
        }
        uint64_t place = (uint64_t)slot + (slot < store->span.first ? store->span.capacity : 0);
        drop = OCT_MAX(drop, (uint32_t)(place - store->span.first + 1));
    }
    return drop;
}

void
replay_store_drop(replay_store *store, uint32_t count)
{
    OCT_ASSERT(count <= store->span.size);
    while (store->oldest_count > 0) {
        uint32_t slot = store->oldest[store->oldest_first];
        uint64_t place = (uint64_t)slot + (slot < store->span.first ? store->span.capacity : 0);
        if (place - store->span.first >= count) {
            break;
        }
        store->oldest_first = slot_wrap(store, (uint64_t)store->oldest_first + 1);
        store->oldest_count--;
    }
    store->span.first = slot_wrap(store, (uint64_t)store->span.first + count);
    store->span.size -= count;
    store->key_first += count;
}

void
replay_store_add_obs(replay_store *store, const uint8_t *obs, uint32_t count)
{
    OCT_ASSERT(replay_store_excess(store, count, 0) == 0);
    size_t width = store->spec.obs_bytes;
    uint64_t place = store->obs_next % store->obs_capacity;
    uint64_t before_end = OCT_MIN(store->obs_capacity - place, count);
    if (count > 0) {
        memcpy(store->obs + place * width, obs, before_end * width);
        memcpy(store->obs, obs + before_end * width, (count - before_end) * width);
    }
    store->obs_next += count;
}

// Rows row .. row + count - 1 of batch to slots that do not wrap.
static void
rows_copy(replay_store *store, uint32_t slot, const wire_batch *batch, uint32_t row, uint32_t count,
          const uint64_t *obs, const uint64_t *next)
{
    size_t action = store->spec.action_bytes;
    size_t extra = store->spec.extra_dim;
    memcpy(store->obs_number + slot, obs + row, count * sizeof(uint64_t));
    memcpy(store->next_number + slot, next + row, count * sizeof(uint64_t));
    memcpy(store->action + slot * action, batch->action + row * action, count * action);
    memcpy(store->reward + slot, batch->reward + row, count * sizeof(float));
    memcpy(store->discount + slot, batch->discount + row, count * sizeof(float));
    memcpy(store->flags + slot, batch->flags + row, count);
    if (extra > 0) {
        memcpy(store->extra + slot * extra, batch->extra + row * extra,
               count * extra * sizeof(float));
    }
    for (uint32_t i = 0; i < count; i++) {
        oldest_push(store, slot + i);
    }
}

// Rows that may wrap.
static void
run_add(replay_store *store, const wire_batch *batch, uint32_t row, uint32_t count,
        const uint64_t *obs, const uint64_t *next)
{
    OCT_ASSERT(count <= store->span.capacity - store->span.size);
    while (count > 0) {
        uint32_t slot = slot_wrap(store, (uint64_t)store->span.first + store->span.size);
        uint32_t part = OCT_MIN(count, store->span.capacity - slot);
        rows_copy(store, slot, batch, row, part, obs, next);
        store->span.size += part;
        row += part;
        count -= part;
    }
}

uint32_t
replay_store_add(replay_store *store, const wire_batch *batch, const uint64_t *obs,
                 const uint64_t *next)
{
    uint32_t added = 0;
    for (uint32_t row = 0; row < batch->count;) {
        uint32_t end = row;
        while (end < batch->count && obs[end] != REPLAY_OBS_NONE && next[end] != REPLAY_OBS_NONE) {
            end++;
        }
        run_add(store, batch, row, end - row, obs, next);
        added += end - row;
        row = end + 1;
    }
    return added;
}

static const uint8_t *
obs_at(const replay_store *store, uint64_t number)
{
    OCT_ASSERT(number < store->obs_next && store->obs_next - number <= store->obs_capacity);
    return store->obs + number % store->obs_capacity * store->spec.obs_bytes;
}

// A sample touches memory all over the store. The rows of a block are asked for first, then what
// they point to, and only then copied: the misses of the whole block overlap.
static void
block_fetch(const replay_store *store, const uint32_t *slot, uint32_t count, const uint8_t **obs,
            const uint8_t **next)
{
    for (uint32_t i = 0; i < count; i++) {
        __builtin_prefetch(&store->obs_number[slot[i]]);
        __builtin_prefetch(&store->next_number[slot[i]]);
        __builtin_prefetch(&store->reward[slot[i]]);
        __builtin_prefetch(&store->discount[slot[i]]);
        __builtin_prefetch(store->action + slot[i] * (size_t)store->spec.action_bytes);
    }
    for (uint32_t i = 0; i < count; i++) {
        obs[i] = obs_at(store, store->obs_number[slot[i]]);
        next[i] = obs_at(store, store->next_number[slot[i]]);
        __builtin_prefetch(obs[i]);
        __builtin_prefetch(next[i]);
    }
}

static void
block_gather(const replay_store *store, const uint32_t *slot, uint32_t count,
             const replay_rows *out, size_t row)
{
    const uint8_t *obs[GATHER_BLOCK], *next[GATHER_BLOCK];
    size_t width = store->spec.obs_bytes;
    size_t action = store->spec.action_bytes;
    size_t extra = store->spec.extra_dim;
    block_fetch(store, slot, count, obs, next);
    for (uint32_t i = 0; i < count; i++, row++) {
        size_t at = slot[i];
        uint64_t place = (uint64_t)at + (at < store->span.first ? store->span.capacity : 0);
        uint64_t index = place - store->span.first;
        OCT_ASSERT(index < store->span.size);
        out->key[row] = store->key_first + index;
        out->reward[row] = store->reward[at];
        out->discount[row] = store->discount[at];
        memcpy(out->obs + row * width, obs[i], width);
        memcpy(out->next + row * width, next[i], width);
        memcpy(out->action + row * action, store->action + at * action, action);
        if (extra > 0) {
            memcpy(out->extra + row * extra, store->extra + at * extra, extra * sizeof(float));
        }
    }
}

void
replay_store_gather(const replay_store *store, const uint32_t *slot, uint32_t count,
                    const replay_rows *out)
{
    for (uint32_t row = 0; row < count; row += GATHER_BLOCK) {
        block_gather(store, slot + row, OCT_MIN(count - row, GATHER_BLOCK), out, row);
    }
}
