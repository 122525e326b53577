#ifndef REPLAY_REPLAY_SYNC_H
#define REPLAY_REPLAY_SYNC_H

#include <stdbool.h>
#include <stdint.h>

#include "replay/replay_file.h"

// Generations: what of a file survives a power failure. A generation is the table between two
// changes: for each block that changed since the last one a mark, which is a sum over the rows that
// it has, and a snapshot of the head and of all sessions. It is written in three steps: the marks
// into the mapping (begin, mark), everything to the disk, then the snapshot (write). So a snapshot
// that is on the disk is one whose rows are, too. Rows that come later do not touch what a mark
// covers. A block that leaves before it was marked is not in the generation any more; one that
// is renewed is, under the serial that it had.
//
// A block has two marks: the new one takes the place of the one that no finished generation needs.
//
// Threads: those of the table, but write: any one thread between the last mark and end.
// Owns: two copies of the sessions, a list of the blocks that are not full. Full: cannot be.
typedef struct replay_sync replay_sync;

// Of a file that a table uses: a new one, or one that was recovered. Its rows are compared with its
// marks: O(blocks).
replay_sync *replay_sync_create(replay_file *file);
void replay_sync_destroy(replay_sync *sync); // NULL is a no-op

// Takes the table as it is now. False: nothing was committed since the last. No begin before the
// end of the last.
bool replay_sync_begin(replay_sync *sync);
// Marks about so many bytes of the full blocks that begin took: a sum takes a millisecond for each
// 10 MB. The table may go on meanwhile. True: all of them are marked, write may follow.
bool replay_sync_mark(replay_sync *sync, uint64_t bytes);
// Writes what begin took. to_disk false: into the mapping only, for the kernel to write some time.
// OCT_EIO: it is not on the disk, errno says why.
OCT_CHECKED oct_err replay_sync_write(replay_sync *sync, bool to_disk);
// OCT_OK: the generation is finished. Else the next one does its work, too, and has all pages
// written that this one was to write.
void replay_sync_end(replay_sync *sync, oct_err err);

// The last that was finished.
uint64_t replay_sync_generation(const replay_sync *sync);
// The highest contiguous sequence of a session that it holds; 0: none.
uint64_t replay_sync_sequence(const replay_sync *sync, uint32_t index, uint64_t session);

#endif // REPLAY_REPLAY_SYNC_H
