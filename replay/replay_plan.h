#ifndef REPLAY_REPLAY_PLAN_H
#define REPLAY_REPLAY_PLAN_H

#include "proto/wire_replay.h"
#include "replay/replay_store.h"

// A batch compared with the streams before its rows are stored: whether its runs continue
// their streams, and how many blocks they need. Making a plan adds unknown streams to the store, so
// every plan must be closed, whether or not the batch is stored.
//
// Threads: one user at a time. Owns: space for the runs of one batch.
typedef struct replay_plan {
    uint32_t *stream; // [runs] index of each run's stream
    uint32_t runs;    // runs of the batch that were planned
    uint32_t runs_max;
    uint32_t blocks; // to open, if the streams' last blocks stay
    uint32_t ends;   // end rows of the batch
    uint64_t number; // of the plan, to recognize its streams
} replay_plan;

void replay_plan_init(replay_plan *plan, uint32_t runs_max);
void replay_plan_fini(replay_plan *plan);

// Compares the sizes and counts of a batch that has passed wire_batch_unpack with those of the
// table's rows. Returns NULL, or what is wrong. rows_max: the most rows of one batch.
const char *replay_plan_check_shape(const wire_configure *configure, const wire_batch *batch,
                                    uint32_t rows_max);
// Plans a batch that has passed wire_batch_unpack. Returns NULL, or what is wrong with it.
const char *replay_plan_make(replay_plan *plan, replay_store *store, const wire_batch *batch);
// Returns true if the stream is in the current batch; then it stays known even without a block.
bool replay_plan_has(const replay_plan *plan, const replay_stream *stream);
// Closes the plan: forgets the batch's streams that have no block.
void replay_plan_close(replay_plan *plan, replay_store *store);

#endif // REPLAY_REPLAY_PLAN_H
