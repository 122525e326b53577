#ifndef REPLAY_REPLAY_COPY_H
#define REPLAY_REPLAY_COPY_H

#include <stdint.h>

#include "replay/replay_file.h"

// Copies of the file of a durable table, one for each of the last checkpoints of a run in lock-step
// (docs/determinism.md): PATH.TURN beside PATH. A copy is whole or not there: written under another
// name, synced, renamed. Blocks that hold no rows are holes.
//
// Threads: those of the table, which must rest. The names come from this process's --path and a
// number alone.

// Copies file, whose table has the blocks oldest .. next - 1, as the copy of turn, and removes all
// copies of its run but the last kept up to this turn. OCT_EAGAIN: the disk has no room; OCT_EIO:
// it cannot be written; reason says why, and the others are as they were.
OCT_CHECKED oct_err replay_copy_keep(const replay_file *file, uint64_t oldest, uint64_t next,
                                     uint64_t turn, uint32_t kept, char *reason,
                                     size_t reason_size);
// The run goes on from turn: removes the copies of later ones.
void replay_copy_forget(const replay_file *file, uint64_t turn);
// Puts the copy of a turn in the place of path, when it is the table with this hash
// (replay_digest.h): who has that open goes on with a file without a name. The copy stays.
// OCT_ENOTFOUND: there is none; OCT_EINVAL: it is another table, or damaged, or this user may not
// open it; OCT_EAGAIN: no room, or it cannot be opened at this moment; OCT_EIO. Path is as it was
// then.
OCT_CHECKED oct_err replay_copy_take(const char *path, uint64_t turn,
                                     const uint8_t hash[WIRE_HASH_BYTES], char *reason,
                                     size_t reason_size);

#endif // REPLAY_REPLAY_COPY_H
