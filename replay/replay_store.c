// The memory of the table: a ring of blocks of rows, and the streams that they belong to.
#include "replay/replay_store.h"

#include <stdlib.h>

#include "common/oct_base.h"
#include "replay/replay_step.h"
#include "replay/replay_window.h"

// A batch may name this many streams that have no block yet.
#define BATCH_STREAMS_MAX WIRE_STREAMS_MAX

struct replay_store {
    replay_layout layout;
    uint32_t blocks;
    uint32_t first; // index of the oldest block: its serial modulo blocks
    uint64_t oldest;
    uint64_t next;
    uint64_t rows;
    uint8_t *memory;  // [blocks][layout.bytes], the caller's
    uint32_t *stream; // [blocks] index of each block's stream
    uint64_t *ends;   // [blocks] bit r: row r is an end row
    replay_streams *streams;
};

static uint32_t
streams_max(uint32_t blocks)
{
    // One more, so that the caller can notice that there are too many.
    return blocks + OCT_MIN(blocks, BATCH_STREAMS_MAX) + 1;
}

uint64_t
replay_store_block_bytes(const replay_layout *layout, uint32_t blocks)
{
    return blocks * (uint64_t)layout->bytes;
}

uint64_t
replay_store_stream_bytes(uint32_t blocks)
{
    return blocks * (sizeof(uint32_t) + sizeof(uint64_t)) +
           replay_streams_bytes(streams_max(blocks));
}

replay_store *
replay_store_create(const replay_layout *layout, uint32_t blocks, uint8_t *memory)
{
    OCT_ASSERT(blocks > 0 && blocks <= UINT32_MAX / layout->rows);
    replay_store *store = oct_alloc(sizeof(*store));
    store->layout = *layout;
    store->blocks = blocks;
    store->memory = memory;
    store->stream = oct_alloc(blocks * sizeof(uint32_t));
    store->ends = oct_alloc(blocks * sizeof(uint64_t));
    store->streams = replay_streams_create(streams_max(blocks));
    return store;
}

void
replay_store_destroy(replay_store *store)
{
    if (!store) {
        return;
    }
    free(store->stream);
    free(store->ends);
    replay_streams_destroy(store->streams);
    free(store);
}

const replay_layout *
replay_store_layout(const replay_store *store)
{
    return &store->layout;
}

replay_streams *
replay_store_streams(const replay_store *store)
{
    return store->streams;
}

uint32_t
replay_store_stream(const replay_store *store, uint32_t place)
{
    return store->stream[place];
}

uint32_t
replay_store_blocks(const replay_store *store)
{
    return store->blocks;
}

bool
replay_store_is_full(const replay_store *store)
{
    return store->next - store->oldest == store->blocks;
}

uint64_t
replay_store_oldest(const replay_store *store)
{
    return store->oldest;
}

uint64_t
replay_store_next(const replay_store *store)
{
    return store->next;
}

uint64_t
replay_store_rows(const replay_store *store)
{
    return store->rows;
}

uint32_t
replay_store_place(const replay_store *store, uint64_t serial)
{
    OCT_ASSERT(serial >= store->oldest && serial < store->next);
    uint64_t place = store->first + (serial - store->oldest);
    return (uint32_t)(place >= store->blocks ? place - store->blocks : place);
}

static replay_block *
place_block(const replay_store *store, size_t place)
{
    return (replay_block *)(void *)(store->memory + place * store->layout.bytes);
}

replay_block *
replay_store_block(const replay_store *store, uint64_t serial)
{
    return place_block(store, replay_store_place(store, serial));
}

replay_blocks
replay_store_view(const replay_store *store)
{
    return (replay_blocks){
        .layout = store->layout,
        .memory = store->memory,
        .ends = store->ends,
        .blocks = store->blocks,
        .first = store->first,
        .oldest = store->oldest,
        .next = store->next,
    };
}

// replay_store_before, for a block that will be changed.
static replay_block *
block_before(const replay_store *store, const replay_block *block)
{
    uint64_t serial = block->previous;
    if (serial == REPLAY_BLOCK_NONE || serial >= store->next) {
        return NULL;
    }
    // A renewed block keeps its index but not its serial, so this index may hold another block.
    uint32_t place = serial >= store->oldest ? replay_store_place(store, serial)
                                             : (uint32_t)(serial % store->blocks);
    uint32_t age =
        place >= store->first ? place - store->first : place + store->blocks - store->first;
    replay_block *before = place_block(store, place);
    return age < store->next - store->oldest && before->next == block->serial ? before : NULL;
}

const replay_block *
replay_store_before(const replay_store *store, const replay_block *block)
{
    return block_before(store, block);
}

void
replay_store_begin(replay_store *store, uint64_t oldest, uint64_t next)
{
    OCT_ASSERT(oldest <= next && next - oldest <= store->blocks && store->next == 0);
    store->oldest = oldest;
    store->next = next;
    store->first = (uint32_t)(oldest % store->blocks);
}

void
replay_store_found(replay_store *store, uint64_t serial, uint32_t index)
{
    uint32_t place = replay_store_place(store, serial);
    store->stream[place] = index;
    if (index != REPLAY_STREAM_NONE) {
        replay_streams_at(store->streams, index)->blocks++;
        const replay_block *block = replay_store_block(store, serial);
        const uint8_t *flags = replay_block_flags(&store->layout, block, 0);
        for (uint32_t i = 0; i < block->count; i++) {
            store->ends[place] |= (flags[i] & WIRE_END) != 0 ? (uint64_t)1 << i : 0;
        }
        store->rows += block->count;
    }
}

// Returns how many rows of its episode precede the stream's next row.
static uint32_t
episode_age(const replay_stream *stream)
{
    uint64_t age = stream->episode == REPLAY_ROW_NONE ? UINT64_MAX : stream->next - stream->episode;
    return age < REPLAY_BLOCK_AGE_UNKNOWN ? (uint32_t)age : REPLAY_BLOCK_AGE_UNKNOWN;
}

replay_block *
replay_store_open(replay_store *store, uint32_t index)
{
    OCT_ASSERT(!replay_store_is_full(store));
    replay_stream *stream = replay_streams_at(store->streams, index);
    uint64_t serial = store->next++;
    bool is_linked = stream->blocks > 0 && stream->held < stream->next;
    if (is_linked) {
        replay_store_block(store, stream->tail)->next = serial;
    }
    replay_block *block = replay_store_block(store, serial);
    // Until its header is complete, the block has no serial: a kill leaves it empty.
    block->serial = REPLAY_BLOCK_NONE;
    replay_step();
    *block = (replay_block){
        .layout = REPLAY_BLOCK_LAYOUT,
        .serial = REPLAY_BLOCK_NONE,
        .previous = is_linked ? stream->tail : REPLAY_BLOCK_NONE,
        .next = REPLAY_BLOCK_NONE,
        .session = stream->session,
        .actor_id = stream->actor_id,
        .stream = stream->number,
        .first = stream->next,
        .episode_age = episode_age(stream),
    };
    replay_step();
    block->serial = serial;
    uint32_t place = replay_store_place(store, serial);
    store->stream[place] = index;
    store->ends[place] = 0;
    stream->tail = serial;
    stream->blocks++;
    return block;
}

void
replay_store_add(replay_store *store, uint32_t index, replay_arrived rows)
{
    const uint8_t *flags = rows.batch->flags + rows.row;
    const uint32_t count = rows.count;
    replay_stream *stream = replay_streams_at(store->streams, index);
    replay_block *block = replay_store_block(store, stream->tail);
    OCT_ASSERT(block->first + block->count == stream->next);
    uint64_t *ends = &store->ends[replay_store_place(store, stream->tail)];
    for (uint32_t i = 0; i < count; i++) {
        i += replay_flags_find(flags + i, count - i, WIRE_FIRST | WIRE_END);
        if (i < count && (flags[i] & WIRE_FIRST) != 0) {
            stream->episode = stream->next + i;
        } else if (i < count) {
            *ends |= (uint64_t)1 << (block->count + i);
        }
    }
    replay_block_add(&store->layout, block, rows);
    stream->next += count;
    stream->flags = flags[count - 1];
    stream->is_idle = false;
    store->rows += count;
}

// The serial no longer belongs to a block.
static void
oldest_leave(replay_store *store)
{
    store->oldest++;
    store->first = store->first + 1 == store->blocks ? 0 : store->first + 1;
}

void
replay_store_renew(replay_store *store)
{
    OCT_ASSERT(replay_store_is_full(store));
    uint64_t serial = store->oldest;
    replay_block *block = replay_store_block(store, serial);
    replay_block *before = block_before(store, block);
    uint32_t index = store->stream[replay_store_place(store, serial)];
    block->renewed++;
    replay_step();
    block->serial = store->next; // renewed from here on, once this is committed
    replay_step();
    if (before) {
        before->next = store->next;
    }
    if (index != REPLAY_STREAM_NONE) {
        replay_stream *stream = replay_streams_at(store->streams, index);
        if (stream->tail == serial) {
            stream->tail = store->next;
            stream->is_idle = true;
        }
    }
    oldest_leave(store);
    store->next++;
}

void
replay_store_cut(replay_store *store)
{
    replay_block *before = block_before(store, replay_store_block(store, store->oldest));
    if (before) {
        before->next = REPLAY_BLOCK_NONE;
    }
}

uint32_t
replay_store_drop(replay_store *store)
{
    replay_block *block = replay_store_block(store, store->oldest);
    uint32_t index = store->stream[replay_store_place(store, store->oldest)];
    if (index != REPLAY_STREAM_NONE) {
        replay_stream *stream = replay_streams_at(store->streams, index);
        stream->held = OCT_MAX(stream->held, block->first + block->count);
        stream->blocks--;
    }
    store->rows -= block->count;
    block->serial = REPLAY_BLOCK_NONE; // the block has left from here on, even without a commit
    replay_step();
    oldest_leave(store);
    return index;
}
