#ifndef REPLAY_REPLAY_PLAN_H
#define REPLAY_REPLAY_PLAN_H

#include "replay/replay_store.h"

// A batch held against the streams, before anything of it is stored: do its runs go on where their
// streams are, and how many blocks do they need? Streams that nobody knows yet are added to the
// store, so a plan must be carried out, and in any case closed.
//
// Threads: one user at a time. Owns: room for the runs of one batch.
typedef struct replay_plan {
    uint32_t *stream; // [run_count] of each run
    uint32_t runs;
    uint32_t runs_max;
    uint32_t blocks; // that have to be opened, while those that its streams fill stay
    uint32_t ends;   // end rows
    uint64_t number; // of the plan
} replay_plan;

void replay_plan_init(replay_plan *plan, uint32_t runs_max);
void replay_plan_fini(replay_plan *plan);

// Gives NULL, or what is wrong with the batch. What wire_batch_unpack checks is taken for granted.
const char *replay_plan_make(replay_plan *plan, replay_store *store, const wire_batch *batch);
// Whether the stream is one of the batch at hand: it stays known though it has no block.
bool replay_plan_has(const replay_plan *plan, const replay_stream *stream);
// Forgets the batch's streams that have no block.
void replay_plan_close(replay_plan *plan, replay_store *store);

#endif // REPLAY_REPLAY_PLAN_H
