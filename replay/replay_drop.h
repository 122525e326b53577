#ifndef REPLAY_REPLAY_DROP_H
#define REPLAY_REPLAY_DROP_H

#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"
#include "common/oct_reason.h"

// Removes all rows of a session from a table's file, and syncs the file. The rest of the table is
// unchanged: its counters, its other rows and their priorities. The session may still insert. The
// table must not be in use.
//
// rows: the number of removed rows. 0: the file has no rows of the session and was only recovered.
// reason says which error it is:
//   OCT_ENOTFOUND, OCT_EAGAIN  as of replay_file_open
//   OCT_EINVAL                 as of replay_file_open and replay_recover, or the table belongs to a
//                              run in lock-step
//   OCT_EIO                    as of replay_file_open, or the file is in use, or the change cannot
//                              be written
//
// Threads: any.
OCT_CHECKED oct_err replay_drop(const char *path, uint64_t session, uint64_t *rows,
                                oct_reason *why);

#endif // REPLAY_REPLAY_DROP_H
