// Lock-step: holds batches until their turn, stores them in order, and answers requests for a turn.
#include <inttypes.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_log.h"
#include "common/oct_reason.h"
#include "replay/replay_state_io.h"

typedef struct replay_io replay_io;

// Returns the policy version that made all rows of the batch; 0: several versions did, or there are
// no rows.
static uint64_t
batch_turn(const wire_batch *batch)
{
    uint64_t turn = batch->run_count > 0 ? batch->run_version[0] : 0;
    for (uint32_t i = 1; i < batch->run_count; i++) {
        turn = batch->run_version[i] == turn ? turn : 0;
    }
    return turn;
}

static void
batch_reject(replay_io *io, const char *reason)
{
    replay_complaints_note(&io->complaints, reason);
    replay_complain(&io->complaints.bad_batch, "REPLAY-OTHER-TURN", reason);
}

void
replay_turn_arrived(replay_io *io, const wire_batch *batch, net_msg *take, uint32_t relay)
{
    replay_insert result;
    uint64_t turn = batch_turn(batch);
    replay_turn_verdict verdict =
        turn == 0 ? REPLAY_TURN_OTHER : replay_turns_offer(io->turns, batch->actor_id, turn, take);
    if (verdict == REPLAY_TURN_HELD) {
        return;
    }
    if (verdict == REPLAY_TURN_EARLIER) { // the acknowledgement was lost
        oct_err err = replay_batch_insert(io, batch, net_msg_length(take), relay, &result);
        OCT_ASSERT(err == OCT_OK);
    } else {
        batch_reject(io, "a batch that does not belong to the next turn");
    }
    net_msg_destroy(take);
}

// Stores the next batch of the turn. Returns false if it does not come next in its session; then
// the actor has to send another.
static bool
batch_store(replay_io *io, net_msg *msg)
{
    wire_batch batch;
    replay_insert result;
    wire_arena_reset(io->arena);
    oct_err err = wire_batch_unpack(&batch, io->arena, net_msg_body(msg), net_msg_length(msg));
    OCT_ASSERT(err == OCT_OK); // it was decoded once already
    err = replay_batch_insert(io, &batch, net_msg_length(msg), 0, &result);
    OCT_ASSERT(err == OCT_OK); // a table in lock-step never waits
    bool is_stored = result.kind != REPLAY_INSERT_GAP && result.kind != REPLAY_INSERT_STALE &&
                     result.kind != REPLAY_INSERT_REFUSED;
    if (!is_stored) {
        batch_reject(io, "an earlier batch of its session is missing");
    }
    return is_stored;
}

// Stores the turn that the request names, once all its batches are there. Returns true if the table
// has it.
static bool
turn_take(replay_io *io, const wire_sample *request)
{
    if (request->turn == replay_turns_done(io->turns)) {
        return true;
    }
    net_msg *msg;
    while (replay_turns_ready(io->turns) && (msg = replay_turns_next(io->turns)) != NULL) {
        replay_turns_stored(io->turns, batch_store(io, msg));
    }
    if (!replay_turns_ready(io->turns)) {
        return false;
    }
    replay_turns_end(io->turns);
    replay_table_end_turn(io->table, request->batch_size);
    return true;
}

oct_err
replay_turn_ask(replay_io *io, const wire_sample *request, oct_reason *why)
{
    bool is_on = replay_turns_is_on(io->turns);
    if (request->turn == 0 && !is_on) {
        return OCT_OK;
    }
    if (request->turn == 0 || !is_on ||
        replay_turns_ask(io->turns, request->turn, request->turn_actor,
                         request->turn_actor_count) != OCT_OK) {
        return oct_refuse(why,
                          "turn %" PRIu64 " of %" PRIu32
                          " actors was requested, but the table has %" PRIu64 " turns",
                          request->turn, request->turn_actor_count, replay_turns_done(io->turns));
    }
    return OCT_OK;
}

static bool
is_of_run(const replay_table *table, const wire_configure *wanted)
{
    return !table || replay_table_configure(table)->run_id == wanted->run_id;
}

// Goes back to the turn that a new learner continues from; what the table took since is lost.
static oct_err
turn_go_back(replay_io *io, const wire_configure *wanted, oct_reason *why)
{
    const replay_table *present = io->table ? io->table : replay_disk_found(io->disk);
    if (!is_of_run(present, wanted) || (!present && wanted->turn == 0)) {
        return OCT_OK; // another run's table is replay_config_decide's business
    }
    const replay_table_stats done = replay_activity_done(&io->activity, io->table);
    replay_acks_set_table(io->acks, NULL);
    oct_err err = replay_disk_go_back(io->disk, &io->table, wanted->turn, wanted->turn_digest, why);
    replay_acks_set_table(io->acks, io->table); // the same table if it could not go back
    if (!io->table) {
        io->activity.elsewhere = done;
        replay_turns_set(io->turns, 0, 0); // until the learner configures a table again
    }
    return err;
}

oct_err
replay_turn_begin(replay_io *io, const wire_configure *wanted, oct_reason *why)
{
    if (wanted->turn_actors == 0 || wanted->limiter_only) {
        return OCT_OK;
    }
    if (!io->disk) {
        return oct_refuse(why, "run.deterministic: replay has no file (--path) for the table, from "
                               "which a killed run resumes");
    }
    if (io->table && io->turns_epoch == wanted->epoch) { // this learner has configured it
        uint64_t turn = replay_table_turn(io->table);
        return turn == wanted->turn
                   ? OCT_OK
                   : oct_refuse(why,
                                "turn %" PRIu64 " was requested, but the table has turn %" PRIu64,
                                wanted->turn, turn);
    }
    oct_err err = turn_go_back(io, wanted, why);
    return err == OCT_OK || err == OCT_EAGAIN ? err : OCT_EINVAL;
}

bool
replay_turn_sample(replay_io *io, const wire_sample *request, wire_sampled *out)
{
    if (!turn_take(io, request)) {
        return false;
    }
    uint32_t all = replay_table_turn_batches(io->table);
    uint32_t left = request->turn_first < all ? all - request->turn_first : 0;
    uint32_t most = replay_table_batch_max(io->table) / request->batch_size;
    uint32_t batches = OCT_MIN(OCT_MIN(left, most), request->batches);
    if (batches > 0) {
        replay_table_sample_turn(out, io->table, request->batch_size, request->turn_first, batches);
    } else {
        *out = replay_serve_nothing(io, true);
    }
    out->turn = request->turn;
    out->turn_batches = all;
    return true;
}

void
replay_turn_digest(void *arg, wire_call *call, const wire_digest_request *request)
{
    replay_io *io = arg;
    oct_reason why;
    wire_digest answer = {.turn = request->turn};
    bool is_there = io->table && replay_table_configure(io->table)->run_id == request->run_id &&
                    replay_table_turn(io->table) == request->turn;
    if (!is_there) {
        wire_reply_error(call, OCT_EINVAL, "the table is not at that turn");
        return;
    }
    if (replay_fence_check(&io->fence, request->run_id, request->epoch, oct_clock_ns(), &why) !=
        OCT_OK) {
        wire_reply_error(call, OCT_ESTALE, why.text);
        return;
    }
    replay_table_digest(io->table, answer.sha256);
    if (request->keep > 0 && io->disk &&
        replay_disk_keep(io->disk, request->turn, request->keep, &why) != OCT_OK) {
        replay_complain(&io->complaints.bad_copy, "REPLAY-NO-COPY", why.text);
        wire_reply_error(call, OCT_EAGAIN, why.text);
        return;
    }
    wire_reply_table_digest(call, &answer);
}
