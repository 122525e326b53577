#ifndef REPLAY_REPLAY_STORE_H
#define REPLAY_REPLAY_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "replay/replay_block.h"
#include "replay/replay_stream.h"

// The memory of the table: a ring of blocks, and the streams whose rows they hold.
//
// The block of serial s is at place s % blocks, so the oldest serial leaves first, whichever
// stream it belongs to. Row r of the block at place p has slot p * block_rows + r, and the key
// serial * block_rows + r: a slot is used again, a key never is.
//
// Where all places are taken, the next serial is at the place of the oldest: so the oldest block
// becomes the newest by another serial alone (replay_store_renew), and none of its rows moves.
//
// A block that was found damaged in a file is empty: count 0, of no stream, and takes up its place
// until it is the oldest.
//
// Threads: one user at a time. Owns: the streams; the blocks' memory is the caller's.
// Full: the oldest block is dropped by the caller, who knows what is in it.
typedef struct replay_store replay_store;

// memory: [blocks][layout->bytes], borrowed.
replay_store *replay_store_create(const replay_layout *layout, uint32_t blocks, uint8_t *memory);
void replay_store_destroy(replay_store *store);
uint64_t replay_store_block_bytes(const replay_layout *layout, uint32_t blocks);
uint64_t replay_store_stream_bytes(uint32_t blocks);

const replay_layout *replay_store_layout(const replay_store *store);
replay_streams *replay_store_streams(const replay_store *store);
// Of the block at a place; REPLAY_STREAM_NONE: it is empty.
uint32_t replay_store_stream(const replay_store *store, uint32_t place);
uint32_t replay_store_blocks(const replay_store *store); // that there is room for
// Serials oldest .. next - 1 are held.
uint64_t replay_store_oldest(const replay_store *store);
uint64_t replay_store_next(const replay_store *store);
uint64_t replay_store_rows(const replay_store *store); // held

// Takes over the memory, in which the blocks oldest .. next - 1 lie. They belong to no streams yet:
// replay_store_found of each, in order.
void replay_store_begin(replay_store *store, uint64_t oldest, uint64_t next);
// The block at a serial belongs to this stream from now on; the caller takes care of the stream.
// REPLAY_STREAM_NONE: it is empty.
void replay_store_found(replay_store *store, uint64_t serial, uint32_t stream);
// The block with the rows before, NULL when they are not held.
const replay_block *replay_store_before(const replay_store *store, const replay_block *block);

// Of a serial that is held.
replay_block *replay_store_block(const replay_store *store, uint64_t serial);
uint32_t replay_store_place(const replay_store *store, uint64_t serial);
// Where the blocks are, for who looks at many: valid until a block is opened or dropped.
typedef struct replay_blocks {
    replay_layout layout;
    const uint8_t *memory; // [blocks][layout.bytes]
    const uint64_t *ends;  // [blocks] bit r: row r is an end row
    uint32_t blocks;
    uint32_t first; // place of the oldest
    uint64_t oldest;
    uint64_t next;
} replay_blocks;
replay_blocks replay_store_view(const replay_store *store);

static inline const replay_block *
replay_blocks_at(const replay_blocks *blocks, uint32_t place)
{
    return (const replay_block *)(const void *)(blocks->memory + place * blocks->layout.bytes);
}

// The place of the block behind one that has another.
static inline uint32_t
replay_blocks_next(const replay_blocks *blocks, const replay_block *block)
{
    uint64_t place = blocks->first + (block->next - blocks->oldest);
    return (uint32_t)(place >= blocks->blocks ? place - blocks->blocks : place);
}

// Keys go on where slots begin again. Without a branch, since which slots come is chance.
static inline uint64_t
replay_blocks_key(const replay_blocks *blocks, uint32_t slot)
{
    uint32_t shift = blocks->layout.shift;
    uint64_t again = -(uint64_t)(slot >> shift < blocks->first) & blocks->blocks;
    return ((blocks->oldest - blocks->first + again) << shift) + slot;
}

// False: the key's block has left, or never was.
static inline bool
replay_blocks_slot(const replay_blocks *blocks, uint64_t key, uint32_t *slot)
{
    uint64_t serial = key >> blocks->layout.shift;
    if (serial < blocks->oldest || serial >= blocks->next) {
        return false;
    }
    uint64_t place = blocks->first + (serial - blocks->oldest);
    place -= place >= blocks->blocks ? blocks->blocks : 0;
    *slot = (uint32_t)(place << blocks->layout.shift | (key & (blocks->layout.rows - 1)));
    return true;
}

// The block that holds row number of the stream, which is held and leads up to its last without a
// gap. O(blocks between).
replay_block *replay_store_find(const replay_store *store, const replay_stream *stream,
                                uint64_t number);

// A new block for the stream's next row. There is room: fewer than blocks are held.
replay_block *replay_store_open(replay_store *store, uint32_t stream);
// Rows of batch, which fit into the stream's last block.
void replay_store_add(replay_store *store, uint32_t stream, const wire_batch *batch, uint32_t row,
                      uint32_t count, uint32_t version);
// Whether a block has to leave, or to be renewed, before another can be opened.
bool replay_store_is_full(const replay_store *store);
// The oldest block is the newest from here on. The store is full.
void replay_store_renew(replay_store *store);
// No block that was renewed leads up to the oldest one, which is about to leave, any more.
void replay_store_cut(replay_store *store);
// Takes the oldest block out. Gives the stream it was of, which the caller forgets
// (replay_streams_remove) when it has no block left; REPLAY_STREAM_NONE when it was empty.
uint32_t replay_store_drop(replay_store *store);

#endif // REPLAY_REPLAY_STORE_H
