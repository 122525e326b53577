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

#define FINAL_TIMEOUT_S     120.0
#define FINAL_WALL_S        60.0 // what the final evaluation may take after run.wall_s, at least
#define FINAL_WALL_SHARE    0.1  // of run.wall_s
#define REFUSED_UPDATES_MAX 1000u
#define OBS_LARGE           1e6 // larger observations are blamed before the learning rate
// A mean of RETURNS_LEAST training episodes or more is much better than that of an evaluation if it
// is higher by BETTER_SHARE of the larger of the two and by BETTER_ERRORS standard errors.
#define RETURNS_LEAST 20
#define BETTER_SHARE  0.2
#define BETTER_ERRORS 4

// ---- the reason

// Describes the actor of the rows in the last refused updates, if their numbers may be the reason.
static void
rows_describe(const learner_run *run, char out[256])
{
    const learner_suspect *suspect = &run->suspect;
    bool may_be = run->refused != OCT_EINTERNAL || suspect->session_number > OBS_LARGE;
    out[0] = '\0';
    if (suspect->session != 0 && may_be) {
        (void)snprintf(
            out, 256,
            "; the largest number in their rows, %g, is of session %016" PRIx64
            " (certificate \"%s\"): octet data drop RUN --session %016" PRIx64 " removes its rows",
            suspect->session_number, suspect->session, run->suspect_certificate, suspect->session);
    }
}

static void
diverged_log(const learner_run *run)
{
    char rows[256];
    uint32_t count = OCT_MIN(learner_train_refused(run->train), REFUSED_UPDATES_MAX);
    rows_describe(run, rows);
    if (run->refused != OCT_EINTERNAL) {
        oct_log_error("LEARNER-DIVERGED",
                      "training diverged: %u updates in a row were refused: %s%s", count,
                      run->refused_why, rows);
    } else if (run->suspect.obs > OBS_LARGE) {
        oct_log_error("LEARNER-DIVERGED",
                      "env.id: %s: number %u of an observation reaches %g, and %u updates in a row "
                      "were not finite; scale the environment's observations%s",
                      run->spec.env_id, run->suspect.obs_index, run->suspect.obs, count, rows);
    } else {
        oct_log_error("LEARNER-DIVERGED",
                      "training diverged: %u updates in a row were not finite; lower "
                      "algo.learning_rate or set algo.grad_norm_max%s",
                      count, rows);
    }
}

static bool
is_spent(const learner_run *run)
{
    return learner_run_share(run) >= 1;
}

static bool
is_out_of_time(const learner_run *run)
{
    return run->config->run.wall_s > 0 && learner_run_wall_s(run) >= run->config->run.wall_s;
}

// Returns true if too many updates in a row were refused, or if the run is over and all its updates
// were.
static bool
is_diverged(const learner_run *run)
{
    uint32_t refused = learner_train_refused(run->train);
    bool is_over = is_spent(run) || is_out_of_time(run);
    bool has_learned = run->updates > 0 || refused == 0;
    return is_over ? !has_learned && run->updates_refused > 0 : refused >= REFUSED_UPDATES_MAX;
}

void
learner_run_check_budget(learner_run *run)
{
    if (is_diverged(run)) {
        diverged_log(run);
        run->failed = true;
        run->pace->finish(run, "diverged");
    } else if (is_spent(run)) {
        run->pace->finish(run, LEARNER_END_BUDGET);
    } else if (is_out_of_time(run)) {
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

// Returns true if the reason still holds after a restart. Reasons that only training can find again
// do not.
static bool
reason_holds(const learner_run *run, const char *reason)
{
    return (strcmp(reason, LEARNER_END_SOLVED) == 0 && learner_evals_solved(run->evals)) ||
           (strcmp(reason, LEARNER_END_BUDGET) == 0 && is_spent(run)) ||
           (strcmp(reason, LEARNER_END_TIME) == 0 && is_out_of_time(run));
}

// ---- the final evaluation

// Publishes the last version. Actors have stopped: the version is only evaluated and saved.
static void
publish_last(learner_run *run)
{
    learner_train_set_env_steps(run->train, run->env_steps_end);
    while (learner_run_publish_to_evaluators(run) != NULL) { // makes room
    }
    learner_train_publish_last(run->train);
    while (learner_run_publish_to_evaluators(run) != NULL) {
    }
}

// Explains why the actors' data led to no update.
static void
unlearned_explain(const learner_run *run, oct_text *why)
{
    const config_experiment *config = run->config;
    learner_source_counts source = learner_run_source_counts(run);
    uint64_t windows = source.inserts;
    uint32_t batch = config->learner.batch_size - config_data_windows(config);
    double ratio = config->replay.samples_per_insert;
    bool is_once = !config_has_limiter(config);
    if (is_once && windows < batch) {
        oct_text_add(why, "replay received %" PRIu64 " windows, but a batch needs %" PRIu32,
                     windows, batch);
    } else if (!is_once && windows < config->replay.min_size) {
        oct_text_add(why, "replay received %" PRIu64 " windows, but replay.min_size is %" PRIu64,
                     windows, config->replay.min_size);
    } else if (!is_once && ratio > 0 && ratio * (double)windows < batch) {
        oct_text_add(
            why,
            "replay received %" PRIu64
            " windows, which at replay.samples_per_insert: %g are too few for a batch of %" PRIu32,
            windows, ratio, batch);
    } else if (source.missed > 0) {
        oct_text_add(
            why, "replay sent %" PRIu64 " windows in replies that arrived too late or not at all",
            source.missed);
    }
}

// Logs that a run ended by itself without an update. A run that diverged has logged its reason.
static void
unlearned_tell(learner_run *run)
{
    oct_text why;
    if (run->updates > 0 || run->failed || !(is_spent(run) || is_out_of_time(run))) {
        return;
    }
    oct_text_init(&why, run->unlearned, sizeof(run->unlearned));
    if (!config_is_offline(run->config)) {
        unlearned_explain(run, &why);
    }
    if (why.used == 0) {
        oct_text_add(&why, "no update was made in time");
    }
    oct_log_warn("LEARNER-UNLEARNED", "nothing was learned: %s", run->unlearned);
}

static void
training_end(learner_run *run, bool publish)
{
    run->env_steps_end = learner_run_env_steps(run);
    run->training_end_ns = oct_clock_ns();
    learner_run_stop_training(run);
    learner_run_collect(run);
    if (publish && run->updates > run->updates_base) {
        publish_last(run);
    }
    oct_log_notice("LEARNER-STOP", "reason=%s env_steps=%" PRIu64 " updates=%" PRIu64, run->reason,
                   learner_run_env_steps(run), run->updates);
    unlearned_tell(run);
}

static void
end_save(learner_run *run)
{
    if (run->is_ending) {
        learner_folder_policies(run->folder);
        learner_run_store(run, learner_train_state(run->train), false);
    }
}

// Begins the final evaluation. The checkpoint that says so is written before any order is given.
static void
final_begin(learner_run *run, bool awaits_evaluator)
{
    run->phase = LEARNER_FINAL;
    run->awaits_evaluator = awaits_evaluator;
    run->is_ending = run->pace->saves_at_end && reason_holds(run, run->reason);
    end_save(run);
    run->final_begin_ns = oct_clock_ns();
}

void
learner_end_published(learner_run *run)
{
    if (run->phase == LEARNER_FINAL) {
        end_save(run);
    }
}

// Checks the time limits of the final evaluation. A short run may end before its evaluator has
// registered; it waits less long for a registration than for the answer of a registered evaluator.
void
learner_end_tick(learner_run *run, uint32_t evaluators, uint64_t now_ns)
{
    if (run->awaits_evaluator && evaluators > 0) {
        run->awaits_evaluator = false;
        run->final_begin_ns = now_ns;
    }
    double wall_s = run->config->run.wall_s;
    double end_s = wall_s + OCT_MAX(FINAL_WALL_S, FINAL_WALL_SHARE * wall_s);
    if (wall_s > 0 && learner_run_wall_s(run) >= end_s) {
        run->no_final = "run.wall_s ended the final evaluation";
        oct_log_warn("LEARNER-NO-FINAL",
                     "%s, which may take %.0f s beyond it; the last evaluation "
                     "is the result",
                     run->no_final, end_s - wall_s);
        run->phase = LEARNER_DONE;
        return;
    }
    double silence_s = OCT_MAX(FINAL_TIMEOUT_S, 2 * learner_evals_patience_s(run->evals));
    double limit_s = run->awaits_evaluator ? run->options.evaluator_wait_s : silence_s;
    if ((double)(now_ns - run->final_begin_ns) * 1e-9 > limit_s) {
        run->no_final = run->awaits_evaluator ? "no evaluator registered" : "no evaluator answered";
        oct_log_warn("LEARNER-NO-FINAL", "%s; the last evaluation is the result", run->no_final);
        run->phase = LEARNER_DONE;
    }
}

void
learner_end_resume(learner_run *run)
{
    const char *reason = learner_folder_resumed(run->folder)->end;
    if (reason[0] == '\0') {
        return;
    }
    run->ends_again = run->is_ending = reason_holds(run, reason);
    if (run->is_ending) {
        (void)snprintf(run->reason, sizeof(run->reason), "%s", reason);
    }
    oct_log_notice(
        "LEARNER-RESUME-END", "%s: training had ended (%s), but not the final evaluation: %s",
        run->options.folder, reason,
        run->ends_again ? "it starts now" : "with the current configuration, training continues");
}

// Continues the final evaluation of an earlier process. Waits as long as for a registered
// evaluator.
void
learner_end_again(learner_run *run)
{
    training_end(run, false);
    learner_evals_finish(run->evals);
    run->phase = learner_evals_done(run->evals) ? LEARNER_DONE : LEARNER_FINAL;
    run->final_begin_ns = oct_clock_ns();
}

void
learner_run_finish(learner_run *run, const char *reason, bool evaluate)
{
    if (run->phase == LEARNER_DONE) {
        return;
    }
    bool was_training = run->phase == LEARNER_TRAINING;
    uint32_t evaluators = learner_actors_live_get(run->actors, oct_clock_ns()).evaluators;
    if (run->phase != LEARNER_FINAL) {
        (void)snprintf(run->reason, sizeof(run->reason), "%s", reason);
    }
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
    run->phase = LEARNER_DONE;
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
    if (is_full || (run->no_final == NULL && failed == 0)) {
        return NULL;
    }
    oct_text why;
    oct_text_init(&why, out, size);
    if (failed > 0) {
        oct_text_add(&why, "%u full evaluation%s failed", failed, oct_text_plural(failed));
    }
    if (run->no_final != NULL) {
        oct_text_add(&why, "%s%s", failed > 0 ? "; " : "", run->no_final);
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
        .env_steps = learner_run_env_steps(run),
        .incarnations = OCT_MAX(given, resumed->incarnations + 1),
        .wall_s = learner_run_wall_s(run),
        .shards = config_shards(run->config),
        .gone = learner_batches_gone(run->batches),
        .state = take,
    };
    for (uint32_t i = 0; i < now.shards; i++) {
        now.replay[i] = learner_batches_place_after(run->batches, i, take->batches);
    }
    run->pace->place(run, &now.turn);
    if (run->is_ending) {
        (void)snprintf(now.end, LEARNER_END_MAX, "%.*s", LEARNER_END_MAX - 1, run->reason);
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
    learner_source_counts source = learner_run_source_counts(run);
    uint64_t end_ns = run->training_end_ns != 0 ? run->training_end_ns : oct_clock_ns();
    learner_summary summary = {
        .config = run->config,
        .reason = run->reason,
        .unlearned = run->unlearned[0] != '\0' ? run->unlearned : NULL,
        .unevaluated = learner_end_unevaluated(run, why, sizeof(why)),
        .sampling = learner_end_sampling(run, sampling, sizeof(sampling)),
        .precision = learner_publisher_precision(run->publisher),
        .blas = run->blas != NULL ? run->blas : "",
        .run_id = run->run_id,
        .env_steps = learner_run_env_steps(run),
        .env_steps_base = run->env_steps_base + source.first_sample_steps * run->action_repeat,
        .updates = run->updates,
        .updates_base = run->updates_base,
        .updates_refused = run->updates_refused,
        .env_failures = totals.failures,
        .evaluation_failures = totals.evaluation_failures,
        .policy_version = version,
        .inserts = source.inserts,
        .samples = source.samples,
        .wall_s = learner_run_wall_s(run),
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
    bool is_told = learner_evals_done(run->evals) && !learner_folder_is_unsaved(run->folder);
    run->is_ending = run->is_ending && !is_told;
    if (run->train != NULL && run->pace->saves_at_end) {
        learner_run_store(run, learner_train_state(run->train), false);
    }
}
