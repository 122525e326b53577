#ifndef REPLAY_REPLAY_STORE_H
#define REPLAY_REPLAY_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "replay/replay_block.h"
#include "replay/replay_stream.h"

// The memory of the table: a ring of blocks, and the streams whose rows they hold.
//
// The block with serial s is at index s % blocks, so the oldest serial leaves first, regardless of
// its stream. Row r of the block at index p has slot p * block_rows + r and key serial * block_rows
// + r. A slot is used again, a key is not.
//
// When the ring is full, the next serial belongs to the index of the oldest block. So the oldest
// block becomes the newest by a change of its serial alone (replay_store_renew), and none of its
// rows moves.
//
// A block that was found damaged in a file is empty: it has count 0 and no stream, and keeps its
// index until it is the oldest.
//
// Threads: one user at a time. Owns: the streams; the blocks' memory is the caller's.
// Full: the caller drops the oldest block, because it knows what is in it.
typedef struct replay_store replay_store;

// memory: [blocks][layout->bytes], borrowed.
replay_store *replay_store_create(const replay_layout *layout, uint32_t blocks, uint8_t *memory);
void replay_store_destroy(replay_store *store);
uint64_t replay_store_block_bytes(const replay_layout *layout, uint32_t blocks);
uint64_t replay_store_stream_bytes(uint32_t blocks);

const replay_layout *replay_store_layout(const replay_store *store);
replay_streams *replay_store_streams(const replay_store *store);
// The stream of the block at an index; REPLAY_STREAM_NONE: the block is empty.
uint32_t replay_store_stream(const replay_store *store, uint32_t place);
uint32_t replay_store_blocks(const replay_store *store); // blocks that fit
// Blocks with serials oldest .. next - 1 are held.
uint64_t replay_store_oldest(const replay_store *store);
uint64_t replay_store_next(const replay_store *store);
uint64_t replay_store_rows(const replay_store *store); // rows held

// Takes over the memory with blocks oldest .. next - 1, which have no streams yet: call
// replay_store_found for each of them, in order.
void replay_store_begin(replay_store *store, uint64_t oldest, uint64_t next);
// Assigns a block to a stream, whose other fields the caller sets. REPLAY_STREAM_NONE: the block is
// empty.
void replay_store_found(replay_store *store, uint64_t serial, uint32_t stream);
// Returns the block with the preceding rows, NULL if they are not held.
const replay_block *replay_store_before(const replay_store *store, const replay_block *block);

// The serial must be held.
replay_block *replay_store_block(const replay_store *store, uint64_t serial);
// Index of the block in the ring.
uint32_t replay_store_place(const replay_store *store, uint64_t serial);
// A view for code that visits many blocks; valid until a block is opened or dropped.
typedef struct replay_blocks {
    replay_layout layout;
    const uint8_t *memory; // [blocks][layout.bytes]
    const uint64_t *ends;  // [blocks] bit r: row r is an end row
    uint32_t blocks;
    uint32_t first; // index of the oldest block
    uint64_t oldest;
    uint64_t next;
} replay_blocks;
replay_blocks replay_store_view(const replay_store *store);

static inline const replay_block *
replay_blocks_at(const replay_blocks *blocks, uint32_t place)
{
    return (const replay_block *)(const void *)(blocks->memory + place * blocks->layout.bytes);
}

// The index of the following block; there must be one.
static inline uint32_t
replay_blocks_next(const replay_blocks *blocks, const replay_block *block)
{
    uint64_t place = blocks->first + (block->next - blocks->oldest);
    return (uint32_t)(place >= blocks->blocks ? place - blocks->blocks : place);
}

// The key of a slot. Keys continue where slots wrap around. There is no branch, because slots are
// random.
static inline uint64_t
replay_blocks_key(const replay_blocks *blocks, uint32_t slot)
{
    uint32_t shift = blocks->layout.shift;
    uint64_t again = -(uint64_t)(slot >> shift < blocks->first) & blocks->blocks;
    return ((blocks->oldest - blocks->first + again) << shift) + slot;
}

// Finds the slot of a key. Returns false if the key's block has left, or never existed.
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

// Opens a block for the stream's next row. The store must not be full.
replay_block *replay_store_open(replay_store *store, uint32_t stream);
// Stores rows, which fit into the stream's last block.
void replay_store_add(replay_store *store, uint32_t stream, replay_arrived rows);
// Returns true if a block has to be dropped or renewed before another can be opened.
bool replay_store_is_full(const replay_store *store);
// Makes the oldest block the newest. The store must be full.
void replay_store_renew(replay_store *store);
// Removes the link from a renewed block to the oldest block, which is about to leave.
void replay_store_cut(replay_store *store);
// Drops the oldest block. Returns its stream, which the caller removes (replay_streams_remove) if
// it has no block left; REPLAY_STREAM_NONE if the block was empty.
uint32_t replay_store_drop(replay_store *store);

#endif // REPLAY_REPLAY_STORE_H
