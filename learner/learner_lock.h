#ifndef LEARNER_LEARNER_LOCK_H
#define LEARNER_LEARNER_LOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"
#include "common/oct_file.h"
#include "common/oct_reason.h"

// The lock of a run folder: one learner at a time may write in it. FOLDER/learner.lock carries the
// lock (flock, which the kernel releases however the process ends), its owner, and its epoch: a
// number that grows with each learner of the folder, by which replay tells learners apart.
//
// Threads: one. Owns: the open file; the path is copied.
typedef struct learner_lock learner_lock;

// Takes the lock, waiting up to wait_ms for a learner that is ending. OCT_EAGAIN: another learner
// has the folder, and why names it. OCT_EIO: the file cannot be written or locked. A file system
// without locks is no error: learner_lock_is_held then returns false, and learner_lock_lost still
// detects a later learner.
OCT_CHECKED oct_err learner_lock_take(learner_lock **out, const char *folder, uint32_t wait_ms,
                                      oct_reason *why);
// Returns the epoch: microseconds of the wall clock with 12 random bits below, and above all
// earlier epochs of this folder.
uint64_t learner_lock_epoch(const learner_lock *lock);
bool learner_lock_is_held(const learner_lock *lock);
// Returns true if another learner has written its epoch since and so owns the folder. False also if
// the file is deleted or cannot be read.
bool learner_lock_lost(const learner_lock *lock);
// Checks if a learner has the folder now, without taking the lock. The answer is no for a folder
// without the file, and on a file system without locks. Only the file's owner may check.
oct_locked learner_lock_is_taken(const char *folder);
void learner_lock_release(learner_lock *lock); // NULL is a no-op; the file stays

#endif // LEARNER_LEARNER_LOCK_H
