// Ends a run: decides the reason, waits for the final evaluation, and writes the files.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/oct_clock.h"
#include "common/oct_log.h"
#include "common/oct_spread.h"
#include "common/oct_text.h"
#include "config/config.h"
#include "learner/learner_run_state.h"

#define REFUSED_UPDATES_MAX 1000u

// ---- the reason

// Returns true if too many updates in a row were refused, or if the run is over and all its updates
// were.
static bool
is_diverged(const learner_run *run)
{
    uint32_t refused = learner_train_refused(run->train);
    bool is_over =
        learner_progress_is_spent(run->progress) || learner_progress_is_out_of_time(run->progress);
    bool has_learned = learner_progress_now(run->progress).updates > 0 || refused == 0;
    return is_over ? !has_learned && learner_refusals_count(run->refusals) > 0
                   : refused >= REFUSED_UPDATES_MAX;
}

void
learner_run_check_budget(learner_run *run)
{
    if (is_diverged(run)) {
        uint32_t in_a_row = OCT_MIN(learner_train_refused(run->train), REFUSED_UPDATES_MAX);
        learner_refusals_log(run->refusals, &run->spec, in_a_row);
        run->failed = true;
        run->pace->finish(run->pacer, "diverged");
    } else if (learner_progress_is_spent(run->progress)) {
        run->pace->finish(run->pacer, LEARNER_END_BUDGET);
    } else if (learner_progress_is_out_of_time(run->progress)) {
        run->pace->finish(run->pacer, LEARNER_END_TIME);
    } else if (run->external != NULL && learner_external_is_lost(run->external)) {
        oct_log_error("LEARNER-CLIENT-MISSING",
                      "algo.client_wait_s: no learning process connected for %g s; algo.name: "
                      "external needs one, such as octet.Learner",
                      run->config->algo.client_wait_s);
        run->failed = true;
        run->pace->finish(run->pacer, "no learning process");
    }
}

// ---- the final evaluation

// Publishes the last version. Actors have stopped: the version is only evaluated and saved.
static void
publish_last(learner_run *run)
{
    learner_train_set_env_steps(run->train, learner_progress_now(run->progress).env_steps);
    while (learner_run_publish_to_evaluators(run) != NULL) { // makes room
    }
    learner_train_publish_last(run->train);
    while (learner_run_publish_to_evaluators(run) != NULL) {
    }
}

static void
training_end(learner_run *run, bool publish)
{
    learner_progress_end_training(run->progress);
    learner_run_stop_training(run);
    learner_run_collect(run);
    learner_counts now = learner_progress_now(run->progress);
    if (publish && now.updates > learner_progress_before(run->progress).updates) {
        publish_last(run);
    }
    now = learner_progress_now(run->progress);
    oct_log_notice("LEARNER-STOP", "reason=%s env_steps=%" PRIu64 " updates=%" PRIu64,
                   learner_progress_reason(run->progress), now.env_steps, now.updates);
    if (!run->failed) { // else the log has another reason
        learner_progress_explain(run->progress);
    }
}

static void
end_save(learner_run *run)
{
    if (learner_progress_ending(run->progress) != NULL) {
        learner_folder_policies(run->folder);
        learner_run_store(run, learner_train_state(run->train), false);
    }
}

// Begins the final evaluation. The checkpoint that says so is written before any order is given.
static void
final_begin(learner_run *run, bool awaits_evaluator)
{
    learner_progress_await(run->progress, awaits_evaluator, run->pace->saves_at_end,
                           learner_evals_solved(run->evals));
    end_save(run);
    learner_progress_heard(run->progress);
}

void
learner_end_published(learner_run *run)
{
    if (learner_progress_is(run->progress, LEARNER_FINAL)) {
        end_save(run);
    }
}

// Continues the final evaluation of an earlier process. Waits as long as for a registered
// evaluator.
void
learner_end_again(learner_run *run)
{
    training_end(run, false);
    learner_evals_finish(run->evals);
    learner_progress_enter(run->progress,
                           learner_evals_done(run->evals) ? LEARNER_DONE : LEARNER_FINAL);
    learner_progress_heard(run->progress);
}

void
learner_run_finish(learner_run *run, const char *reason, bool evaluate)
{
    if (learner_progress_is(run->progress, LEARNER_DONE)) {
        return;
    }
    bool was_training = learner_progress_is(run->progress, LEARNER_TRAINING);
    uint32_t evaluators = learner_actors_live_get(run->actors, oct_clock_ns()).evaluators;
    learner_progress_end(run->progress, reason);
    if (was_training) {
        learner_folder_policies(run->folder); // before the wait for the current update
        training_end(run, evaluate && run->pace->publishes_at_end);
    }
    learner_evals_finish(run->evals);
    bool wanted = evaluate && !learner_evals_done(run->evals);
    bool awaits = evaluators == 0 && run->options.evaluator_wait_s > 0;
    if (was_training && wanted && (evaluators > 0 || awaits)) {
        final_begin(run, awaits);
        return;
    }
    learner_progress_enter(run->progress, LEARNER_DONE);
}

void
learner_run_fail(learner_run *run, const char *reason)
{
    run->failed = true;
    learner_run_finish(run, reason, false);
}

void
learner_run_start_over(learner_run *run, const char *reason)
{
    run->starts_over = true;
    learner_run_abandon(run, reason);
}

void
learner_run_abandon(learner_run *run, const char *reason)
{
    learner_folder_abandon(run->folder);
    learner_run_finish(run, reason, false);
}

// ---- the files

void
learner_run_store(learner_run *run, learner_state_bytes *take, bool async)
{
    const learner_checkpoint *resumed = learner_folder_resumed(run->folder);
    // The next process assigns higher numbers, even if this is the first checkpoint that it
    // resumes.
    uint32_t given = learner_actors_incarnations(run->actors);
    learner_checkpoint now = {
        .policy_version =
            OCT_MAX(learner_publisher_version(run->publisher), resumed->policy_version),
        .updates = take->updates,
        .env_steps = learner_progress_now(run->progress).env_steps,
        .incarnations = OCT_MAX(given, resumed->incarnations + 1),
        .wall_s = learner_progress_now(run->progress).wall_s,
        .shards = config_shards(run->config),
        .gone = learner_batches_gone(run->batches),
        .state = take,
    };
    for (uint32_t i = 0; i < now.shards; i++) {
        now.replay[i] = learner_batches_place_after(run->batches, i, take->batches);
    }
    run->pace->place(run->pacer, &now.turn);
    now.turn.libm = run->libm;
    now.turn.refused = learner_train_refused(run->train);
    const char *ending = learner_progress_ending(run->progress);
    if (ending != NULL) {
        oct_text_copy(now.end, sizeof(now.end), ending);
    }
    learner_folder_checkpoint(run->folder, &now, async);
}

bool
learner_run_failed(const learner_run *run)
{
    return run->failed || learner_folder_is_unsaved(run->folder);
}

// Writes all files. The checkpoint is last, because it says that the run owes no result any more.
void
learner_run_save(learner_run *run)
{
    if (learner_folder_is_abandoned(run->folder)) {
        return;
    }
    if (run->train == NULL && learner_folder_is_resumed(run->folder)) {
        return; // nothing was trained: the folder's files stay as they were
    }
    learner_folder_finish(run->folder);
    if (run->train != NULL) {
        learner_report_row(run->report, true);
        learner_folder_curve(run->folder);
    }
    learner_folder_policies(run->folder); // first: the checkpoint says how good policy.oct is
    learner_summary summary = learner_report_summary(run->report, &run->spec);
    summary.blas = run->blas != NULL ? run->blas : "";
    learner_folder_summary(run->folder, &summary);
    if (summary.sampling != NULL) {
        oct_log_notice("LEARNER-SAMPLING", "%s", summary.sampling);
    }
    if (learner_evals_done(run->evals) && !learner_folder_is_unsaved(run->folder)) {
        learner_progress_ended(run->progress);
    }
    if (run->train != NULL && run->pace->saves_at_end) {
        learner_run_store(run, learner_train_state(run->train), false);
    }
}
