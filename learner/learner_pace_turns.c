// The pace of a run in lock-step: carries out the tasks of learner_turns.c.
#include "learner/learner_pace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_log.h"
#include "learner/learner_hashes.h"
#include "learner/learner_turn_policies.h"
#include "learner/learner_turns.h"
#include "proto/wire_turn.h"

// Evaluations count time in turns: each turn is TURN_NS long.
#define TURN_NS  UINT64_C(1000000000000)
#define WAITS_NS UINT64_C(5000000000)
#define AGAIN_NS UINT64_C(1000000000)
#define LATE_S   1.0 // how long the time limit waits for the end of the turn

struct learner_pacer {
    learner_pace_parts o;
    learner_train *train; // NULL before training begins, as batches and kept
    learner_batches *batches;
    learner_turns turns;
    learner_turn_policies *kept;
    uint32_t actor[WIRE_TURN_ACTORS_MAX]; // ids of the actors of this life
    uint64_t waits_ns; // since when an actor is missing; 0: none is, or it was logged
    double share;      // of the budget, at the start of the turn
    bool has_begun;    // hashes.csv has been cut to the turn that this process continues from
    bool is_ordered;   // the next version has been ordered from the training thread
    bool is_returning; // priorities have been sent and not answered
    // State of the hash in progress.
    bool is_hashing;
    bool has_digest;
    bool is_digest_asked;
    bool is_digest_late;    // it was logged that replay does not give its hash
    char unkept[192];       // why replay did not copy its table for the hash; "": no known reason
    uint64_t digest_ask_ns; // replay is not asked before this time
    wire_digest digest;     // replay's last answer
    learner_state_bytes *state;
    uint64_t hashes_ns; // hashes.csv is not written again before this time
    uint64_t save_ns;   // the checkpoint is not written again before this time
    char reason[64];    // why the run ends with this turn
};

static void
hashes_path(const learner_pacer *pacer, char out[OCT_FILE_PATH_MAX])
{
    (void)snprintf(out, OCT_FILE_PATH_MAX, "%s/hashes.csv", pacer->o.path);
}

static learner_pacer *
turns_create(const learner_pace_parts *parts)
{
    learner_pacer *pacer = oct_alloc(sizeof(*pacer));
    pacer->o = *parts;
    return pacer;
}

static void
turns_begin(learner_pacer *pacer, learner_train *train, learner_batches *batches)
{
    const config_experiment *config = pacer->o.config;
    const learner_turns_periods periods = {
        .evaluate_turns = config->evaluation.period_turns,
        .save_turns = config->learner.checkpoint_turns,
        .hash_updates = config->run.hash_updates,
    };
    uint64_t turn = learner_folder_resumed(pacer->o.folder)->policy_version;
    pacer->train = train;
    pacer->batches = batches;
    pacer->kept = learner_turn_policies_create(periods.save_turns);
    learner_turns_begin(&pacer->turns, &periods, turn,
                        learner_progress_now(pacer->o.progress).updates);
    if (learner_evals_solved(pacer->o.evals)) { // the checkpoint was of the last turn
        learner_turns_over(&pacer->turns);
        (void)snprintf(pacer->reason, sizeof(pacer->reason), LEARNER_END_SOLVED);
    } else if (turn > 0 && learner_progress_share(pacer->o.progress) >= 1) {
        learner_turns_over(&pacer->turns);
        (void)snprintf(pacer->reason, sizeof(pacer->reason), LEARNER_END_BUDGET);
    }
}

static void
turns_destroy(learner_pacer *pacer)
{
    if (pacer != NULL) {
        learner_turn_policies_destroy(pacer->kept);
        free(pacer->state);
        free(pacer);
    }
}

// ---- tasks

// Records the result of writing hashes.csv. Its rows must equal those of an undisturbed run, so the
// run waits for a failed write and tries again.
static bool
hashes_check(learner_pacer *pacer, oct_err err)
{
    learner_folder_wrote(pacer->o.folder, LEARNER_FILE_HASHES, err == OCT_OK ? 0 : errno);
    pacer->hashes_ns = err == OCT_OK ? 0 : oct_clock_ns() + AGAIN_NS;
    return err == OCT_OK;
}

static bool
hashes_begin(learner_pacer *pacer)
{
    char path[OCT_FILE_PATH_MAX];
    hashes_path(pacer, path);
    return oct_clock_ns() >= pacer->hashes_ns &&
           hashes_check(pacer, learner_hashes_begin(path, pacer->turns.turn));
}

static void
order_do(learner_pacer *pacer)
{
    // Until replay has returned to the turn before, it would take actors' new batches for
    // duplicates.
    if (pacer->is_ordered ||
        !learner_source_is_configured(learner_batches_source(pacer->batches, 0))) {
        return;
    }
    // The file is cut only here, so that a run that cannot continue keeps its rows.
    pacer->has_begun = pacer->has_begun || hashes_begin(pacer);
    if (!pacer->has_begun) {
        return;
    }
    pacer->is_ordered = true;
    learner_train_order(pacer->train, learner_turns_is_resumed(&pacer->turns));
}

// Does the HASH task. False: a part of the hash is missing, or the row could not be written.
static bool
hash_do(learner_pacer *pacer)
{
    if (!pacer->is_hashing) {
        pacer->is_hashing = true;
        pacer->has_digest = pacer->is_digest_asked = false;
        learner_train_ask_state(pacer->train);
    }
    if (pacer->state == NULL || !pacer->has_digest || oct_clock_ns() < pacer->hashes_ns) {
        return false;
    }
    learner_hashes_row row = {
        .turn = pacer->turns.turn,
        .updates = pacer->turns.updates,
        .env_steps = learner_progress_now(pacer->o.progress).env_steps,
    };
    wire_hash *hash = wire_hash_begin();
    wire_hash_add(hash, pacer->state->bytes, pacer->state->length);
    wire_hash_end(hash, row.weights);
    memcpy(row.replay, pacer->digest.sha256, sizeof(row.replay));
    char path[OCT_FILE_PATH_MAX], weights[WIRE_HASH_TEXT_BYTES], replay[WIRE_HASH_TEXT_BYTES];
    hashes_path(pacer, path);
    if (!hashes_check(pacer, learner_hashes_add(path, &row))) {
        return false;
    }
    pacer->is_hashing = false;
    wire_hash_text(row.weights, weights);
    wire_hash_text(row.replay, replay);
    oct_log_notice("LEARNER-RUN-HASH",
                   "turn=%" PRIu64 " updates=%" PRIu64 " env_steps=%" PRIu64
                   " weights=%s replay=%s",
                   row.turn, row.updates, row.env_steps, weights, replay);
    return true;
}

// Does the SAVE task. False: the checkpoint could not be written, and is tried again. The run waits
// for it, because replay keeps table copies for the kept checkpoints and only one more.
static bool
save_do(learner_pacer *pacer)
{
    if (pacer->state == NULL || oct_clock_ns() < pacer->save_ns) {
        return false;
    }
    learner_folder_policies(pacer->o.folder);
    learner_run_store(pacer->o.run, pacer->state, false);
    pacer->state = NULL;
    if (!learner_folder_has_failed(pacer->o.folder, LEARNER_FILE_CHECKPOINT)) {
        return true;
    }
    pacer->save_ns = oct_clock_ns() + AGAIN_NS;
    learner_train_ask_state(pacer->train); // the state will be the same: nothing learns meanwhile
    return false;
}

static uint64_t
turns_now_ns(const learner_pacer *pacer)
{
    return pacer->turns.turn * TURN_NS;
}

// Does the present task, and returns true if it is done.
static bool
task_do(learner_pacer *pacer)
{
    switch (learner_turns_task(&pacer->turns)) {
    case LEARNER_TURN_PUBLISH:
        free(pacer->state);
        pacer->state = NULL;
        order_do(pacer);
        return false;
    case LEARNER_TURN_LEARN:
        return false;
    case LEARNER_TURN_RETURN:
        learner_run_check_budget(pacer->o.run);
        return !pacer->is_returning &&
               !learner_source_has_priorities(learner_batches_source(pacer->batches, 0));
    case LEARNER_TURN_EVALUATE:
        return learner_evals_rest(pacer->o.evals, turns_now_ns(pacer));
    case LEARNER_TURN_HASH:
        return hash_do(pacer);
    case LEARNER_TURN_SAVE:
        return save_do(pacer);
    case LEARNER_TURN_END:
        learner_run_finish(pacer->o.run, pacer->reason, true);
        return false;
    }
    return false;
}

static void
turns_go(learner_pacer *pacer)
{
    while (learner_progress_phase(pacer->o.progress) <= LEARNER_TRAINING && task_do(pacer)) {
        learner_turns_done(&pacer->turns);
    }
}

// ---- batches

static uint32_t
turns_incarnation(const learner_pacer *pacer, const learner_actor *actor)
{
    (void)actor;
    uint32_t life_turns = pacer->o.config->learner.checkpoint_turns;
    return pacer->kept != NULL
               ? learner_turns_life(&pacer->turns)
               : wire_turn_life(learner_folder_resumed(pacer->o.folder)->policy_version + 1,
                                life_turns);
}

static uint64_t
turns_session(const learner_pacer *pacer, uint32_t actor_index)
{
    return learner_turns_session(pacer->o.config->run.seed, pacer->o.epoch, actor_index,
                                 turns_incarnation(pacer, NULL));
}

// Finds every actor of this life, in the order of their indices. False: an actor has not
// registered.
static bool
actors_find(learner_pacer *pacer)
{
    for (uint32_t i = 0; i < pacer->o.config->actor.count; i++) {
        const learner_actor *actor = learner_actors_of(pacer->o.actors, turns_session(pacer, i));
        if (actor == NULL) {
            return false;
        }
        pacer->actor[i] = actor->id;
    }
    return true;
}

static bool
turns_may_request(learner_pacer *pacer)
{
    return learner_turns_may_ask(&pacer->turns) && actors_find(pacer);
}

static void
turns_request(learner_pacer *pacer, wire_sample *out)
{
    learner_turns_asked(&pacer->turns);
    out->turn = pacer->turns.turn;
    out->turn_first = pacer->turns.drawn;
    out->turn_actor_count = pacer->o.config->actor.count;
    out->turn_actor = pacer->actor;
}

static void
turns_answered(learner_pacer *pacer, const wire_sampled *sampled, uint32_t batches)
{
    learner_turns *turns = &pacer->turns;
    bool is_of_turn = sampled != NULL && sampled->turn == turns->turn;
    if (is_of_turn && sampled->turn_batches >= turns->drawn &&
        batches <= sampled->turn_batches - turns->drawn) {
        learner_turns_drawn(turns, batches, sampled->turn_batches);
    } else {
        learner_turns_missed(turns);
    }
    turns_go(pacer);
}

static void
turns_learned(learner_pacer *pacer)
{
    learner_turns_learned(&pacer->turns, learner_progress_now(pacer->o.progress).updates);
    turns_go(pacer);
}

static double
turns_share(const learner_pacer *pacer)
{
    return pacer->share;
}

static bool
turns_may_return(learner_pacer *pacer)
{
    bool may = learner_turns_task(&pacer->turns) == LEARNER_TURN_RETURN && !pacer->is_returning;
    pacer->is_returning = pacer->is_returning || may;
    return may;
}

// Starts over, because replay's table is no longer the table that this turn began with.
static void
turn_lost(learner_pacer *pacer, const char *why)
{
    if (learner_progress_is(pacer->o.progress, LEARNER_TRAINING)) {
        oct_log_warn("LEARNER-TURN-LOST",
                     "turn %" PRIu64 ": replay %s; the run restarts from its last checkpoint",
                     pacer->turns.turn, why);
        learner_run_start_over(pacer->o.run, "a turn was lost");
    }
}

static void
turns_table_lost(learner_pacer *pacer)
{
    turn_lost(pacer, "was restarted");
}

// The run fails, because replay would refuse the same priorities again if the turn were repeated.
static void
priorities_refused(learner_pacer *pacer, const char *detail)
{
    oct_log_error("LEARNER-REPLAY-REFUSED", "turn %" PRIu64 ": priorities: %s", pacer->turns.turn,
                  detail);
    learner_run_fail(pacer->o.run, "replay refused priorities");
}

static void
turns_returned(learner_pacer *pacer, oct_err err, const char *detail)
{
    char why[256];
    pacer->is_returning = false;
    if (err == OCT_OK) {
        turns_go(pacer);
    } else if (learner_progress_is(pacer->o.progress, LEARNER_TRAINING) &&
               (err == OCT_EPROTO || err == OCT_EINVAL)) {
        priorities_refused(pacer, detail);
    } else {
        (void)snprintf(why, sizeof(why), "did not accept priorities (%s)", detail);
        turn_lost(pacer, why);
    }
}

// ---- versions

static void
turns_published(learner_pacer *pacer, const quantizer_publication *publication)
{
    pacer->is_ordered = false;
    learner_turn_policies_add(pacer->kept, publication);
    learner_turns_published(&pacer->turns, publication->version);
    pacer->share = learner_progress_share(pacer->o.progress);
}

static const quantizer_publication *
turns_newest(learner_pacer *pacer, const learner_actor *actor, uint64_t have)
{
    (void)actor;
    return pacer->kept != NULL ? learner_turn_policies_next(pacer->kept, have) : NULL;
}

// ---- hashes

static void
turns_state(learner_pacer *pacer, learner_state_bytes *take)
{
    free(pacer->state);
    pacer->state = take;
    turns_go(pacer);
}

static bool
turns_digest(learner_pacer *pacer, wire_digest_request *out)
{
    if (!pacer->is_hashing || pacer->is_digest_asked || pacer->has_digest ||
        oct_clock_ns() < pacer->digest_ask_ns) {
        return false;
    }
    pacer->is_digest_asked = true;
    *out = (wire_digest_request){
        .run_id = learner_folder_resumed(pacer->o.folder)->run_id,
        .epoch = pacer->o.epoch,
        .turn = pacer->turns.turn,
        // The copy is made before its checkpoint, so replay keeps one more than the checkpoints
        // kept.
        .keep =
            learner_turns_saves(&pacer->turns) ? pacer->o.config->learner.checkpoints_kept + 1 : 0,
    };
    return true;
}

static void
turns_digested(learner_pacer *pacer, oct_err err, const char *detail, const wire_digest *digest)
{
    pacer->is_digest_asked = false;
    if (err == OCT_EINVAL) {
        turn_lost(pacer, "is at another turn");
    } else if (err != OCT_OK && learner_progress_is(pacer->o.progress, LEARNER_TRAINING)) {
        pacer->digest_ask_ns = oct_clock_ns() + AGAIN_NS;
        if (!pacer->is_digest_late) {
            oct_log_warn("LEARNER-WAIT-COPY", "turn %" PRIu64 ": %s; trying again",
                         pacer->turns.turn, detail);
        }
        pacer->is_digest_late = true;
        if (err == OCT_EAGAIN && learner_turns_saves(&pacer->turns)) {
            (void)snprintf(pacer->unkept, sizeof(pacer->unkept), "%s", detail);
        }
    } else if (err == OCT_OK && pacer->is_hashing && digest->turn == pacer->turns.turn) {
        pacer->is_digest_late = false;
        pacer->unkept[0] = '\0';
        pacer->has_digest = true;
        pacer->digest = *digest;
        turns_go(pacer);
    }
}

static const char *
turns_unkept(const learner_pacer *pacer)
{
    return pacer->unkept[0] != '\0' ? pacer->unkept : NULL;
}

// ---- evaluations

static bool
turns_may_evaluate(const learner_pacer *pacer)
{
    return !learner_progress_is(pacer->o.progress, LEARNER_TRAINING) ||
           learner_turns_task(&pacer->turns) == LEARNER_TURN_EVALUATE;
}

// ---- time and end

// Logs once which actor has not registered.
static void
actors_watch(learner_pacer *pacer, uint64_t now_ns)
{
    if (!learner_turns_may_ask(&pacer->turns) || actors_find(pacer)) {
        pacer->waits_ns = 0;
    } else if (pacer->waits_ns == 0) {
        pacer->waits_ns = now_ns;
    } else if (pacer->waits_ns != UINT64_MAX && now_ns - pacer->waits_ns > WAITS_NS) {
        pacer->waits_ns = UINT64_MAX;
        oct_log_warn("LEARNER-WAIT-ACTORS",
                     "turn %" PRIu64 " waits for all %u actors to register, each with its --index",
                     pacer->turns.turn, pacer->o.config->actor.count);
    }
}

// At the time limit, ends the run without the end of the turn, which may never come: an actor,
// replay's hash or disk space may be missing.
static void
time_watch(learner_pacer *pacer)
{
    double limit_s = pacer->o.config->run.wall_s;
    if (limit_s > 0 && learner_progress_now(pacer->o.progress).wall_s >= limit_s + LATE_S) {
        if (pacer->reason[0] == '\0') {
            learner_run_check_budget(pacer->o.run); // sets the reason
        }
        learner_run_finish(pacer->o.run, pacer->reason, true);
    }
}

static void
turns_tick(learner_pacer *pacer, uint64_t now_ns)
{
    actors_watch(pacer, now_ns);
    turns_go(pacer);
    if (learner_progress_is(pacer->o.progress, LEARNER_TRAINING)) {
        time_watch(pacer);
    }
}

static void
turns_checkpoint(learner_pacer *pacer)
{
    (void)pacer; // schedule of checkpoints: the turns'
}

// A checkpoint is written after the hash of its turn, or before the first turn.
static void
turns_place(const learner_pacer *pacer, learner_turn_place *out)
{
    *out = (learner_turn_place){
        .is_there = true,
        .life_turns = pacer->o.config->learner.checkpoint_turns,
    };
    memcpy(out->replay, pacer->digest.sha256, sizeof(out->replay));
}

// Checks that a lock-step run, from this checkpoint on and on this machine, computes what it would
// have computed without the interruption.
static oct_err
turns_resume_check(const learner_pacer *pacer, oct_reason *why)
{
    const learner_turn_place *turn = &learner_folder_resumed(pacer->o.folder)->turn;
    uint32_t life_turns = pacer->o.config->learner.checkpoint_turns;
    if (!turn->is_there) {
        return oct_refuse(why,
                          "run.deterministic: %s contains a run that was not in lock-step so far; "
                          "continue it without run.deterministic, or start a new run",
                          pacer->o.path);
    }
    if (turn->life_turns != life_turns) {
        return oct_refuse(why,
                          "learner.checkpoint_turns: %u, but the run in %s had %u so far, and the "
                          "incarnations of its actors are numbered by it",
                          life_turns, pacer->o.path, turn->life_turns);
    }
    return learner_run_machine(pacer->o.run, "where the checkpoint was written", turn->libm, why);
}

static void
turns_finish(learner_pacer *pacer, const char *reason)
{
    if (pacer->reason[0] == '\0') {
        (void)snprintf(pacer->reason, sizeof(pacer->reason), "%s", reason);
        learner_turns_finish(&pacer->turns);
    }
}

const learner_pace learner_pace_turns = {
    .create = turns_create,
    .destroy = turns_destroy,
    .begin = turns_begin,
    .may_request = turns_may_request,
    .request = turns_request,
    .answered = turns_answered,
    .learned = turns_learned,
    .share = turns_share,
    .may_return = turns_may_return,
    .returned = turns_returned,
    .table_lost = turns_table_lost,
    .published = turns_published,
    .newest = turns_newest,
    .incarnation = turns_incarnation,
    .session = turns_session,
    .digest = turns_digest,
    .digested = turns_digested,
    .unkept = turns_unkept,
    .state = turns_state,
    .may_evaluate = turns_may_evaluate,
    .evaluation_now_ns = turns_now_ns,
    .evaluators_max = 1,
    .tick = turns_tick,
    .checkpoint = turns_checkpoint,
    .place = turns_place,
    .resume_check = turns_resume_check,
    .finish = turns_finish,
    .saves_at_end = false,
    .publishes_at_end = false, // publishing would begin another turn
    .repeats = true,
    .waits_for_actors = true,
    .return_timeout_ms = 600000, // replay may write a copy of a large table meanwhile
    .no_checkpoint = "the run is in lock-step, where checkpoints are written only every "
                     "learner.checkpoint_turns turns",
    .no_relay = "run.deterministic: a run in lock-step has no relays",
};
