#ifndef LEARNER_LEARNER_CHECKPOINTS_H
#define LEARNER_LEARNER_CHECKPOINTS_H

#include "learner/learner_checkpoint.h"

// The last checkpoints of a run folder: checkpoint.oct is the newest, checkpoint.1.oct the one
// before, and so on.
//
// A new checkpoint is first written beside them, synced and read back. Only then is the number of
// each older one increased, and the new one becomes checkpoint.oct. So a process that is killed at
// any point leaves as many intact checkpoints as before; at most one number between two of them is
// unused.
//
// Threads: any, one writer at a time.
#define LEARNER_CHECKPOINTS_MAX 16 // largest number that may be kept

void learner_checkpoints_path(const char *folder, uint32_t number, char out[OCT_FILE_PATH_MAX]);
bool learner_checkpoints_any(const char *folder); // true even if all are damaged
// Writes a checkpoint and keeps the newest kept ones (1 .. LEARNER_CHECKPOINTS_MAX). OCT_EIO: the
// new checkpoint was not stored (errno says why). The older ones remain, except that the oldest is
// lost if the new one was written but could not be renamed; repeated failures lose no more.
OCT_CHECKED oct_err learner_checkpoints_write(const char *folder, uint32_t kept,
                                              const learner_checkpoint *checkpoint);
// Reads the newest checkpoint that is not damaged. words holds one line: which checkpoint that is
// and why no newer one is used, or the error.
//   OCT_ENOTFOUND       there is no checkpoint
//   OCT_EPROTO          all checkpoints are damaged
//   OCT_EINVAL, OCT_EIO as learner_checkpoint_read of the newest that is not damaged; an older one
//                       is not used instead
OCT_CHECKED oct_err learner_checkpoints_read(const char *folder, learner_checkpoint *out,
                                             uint32_t *number, char *words, size_t words_size);
// Removes the unfinished files of writers that were killed.
void learner_checkpoints_clear(const char *folder);

#endif // LEARNER_LEARNER_CHECKPOINTS_H
