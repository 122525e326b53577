#ifndef REPLAY_REPLAY_FENCE_H
#define REPLAY_REPLAY_FENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"

// Whose the table is: of several learners of one run the newest one's, of several runs the one's
// that is at work. Epochs are the learners' (learner_lock.h); 0: a learner that has none.
//
// Threads: any, no shared state. Time is given.
#define REPLAY_LEARNER_SILENT_S 10 // not heard of: its table may be another run's

typedef struct replay_fence {
    uint64_t run_id, epoch; // of the newest learner that the table had; run_id 0: none yet
    uint64_t heard_ns;      // of it; 0: it said that it needs the table no more
} replay_fence;

// Whether this learner may use the table now, or take it. OCT_ESTALE: a newer one of its run has
// been here. OCT_EAGAIN: the table is another run's, whose learner is at work. reason says it.
OCT_CHECKED oct_err replay_fence_check(const replay_fence *fence, uint64_t run_id, uint64_t epoch,
                                       uint64_t now_ns, char *reason, size_t reason_size);
// Whether it is the one that was noted last. A newer one takes the table with Configure alone, so
// that a number that was damaged on its way shuts nobody out.
bool replay_fence_is_of(const replay_fence *fence, uint64_t run_id, uint64_t epoch);
// It did, after that check.
void replay_fence_note(replay_fence *fence, uint64_t run_id, uint64_t epoch, uint64_t now_ns);
// It needs the table no more: another run may have it at once. Of another learner: nothing.
void replay_fence_release(replay_fence *fence, uint64_t run_id, uint64_t epoch);

#endif // REPLAY_REPLAY_FENCE_H
