#ifndef REPLAY_REPLAY_SYNC_H
#define REPLAY_REPLAY_SYNC_H

#include <stdbool.h>
#include <stdint.h>

#include "replay/replay_file.h"

// Generations: the state of a file that survives a power failure. A generation is the table between
// two changes: for each block that changed since the last generation a mark, which is a sum over
// the block's rows, and a snapshot of the head and of all sessions.
//
// A generation is written in three steps: first the marks into the mapping (begin, mark), then the
// whole file to the disk, then the snapshot (write). So if a snapshot is on the disk, its rows are,
// too. Rows that arrive later do not touch what a mark covers. A block that leaves before it is
// marked is no longer part of the generation; a block that is renewed is, with its old serial.
//
// A block has two slots for marks: the new mark takes the slot that no finished generation needs.
//
// Threads: those of the table, but write may run on any one thread between the last mark and end.
// Owns: two copies of the sessions, and lists of the blocks that are not full. Never full.
typedef struct replay_sync replay_sync;

// For a file that a table uses, new or recovered. Compares its rows with its marks: O(blocks).
replay_sync *replay_sync_create(replay_file *file);
void replay_sync_destroy(replay_sync *sync); // NULL is a no-op

// Begins a generation with the table as it is now. Returns false if nothing was committed since the
// last one, which must have ended.
bool replay_sync_begin(replay_sync *sync);
// Marks about this many bytes of the full blocks; a sum takes 1 ms for 10 MB. The table may change
// meanwhile. Returns true when all blocks are marked; then write may follow.
bool replay_sync_mark(replay_sync *sync, uint64_t bytes);
// Writes the generation. to_disk false: into the mapping only, and the kernel writes it some time.
// OCT_EIO: it is not on the disk, and errno says why.
OCT_CHECKED oct_err replay_sync_write(replay_sync *sync, bool to_disk);
// Ends the generation. With OCT_OK it is finished. Otherwise the next generation replaces it, and
// writes all pages that this one had to write.
void replay_sync_end(replay_sync *sync, oct_err err);

// The last finished generation; 0: none.
uint64_t replay_sync_generation(const replay_sync *sync);
// The highest contiguous sequence of a session in the last finished generation; 0: the session is
// not in it.
uint64_t replay_sync_sequence(const replay_sync *sync, uint32_t index, uint64_t session);

#endif // REPLAY_REPLAY_SYNC_H
