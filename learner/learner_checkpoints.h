#ifndef LEARNER_LEARNER_CHECKPOINTS_H
#define LEARNER_LEARNER_CHECKPOINTS_H

#include "learner/learner_checkpoint.h"

// The last checkpoints of a run folder: checkpoint.oct is the newest, checkpoint.1.oct the one
// before it, and so on.
//
// A new one is written beside them, synced and read back; only then the others move on by one, and
// it becomes checkpoint.oct. A process that is killed at any point leaves as many whole ones as
// there were, or a number free between two.
//
// Threads: any, one writer at a time.
#define LEARNER_CHECKPOINTS_MAX 16 // as many as may be kept

void learner_checkpoints_path(const char *folder, uint32_t number, char out[OCT_FILE_PATH_MAX]);
bool learner_checkpoints_any(const char *folder); // of whatever content
// Keeps kept (1 .. LEARNER_CHECKPOINTS_MAX) with this one. OCT_EIO: it is not there (errno says
// why), and the others are, but for the oldest where this one was written and could not get its
// name; however often that is tried.
OCT_CHECKED oct_err learner_checkpoints_write(const char *folder, uint32_t kept,
                                              const learner_checkpoint *checkpoint);
// The newest that is not damaged. words, when there is one: which it is, and why not a newer one.
// OCT_ENOTFOUND: there is none. OCT_EPROTO: all that there are are damaged. OCT_EINVAL, OCT_EIO: as
// learner_checkpoint_read of the newest that is not damaged; an older one is not taken in its
// place. Each with one line in words.
OCT_CHECKED oct_err learner_checkpoints_read(const char *folder, learner_checkpoint *out,
                                             uint32_t *number, char *words, size_t words_size);
// Removes what writers that were killed left.
void learner_checkpoints_clear(const char *folder);

#endif // LEARNER_LEARNER_CHECKPOINTS_H
