// Finds the episodes in recorded steps, and chooses among them.
#include "replay/data/data_episodes.h"

#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"

struct finder {
    data_episodes *out;
    const data_source *source;
    uint64_t room;    // elements that out->list has space for
    data_episode now; // the current episode; rows 0: none has begun
    // Observation of the end row of a rollout that has just ended in the episode, which continues
    // with this observation; NULL: none.
    const uint8_t *paused;
    bool is_behind; // the row before was visited, without a gap
};

// Adds the current episode to the list.
static void
episode_end(struct finder *finder)
{
    data_episodes *out = finder->out;
    if (finder->now.rows == 0) {
        return;
    }
    if (out->count == finder->room) {
        finder->room = OCT_MAX(2 * finder->room, 1024);
        out->list = realloc(out->list, finder->room * sizeof(out->list[0]));
        OCT_ASSERT(out->list);
    }
    out->list[out->count++] = finder->now;
    finder->now = (data_episode){0};
}

// Returns true if a row that is marked first is the first of its episode. If the row before is
// missing, a table does not show whether a rollout ended there, in the same episode; a data set
// marks such a row (data_writer.h).
static bool
is_beginning(const struct finder *finder, const replay_block *block, uint32_t row, uint8_t flags)
{
    bool is_known = data_source_is_data_set(finder->source) ? (flags & WIRE_ROLLOUT) == 0
                                                            : block->first + row == 0;
    return (flags & WIRE_FIRST) != 0 && (finder->is_behind || is_known);
}

// Handles an end row, which ends the episode or only a rollout.
static void
end_find(struct finder *finder, uint8_t flags, const uint8_t *obs)
{
    data_episode *now = &finder->now;
    bool is_over = (now->last_flags & (WIRE_TERMINATED | WIRE_TRUNCATED)) != 0;
    now->is_failed = (flags & WIRE_FAILED) != 0;
    if ((flags & WIRE_ROLLOUT) != 0 && !is_over && !now->is_failed) {
        now->pauses++;
        finder->paused = obs;
    } else {
        now->has_end = true;
        episode_end(finder);
    }
}

static void
row_find(struct finder *finder, uint32_t index, uint32_t row)
{
    const replay_layout *layout = data_source_layout(finder->source);
    const replay_block *block = data_source_block(finder->source, index);
    const uint8_t *obs = replay_block_obs(layout, block, row);
    uint8_t flags = *replay_block_flags(layout, block, row);
    data_episode *now = &finder->now;
    if (finder->paused && memcmp(finder->paused, obs, layout->obs_bytes) != 0) {
        episode_end(finder);
    }
    finder->paused = NULL;
    if (now->rows == 0) {
        now->block = index;
        now->row = row;
        now->has_first = is_beginning(finder, block, row, flags);
    }
    finder->is_behind = true;
    now->rows++;
    now->order = data_source_order(finder->source, index, row);
    now->total += (double)*replay_block_reward(layout, block, row);
    if ((flags & WIRE_END) != 0) {
        end_find(finder, flags, obs);
    } else {
        now->last_flags = flags;
    }
}

void
data_episodes_find(data_episodes *out, const data_source *source)
{
    struct finder finder = {.out = out, .source = source};
    *out = (data_episodes){0};
    for (uint32_t i = 0; i < data_source_blocks(source); i++) {
        if (!data_source_continues(source, i)) {
            episode_end(&finder);
            finder.paused = NULL;
            finder.is_behind = false;
        }
        for (uint32_t row = 0; row < data_source_block(source, i)->count; row++) {
            row_find(&finder, i, row);
        }
    }
    episode_end(&finder);
}

void
data_episodes_free(data_episodes *episodes)
{
    free(episodes->list);
    *episodes = (data_episodes){0};
}

static int
order_compare(const void *a, const void *b) // the latest first
{
    const data_episode *x = *(const data_episode *const *)a, *y = *(const data_episode *const *)b;
    return x->order != y->order ? (x->order < y->order) - (x->order > y->order) : (x < y) - (x > y);
}

// Leaves the episodes that ended last; sets the rows of all others to 0.
static void
last_mark(data_episodes *episodes, uint64_t last)
{
    data_episode **order = oct_alloc(episodes->count * sizeof(*order));
    for (uint64_t i = 0; i < episodes->count; i++) {
        order[i] = &episodes->list[i];
    }
    qsort(order, episodes->count, sizeof(*order), order_compare);
    for (uint64_t i = last; i < episodes->count; i++) {
        order[i]->rows = 0;
    }
    free(order);
}

// Leaves the episodes that have rows, and that have a first row or an end row where needed.
static void
episodes_keep(data_episodes *episodes, bool needs_first, bool needs_end)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < episodes->count; i++) {
        const data_episode *episode = &episodes->list[i];
        if (episode->rows > 0 && (!needs_first || episode->has_first) &&
            (!needs_end || episode->has_end)) {
            episodes->list[count++] = *episode;
        }
    }
    episodes->count = count;
}

void
data_episodes_choose(data_episodes *episodes, bool complete_only, uint64_t last)
{
    episodes_keep(episodes, complete_only, complete_only || last > 0);
    if (last > 0 && last < episodes->count) {
        last_mark(episodes, last);
        episodes_keep(episodes, false, false);
    }
}
