#ifndef LEARNER_LEARNER_LOCK_H
#define LEARNER_LEARNER_LOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"
#include "common/oct_file.h"

// Who may write in a run folder: one learner at a time, for its life. FOLDER/learner.lock carries
// the lock (flock, which the kernel drops however the process ends), who has it, and its epoch: a
// number that grows with each learner of the folder, by which replay tells them apart.
//
// Threads: one. Owns: the open file; the path is copied.
typedef struct learner_lock learner_lock;

// Waits up to wait_ms for a learner that is ending. OCT_EAGAIN: another one has the folder, reason
// names it; OCT_EIO: the file cannot be written or locked. A file system without locks is no error:
// learner_lock_is_held says so, and learner_lock_lost still finds out who came later.
OCT_CHECKED oct_err learner_lock_take(learner_lock **out, const char *folder, uint32_t wait_ms,
                                      char *reason, size_t reason_size);
// Microseconds of the wall clock with 12 random bits below, and above all epochs of this folder
// before.
uint64_t learner_lock_epoch(const learner_lock *lock);
bool learner_lock_is_held(const learner_lock *lock);
// Another learner has written its epoch since: the folder is its own. A file that is gone, or
// cannot be read, is not lost.
bool learner_lock_lost(const learner_lock *lock);
// Whether a learner has the folder now, without taking it. A folder without the file, and a file
// system without locks say no; only the file's owner may look.
oct_locked learner_lock_is_taken(const char *folder);
void learner_lock_release(learner_lock *lock); // NULL is a no-op; the file stays

#endif // LEARNER_LEARNER_LOCK_H
