#ifndef REPLAY_REPLAY_RANGE_H
#define REPLAY_REPLAY_RANGE_H

#include "proto/wire.h"
#include "proto/wire_replay.h"

// Which numbers a row may have. An update over larger ones is not finite, and replay would keep the
// rows for every later one: a single actor could end a run for good. Batches with such a row are
// set aside.
//
// 1. Of observations, rewards and extras: a magnitude of at most REPLAY_MAGNITUDE_MAX. The square
// of
//    a larger one overflows float32, so no loss, norm or variance over the row is finite.
// 2. Of observations and rewards, once REPLAY_RANGE_ROWS rows were taken: REPLAY_RANGE_TIMES times
//    the largest so far, but REPLAY_RANGE_FLOOR always. An environment of numbers up to 1e6 may
//    thus have a number of 1e12 at any time. Not in lock-step, where a resumed run has to judge as
//    the first one did.
// 3. Of the numbers of a box action: the bounds that the environment declares, with the tolerance
//    of oct_box.h. Learners refuse an update with another action.
//
// The bounds that an environment declares for observations are not used: environments exceed them,
// by rounding and by reward shaping, and learn all the same.
//
// Threads: one user at a time; no memory of its own.
#define REPLAY_MAGNITUDE_MAX 1.8e19f // about the root of FLT_MAX
#define REPLAY_RANGE_FLOOR   1e12f
#define REPLAY_RANGE_TIMES   1e6f
#define REPLAY_RANGE_ROWS    10000

// What the table has taken since this process began; {0}: nothing.
typedef struct replay_range {
    uint64_t rows;
    float obs, reward; // the largest magnitudes
} replay_range;

// A number that a row may not have.
typedef struct replay_fault {
    const char *reason; // static; NULL: there is no such number
    float number;       // the number; NaN: it is not a magnitude
    bool is_aside;      // it is finite, but outside the range
} replay_fault;

// Judges the numbers of a batch of the right shape, and counts them if none is at fault.
replay_fault replay_range_judge(replay_range *range, const wire_configure *configure,
                                const wire_batch *batch);

#endif // REPLAY_REPLAY_RANGE_H
