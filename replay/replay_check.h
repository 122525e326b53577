#ifndef REPLAY_REPLAY_CHECK_H
#define REPLAY_REPLAY_CHECK_H

#include "proto/wire.h"
#include "proto/wire_replay.h"

// What is wrong with a batch for a table of this configuration; NULL: nothing. It has passed
// wire_batch_unpack. What depends on the streams so far, replay_plan_make checks.
// Threads: any; no state.

// Sizes and counts. rows_max: that a batch may have.
const char *replay_check_shape(const wire_configure *configure, const wire_batch *batch,
                               uint32_t rows_max);

#endif // REPLAY_REPLAY_CHECK_H
