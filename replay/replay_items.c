// Keeps which windows exist and may be drawn, as bits that change when rows arrive and blocks are
// dropped. Draws windows through the sampler.
#include "replay/replay_items.h"

#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_pulse.h"
#include "replay/replay_gather.h"
#include "replay/replay_step.h"

#define PREFETCH_RUNS      2    // ahead of the run that is being stored
#define PREFETCH_BYTES_MAX 1024 // of one run's observations
#define SLOT_NONE          UINT32_MAX

struct replay_items {
    replay_store *store;
    replay_layout layout; // copy of the store's
    replay_window window;
    const replay_select_ops *select_ops;
    void *select;
    uint32_t streams;   // expected at the same time
    uint32_t capacity;  // in slots
    uint32_t count;     // windows that can be drawn
    uint64_t looked_at; // blocks with serials below this may still be renewed for the current batch
    uint64_t *mask;     // [blocks] bit r: row r begins a window that can be drawn
    uint64_t *used;     // [blocks], the caller's; bit r: row r is in a window that was given out
    uint64_t *marks;    // [blocks] scratch: the new mask while the window changes
    replay_items_stats stats;
};

uint64_t
replay_items_mask_bytes(uint32_t blocks)
{
    return 3 * sizeof(uint64_t) * (uint64_t)blocks;
}

replay_items *
replay_items_create(const replay_layout *layout, uint32_t blocks, const replay_select_ops *select,
                    double exponent, const replay_window *window, uint32_t streams,
                    const replay_regions *regions)
{
    replay_items *items = oct_alloc(sizeof(*items));
    items->store = replay_store_create(layout, blocks, regions->blocks);
    items->layout = *layout;
    items->window = *window;
    items->streams = streams;
    items->capacity = blocks * layout->rows;
    items->select_ops = select;
    items->select = select->create(items->capacity, exponent, regions->select);
    items->mask = oct_alloc(blocks * sizeof(uint64_t));
    items->used = regions->used;
    items->marks = oct_alloc(blocks * sizeof(uint64_t));
    return items;
}

void
replay_items_destroy(replay_items *items)
{
    if (!items) {
        return;
    }
    items->select_ops->destroy(items->select);
    replay_store_destroy(items->store);
    free(items->mask);
    free(items->marks);
    free(items);
}

replay_store *
replay_items_store(const replay_items *items)
{
    return items->store;
}

const replay_window *
replay_items_window(const replay_items *items)
{
    return &items->window;
}

replay_items_stats
replay_items_stats_get(const replay_items *items)
{
    return items->stats;
}

uint32_t
replay_items_count(const replay_items *items)
{
    return items->count;
}

static uint32_t
bits(uint64_t mask)
{
    return (uint32_t)__builtin_popcountll(mask);
}

static bool
has_bit(uint64_t mask, uint32_t row)
{
    return (mask >> row & 1) != 0;
}

// Bits row .. row + count - 1 set; count is 1 to 64.
static uint64_t
rows_mask(uint32_t row, uint32_t count)
{
    return (UINT64_MAX >> (64 - count)) << row;
}

// What a sampler has to know of the blocks and windows.
static replay_span
items_span(const replay_items *items)
{
    replay_blocks blocks = replay_store_view(items->store);
    return (replay_span){
        .first = blocks.first << blocks.layout.shift,
        .size = (uint32_t)(blocks.next - blocks.oldest) << blocks.layout.shift,
        .capacity = items->capacity,
        .shift = blocks.layout.shift,
        .windows = items->count,
        .mask = items->mask,
    };
}

// ---- rows and blocks

// A chain of a stream's blocks that ends at tail.
struct stretch {
    replay_items *items;
    const replay_block *tail; // the last block of the chain
};

// Calls each for rows first .. end - 1, block by block.
static void
stretch_each(const struct stretch *stretch, uint64_t first, uint64_t end,
             void (*each)(replay_items *items, uint32_t place, uint32_t row, uint32_t count))
{
    const replay_store *store = stretch->items->store;
    const replay_block *block = stretch->tail;
    while (first < block->first) {
        block = replay_store_before(store, block);
    }
    for (;;) {
        uint32_t row = (uint32_t)(first - block->first);
        uint32_t count = (uint32_t)OCT_MIN(end - first, (uint64_t)(block->count - row));
        each(stretch->items, replay_store_place(store, block->serial), row, count);
        first += count;
        if (first == end) {
            return;
        }
        block = replay_store_block(store, block->next);
    }
}

// Calls apply for the slots in mask, one stretch of consecutive slots at a time.
static void
mask_apply(replay_items *items, uint32_t place, uint64_t mask,
           void (*apply)(void *select, uint32_t slot, uint32_t count))
{
    uint32_t slot = place << items->layout.shift;
    while (mask != 0) {
        uint32_t row = (uint32_t)__builtin_ctzll(mask);
        uint64_t behind = ~(mask >> row); // 0 only if all 64 bits are set
        uint32_t count = behind == 0 ? 64 : (uint32_t)__builtin_ctzll(behind);
        apply(items->select, slot + row, count);
        mask &= ~rows_mask(row, count);
    }
}

static void
rows_insert(replay_items *items, uint32_t place, uint32_t row, uint32_t count)
{
    uint64_t came = rows_mask(row, count) & ~items->used[place];
    items->mask[place] |= came;
    if (items->used[place] == 0) {
        uint32_t slot = (place << items->layout.shift) + row;
        items->select_ops->inserted(items->select, slot, count);
    } else { // rare: some rows were given out before the window changed
        mask_apply(items, place, came, items->select_ops->inserted);
        count = bits(came);
    }
    items->count += count;
    items->stats.inserted += count;
}

static void
window_complete(void *arg, uint64_t first, uint64_t end)
{
    stretch_each(arg, first, end, rows_insert);
}

// Considers the windows that wait to be drawn, begin in an earlier block and reach into this one.
// Returns the slot of the last of them; SLOT_NONE: there is none.
static uint32_t
window_reaching(const replay_items *items, const replay_block *block)
{
    const replay_store *store = items->store;
    uint64_t rows = items->layout.rows, steps = items->window.steps;
    const replay_block *before = replay_store_before(store, block);
    while (before && before->first + rows + steps > block->first) {
        uint32_t place = replay_store_place(store, before->serial);
        uint64_t mask = items->mask[place];
        if (mask != 0) { // windows that begin earlier end no later
            uint32_t row = 63 - (uint32_t)__builtin_clzll(mask);
            uint32_t slot = (place << items->layout.shift) + row;
            uint32_t length = replay_gather_length(&items->window, store, slot);
            return before->first + row + length > block->first ? slot : SLOT_NONE;
        }
        before = replay_store_before(store, before);
    }
    return SLOT_NONE;
}

// For a sampler that takes: returns true if the block must not be dropped.
static bool
block_is_needed(const replay_items *items, const replay_plan *plan, uint64_t serial)
{
    const replay_store *store = items->store;
    uint32_t place = replay_store_place(store, serial);
    if (items->mask[place] != 0) {
        return true;
    }
    uint32_t index = replay_store_stream(store, place);
    if (index == REPLAY_STREAM_NONE) {
        return false;
    }
    const replay_block *block = replay_store_block(store, serial);
    replay_streams *streams = replay_store_streams(store);
    const replay_stream *stream = replay_streams_at(streams, index);
    bool is_waited_for = replay_plan_has(plan, stream) || !stream->is_idle ||
                         replay_streams_count(streams) <= items->streams;
    // A rollout longer than its maximum never completes.
    bool is_open = stream->tail == serial || (block->first + block->count > stream->open &&
                                              stream->next - stream->open <= items->window.steps);
    return (is_waited_for && is_open && block->first >= stream->held) ||
           window_reaching(items, block) != SLOT_NONE;
}

// Drops the windows that begin in these rows.
static void
windows_drop(replay_items *items, uint32_t place, uint32_t row, uint32_t count)
{
    uint64_t mask = items->mask[place] & rows_mask(row, count);
    if (mask != 0) {
        items->select_ops->removed(items->select, (place << items->layout.shift) + row, count);
        items->count -= bits(mask);
        items->stats.overrun += items->select_ops->takes ? bits(mask) : 0;
        items->mask[place] &= ~mask;
    }
}

// The oldest block is about to leave. Windows of renewed blocks that reach into it are dropped, and
// the link to it is cut.
static void
oldest_cut(replay_items *items)
{
    replay_store *store = items->store;
    const replay_block *block = replay_store_block(store, replay_store_oldest(store));
    uint32_t slot, shift = items->layout.shift;
    while ((slot = window_reaching(items, block)) != SLOT_NONE) {
        windows_drop(items, slot >> shift, slot & (items->layout.rows - 1), 1);
    }
    replay_store_cut(store);
}

static void
oldest_drop(replay_items *items, const replay_plan *plan)
{
    replay_store *store = items->store;
    if (items->select_ops->takes) {
        oldest_cut(items);
    }
    uint32_t place = replay_store_place(store, replay_store_oldest(store));
    windows_drop(items, place, 0, items->layout.rows);
    uint32_t index = replay_store_drop(store);
    items->used[place] = 0;
    if (index == REPLAY_STREAM_NONE) {
        return;
    }
    replay_stream *stream = replay_streams_at(replay_store_streams(store), index);
    items->stats.cut += replay_window_lose(&items->window, &stream->open, stream->held);
    if (stream->blocks == 0 && !replay_plan_has(plan, stream)) {
        replay_streams_remove(replay_store_streams(store), index);
    }
}

// Makes room for one block in a full store.
static void
room_make(replay_items *items, const replay_plan *plan)
{
    replay_store *store = items->store;
    while (items->select_ops->takes && replay_store_oldest(store) < items->looked_at &&
           block_is_needed(items, plan, replay_store_oldest(store))) {
        replay_store_renew(store);
    }
    oldest_drop(items, plan);
}

// The stream begins again at row number; the rows before it are not linked.
static void
stream_begin(replay_items *items, replay_stream *stream, uint64_t number)
{
    if (stream->blocks > 0) {
        items->stats.cut += replay_window_lose(&items->window, &stream->open, stream->next);
    }
    stream->next = number;
    stream->held = number;
    stream->episode = REPLAY_ROW_NONE;
    stream->open = replay_window_open(&items->window, number, REPLAY_ROW_NONE);
}

// Returns a block of the stream that has room for a row: its last block, or a new one.
static replay_block *
stream_block(replay_items *items, const replay_plan *plan, uint32_t index)
{
    replay_store *store = items->store;
    replay_stream *stream = replay_streams_at(replay_store_streams(store), index);
    if (stream->held < stream->next) { // then the last block is held
        replay_block *tail = replay_store_block(store, stream->tail);
        if (tail->count < items->layout.rows) {
            return tail;
        }
    }
    if (replay_store_is_full(store)) {
        room_make(items, plan);
    }
    return replay_store_open(store, index);
}

static void
run_add(replay_items *items, const replay_plan *plan, const wire_batch *batch, uint32_t run,
        uint32_t row)
{
    replay_store *store = items->store;
    uint32_t index = plan->stream[run];
    replay_stream *stream = replay_streams_at(replay_store_streams(store), index);
    if (batch->run_first[run] != stream->next || stream->blocks == 0) {
        stream_begin(items, stream, batch->run_first[run]);
    }
    uint32_t end = row + batch->run_rows[run];
    while (row < end) {
        replay_block *block = stream_block(items, plan, index);
        uint32_t room = items->layout.rows - block->count;
        uint32_t count = OCT_MIN(end - row, room);
        uint64_t number = stream->next;
        if (block->count == 0 && (batch->flags[row] & WIRE_FIRST)) {
            block->episode_age = 0;
        }
        replay_store_add(store, index,
                         (replay_arrived){batch, row, count, batch->run_version[run]});
        replay_step();
        struct stretch stretch = {items, block};
        const replay_stream_rows rows = {number, batch->flags + row, count};
        replay_window_extend(&items->window, &stream->open, rows, window_complete, &stretch);
        row += count;
    }
}

// Runs of many streams write all over the store, so their memory is prefetched a few runs ahead.
static void
run_prefetch(const replay_items *items, const replay_plan *plan, const wire_batch *batch,
             uint32_t run)
{
    const replay_store *store = items->store;
    const replay_layout *layout = &items->layout;
    const replay_stream *stream = replay_streams_at(replay_store_streams(store), plan->stream[run]);
    if (stream->held >= stream->next) {
        return;
    }
    const replay_block *tail = replay_store_block(store, stream->tail);
    const uint8_t *obs = replay_block_obs(layout, tail, tail->count);
    uint32_t rows = OCT_MIN(batch->run_rows[run], layout->rows - tail->count);
    size_t bytes = OCT_MIN((size_t)rows * layout->obs_bytes, PREFETCH_BYTES_MAX);
    for (size_t at = 0; at < bytes; at += 64) {
        __builtin_prefetch(obs + at, 1);
    }
    __builtin_prefetch(replay_block_action(layout, tail, tail->count), 1);
    __builtin_prefetch(replay_block_reward(layout, tail, tail->count), 1);
    __builtin_prefetch(replay_block_version(layout, tail, tail->count), 1);
    __builtin_prefetch(replay_block_flags(layout, tail, tail->count), 1);
}

uint32_t
replay_items_add(replay_items *items, const replay_plan *plan, const wire_batch *batch)
{
    uint64_t before = items->stats.inserted;
    uint32_t row = 0;
    // Twice around the ring: after one round, streams that are not waited for are known to be idle.
    items->looked_at = replay_store_next(items->store) + replay_store_blocks(items->store);
    for (uint32_t run = 0; run < batch->run_count; run++) {
        if (run + PREFETCH_RUNS < batch->run_count) {
            run_prefetch(items, plan, batch, run + PREFETCH_RUNS);
        }
        run_add(items, plan, batch, run, row);
        row += batch->run_rows[run];
    }
    return (uint32_t)(items->stats.inserted - before);
}

uint32_t
replay_items_room(const replay_items *items, const replay_plan *plan, uint32_t most)
{
    replay_blocks blocks = replay_store_view(items->store);
    uint64_t room = blocks.blocks - (blocks.next - blocks.oldest);
    uint32_t place = blocks.first;
    for (uint64_t serial = blocks.oldest; serial < blocks.next && room < most; serial++) {
        // most blocks of a full table have windows
        room += items->mask[place] == 0 && !block_is_needed(items, plan, serial);
        place = place + 1 == blocks.blocks ? 0 : place + 1;
    }
    return (uint32_t)OCT_MIN(room, most);
}

void
replay_items_set_streams(replay_items *items, uint32_t streams)
{
    items->streams = streams;
}

// ---- another window

static void
rows_mark(replay_items *items, uint32_t place, uint32_t row, uint32_t count)
{
    items->marks[place] |= rows_mask(row, count);
}

static void
window_marked(void *arg, uint64_t first, uint64_t end)
{
    stretch_each(arg, first, end, rows_mark);
}

// Number of the first row of the episode that row 0 of the block belongs to.
static uint64_t
episode_of(const replay_block *block)
{
    return block->episode_age == REPLAY_BLOCK_AGE_UNKNOWN ? REPLAY_ROW_NONE
                                                          : block->first - block->episode_age;
}

// Marks all windows of a chain; no block with rows of the stream leads up to block.
static void
chain_mark(replay_items *items, const replay_block *block)
{
    const replay_store *store = items->store;
    uint32_t index = replay_streams_find(replay_store_streams(store), block->actor_id,
                                         block->session, block->stream);
    replay_stream *stream = replay_streams_at(replay_store_streams(store), index);
    uint64_t open = replay_window_open(&items->window, block->first, episode_of(block));
    for (;;) {
        struct stretch stretch = {items, block};
        const replay_stream_rows rows = {block->first, replay_block_flags(&items->layout, block, 0),
                                         block->count};
        replay_window_extend(&items->window, &open, rows, window_marked, &stretch);
        if (block->next == REPLAY_BLOCK_NONE) {
            break;
        }
        block = replay_store_block(store, block->next);
    }
    if (block->serial == stream->tail) {
        stream->open = open;
    } else if (stream->held == stream->next) { // the stream's last block has left
        stream->open = replay_window_open(&items->window, stream->next, stream->episode);
    }
}

static void
marks_apply(replay_items *items, uint32_t place)
{
    uint64_t marked = items->marks[place] & ~items->used[place];
    uint64_t left = items->mask[place] & ~marked;
    uint64_t came = marked & ~items->mask[place];
    mask_apply(items, place, left, items->select_ops->removed);
    mask_apply(items, place, came, items->select_ops->inserted);
    items->mask[place] = marked;
    items->count = items->count - bits(left) + bits(came);
    items->stats.inserted += bits(came);
}

void
replay_items_set_window(replay_items *items, const replay_window *window)
{
    const replay_store *store = items->store;
    items->window = *window;
    memset(items->marks, 0, replay_store_blocks(store) * sizeof(uint64_t));
    uint64_t oldest = replay_store_oldest(store), next = replay_store_next(store);
    for (uint64_t serial = oldest; serial < next; serial++) {
        oct_pulse_beat(OCT_PULSE_LOOP, OCT_PULSE_WORKS);
        const replay_block *block = replay_store_block(store, serial);
        if (block->count > 0 && !replay_store_before(store, block)) {
            chain_mark(items, block);
        }
    }
    for (uint64_t serial = oldest; serial < next; serial++) {
        oct_pulse_beat(OCT_PULSE_LOOP, OCT_PULSE_WORKS);
        marks_apply(items, replay_store_place(store, serial));
    }
}

// ---- blocks that are there already

static void
rows_found(replay_items *items, uint32_t place, uint32_t row, uint32_t count)
{
    uint64_t found = rows_mask(row, count) & ~items->used[place];
    items->mask[place] |= found;
    items->count += bits(found);
}

static void
window_found(void *arg, uint64_t first, uint64_t end)
{
    stretch_each(arg, first, end, rows_found);
}

// Takes over a chain of blocks; no block with rows of the stream leads up to block. The stream
// continues after its last row.
static void
chain_found(replay_items *items, const replay_block *block)
{
    replay_store *store = items->store;
    replay_streams *streams = replay_store_streams(store);
    uint32_t index = replay_streams_find(streams, block->actor_id, block->session, block->stream);
    if (index == REPLAY_STREAM_NONE) {
        index = replay_streams_add(streams, block->actor_id, block->session, block->stream);
    }
    replay_stream *stream = replay_streams_at(streams, index);
    replay_stream found = *stream;
    found.next = found.held = block->first;
    found.episode = episode_of(block);
    found.open = replay_window_open(&items->window, block->first, found.episode);
    for (;;) {
        uint32_t count = block->count;
        const uint8_t *flags = replay_block_flags(&items->layout, block, 0);
        replay_store_found(store, block->serial, index);
        for (uint32_t i = count; i > 0; i--) {
            if (flags[i - 1] & WIRE_FIRST) {
                found.episode = found.next + i - 1;
                break;
            }
        }
        struct stretch stretch = {items, block};
        const replay_stream_rows rows = {found.next, flags, count};
        replay_window_extend(&items->window, &found.open, rows, window_found, &stretch);
        found.next += count;
        found.flags = flags[count - 1];
        found.tail = block->serial;
        if (block->next == REPLAY_BLOCK_NONE) {
            break;
        }
        block = replay_store_block(store, block->next);
    }
    found.blocks = stream->blocks;
    if (found.next > stream->next) {
        *stream = found;
    }
}

// Clears the given-out bits of rows that do not exist.
static void
used_clean(replay_items *items)
{
    const replay_store *store = items->store;
    uint32_t places = replay_store_blocks(store);
    uint64_t oldest = replay_store_oldest(store), next = replay_store_next(store);
    memset(items->marks, 0, places * sizeof(uint64_t));
    for (uint64_t serial = oldest; items->select_ops->takes && serial < next; serial++) {
        uint32_t count = replay_store_block(store, serial)->count;
        items->marks[replay_store_place(store, serial)] = count > 0 ? rows_mask(0, count) : 0;
    }
    for (uint32_t place = 0; place < places; place++) {
        if ((items->used[place] & ~items->marks[place]) != 0) {
            items->used[place] &= items->marks[place];
        }
    }
}

void
replay_items_restore(replay_items *items, const replay_items_left *left)
{
    replay_store_begin(items->store, left->oldest, left->next);
    used_clean(items);
    for (uint64_t serial = left->oldest; serial < left->next; serial++) {
        oct_pulse_beat(OCT_PULSE_LOOP, OCT_PULSE_WORKS);
        const replay_block *block = replay_store_block(items->store, serial);
        if (block->count == 0) {
            replay_store_found(items->store, serial, REPLAY_STREAM_NONE);
        } else if (!replay_store_before(items->store, block)) {
            chain_found(items, block);
        }
    }
    items->stats = left->stats;
    replay_span span = items_span(items);
    items->select_ops->restore(items->select, &span, &left->select, left->is_exact, items->marks);
}

void
replay_items_save(const replay_items *items, replay_select_state *state)
{
    items->select_ops->save(items->select, state);
}

// ---- draw

// Removes a window that is given out. Its rows up to the next window of its kind are marked as
// used, so that no window begins in them if the rule of the windows changes.
static void
slot_take(replay_items *items, uint32_t slot)
{
    const replay_store *store = items->store;
    uint32_t place = slot >> items->layout.shift, row = slot & (items->layout.rows - 1);
    items->mask[place] &= ~rows_mask(row, 1);
    items->count--;
    uint32_t left = replay_gather_used(&items->window, store, slot);
    replay_blocks blocks = replay_store_view(store);
    const replay_block *block = replay_blocks_at(&blocks, place);
    for (;;) {
        uint32_t count = OCT_MIN(left, block->count - row);
        items->used[replay_store_place(store, block->serial)] |= rows_mask(row, count);
        left -= count;
        if (left == 0) {
            return;
        }
        block = replay_store_block(store, block->next);
        row = 0;
    }
}

void
replay_items_draw(replay_items *items, oct_rng *rng, replay_draws to)
{
    OCT_ASSERT(items->count > 0 && (!items->select_ops->takes || to.count <= items->count));
    replay_span span = items_span(items);
    items->select_ops->draw(items->select, &span, rng, to);
    for (uint32_t i = 0; items->select_ops->takes && i < to.count; i++) {
        slot_take(items, to.slot[i]);
    }
}

double
replay_items_mass(const replay_items *items)
{
    return items->select_ops->mass != NULL ? items->select_ops->mass(items->select)
                                           : (double)items->count;
}

// For slot_is_new.
struct filter {
    replay_items *items;
    uint32_t version_min;
};

static bool
slot_is_new(void *arg, uint32_t slot)
{
    const struct filter *filter = arg;
    replay_items *items = filter->items;
    if (replay_gather_version(&items->window, items->store, slot) >= filter->version_min) {
        return true;
    }
    slot_take(items, slot);
    items->stats.given_up++;
    return false;
}

uint32_t
replay_items_filter(replay_items *items, uint32_t count, uint32_t version_min)
{
    OCT_ASSERT(items->select_ops->filter);
    struct filter filter = {items, version_min};
    return version_min == 0 ? OCT_MIN(count, items->count)
                            : items->select_ops->filter(items->select, count, slot_is_new, &filter);
}

replay_items_updates
replay_items_update(replay_items *items, uint32_t count, const uint64_t *key, const float *priority)
{
    replay_blocks blocks = replay_store_view(items->store);
    replay_items_updates updates = {0};
    for (uint32_t i = 0; i < count; i++) {
        uint32_t slot;
        if (!replay_blocks_slot(&blocks, key[i], &slot) ||
            !has_bit(items->mask[slot >> blocks.layout.shift], slot & (blocks.layout.rows - 1))) {
            updates.late++;
        } else {
            items->select_ops->update(items->select, slot, (double)priority[i]);
            updates.taken++;
        }
    }
    return updates;
}
