// One experiment without its sockets. learner_io.c owns the sockets and calls this object on the
// loop thread; tests drive it without a network. This file makes the parts, and has publishing,
// the evaluators' requests and reports, and the periodic work.
//
// Parts. Each is opaque and knows only the parts that it was given:
//   learner_progress   phase, counts, budget, why the run ends
//   learner_folder     every file of the run folder, and what a resumed run continues from
//   learner_admission  who may take part, and how much one certificate may use
//   learner_pace       when the run acts: by the clock, or in lock-step by turns
//   learner_report     numbers, metrics, status, summary
//   learner_refusals   updates that were refused, and whose rows caused that
//   learner_evals, learner_publisher, learner_batches, learner_train, learner_actors
// learner_training.c begins and ends training, and learner_experience.c moves batches between the
// replays and the training thread.
//
// Threads. The training thread owns the algorithm while it runs: it takes complete batches and
// hands snapshots to the quantizer stage, which makes publications in its own thread. Both only
// call notify; the loop thread takes their results in learner_run_collect and learner_run_publish.
// A writer thread writes checkpoints, so that a slow disk does not stop training. All other state
// belongs to the loop thread, so it needs no lock.
//
// Failures.
// - An actor or evaluator becomes silent: its slot can be reused, and its evaluation goes to
//   another evaluator.
// - A replay loses the table: it is configured again; in lock-step the run starts over from its
//   last checkpoint, because the rest of the turn would differ.
// - An update is refused (its loss is not finite): parameters stay, and the refusal is counted. The
//   run fails as diverged after too many in a row, or if it ends and all its updates were refused.
// - A file cannot be written: learner_run_trouble reports it, and the write is tried again. A
//   version whose number is not reserved on disk is not sent to actors.
// - The process is killed: the next one continues from the newest complete checkpoint, with
//   versions above all that actors may have.
// - Another learner takes the run over: this one writes nothing more (learner_run_abandon).
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_libm.h"
#include "common/oct_log.h"
#include "common/oct_reason.h"
#include "common/oct_rng.h"
#include "common/oct_text.h"
#include "learner/learner_run_state.h"

static double
seconds_since(uint64_t from_ns)
{
    return (double)(oct_clock_ns() - from_ns) * 1e-9;
}

// ---- life

static oct_err
folder_open(learner_run *run, oct_reason *why)
{
    const learner_folder_options options = {
        .config = run->config,
        .path = run->options.folder,
        .run_name = run->run_name,
        .spec = &run->spec,
        .metrics = &run->metrics,
        .resume = run->options.resume,
        .repeats = run->pace->repeats,
    };
    return learner_folder_open(&run->folder, &options, why);
}

// Makes the parts that continue from the folder's checkpoint.
static void
parts_create(learner_run *run)
{
    const learner_checkpoint *resumed = learner_folder_resumed(run->folder);
    run->run_id = resumed->run_id;
    run->progress = learner_progress_create(run->config, resumed, run->options.evaluator_wait_s);
    run->refusals = learner_refusals_create();
    run->publisher = learner_publisher_create(run->config);
    run->actors = learner_actors_create(run->config->learner.actors_per_certificate);
    learner_actors_go_on(run->actors, resumed->incarnations);
    run->evals = learner_evals_create(run->config, &resumed->evals);
    const learner_pace_parts parts = {
        .run = run,
        .config = run->config,
        .path = run->options.folder,
        .epoch = run->options.epoch,
        .progress = run->progress,
        .folder = run->folder,
        .actors = run->actors,
        .evals = run->evals,
        .publisher = run->publisher,
    };
    run->pacer = run->pace->create(&parts);
}

static oct_err
report_begin(learner_run *run, oct_reason *why)
{
    const learner_report_options options = {
        .config = run->config,
        .path = run->options.folder,
        .progress = run->progress,
        .folder = run->folder,
        .refusals = run->refusals,
        .publisher = run->publisher,
        .evals = run->evals,
        .actors = run->actors,
        .lg = run->options.lg,
        .tallies = &run->tallies,
    };
    if (learner_report_open(&run->report, &options) != OCT_OK) {
        return oct_fail(why, OCT_EIO, "%s/metrics.csv: %s", run->options.folder,
                        oct_file_strerror(errno));
    }
    return OCT_OK;
}

static oct_err
run_begin(learner_run *run, oct_reason *why)
{
    OCT_TRY(folder_open(run, why));
    parts_create(run);
    if (learner_folder_is_resumed(run->folder) && run->pace->resume_check != NULL) {
        OCT_TRY(run->pace->resume_check(run->pacer, why));
    }
    uint8_t key[WIRE_TOKEN_KEY_BYTES];
    OCT_TRY(learner_folder_key(run->folder, key, why));
    const learner_admission_options options = {
        .config = run->config,
        .run_id = run->run_id,
        .key = key,
        .actors = run->actors,
        .tallies = &run->tallies,
        .pace = run->pace,
        .pacer = run->pacer,
    };
    run->admission = learner_admission_create(&options);
    explicit_bzero(key, sizeof(key));
    OCT_TRY(learner_training_environment(run, why));
    OCT_TRY(report_begin(run, why));
    learner_folder_restore(run->folder, run->evals, run->publisher);
    learner_progress_resume(run->progress, run->options.folder, learner_evals_solved(run->evals));
    return learner_training_prepare(run, why);
}

oct_err
learner_run_create(learner_run **out, const learner_run_options *options, oct_reason *why)
{
    learner_run *run = oct_alloc(sizeof(*run));
    run->options = *options;
    run->config = options->config;
    run->created_ns = oct_clock_ns();
    run->pace = run->config->run.deterministic ? &learner_pace_turns : &learner_pace_clock;
    run->libm = run->pace->repeats ? oct_libm_sum() : 0;
    const char *name =
        run->config->run.name[0] != '\0' ? run->config->run.name : run->config->env.id;
    oct_text_copy(run->run_name, sizeof(run->run_name), name);
    oct_err err = run_begin(run, why);
    if (err != OCT_OK) {
        learner_run_destroy(run);
        return err;
    }
    *out = run;
    return OCT_OK;
}

void
learner_run_destroy(learner_run *run)
{
    if (run == NULL) {
        return;
    }
    if (run->train != NULL) {
        learner_run_stop_training(run);
    }
    learner_folder_close(run->folder);
    run->pace->destroy(run->pacer);
    learner_train_destroy(run->train);
    algo_destroy(run->algorithm);
    learner_external_close(run->external);
    nn_context_destroy(run->nn);
    learner_evals_destroy(run->evals);
    learner_publisher_destroy(run->publisher);
    learner_average_destroy(run->average);
    learner_batches_destroy(run->batches);
    learner_admission_destroy(run->admission);
    learner_actors_destroy(run->actors);
    learner_report_close(run->report);
    learner_refusals_destroy(run->refusals);
    learner_progress_destroy(run->progress);
    free(run);
}

void
learner_run_stop_training(learner_run *run)
{
    if (run->external != NULL) {
        learner_external_stop(run->external);
    }
    learner_train_stop(run->train);
    if (run->external != NULL) {
        learner_external_end(run->external, learner_progress_reason(run->progress));
    }
}

learner_phase
learner_run_phase(const learner_run *run)
{
    return learner_progress_phase(run->progress);
}

uint64_t
learner_run_id(const learner_run *run)
{
    return run->run_id;
}

learner_actors *
learner_run_actors(learner_run *run)
{
    return run->actors;
}

learner_admission *
learner_run_admission(learner_run *run)
{
    return run->admission;
}

const policy_spec *
learner_run_spec(const learner_run *run)
{
    return run->train != NULL ? &run->spec : NULL;
}

// ---- publishing

// The version that the stage gives next. The queue holds no versions of an earlier process.
static uint64_t
version_next(const learner_run *run)
{
    const quantizer_publication *latest = learner_publisher_latest(run->publisher);
    return (latest != NULL ? latest->version
                           : learner_folder_resumed(run->folder)->policy_version) +
           1;
}

const quantizer_publication *
learner_run_publish_to_evaluators(learner_run *run)
{
    const quantizer_publication *publication = learner_publisher_take(run->publisher);
    if (publication == NULL) {
        return NULL;
    }
    const config_experiment *config = run->config;
    if (run->wants.each_once && !run->wants.any_policy &&
        learner_publisher_is_rare(run->publisher,
                                  config->learner.asynchronous ? config->learner.count : 1)) {
        oct_log_warn(
            "LEARNER-OLD-POLICIES",
            "learner.publish_period=%u publish_s_min=%g publish_core_share=%g: there are several "
            "updates for each version, but an algorithm that uses each step once needs the newest "
            "policy to act; set learner.publish_period: 1 and learner.publish_s_min: 0",
            config->learner.publish_period, config->learner.publish_s_min,
            config->learner.publish_core_share);
    }
    if (!publication->noisy) {
        learner_evals_newest(run->evals, learner_publisher_latest(run->publisher));
        learner_training_published(run);
    }
    if (run->pace->published != NULL) {
        run->pace->published(run->pacer, publication);
    }
    return publication;
}

const quantizer_publication *
learner_run_publish(learner_run *run)
{
    // A publication that waits here stays in the stage, which makes no more than its queue holds.
    bool may_take = run->train != NULL && learner_folder_reserve(run->folder, version_next(run));
    return may_take ? learner_run_publish_to_evaluators(run) : NULL;
}

const quantizer_publication *
learner_run_latest(const learner_run *run)
{
    return learner_publisher_latest(run->publisher);
}

uint32_t
learner_run_audience(const learner_run *run, const learner_actor *actor)
{
    uint32_t samples = run->config->algo.noisy ? run->config->algo.noisy_samples : 1;
    return actor->role == WIRE_ROLE_ACTOR && samples > 1 ? learner_actor_sample(actor, samples) + 1
                                                         : 0;
}

// Each process of a run uses other topics, because it may assign an actor's index to another actor.
// Until an actor registers again, it receives no policies, rather than another actor's. Topics
// differ because each process begins at another version.
uint32_t
learner_run_topic(const learner_run *run, uint32_t audience)
{
    uint64_t mixed = oct_rng_mix(oct_rng_mix(0, run->run_id),
                                 learner_folder_resumed(run->folder)->policy_version);
    uint32_t first = 1 + (uint32_t)(mixed % (UINT32_MAX - CONFIG_NOISY_SAMPLES_MAX));
    return audience > 0 ? first + audience - 1 : 0;
}

const quantizer_publication *
learner_run_newest(learner_run *run, const learner_actor *actor, uint64_t have)
{
    return run->pace->newest(run->pacer, actor, have);
}

uint32_t
learner_run_incarnation(const learner_run *run, const learner_actor *actor)
{
    return run->pace->incarnation(run->pacer, actor);
}

// ---- evaluations

static bool
evaluator_is_there(void *arg, uint32_t id)
{
    learner_run *run = arg;
    const learner_actor *evaluator = learner_actors_find(run->actors, id);
    // An evaluator with an order of an earlier process may not have registered yet.
    if (evaluator == NULL) {
        return learner_progress_begin_ns(run->progress) == 0 ||
               seconds_since(learner_progress_begin_ns(run->progress)) < LEARNER_ACTOR_SILENT_S;
    }
    return learner_actor_is_live(evaluator, oct_clock_ns());
}

void
learner_run_count_unread(learner_run *run)
{
    if (run->tallies.answers_refused++ == 0) {
        oct_log_warn("LEARNER-UNREAD", "peers do not read the policies that they ask for: further "
                                       "requests are refused until they do, and only counted");
    }
}

oct_err
learner_run_order(learner_run *run, uint32_t evaluator, learner_eval_order *out)
{
    learner_actor *actor = learner_actors_find(run->actors, evaluator);
    if (actor == NULL) {
        return OCT_ENOTFOUND;
    }
    if (actor->role != WIRE_ROLE_EVALUATOR) {
        learner_admission_ignored(run->admission, actor,
                                  "asks for an evaluation, but is not an evaluator");
        return OCT_EINVAL;
    }
    if (learner_progress_is(run->progress, LEARNER_DONE) || !run->pace->may_evaluate(run->pacer)) {
        return OCT_EAGAIN;
    }
    uint32_t evaluators = learner_actors_live_get(run->actors, oct_clock_ns()).evaluators;
    learner_evals_set_evaluators(run->evals, OCT_MIN(evaluators, run->pace->evaluators_max));
    learner_evals_drop_gone(run->evals, evaluator_is_there, run);
    if (!learner_admission_may_evaluate(run->admission, actor)) {
        return OCT_EAGAIN;
    }
    OCT_TRY(learner_evals_order(run->evals, run->pace->evaluation_now_ns(run->pacer),
                                oct_clock_ns(), evaluator, out));
    learner_admission_ordered(run->admission, actor, out->ticket);
    return OCT_OK;
}

// ---- reports

static void
curve_add(learner_run *run, const learner_eval_result *result)
{
    // The point has the steps and the time of the policy, not of its later evaluation. A run
    // without environment steps counts updates.
    learner_curve_point point = {
        .wall_s = learner_progress_wall_s(run->progress, result->made_ns),
        .env_steps = (double)(config_is_offline(run->config) ? result->updates : result->env_steps),
        .mean = result->mean,
        .std = result->std,
    };
    learner_report_evaluation(run->report, result, point.wall_s);
    if (result->made_ns == 0 && !learner_progress_ends_again(run->progress)) {
        return; // the policy is of an earlier process, which added the point
    }
    learner_folder_curve_add(run->folder, &point);
}

// Takes the failure of an evaluation. The run no longer waits for a result of this version.
static oct_err
evaluation_failed(learner_run *run, const wire_report *report)
{
    learner_eval_stage stage;
    OCT_TRY(learner_evals_failed(run->evals, report->actor_id, report->ticket,
                                 report->policy_version, &stage));
    learner_report_failed(run->report, stage, report->policy_version);
    return OCT_OK;
}

// Sorts the environment's metrics in an evaluator's report by the run's order. Metrics that the run
// does not know are left out.
static void
metrics_of(const learner_run *run, const wire_report *report, oct_metric out[OCT_METRICS_MAX])
{
    for (uint32_t i = 0; i < report->metric_count; i++) {
        for (uint32_t k = 0; k < run->metrics.count; k++) {
            if (strcmp(run->metrics.name[k], report->metric_name[i]) == 0) {
                out[k] = (oct_metric){report->metric_sum[i], report->metric_episodes[i]};
            }
        }
    }
}

// Returns a number of a report, 0 if the report has none of that name. A peer may send NaN.
static double
stat_of(const wire_report *report, const char *name)
{
    for (uint32_t i = 0; i < report->stat_count; i++) {
        if (strcmp(report->stat_name[i], name) == 0) {
            return report->stat_value[i];
        }
    }
    return 0;
}

static oct_err
evaluation_take(learner_run *run, const wire_report *report)
{
    learner_eval_result result;
    oct_metric metrics[OCT_METRICS_MAX] = {0};
    metrics_of(run, report, metrics);
    const learner_eval_answer answer = {
        .episodes = report->episode_count,
        .returns = report->episode_return,
        .lengths = report->episode_length,
        .metrics = metrics,
        .failed = (uint64_t)fmax(0.0, stat_of(report, "evaluation_failed")),
        .truncated = (uint64_t)fmax(0.0, stat_of(report, "evaluation_truncated")),
    };
    oct_err err = learner_evals_report(run->evals, report->actor_id, report->ticket,
                                       report->policy_version, &answer, &result);
    if (err == OCT_OK || err == OCT_EAGAIN) {
        learner_progress_heard(run->progress); // an evaluator is working
        learner_report_played(run->report, report->episode_count,
                              fmax(0.0, stat_of(report, "evaluation_s")));
    }
    if (err != OCT_OK) {
        return err; // part of a result, or too late: another evaluator has the evaluation
    }
    curve_add(run, &result);
    oct_log(result.stage == LEARNER_EVAL_SCREEN ? OCT_LOG_DEBUG : OCT_LOG_NOTICE, "LEARNER-EVAL",
            "stage=%s version=%" PRIu64 " episodes=%u mean=%.2f std=%.2f failed=%" PRIu64,
            learner_eval_stage_name[result.stage], result.version, result.episodes, result.mean,
            result.std, result.failed);
    bool is_solved =
        result.stage == LEARNER_EVAL_CONFIRM && result.mean >= run->config->run.stop_at_return;
    if (is_solved && learner_progress_is(run->progress, LEARNER_TRAINING)) {
        run->pace->finish(run->pacer, LEARNER_END_SOLVED);
    }
    return OCT_OK;
}

static void
evaluation_progress(learner_run *run, const wire_report *report)
{
    double ticket = stat_of(report, "playing_ticket");
    double calls = stat_of(report, "playing_calls"), done = stat_of(report, "playing_episodes");
    calls = calls > 0 ? calls : stat_of(report, "playing_steps"); // name in the previous release
    bool is_sane = ticket > 0 && ticket < 0x1p53 && calls > 0 && calls < 0x1p53 && done >= 0 &&
                   done <= WIRE_EPISODES_MAX;
    if (is_sane && learner_evals_progress(run->evals, oct_clock_ns(), report->actor_id,
                                          (uint64_t)ticket, (uint64_t)calls, (uint32_t)done)) {
        learner_progress_heard(run->progress);
    }
}

// Takes an evaluator's report: a result, a failure, or progress. OCT_EINVAL: the result is not for
// an evaluation that this evaluator was given.
static oct_err
evaluator_report(learner_run *run, learner_actor *actor, const wire_report *report)
{
    oct_err err = OCT_OK;
    if (report->ticket != 0 && report->episode_count == 0) {
        err = evaluation_failed(run, report);
    } else if (report->ticket != 0) {
        err = evaluation_take(run, report);
    } else {
        evaluation_progress(run, report);
    }
    if (report->ticket != 0 && report->ticket == actor->ticket &&
        (err == OCT_OK || err == OCT_EAGAIN)) { // answered
        learner_admission_answered(run->admission, actor);
    }
    if (learner_progress_is(run->progress, LEARNER_FINAL) && learner_evals_done(run->evals)) {
        learner_progress_enter(run->progress, LEARNER_DONE);
    }
    if (err == OCT_EINVAL || err == OCT_EPROTO) {
        learner_admission_ignored(
            run->admission, actor,
            err == OCT_EINVAL ? "sends results of an evaluation that another evaluator plays"
                              : "sends episodes that it was not asked for");
        return OCT_EINVAL;
    }
    return OCT_OK;
}

static void
leave(learner_run *run, learner_actor *actor)
{
    if (run->pace->waits_for_actors) {
        return;
    }
    if (learner_admission_may_tell(run->admission, &actor->holder)) {
        oct_log_info("LEARNER-LEFT", "%s=%08" PRIx32 " host=\"%s\" pid=%u certificate=\"%s\"",
                     actor->role == WIRE_ROLE_EVALUATOR ? "evaluator" : "actor", actor->id,
                     actor->host, actor->pid, actor->holder.name);
    }
    learner_actors_leave(run->actors, actor);
}

oct_err
learner_run_report(learner_run *run, const wire_report *report)
{
    learner_actor *actor = learner_admission_find(run->admission, report->actor_id, report->token);
    if (actor == NULL || actor->session != report->session) {
        return OCT_ENOTFOUND;
    }
    if (report->leaves) {
        leave(run, actor);
        return OCT_OK;
    }
    const char *what = NULL;
    oct_err err = learner_actors_report(run->actors, actor, report, oct_clock_ns(), &what);
    if (err == OCT_EINVAL) {
        learner_admission_ignored(run->admission, actor, what);
        return OCT_EINVAL;
    }
    if (err != OCT_OK) {
        return OCT_OK; // learner_actors_report has counted it
    }
    if (actor->role == WIRE_ROLE_EVALUATOR) {
        return evaluator_report(run, actor, report);
    }
    if (report->ticket != 0) {
        learner_admission_ignored(run->admission, actor,
                                  "sends results of an evaluation, but is not an evaluator");
        return OCT_EINVAL;
    }
    for (uint32_t i = 0; i < report->episode_count; i++) {
        learner_report_episode(run->report, report->episode_return[i], report->episode_length[i]);
    }
    return OCT_OK;
}

// ---- time

// Warns if no evaluator is connected, as can happen in a run started by hand: it would end without
// a return.
static void
evaluator_tick(learner_run *run, uint32_t evaluators, uint64_t now_ns)
{
    bool had_one = run->evaluator_ns != 0;
    if (evaluators > 0) {
        run->evaluator_ns = now_ns;
        run->evaluator_missed = false;
    } else if (!run->evaluator_missed &&
               seconds_since(had_one ? run->evaluator_ns
                                     : learner_progress_begin_ns(run->progress)) >
                   run->options.missed_s) {
        run->evaluator_missed = true;
        oct_log_warn(
            "LEARNER-NO-EVALUATOR",
            "no evaluator %s, so no return is measured%s; start one: octet-actor --evaluate "
            "--learner %s",
            had_one ? "is connected any more" : "has registered",
            isnan(run->config->run.stop_at_return) ? "" : " and run.stop_at_return has no effect",
            run->config->net.learner);
    }
}

// Logs that the run waits for an actor, for a learner started by hand. In lock-step the turns log
// it.
static void
actor_tick(learner_run *run, uint32_t actors)
{
    bool is_offline = config_is_offline(run->config);
    bool needs_one = learner_progress_is(run->progress, LEARNER_WAITING) ||
                     (learner_progress_is(run->progress, LEARNER_TRAINING) && !is_offline &&
                      !run->pace->waits_for_actors);
    if (actors > 0) {
        run->actor_missed = true;
    } else if (needs_one && !run->actor_missed &&
               seconds_since(run->created_ns) > run->options.missed_s) {
        run->actor_missed = true;
        oct_log_notice("LEARNER-NO-ACTOR",
                       "no %s has registered yet; start one: octet-actor%s --learner %s",
                       is_offline ? "evaluator, which knows the environment," : "actor",
                       is_offline ? " --evaluate" : "", run->config->net.learner);
    }
}

void
learner_run_tick(learner_run *run)
{
    uint64_t now_ns = oct_clock_ns();
    learner_actors_live live = learner_actors_live_get(run->actors, now_ns);
    actor_tick(run, live.actors);
    if (learner_progress_is(run->progress, LEARNER_FINAL)) {
        learner_progress_tick(run->progress, live.evaluators, learner_evals_patience_s(run->evals),
                              now_ns);
    }
    if (!learner_progress_is(run->progress, LEARNER_TRAINING)) {
        return;
    }
    learner_train_set_env_steps(run->train, learner_progress_now(run->progress).env_steps);
    learner_train_set_share(run->train, run->pace->share(run->pacer));
    quantizer_stage_set_listeners(learner_publisher_stage(run->publisher), live.actors);
    uint64_t samples = learner_actors_samples(run->actors, now_ns, run->config->algo.noisy_samples);
    learner_train_set_samples(run->train, samples);
    learner_publisher_forget(run->publisher, samples);
    learner_report_row(run->report, false);
    learner_folder_tick(run->folder, now_ns);
    evaluator_tick(run, live.evaluators, now_ns);
    run->pace->tick(run->pacer, now_ns);
}

const char *
learner_run_no_checkpoint(const learner_run *run)
{
    if (learner_progress_is(run->progress, LEARNER_WAITING)) {
        return "no actor has joined yet, so there is nothing to save in a checkpoint";
    }
    if (!learner_progress_is(run->progress, LEARNER_TRAINING)) {
        return "training has ended; the learner saves everything and exits";
    }
    return run->pace->no_checkpoint;
}

const char *
learner_run_no_relay(const learner_run *run)
{
    return run->pace->no_relay;
}

uint32_t
learner_run_return_timeout_ms(const learner_run *run)
{
    return run->pace->return_timeout_ms;
}

uint64_t
learner_run_checkpoint(learner_run *run)
{
    if (learner_progress_is(run->progress, LEARNER_TRAINING)) {
        run->pace->checkpoint(run->pacer);
    }
    return learner_folder_checkpoint_next(run->folder);
}

oct_err
learner_run_checkpointed(learner_run *run, uint64_t number, wire_written *out, oct_reason *why)
{
    if (learner_folder_missed(run->folder)) {
        (void)learner_run_checkpoint(run);
    }
    return learner_folder_checkpointed(run->folder, number, out, why);
}

const char *
learner_run_trouble(learner_run *run)
{
    const char *unwritten = learner_folder_trouble(run->folder);
    if (unwritten != NULL) {
        return unwritten;
    }
    const char *unkept = learner_run_unkept(run),
               *refused = learner_admission_last_refused(run->admission);
    bool has_nobody = !config_is_offline(run->config) &&
                      learner_actors_live_get(run->actors, oct_clock_ns()).actors == 0;
    if (unkept != NULL || refused[0] == '\0' || !has_nobody) {
        return unkept;
    }
    (void)snprintf(run->trouble, sizeof(run->trouble),
                   "no actor is running, and the last one was refused: %s", refused);
    return run->trouble;
}

bool
learner_run_starts_over(const learner_run *run)
{
    return run->starts_over;
}

oct_err
learner_run_machine(const learner_run *run, const char *where, uint64_t libm, oct_reason *why)
{
    if (!run->pace->repeats || libm == run->libm) {
        return OCT_OK;
    }
    return oct_refuse(
        why,
        "run.deterministic: the C library %s rounds differently from the learner's (%016" PRIx64
        " and %016" PRIx64 "), so the run would not be repeatable",
        where, libm, run->libm);
}

void
learner_run_count_refused(learner_run *run)
{
    run->tallies.bad_requests++;
}

void
learner_run_set_relays(learner_run *run, uint32_t count)
{
    run->tallies.relays = count;
}

void
learner_run_set_traffic(learner_run *run, const learner_traffic *traffic)
{
    run->tallies.traffic = *traffic;
}

const wire_status *
learner_run_status(learner_run *run)
{
    return learner_report_status(run->report, learner_admission_last_refused(run->admission));
}

const wire_peers *
learner_run_peers(learner_run *run, const learner_relays *relays, uint32_t count_max)
{
    return learner_report_peers(run->report, relays, count_max);
}

void
learner_run_prometheus(learner_run *run, oct_prometheus *text)
{
    learner_report_prometheus(run->report, text);
}
