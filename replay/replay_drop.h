#ifndef REPLAY_REPLAY_DROP_H
#define REPLAY_REPLAY_DROP_H

#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"

// Removes all rows of a session from a table's file, and synchronizes the file. The table is
// otherwise as it was: its counters, its other rows and their priorities. The session may still
// insert.
//
// rows: how many rows were removed; 0: the file has none of the session, and only was recovered.
// OCT_ENOTFOUND, OCT_EINVAL, OCT_EAGAIN, OCT_EIO: as of replay_file_open and replay_recover;
// OCT_EIO, too: the file is in use, or the change cannot be written. OCT_EINVAL, too: the table is
// of a run in lock-step. reason says which. Threads: any. The file is not in use.
OCT_CHECKED oct_err replay_drop(const char *path, uint64_t session, uint64_t *rows, char *reason,
                                size_t reason_size);

#endif // REPLAY_REPLAY_DROP_H
