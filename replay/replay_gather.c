// Copies sampled windows, n-step returns or sequences, from the blocks into the columns of a reply.
#include "replay/replay_gather.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_reward.h"

#define GATHER_GROUP 32 // windows whose cache misses overlap

// Position of a row: its block, the block's index and the row's index.
struct place {
    const replay_block *block;
    uint32_t index; // of the block in the ring
    uint32_t row;
};

void
replay_gather_init(replay_gather *gather, const wire_configure *configure)
{
    *gather = (replay_gather){
        .window = replay_window_of(configure),
        .reward_clip = (float)configure->reward_clip,
        .powers = oct_alloc((configure->window_steps + 1) * sizeof(float)),
    };
    double power = 1;
    for (uint32_t k = 0; k <= configure->window_steps; k++) {
        gather->powers[k] = (float)power;
        power *= configure->discount;
    }
}

void
replay_gather_fini(replay_gather *gather)
{
    free(gather->powers);
}

static inline struct place
place_of(const replay_blocks *blocks, uint32_t slot)
{
    uint32_t index = slot >> blocks->layout.shift;
    return (struct place){replay_blocks_at(blocks, index), index, slot & (blocks->layout.rows - 1)};
}

// Moves count rows forward; all of them are held.
static struct place
place_forward(const replay_blocks *blocks, struct place place, uint32_t count)
{
    place.row += count;
    while (place.row >= blocks->layout.rows) { // a block with a successor is full
        place.index = replay_blocks_next(blocks, place.block);
        place.block = replay_blocks_at(blocks, place.index);
        place.row -= blocks->layout.rows;
    }
    return place;
}

// Flags of the end rows from place to the end of its block; bit 0 belongs to place.
static inline uint64_t
place_ends(const replay_blocks *blocks, struct place place)
{
    return blocks->ends[place.index] >> place.row;
}

// Returns true if windows with stride 0 end with this row.
static inline bool
place_is_end(const replay_window *window, const replay_blocks *blocks, struct place place)
{
    return (place_ends(blocks, place) & 1) != 0 &&
           (*replay_block_flags(&blocks->layout, place.block, place.row) &
            replay_window_end_flag(window)) != 0;
}

// Returns how many of the next `most` rows (1 to 64) come before an end row.
static inline uint32_t
rows_before(uint64_t ends, uint32_t most)
{
    uint64_t stop = ends >> 1 | (uint64_t)1 << (most - 1);
    return (ends & 1) != 0 ? 0 : 1 + (uint32_t)__builtin_ctzll(stop);
}

// ---- n-step

// A group of n-step windows, with the part of each that is in the window's first block.
struct group {
    uint32_t actions[GATHER_GROUP]; // actions in the first block
    const float *reward[GATHER_GROUP];
    const uint8_t *obs[GATHER_GROUP];
    const uint8_t *action[GATHER_GROUP];
    const uint8_t *next[GATHER_GROUP]; // the observation after these actions
    // [others] windows that continue in another block, or end with an episode.
    uint32_t other[GATHER_GROUP];
    uint32_t others;
};

// Finds where each window of a group is. A sample touches memory all over the store, so this pass
// reads no rows: it only prefetches them, and the cache misses of the whole group overlap.
static void
n_step_find(struct group *group, const replay_gather *gather, const replay_blocks *blocks,
            const uint32_t *slot, uint32_t count)
{
    const replay_layout layout = blocks->layout; // a copy, which no store below can change
    uint32_t steps = gather->window.steps, others = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct place place = place_of(blocks, slot[i]);
        uint32_t left = layout.rows - place.row;
        uint64_t ends = place_ends(blocks, place);
        uint32_t actions = rows_before(ends, OCT_MIN(steps, left));
        group->actions[i] = actions;
        group->reward[i] = replay_block_reward(&layout, place.block, place.row);
        group->obs[i] = replay_block_obs(&layout, place.block, place.row);
        group->action[i] = replay_block_action(&layout, place.block, place.row);
        group->next[i] = group->obs[i] + (size_t)actions * layout.obs_bytes;
        __builtin_prefetch(group->reward[i]);
        __builtin_prefetch(group->obs[i]);
        __builtin_prefetch(group->action[i]);
        __builtin_prefetch(group->next[i]);
        group->other[others] = i;
        others += (uint32_t)(actions == left) | (uint32_t)(ends >> (actions & 63) & 1);
    }
    group->others = others;
}

// Adds rewards in order. A sum beyond float32 stays infinite until rewards_bound.
static inline float
rewards_add(float sum, const float *reward, const float *power, uint32_t count, float clip)
{
    for (uint32_t i = 0; i < count; i++) {
        sum += power[i] * oct_reward_clip(reward[i], clip);
    }
    return sum;
}

// Completes window i of the group, which has index `at` in the reply: its last rows, in its block
// or after it.
static void
n_step_end(struct group *group, uint32_t i, const replay_gather *gather,
           const replay_blocks *blocks, uint32_t slot, const replay_columns *out, size_t at)
{
    const replay_layout *layout = &blocks->layout;
    struct place place = place_of(blocks, slot);
    uint32_t steps = gather->window.steps, actions = group->actions[i];
    uint32_t end = place.row + actions; // the row after the actions
    const uint8_t *last = replay_block_flags(layout, place.block, end - 1);
    float sum = out->reward[at];
    while (end == layout->rows) {
        place = place_forward(blocks, place, layout->rows - place.row);
        end = actions < steps
                  ? rows_before(place_ends(blocks, place), OCT_MIN(steps - actions, layout->rows))
                  : 0;
        sum = rewards_add(sum, replay_block_reward(layout, place.block, 0),
                          gather->powers + actions, end, gather->reward_clip);
        actions += end;
        last = end > 0 ? replay_block_flags(layout, place.block, end - 1) : last;
    }
    out->reward[at] = sum;
    out->discount[at] = (*last & WIRE_TERMINATED) != 0 ? 0 : gather->powers[actions];
    group->next[i] = replay_block_obs(layout, place.block, end);
}

// Bounds the sums. A sum of finite rewards can be infinite, and a reply with such a number is
// refused as a whole.
static void
rewards_bound(float *sum, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        sum[i] = OCT_MAX(-FLT_MAX, OCT_MIN(FLT_MAX, sum[i]));
    }
}

static inline void
rows_copy(uint8_t *to, const uint8_t *const *from, uint32_t count, size_t bytes)
{
#pragma GCC unroll 4
    for (uint32_t i = 0; i < count; i++) {
        memcpy(to + i * bytes, from[i], bytes);
    }
}

// Copies a column of a group. For common sizes the compiler turns each copy into a few moves
// instead of a call.
static void
column_copy(uint8_t *to, const uint8_t *const *from, uint32_t count, size_t bytes)
{
    switch (bytes) {
    case 4:
        rows_copy(to, from, count, 4);
        break;
    case 8:
        rows_copy(to, from, count, 8);
        break;
    case 12:
        rows_copy(to, from, count, 12);
        break;
    case 16:
        rows_copy(to, from, count, 16);
        break;
    case 24:
        rows_copy(to, from, count, 24);
        break;
    case 32:
        rows_copy(to, from, count, 32);
        break;
    case 64:
        rows_copy(to, from, count, 64);
        break;
    default:
        rows_copy(to, from, count, bytes);
    }
}

static void
n_step_copy(const replay_gather *gather, const replay_blocks *blocks, const uint32_t *slot,
            uint32_t count, const replay_columns *out, size_t begin)
{
    const replay_layout *layout = &blocks->layout;
    size_t obs = layout->obs_bytes, action = layout->action_bytes;
    size_t extra = layout->extra_dim * sizeof(float);
    struct group group;
    n_step_find(&group, gather, blocks, slot, count);
    float whole = gather->powers[gather->window.steps];
    for (uint32_t i = 0; i < count; i++) {
        out->reward[begin + i] =
            rewards_add(0, group.reward[i], gather->powers, group.actions[i], gather->reward_clip);
        out->discount[begin + i] = whole;
    }
    for (uint32_t k = 0; k < group.others; k++) {
        uint32_t i = group.other[k];
        n_step_end(&group, i, gather, blocks, slot[i], out, begin + i);
    }
    rewards_bound(out->reward + begin, count);
    column_copy(out->obs + begin * obs, group.obs, count, obs);
    column_copy(out->next + begin * obs, group.next, count, obs);
    column_copy(out->action + begin * action, group.action, count, action);
    for (uint32_t i = 0; extra > 0 && i < count; i++) {
        struct place place = place_of(blocks, slot[i]);
        memcpy((uint8_t *)out->extra + (begin + i) * extra,
               replay_block_extra(layout, place.block, place.row), extra);
    }
}

// ---- sequences

// Fills the rows after an end row with zeros and END flags. begins: rows of the window before them.
static void
sequence_fill(const replay_layout *layout, uint32_t steps, uint32_t begins,
              const replay_columns *out, size_t at)
{
    size_t obs = layout->obs_bytes, action = layout->action_bytes, extra = layout->extra_dim;
    size_t row = at * steps + begins, rows = begins < steps ? steps - begins : 0;
    memset(out->obs + (at * (steps + 1) + begins) * obs, 0, (steps + 1 - begins) * obs);
    memset(out->action + row * action, 0, rows * action);
    memset(out->reward + row, 0, rows * sizeof(float));
    memset(out->flags + row, WIRE_END, rows);
    memset(out->version + row, 0, rows * sizeof(uint32_t));
    if (extra > 0) {
        memset(out->extra + row * extra, 0, rows * extra * sizeof(float));
    }
}

// Copies rows of one block to rows done .. done + count - 1 of the window. Row `steps` of the
// window has only an observation.
static void
sequence_stretch(const replay_layout *layout, struct place place, uint32_t steps, uint32_t done,
                 uint32_t count, const replay_columns *out, size_t at)
{
    size_t obs = layout->obs_bytes, action = layout->action_bytes, extra = layout->extra_dim;
    size_t row = at * steps + done, rows = OCT_MIN(count, steps - done);
    memcpy(out->obs + (at * (steps + 1) + done) * obs,
           replay_block_obs(layout, place.block, place.row), count * obs);
    memcpy(out->action + row * action, replay_block_action(layout, place.block, place.row),
           rows * action);
    memcpy(out->reward + row, replay_block_reward(layout, place.block, place.row),
           rows * sizeof(float));
    memcpy(out->flags + row, replay_block_flags(layout, place.block, place.row), rows);
    memcpy(out->version + row, replay_block_version(layout, place.block, place.row),
           rows * sizeof(uint32_t));
    if (extra > 0) {
        memcpy(out->extra + row * extra, replay_block_extra(layout, place.block, place.row),
               rows * extra * sizeof(float));
    }
}

// Returns how many of count rows from place, all in one block, belong to the window: up to and
// including the first end row that windows of this kind end with.
static uint32_t
rows_to_end(const replay_window *window, const replay_blocks *blocks, struct place place,
            uint32_t count, bool *is_end)
{
    *is_end = false;
    for (uint32_t rows = 0; rows < count; rows++, place.row++) {
        uint32_t before = rows_before(place_ends(blocks, place), count - rows);
        rows += before;
        place.row += before;
        if (rows < count && place_is_end(window, blocks, place)) {
            *is_end = true;
            return rows + 1;
        }
    }
    return count;
}

static void
sequence_copy(const replay_gather *gather, const replay_blocks *blocks, struct place place,
              const replay_columns *out, size_t at)
{
    const replay_layout *layout = &blocks->layout;
    uint32_t steps = gather->window.steps;
    bool is_end = false;
    for (uint32_t done = 0; done <= steps;) {
        uint32_t count = OCT_MIN(steps + 1 - done, layout->rows - place.row);
        if (gather->window.stride == 0) {
            count = rows_to_end(&gather->window, blocks, place, count, &is_end);
        }
        sequence_stretch(layout, place, steps, done, count, out, at);
        done += count;
        if (is_end) {
            sequence_fill(layout, steps, done, out, at);
            return;
        }
        if (done <= steps) {
            place = place_forward(blocks, place, count);
        }
    }
}

static void
sequences_copy(const replay_gather *gather, const replay_blocks *blocks, const uint32_t *slot,
               uint32_t count, const replay_columns *out, size_t begin)
{
    const replay_layout *layout = &blocks->layout;
    struct place place[GATHER_GROUP];
    for (uint32_t i = 0; i < count; i++) { // prefetches, as in n_step_find
        place[i] = place_of(blocks, slot[i]);
        __builtin_prefetch(replay_block_obs(layout, place[i].block, place[i].row));
        __builtin_prefetch(replay_block_action(layout, place[i].block, place[i].row));
        __builtin_prefetch(replay_block_reward(layout, place[i].block, place[i].row));
        __builtin_prefetch(replay_block_flags(layout, place[i].block, place[i].row));
        __builtin_prefetch(replay_block_version(layout, place[i].block, place[i].row));
    }
    for (uint32_t i = 0; i < count; i++) {
        sequence_copy(gather, blocks, place[i], out, begin + i);
    }
}

// ---- both

static void
keys_fill(const replay_blocks *blocks, const uint32_t *slot, uint32_t count, uint64_t *key)
{
    const replay_blocks view = *blocks; // a copy, which no store below can change
    for (uint32_t i = 0; i < count; i++) {
        key[i] = replay_blocks_key(&view, slot[i]);
    }
}

void
replay_gather_rows(const replay_gather *gather, const replay_store *store, const uint32_t *slot,
                   uint32_t count, const replay_columns *out)
{
    replay_blocks blocks = replay_store_view(store);
    keys_fill(&blocks, slot, count, out->key);
    for (uint32_t begin = 0; begin < count; begin += GATHER_GROUP) {
        uint32_t group = OCT_MIN(count - begin, GATHER_GROUP);
        (gather->window.kind == WIRE_WINDOW_N_STEP ? n_step_copy : sequences_copy)(
            gather, &blocks, slot + begin, group, out, begin);
    }
}

// Windows of this kind end early with an end row.
static bool
is_cut_by_end(const replay_window *window)
{
    return window->kind == WIRE_WINDOW_N_STEP || window->stride == 0;
}

uint32_t
replay_gather_length(const replay_window *window, const replay_store *store, uint32_t slot)
{
    if (!is_cut_by_end(window)) {
        return replay_window_rows(window);
    }
    replay_blocks view = replay_store_view(store);
    struct place place = place_of(&view, slot);
    uint32_t count = 1;
    do {
        place = place_forward(&view, place, 1);
        count++;
    } while (count < replay_window_rows(window) && !place_is_end(window, &view, place));
    return count;
}

uint32_t
replay_gather_version(const replay_window *window, const replay_store *store, uint32_t slot)
{
    replay_blocks view = replay_store_view(store);
    const replay_blocks *blocks = &view;
    struct place place = place_of(blocks, slot);
    uint32_t oldest = UINT32_MAX;
    for (uint32_t k = 0; k < window->steps; k++) {
        place = k == 0 ? place : place_forward(blocks, place, 1);
        if ((place_ends(blocks, place) & 1) == 0) {
            oldest =
                OCT_MIN(oldest, *replay_block_version(&blocks->layout, place.block, place.row));
        } else if (is_cut_by_end(window) && place_is_end(window, blocks, place)) {
            break;
        }
    }
    return oldest;
}

uint32_t
replay_gather_used(const replay_window *window, const replay_store *store, uint32_t slot)
{
    uint32_t most = OCT_MIN(replay_window_stride(window), window->steps);
    if (!is_cut_by_end(window) || most == 1) {
        return most;
    }
    replay_blocks view = replay_store_view(store);
    const replay_blocks *blocks = &view;
    struct place place = place_of(blocks, slot);
    uint32_t count = 1;
    while (count < most && !place_is_end(window, blocks, place)) {
        place = place_forward(blocks, place, 1);
        count++;
    }
    return count;
}
