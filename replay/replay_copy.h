#ifndef REPLAY_REPLAY_COPY_H
#define REPLAY_REPLAY_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/oct_reason.h"
#include "replay/replay_file.h"
#include "replay/replay_head.h"

// Copies of a durable table's file, one for each of the last checkpoints of a run in lock-step
// (docs/determinism.md). The copy of turn TURN is PATH.TURN, beside PATH. A copy is complete or
// absent: it is written under another name, synced and renamed. Blocks without rows are holes.
//
// Threads: those of the table, which must not change meanwhile. The names of the copies come only
// from this process's --path and a number.

// Copies file, whose table has this head, as the copy of turn. Then removes all copies of the
// file's run but the last `kept` up to this turn. On an error the other copies are unchanged, and
// reason says why:
//   OCT_EAGAIN  the disk has no room
//   OCT_EIO     the copy cannot be written
OCT_CHECKED oct_err replay_copy_keep(const replay_file *file, const replay_head *head,
                                     uint64_t turn, uint32_t kept, oct_reason *why);
// Copies the parts of begin .. end - 1 of a file that hold data to the same offsets of another
// file. The holes between them stay as they are in that file. False: errno says why not.
bool replay_copy_data(int from, int to, uint64_t begin, uint64_t end);
// The run continues from turn: removes the copies of later turns.
void replay_copy_forget(const replay_file *file, uint64_t turn);
// Replaces the file at path by the copy of a turn, after checking that the copy is the table with
// this hash (replay_digest.h). A process that has the old file open keeps a file without a name.
// The copy stays. On an error, path is unchanged, and reason says why:
//   OCT_ENOTFOUND  there is no copy of this turn
//   OCT_EINVAL     the copy is another table or damaged, or this user may not open it
//   OCT_EAGAIN     the disk has no room, or the copy cannot be opened now
//   OCT_EIO        the file cannot be written
OCT_CHECKED oct_err replay_copy_take(const char *path, uint64_t turn,
                                     const uint8_t hash[WIRE_HASH_BYTES], oct_reason *why);

#endif // REPLAY_REPLAY_COPY_H
