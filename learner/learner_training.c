// Begins and ends the training of a run.
//
// Begin. Once the environment is known, from a file or from the first actor, the algorithm is made
// with the state of the checkpoint or of learner.init_from, so that an impossible experiment is
// refused early. The first actor then starts the quantizer stage, the batches, and the training
// thread or the external learner; a checkpoint is written before the first version is published, so
// that a restarted learner keeps the run id. Every later actor must have the same environment.
//
// End. learner_run_check_budget decides when training ends. Then the thread is stopped, what it has
// learned since its last version is published for evaluators, and the run waits for the final
// evaluation (learner_progress.h). learner_run_save writes the policies, then the summary, and last
// the checkpoint, which says that the run owes no result any more.
//
// Failures. If training cannot begin with the first actor's environment, no other actor could start
// it either: the run fails. If it is killed during the final evaluation, the next process makes the
// networks, stops training at once, and continues that evaluation (training_end_again).
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_blas.h"
#include "common/oct_clock.h"
#include "common/oct_log.h"
#include "common/oct_memory.h"
#include "common/oct_reason.h"
#include "common/oct_text.h"
#include "learner/learner_environment.h"
#include "learner/learner_init_from.h"
#include "learner/learner_run_state.h"
#include "nn/nn_gemm.h"
#include "nn/nn_tile.h"

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
learner_training_published(learner_run *run)
{
    if (learner_progress_is(run->progress, LEARNER_FINAL)) {
        end_save(run);
    }
}

// Continues the final evaluation of an earlier process. Waits as long as for a registered
// evaluator.
static void
training_end_again(learner_run *run)
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
    if (run->pace->place != NULL) {
        run->pace->place(run->pacer, &now.turn);
    }
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

// ---- the networks

static void
budget_log(const learner_budget *budget)
{
    oct_log_notice("LEARNER-BUDGET",
                   "bytes=%" PRIu64 " policy_parameters=%" PRIu64 " algorithm_bytes=%" PRIu64
                   " state_bytes=%" PRIu64 " batches=%u batches_bytes=%" PRIu64
                   " answers_bytes=%" PRIu64 " learners_bytes=%" PRIu64 " snapshots_bytes=%" PRIu64
                   " fold_bytes=%" PRIu64 " publication_bytes=%" PRIu64 " curve_bytes=%" PRIu64,
                   budget->total, budget->policy_parameters, budget->algorithm, budget->state,
                   budget->batches, budget->batches_bytes, budget->answers, budget->learners,
                   budget->snapshots, budget->fold, budget->publication, budget->curve);
}

static nn_context_options
context_options(const learner_run *run)
{
    return algo_context_options(run->config, learner_group_members(run->options.lg));
}

static oct_err
cannot_create(oct_err err, oct_reason *why)
{
    oct_reason_set(why, "cannot create the algorithm: %s", oct_strerror(err));
    return err;
}

// Checks that the memory suffices. A resumed run may start if the machine's whole memory suffices,
// because other processes may free theirs; then a warning is logged.
static oct_err
budget_check(learner_run *run, oct_reason *why)
{
    const learner_budget_options options = {
        .config = run->config,
        .spec = &run->spec,
        .wants = run->wants,
        .context = context_options(run),
        .learners = learner_group_here(run->options.lg),
    };
    oct_err err = learner_budget_make(&run->budget, &options);
    if (err != OCT_OK) {
        return cannot_create(err, why);
    }
    bool continues = learner_folder_resumed(run->folder)->state != NULL;
    uint64_t available = oct_memory_available();
    OCT_TRY(learner_budget_check(&run->budget, &options, continues ? oct_memory_limit() : available,
                                 why));
    oct_reason warning;
    if (learner_budget_check(&run->budget, &options, available, &warning) != OCT_OK) {
        oct_log_warn("LEARNER-MEMORY", "%s", warning.text);
    }
    return OCT_OK;
}

// Chooses the kernels for the matrix products.
static oct_err
kernels_begin(learner_run *run, oct_reason *why)
{
    char warning[256];
    const nn_context_options options = context_options(run);
    if (nn_context_refusal(&options) != NULL) {
        return oct_refuse(why, "run.deterministic: %s", nn_context_refusal(&options));
    }
    run->nn = nn_context_create(&options);
    const nn_tile_ops *bf16 = nn_context_bf16(run->nn);
    const nn_tile_ops *tiles = nn_tile_float();
    run->blas = nn_blas_init(run->config->learner.threads, warning, sizeof(warning));
    oct_log_notice("LEARNER-BLAS", "tiles=%s bf16=%s openblas=%s threads=%u removed=\"%s\"",
                   tiles != NULL ? tiles->name : "none", bf16 != NULL ? bf16->name : "off",
                   run->blas, run->config->learner.threads, oct_blas_removed());
    if (run->config->learner.bf16 && bf16 == NULL) {
        oct_log_warn("LEARNER-BF16-MISSING",
                     "learner.bf16: this CPU has no bfloat16 instructions that are faster than "
                     "fp32 (AMX, or AMD's AVX512-BF16); the run continues in fp32");
    }
    if (warning[0] != '\0') {
        oct_log_warn("LEARNER-BLAS-SLOW", "%s", warning);
    }
    return OCT_OK;
}

static learner_source_options
source_options(const learner_run *run)
{
    learner_source_options options = {
        .config = run->config,
        .spec = &run->spec,
        .wants = run->wants,
        .batch_size = run->config->learner.batch_size,
        .run_id = run->run_id,
        .epoch = run->options.epoch,
        .token_key = learner_admission_key(run->admission),
        .counts_from_zero = learner_progress_before(run->progress).env_steps == 0,
        .turn = learner_folder_resumed(run->folder)->policy_version,
        .versions = learner_folder_versions(run->folder),
    };
    memcpy(options.turn_digest, learner_folder_resumed(run->folder)->turn.replay,
           sizeof(options.turn_digest));
    return options;
}

static void
init_log(void *arg, const char *line)
{
    (void)arg;
    oct_log_notice("LEARNER-INIT", "%s", line);
}

// Sets the algorithm's state before the first update: from the checkpoint, or else from
// learner.init_from.
static oct_err
state_read(learner_run *run, algo *algorithm, oct_reason *why)
{
    quantizer_observed *observed = learner_publisher_observed(run->publisher);
    const learner_state_bytes *state = learner_folder_resumed(run->folder)->state;
    if (state == NULL) {
        return learner_init_from_is_wanted(run->config)
                   ? learner_init_from(algorithm, run->config, &run->spec, observed, init_log, NULL,
                                       why)
                   : OCT_OK;
    }
    oct_reader reader = {.at = state->bytes, .left = state->length};
    if (algo_load(algorithm, &reader) != OCT_OK ||
        learner_train_load(run->average, observed, &reader) != OCT_OK) {
        return oct_refuse(
            why,
            "the checkpoint in %s was written with another algorithm, network or support than "
            "algo.* and network.* specify%s; resume with the original settings",
            run->options.folder,
            run->spec.obs_high > 0 ? ", or by a release that did not divide byte observations"
                                   : "");
    }
    learner_folder_forget_state(run->folder);
    return OCT_OK;
}

// Rounds weights again after the scaling of observations is known, on which the rounding depends.
static oct_err
join_state(learner_run *run, algo *algorithm, oct_reason *why)
{
    OCT_TRY(state_read(run, algorithm, why));
    if (run->config->learner.quantisation_aware) {
        algo_renew(algorithm);
    }
    return OCT_OK;
}

static void
average_begin(learner_run *run)
{
    double decay = run->config->learner.ema_decay;
    run->average = decay > 0 ? learner_average_create(policy_spec_params(&run->spec), decay) : NULL;
}

// Makes run->algorithm, once, with the state from which the run continues.
static oct_err
join_algorithm(learner_run *run, const policy_spec *environment, oct_reason *why)
{
    run->spec = *environment;
    OCT_TRY(kernels_begin(run, why));
    OCT_TRY(algo_make_spec(run->config, &run->spec, &run->wants, why));
    run->spec.normalise =
        run->config->policy.scale_observations && quantizer_is_scalable(&run->spec);
    OCT_TRY(policy_spec_check(&run->spec, why));
    learner_source_options source = source_options(run);
    OCT_TRY(learner_source_check(&source, why));
    OCT_TRY(learner_publisher_check(run->config, &run->spec, why));
    OCT_TRY(budget_check(run, why));
    config_experiment *own = oct_alloc(sizeof(*own));
    learner_group_config(run->options.lg, run->config, own);
    oct_err err = algo_create(&run->algorithm, run->nn, own, &run->spec, run->config->run.seed);
    free(own);
    if (err == OCT_OK) {
        err = learner_publisher_project(run->publisher, &run->spec, run->algorithm);
    }
    if (err != OCT_OK) {
        return cannot_create(err, why);
    }
    average_begin(run);
    OCT_TRY(join_state(run, run->algorithm, why));
    learner_init_from_frozen(run->config, init_log, NULL);
    return OCT_OK;
}

static void
batches_begin(learner_run *run)
{
    const learner_batches_options options = {
        .source = source_options(run),
        .place = learner_folder_resumed(run->folder)->replay,
        .gone = learner_folder_resumed(run->folder)->gone,
        .now_ns = oct_clock_ns(),
    };
    run->batches = learner_batches_create(&options);
}

// Opens the connection to an external learning process, if the run uses one.
static oct_err
external_begin(learner_run *run, oct_reason *why)
{
    if (run->config->algo.name != CONFIG_ALGO_EXTERNAL) {
        return OCT_OK;
    }
    OCT_TRY(learner_external_open(&run->external, run->config, &run->spec, &run->wants,
                                  run->algorithm, run->options.folder, why));
    const algo_external_learner its = learner_external_learner(run->external);
    algo_external_set_learner(run->algorithm, &its);
    return OCT_OK;
}

static oct_err
join_start(learner_run *run)
{
    const learner_publisher_options options = {
        .spec = &run->spec,
        .run_id = run->run_id,
        .run_name = run->run_name,
        .last_version = learner_folder_resumed(run->folder)->policy_version,
        .notify = run->options.notify,
        .arg = run->options.arg,
    };
    OCT_TRY(learner_publisher_begin(run->publisher, &options));
    batches_begin(run);
    learner_progress_begin(run->progress, run->batches, algo_updates(run->algorithm));
    run->train = learner_train_create(
        run->algorithm, run->config, learner_publisher_stage(run->publisher),
        learner_batches_count(run->batches), run->options.notify, run->options.arg);
    run->algorithm = NULL;
    learner_train_observe(run->train, learner_publisher_observed(run->publisher));
    learner_train_average(run->train, run->average);
    learner_train_share(run->train, run->options.lg, &run->spec, learner_batch_rows(&run->wants));
    learner_train_publish_by_order(run->train, run->pace->repeats);
    learner_train_set_env_steps(run->train, learner_progress_before(run->progress).env_steps);
    learner_train_set_share(run->train, learner_progress_share(run->progress));
    learner_train_set_refused(run->train, learner_folder_resumed(run->folder)->turn.refused);
    learner_folder_start(run->folder);
    // A checkpoint comes before the first publication, so that a restarted learner keeps this run
    // id. A run that repeats what followed its checkpoint continues from it, id included.
    (void)learner_folder_reserve(run->folder, learner_folder_resumed(run->folder)->policy_version);
    if (!run->pace->repeats || learner_folder_resumed(run->folder)->policy_version == 0) {
        learner_run_store(run, learner_train_state(run->train), false);
    }
    if (!learner_progress_ends_again(run->progress)) {
        OCT_TRY(learner_train_start(run->train));
    }
    run->pace->begin(run->pacer, run->train, run->batches);
    return OCT_OK;
}

static void
environment_told(const learner_run *run, const char *from)
{
    char words[512];
    learner_environment_words(&run->environment, words, sizeof(words));
    oct_log_notice("LEARNER-ENVIRONMENT",
                   "%s; known from %s; actors with another environment are refused", words, from);
}

// Records the environment of the first actor as the run's, because no file described it. It holds
// for the life of the run folder.
static void
environment_pin(learner_run *run, const wire_env_spec *env, const policy_spec *spec)
{
    run->environment = *spec;
    run->has_environment = true;
    learner_folder_environment(run->folder, env);
    environment_told(run, "the first actor that registered");
}

oct_err
learner_training_environment(learner_run *run, oct_reason *why)
{
    char path[OCT_FILE_PATH_MAX];
    const char *given = run->options.environment;
    (void)snprintf(path, sizeof(path), "%s/%s", run->options.folder, LEARNER_ENVIRONMENT_FILE);
    if (given == NULL && !run->options.resume) {
        return OCT_OK;
    }
    oct_err err = learner_environment_read(given != NULL ? given : path, &run->environment,
                                           &run->metrics, why);
    if (err == OCT_ENOTFOUND && given == NULL) {
        return OCT_OK; // the earlier process had no environment yet
    }
    if (err == OCT_OK) {
        run->has_environment = true;
        environment_told(run, given != NULL ? given : path);
    }
    return err;
}

// Starts training. Uses environment only if no environment was known before.
static oct_err
training_begin(learner_run *run, const policy_spec *environment, oct_reason *why)
{
    if (run->algorithm == NULL) {
        OCT_TRY(join_algorithm(run, environment, why));
    }
    OCT_TRY(external_begin(run, why));
    if (join_start(run) != OCT_OK) {
        return oct_refuse(why, "the learner could not start its threads");
    }
    budget_log(&run->budget);
    learner_counts begin = learner_progress_before(run->progress);
    oct_log_notice("LEARNER-START",
                   "env=%s obs=%u actions=%u layers=%u run=%016" PRIx64 " updates=%" PRIu64
                   " env_steps=%" PRIu64,
                   run->spec.env_id, run->spec.obs_count, run->spec.action_count,
                   run->spec.layer_count, run->run_id, begin.updates, begin.env_steps);
    if (run->spec.obs_high > 0) {
        oct_log_notice("LEARNER-BYTES",
                       "observations are bytes up to %u; the learner divides them by %g, and "
                       "divides the first layer of published policies by the same number",
                       run->spec.obs_high, 1 / (double)policy_byte_unit(run->spec.obs_high));
    }
    learner_report_start(run->report, &run->metrics, run->train, run->batches);
    learner_progress_enter(run->progress, LEARNER_TRAINING);
    if (learner_progress_ends_again(run->progress)) {
        training_end_again(run);
    }
    return OCT_OK;
}

oct_err
learner_training_prepare(learner_run *run, oct_reason *why)
{
    if (!run->has_environment) {
        return OCT_OK;
    }
    return config_is_offline(run->config) ? training_begin(run, &run->environment, why)
                                          : join_algorithm(run, &run->environment, why);
}

oct_err
learner_run_begin(learner_run *run, const wire_env_spec *env, oct_reason *why)
{
    policy_spec spec;
    learner_environment_of(&spec, env);
    if (learner_progress_is(run->progress, LEARNER_DONE)) {
        return oct_fail(why, OCT_EAGAIN, "the run has ended");
    }
    if (run->has_environment) {
        OCT_TRY(learner_environment_alike(&run->environment, &spec, why));
    }
    if (run->train != NULL) {
        return OCT_OK;
    }
    // environment.oct of older releases has no metrics.
    bool has_new_metrics = run->metrics.count == 0 && env->metric_count > 0;
    if (has_new_metrics) {
        oct_metric_names_of(&run->metrics, env->metric_name, env->metric_count);
    }
    if (training_begin(run, &spec, why) != OCT_OK) {
        // The actor has the experiment's environment, so no other actor could start training
        // either.
        oct_log_error("LEARNER-CANNOT-TRAIN", "%s", why->text);
        learner_run_fail(run, "refused");
        return OCT_EAGAIN;
    }
    if (!run->has_environment) {
        environment_pin(run, env, &spec);
    } else if (has_new_metrics) {
        learner_folder_environment(run->folder, env);
    }
    return OCT_OK;
}

oct_err
learner_run_register(learner_run *run, const wire_register *request, const oct_holder *holder,
                     learner_actor **out, oct_reason *why)
{
    if (request->run_id != 0 && request->run_id != run->run_id) {
        return oct_fail(why, OCT_ESTALE, "it has the configuration of run %016" PRIx64,
                        request->run_id);
    }
    OCT_TRY(learner_run_machine(run, "of this actor's machine", request->libm, why));
    OCT_TRY(learner_run_begin(run, &request->env, why));
    return learner_admission_register(run->admission, request, holder, out, why);
}

bool
learner_run_asks_sessions(learner_run *run, wire_sessions *out)
{
    bool is_some = learner_progress_is(run->progress, LEARNER_TRAINING) &&
                   learner_actors_unproved(run->actors, oct_clock_ns(), out) > 0;
    if (is_some) {
        out->run_id = run->run_id;
    }
    return is_some;
}

void
learner_run_inserted(learner_run *run, const wire_sessions *answer)
{
    if (answer->run_id == run->run_id) {
        learner_actors_inserted(run->actors, answer);
    }
}
