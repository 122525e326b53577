// Copies sampled windows, n-step returns or sequences, from the blocks into the columns of a reply.
#include "replay/replay_gather.h"

#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"

#define GATHER_GROUP 32

// A row of a stream.
struct place {
    const replay_block *block;
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

static struct place
place_of(const replay_blocks *blocks, uint32_t slot)
{
    return (struct place){replay_blocks_at(blocks, slot >> blocks->layout.shift),
                          slot & (blocks->layout.rows - 1)};
}

// count rows further, all of them held.
static struct place
place_forward(const replay_blocks *blocks, struct place place, uint32_t count)
{
    place.row += count;
    while (place.row >= blocks->layout.rows) { // a block that has another behind it is full
        place.block = replay_blocks_next(blocks, place.block);
        place.row -= blocks->layout.rows;
    }
    return place;
}

static uint32_t
place_flags(const replay_blocks *blocks, struct place place)
{
    return *replay_block_flags(&blocks->layout, place.block, place.row);
}

// ---- n-step

static void
n_step_copy(const replay_gather *gather, const replay_blocks *blocks, struct place place,
            const replay_columns *out, size_t at)
{
    const replay_layout *layout = &blocks->layout;
    size_t obs = layout->obs_bytes, action = layout->action_bytes, extra = layout->extra_dim;
    memcpy(out->obs + at * obs, replay_block_obs(layout, place.block, place.row), obs);
    memcpy(out->action + at * action, replay_block_action(layout, place.block, place.row), action);
    if (extra > 0) {
        memcpy(out->extra + at * extra, replay_block_extra(layout, place.block, place.row),
               extra * sizeof(float));
    }
    float clip = gather->reward_clip, sum = 0;
    uint32_t k = 0, flags;
    do {
        float reward = *replay_block_reward(layout, place.block, place.row);
        if (clip > 0) {
            reward = OCT_MAX(-clip, OCT_MIN(clip, reward));
        }
        flags = place_flags(blocks, place);
        sum += gather->powers[k++] * reward;
        place = place_forward(blocks, place, 1);
    } while (k < gather->window.steps && (place_flags(blocks, place) & WIRE_END) == 0);
    out->reward[at] = sum;
    out->discount[at] = (flags & WIRE_TERMINATED) != 0 ? 0 : gather->powers[k];
    memcpy(out->next + at * obs, replay_block_obs(layout, place.block, place.row), obs);
}

// ---- sequences

// Rows of nothing behind an end row; begins: how many the window has before them.
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

// Rows of one block to rows done .. done + count - 1 of the window; the last of steps + 1 is but an
// observation.
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

// Of count rows from place on, all in one block: those up to and with the first end row.
static uint32_t
rows_to_end(const replay_layout *layout, struct place place, uint32_t count, bool *is_end)
{
    const uint8_t *flags = replay_block_flags(layout, place.block, place.row);
    uint32_t before = replay_flags_find(flags, count, WIRE_END);
    *is_end = before < count;
    return *is_end ? before + 1 : count;
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
            count = rows_to_end(layout, place, count, &is_end);
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

// ---- both

// A sample touches memory all over the store. The rows of a group are asked for first and only then
// copied: the misses of the whole group overlap.
static void
group_fetch(const replay_blocks *blocks, const uint32_t *slot, uint32_t count, struct place *place)
{
    const replay_layout *layout = &blocks->layout;
    for (uint32_t i = 0; i < count; i++) {
        place[i] = place_of(blocks, slot[i]);
        __builtin_prefetch(replay_block_obs(layout, place[i].block, place[i].row));
        __builtin_prefetch(replay_block_obs(layout, place[i].block, place[i].row) +
                           layout->obs_bytes);
        __builtin_prefetch(replay_block_action(layout, place[i].block, place[i].row));
        __builtin_prefetch(replay_block_reward(layout, place[i].block, place[i].row));
        __builtin_prefetch(replay_block_flags(layout, place[i].block, place[i].row));
    }
}

void
replay_gather_rows(const replay_gather *gather, const replay_store *store, const uint32_t *slot,
                   uint32_t count, const replay_columns *out)
{
    replay_blocks view = replay_store_view(store), *blocks = &view;
    for (uint32_t begin = 0; begin < count; begin += GATHER_GROUP) {
        struct place place[GATHER_GROUP];
        uint32_t group = OCT_MIN(count - begin, GATHER_GROUP);
        group_fetch(blocks, slot + begin, group, place);
        for (uint32_t i = 0; i < group; i++) {
            uint32_t at = begin + i;
            out->key[at] = replay_blocks_key(blocks, slot[at]);
            if (gather->window.kind == WIRE_WINDOW_N_STEP) {
                n_step_copy(gather, blocks, place[i], out, at);
            } else {
                sequence_copy(gather, blocks, place[i], out, at);
            }
        }
    }
}

static bool
is_cut_by_end(const replay_window *window)
{
    return window->kind == WIRE_WINDOW_N_STEP || window->stride == 0;
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
        if ((place_flags(blocks, place) & WIRE_END) == 0) {
            oldest =
                OCT_MIN(oldest, *replay_block_version(&blocks->layout, place.block, place.row));
        } else if (is_cut_by_end(window)) {
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
    while (count < most && (place_flags(blocks, place) & WIRE_END) == 0) {
        place = place_forward(blocks, place, 1);
        count++;
    }
    return count;
}
