#ifndef REPLAY_REPLAY_FENCE_H
#define REPLAY_REPLAY_FENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"
#include "common/oct_reason.h"

// Decides which learner may use the table: of one run the newest learner, of several runs the one
// whose learner is at work. Epochs come from the learners (learner_lock.h); 0: a learner without an
// epoch.
//
// Threads: any, no shared state. The caller supplies the time.
// After this time without a request, another run may take the table.
#define REPLAY_LEARNER_SILENT_S 10

typedef struct replay_fence {
    uint64_t run_id, epoch; // of the newest learner that used the table; run_id 0: none yet
    // Its last request; 0: it has released the table, or the table was found in a file.
    uint64_t heard_ns;
} replay_fence;

// Decides whether this learner may use, or take, the table now; reason says why not:
//   OCT_ESTALE  a newer learner of its run has used the table
//   OCT_EAGAIN  the table belongs to another run, and its learner is at work
OCT_CHECKED oct_err replay_fence_check(const replay_fence *fence, uint64_t run_id, uint64_t epoch,
                                       uint64_t now_ns, oct_reason *why);
// Returns true if this learner was noted last. A newer learner takes the table with Configure only,
// so a damaged epoch in another request cannot shut anybody out.
bool replay_fence_is_of(const replay_fence *fence, uint64_t run_id, uint64_t epoch);
// Notes that this learner used the table, after replay_fence_check allowed it.
void replay_fence_note(replay_fence *fence, uint64_t run_id, uint64_t epoch, uint64_t now_ns);
// The learner no longer needs the table: another run may take it at once. Does nothing for a
// learner that was not noted last.
void replay_fence_release(replay_fence *fence, uint64_t run_id, uint64_t epoch);

#endif // REPLAY_REPLAY_FENCE_H
