#ifndef REPLAY_REPLAY_BACKUP_H
#define REPLAY_REPLAY_BACKUP_H

#include "common/oct_reason.h"
#include "replay/replay_file.h"

// Copies the file of a table that octet-replay uses meanwhile. The copy has the rows that the table
// had at the call, and perhaps later ones: those of a generation that was synced since, as after a
// power failure (replay_recover.h). It lacks the oldest blocks if they were used again while they
// were copied.
//
// Threads: one user, in another process than octet-replay. Owns: nothing. Errors, with a reason:
//   OCT_EAGAIN  the rows of the call were not synced within wait_s seconds
//   others      as replay_file_open and replay_recover of the copy; to may have a part of the copy
OCT_CHECKED oct_err replay_backup(const char *from, const char *to, double wait_s, oct_reason *why);

#endif // REPLAY_REPLAY_BACKUP_H
