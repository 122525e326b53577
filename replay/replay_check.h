#ifndef REPLAY_REPLAY_CHECK_H
#define REPLAY_REPLAY_CHECK_H

#include "proto/wire.h"
#include "proto/wire_replay.h"

// Checks whether a batch that has passed wire_batch_unpack has the shape of a table's rows.
// replay_plan_make checks what depends on the streams so far.
//
// Threads: any; no state.

// Checks sizes and counts. Returns NULL, or what is wrong. rows_max: the most rows of one batch.
const char *replay_check_shape(const wire_configure *configure, const wire_batch *batch,
                               uint32_t rows_max);

#endif // REPLAY_REPLAY_CHECK_H
