#ifndef REPLAY_REPLAY_RANGE_H
#define REPLAY_REPLAY_RANGE_H

#include "proto/wire.h"
#include "proto/wire_replay.h"

// Decides which numbers a row may have. An update over larger numbers is not finite, and replay
// would offer the rows to every later update, so a single actor could end a run for good. A batch
// with such a row is set aside.
//
// 1. Observations, rewards and extras: a magnitude of at most REPLAY_MAGNITUDE_MAX. The square of a
//    larger number overflows float32, so no loss, norm or variance over the row is finite.
// 2. Observations and rewards, once REPLAY_RANGE_ROWS rows were taken: at most REPLAY_RANGE_TIMES
//    the largest magnitude so far, but never less than REPLAY_RANGE_FLOOR. So an environment with
//    numbers up to 1e6 may produce 1e12 at any time. Not in lock-step, where a resumed run has to
//    decide as the first one did.
// 3. Numbers of a box action: within the bounds that the environment declares, with the tolerance
//    of oct_box.h. Learners refuse an update with another action.
//
// The bounds that an environment declares for observations are not used: environments exceed them,
// by rounding and by reward shaping, and learn all the same.
//
// Threads: one user at a time; no memory of its own.
#define REPLAY_MAGNITUDE_MAX 1.8e19f // about the square root of FLT_MAX
#define REPLAY_RANGE_FLOOR   1e12f   // a limit by experience is never below this
#define REPLAY_RANGE_TIMES   1e6f    // times the largest magnitude so far
#define REPLAY_RANGE_ROWS    10000   // until then only REPLAY_MAGNITUDE_MAX applies

// What the table has taken since this process began; {0}: nothing.
typedef struct replay_range {
    uint64_t rows;
    float obs, reward; // largest magnitude so far
} replay_range;

// A number that a row may not have.
typedef struct replay_fault {
    const char *reason; // static text; NULL: no number is at fault
    float number;       // the number; NaN: reason is about no finite number
    bool is_aside;      // the number is finite, but outside the range
} replay_fault;

// Checks the numbers of a batch of the table's shape, and takes them into range if none is at
// fault.
replay_fault replay_range_judge(replay_range *range, const wire_configure *configure,
                                const wire_batch *batch);

#endif // REPLAY_REPLAY_RANGE_H
