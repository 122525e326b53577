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
// A mean of RETURNS_LEAST training episodes or more is much better than that of an evaluation if it
// is higher by BETTER_SHARE of the larger of the two and by BETTER_ERRORS standard errors.
#define RETURNS_LEAST 20
#define BETTER_SHARE  0.2
#define BETTER_ERRORS 4

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
        run->pace->finish(run, "diverged");
    } else if (learner_progress_is_spent(run->progress)) {
        run->pace->finish(run, LEARNER_END_BUDGET);
    } else if (learner_progress_is_out_of_time(run->progress)) {
        run->pace->finish(run, LEARNER_END_TIME);
    } else if (run->external != NULL && learner_external_is_lost(run->external)) {
        oct_log_error("LEARNER-CLIENT-MISSING",
                      "algo.client_wait_s: no learning process connected for %g s; algo.name: "
                      "external needs one, such as octet.Learner",
                      run->config->algo.client_wait_s);
        run->failed = true;
        run->pace->finish(run, "no learning process");
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
learner_run_abandon(learner_run *run, const char *reason)
{
    learner_folder_abandon(run->folder);
    learner_run_finish(run, reason, false);
}

const char *
learner_end_unevaluated(const learner_run *run, char *out, size_t size)
{
    learner_eval_result best = {.stage = LEARNER_EVAL_SCREEN};
    const config_experiment *config = run->config;
    (void)learner_evals_best(run->evals, &best);
    bool has_short = config->evaluation.screen_episodes < config->evaluation.episodes;
    bool is_full = best.episodes > 0 && (best.stage != LEARNER_EVAL_SCREEN || !has_short);
    uint32_t failed = run->failed_full_evals;
    const char *no_final = learner_progress_no_final(run->progress);
    if (is_full || (no_final == NULL && failed == 0)) {
        return NULL;
    }
    oct_text why;
    oct_text_init(&why, out, size);
    if (failed > 0) {
        oct_text_add(&why, "%u full evaluation%s failed", failed, oct_text_plural(failed));
    }
    if (no_final != NULL) {
        oct_text_add(&why, "%s%s", failed > 0 ? "; " : "", no_final);
    }
    return out;
}

const char *
learner_end_sampling(const learner_run *run, char *out, size_t size)
{
    const learner_eval_result *greedy = learner_folder_saved(run->folder);
    uint32_t count = (uint32_t)OCT_MIN(run->episodes, LEARNER_RETURNS);
    if (run->config->evaluation.sampling || policy_spec_extra_dim(&run->spec) == 0 ||
        count < RETURNS_LEAST || greedy->episodes == 0 || greedy->truncated > 0) {
        return NULL;
    }
    oct_spread drawn = oct_spread_of_f64(run->report.returns, count);
    double better = drawn.mean - greedy->mean;
    double error =
        sqrt(drawn.std * drawn.std / count + greedy->std * greedy->std / greedy->episodes);
    bool is_much = better > BETTER_SHARE * fmax(fabs(drawn.mean), fabs(greedy->mean));
    if (!is_much || better <= BETTER_ERRORS * error) {
        return NULL;
    }
    (void)snprintf(out, size,
                   "the last %u training episodes, with sampled actions, had a mean return of "
                   "%.4g; greedy actions have %.4g; with evaluation.sampling: true, evaluations "
                   "sample actions, too",
                   count, drawn.mean, greedy->mean);
    return out;
}

// ---- the files

// Starts to write a checkpoint with the present counters.
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
    run->pace->place(run, &now.turn);
    const char *ending = learner_progress_ending(run->progress);
    if (ending != NULL) {
        oct_text_copy(now.end, sizeof(now.end), ending);
    }
    learner_folder_checkpoint(run->folder, &now, async);
}

static void
summary_write(learner_run *run)
{
    char why[LEARNER_WHY_BYTES], sampling[LEARNER_WHY_BYTES];
    learner_actors_totals totals;
    uint64_t version = learner_publisher_version(run->publisher);
    const learner_publishing publishing = learner_publisher_counts(run->publisher);
    learner_actors_totals_get(run->actors, oct_clock_ns(), version, &totals);
    double update_s = 0, wait_s = 0;
    if (run->train != NULL) {
        learner_train_times(run->train, &update_s, &wait_s);
    }
    learner_source_counts source = learner_batches_counts(run->batches, oct_clock_ns());
    uint64_t end_ns = learner_progress_end_ns(run->progress) != 0
                          ? learner_progress_end_ns(run->progress)
                          : oct_clock_ns();
    learner_summary summary = {
        .config = run->config,
        .reason = learner_progress_reason(run->progress),
        .unlearned = learner_progress_unlearned(run->progress),
        .unevaluated = learner_end_unevaluated(run, why, sizeof(why)),
        .sampling = learner_end_sampling(run, sampling, sizeof(sampling)),
        .precision = learner_publisher_precision(run->publisher),
        .blas = run->blas != NULL ? run->blas : "",
        .run_id = run->run_id,
        .env_steps = learner_progress_now(run->progress).env_steps,
        .env_steps_base = learner_progress_before(run->progress).env_steps +
                          source.first_sample_steps * run->action_repeat,
        .updates = learner_progress_now(run->progress).updates,
        .updates_base = learner_progress_before(run->progress).updates,
        .updates_refused = learner_refusals_count(run->refusals),
        .env_failures = totals.failures,
        .evaluation_failures = totals.evaluation_failures,
        .policy_version = version,
        .inserts = source.inserts,
        .samples = source.samples,
        .wall_s = learner_progress_now(run->progress).wall_s,
        .training_s =
            source.first_sample_ns != 0 ? (double)(end_ns - source.first_sample_ns) * 1e-9 : 0,
        .replay_to_learner_bytes = (double)run->traffic.from_replay,
        .learner_to_replay_bytes = (double)run->traffic.to_replay,
        .actor_to_replay_bytes = totals.bytes,
        .learner_to_actors_bytes = (double)run->traffic.published,
        .publications = publishing.publications,
        .actors = totals.actors,
        .actor_infer_s = totals.infer_s,
        .actor_env_s = totals.env_s,
        .actor_collect_s = totals.collect_s,
        .actor_wait_s = totals.wait_s,
        .wait_share = update_s + wait_s > 0 ? wait_s / (update_s + wait_s) : NAN,
        .agreement = publishing.divergence.agreement,
        .divergence = publishing.divergence.relative_l2,
        .deltas = publishing.deltas,
        .cpu_s = (double)oct_clock_process_cpu_ns() * 1e-9,
        .last = learner_publisher_policy(run->publisher),
    };
    summary.solved = learner_evals_solved(run->evals);
    summary.has_last = learner_evals_last(run->evals, &summary.last_result);
    summary.screens = learner_evals_screens(run->evals, &summary.screens_mean);
    learner_folder_summary(run->folder, &summary);
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
        learner_report_row(run, true);
        learner_folder_curve(run->folder);
    }
    learner_folder_policies(run->folder); // first: the checkpoint says how good policy.oct is
    summary_write(run);
    char why[LEARNER_WHY_BYTES];
    if (learner_end_sampling(run, why, sizeof(why)) != NULL) {
        oct_log_notice("LEARNER-SAMPLING", "%s", why);
    }
    if (learner_evals_done(run->evals) && !learner_folder_is_unsaved(run->folder)) {
        learner_progress_ended(run->progress);
    }
    if (run->train != NULL && run->pace->saves_at_end) {
        learner_run_store(run, learner_train_state(run->train), false);
    }
}
