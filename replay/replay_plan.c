// Checks the runs of a batch against the streams that they continue, and counts the blocks that
// they need, before anything is stored.
#include "replay/replay_plan.h"

#include <stdlib.h>

#include "common/oct_base.h"
void
replay_plan_init(replay_plan *plan, uint32_t runs_max)
{
    *plan = (replay_plan){.runs_max = runs_max};
    plan->stream = oct_alloc(runs_max * sizeof(uint32_t));
}

void
replay_plan_fini(replay_plan *plan)
{
    free(plan->stream);
}

const char *
replay_plan_check_shape(const wire_configure *configure, const wire_batch *batch, uint32_t rows_max)
{
    return batch->count > 0 && batch->obs_bytes != configure->obs_bytes
               ? "observations of the wrong size"
           : batch->count > 0 && batch->action_bytes != configure->action_bytes
               ? "actions of the wrong size"
           : batch->count > 0 && batch->extra_dim != configure->extra_dim ? "the wrong extra_dim"
           : batch->count > rows_max ? "more rows than the table holds"
                                     : NULL;
}

// Returns the stream of a run, with its plan_ fields as they will be once the earlier runs of the
// batch are stored.
static replay_stream *
run_stream(replay_plan *plan, replay_store *store, const wire_batch *batch, uint32_t run)
{
    replay_streams *streams = replay_store_streams(store);
    uint32_t index =
        replay_streams_find(streams, batch->actor_id, batch->session, batch->run_stream[run]);
    if (index == REPLAY_STREAM_NONE) {
        index =
            replay_streams_add(streams, batch->actor_id, batch->session, batch->run_stream[run]);
    }
    replay_stream *stream = replay_streams_at(streams, index);
    plan->stream[plan->runs++] = index;
    if (stream->plan_batch != plan->number) {
        bool is_new = stream->blocks == 0;
        stream->plan_batch = plan->number;
        stream->plan_next = is_new ? batch->run_first[run] : stream->next;
        stream->plan_flags = is_new ? REPLAY_FLAGS_UNKNOWN : stream->flags;
        stream->plan_room =
            stream->held < stream->next
                ? replay_store_layout(store)->rows - replay_store_block(store, stream->tail)->count
                : 0;
    }
    return stream;
}

// Plans one run. Returns NULL, or what is wrong with it.
static const char *
run_plan(replay_plan *plan, replay_store *store, const wire_batch *batch, uint32_t run,
         const uint8_t *flags)
{
    uint32_t block_rows = replay_store_layout(store)->rows;
    uint64_t first = batch->run_first[run];
    uint32_t rows = batch->run_rows[run];
    if (first > INT64_MAX) {
        return "a row's number is out of range";
    }
    replay_stream *stream = run_stream(plan, store, batch, run);
    if (first < stream->plan_next) {
        return "rows sent twice";
    }
    if (first > stream->plan_next) { // rows are missing: the stream begins again
        stream->plan_flags = REPLAY_FLAGS_UNKNOWN;
        stream->plan_room = 0;
    }
    const char *fault = replay_flags_fault(stream->plan_flags, flags[0]);
    if (rows > stream->plan_room) {
        uint32_t blocks = (rows - stream->plan_room + block_rows - 1) / block_rows;
        plan->blocks += blocks;
        stream->plan_room += blocks * block_rows;
    }
    stream->plan_room -= rows;
    stream->plan_next = first + rows;
    stream->plan_flags = flags[rows - 1];
    return fault;
}

const char *
replay_plan_make(replay_plan *plan, replay_store *store, const wire_batch *batch)
{
    OCT_ASSERT(batch->run_count <= plan->runs_max);
    OCT_ASSERT(plan->runs == 0); // the plan before it is closed
    plan->number++;
    plan->blocks = 0;
    plan->ends = 0;
    const char *fault = NULL;
    const uint8_t *flags = batch->flags;
    for (uint32_t run = 0; run < batch->run_count && !fault; run++) {
        fault = run_plan(plan, store, batch, run, flags);
        flags += batch->run_rows[run];
        if (!fault && plan->blocks > replay_store_blocks(store)) {
            fault = "more rows and streams than the table holds";
        }
    }
    for (uint32_t i = 0; i < batch->count; i++) {
        plan->ends += (batch->flags[i] & WIRE_END) != 0;
    }
    return fault;
}

bool
replay_plan_has(const replay_plan *plan, const replay_stream *stream)
{
    return stream->plan_batch == plan->number;
}

void
replay_plan_close(replay_plan *plan, replay_store *store)
{
    replay_streams *streams = replay_store_streams(store);
    for (uint32_t i = 0; i < plan->runs; i++) {
        replay_stream *stream = replay_streams_at(streams, plan->stream[i]);
        // Once for each stream, even if it has several runs.
        if (stream->plan_batch == plan->number) {
            stream->plan_batch = 0;
            if (stream->blocks == 0) {
                replay_streams_remove(streams, plan->stream[i]);
            }
        }
    }
    plan->runs = 0;
}
