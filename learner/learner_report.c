// What a run tells about itself: numbers, measured here and reported by loops over the registry.
//
// 1. learner_numbers.c names each number once, with where it is shown. measure writes all present
//    values into learner_measurements: it asks the parts of the run, and adds what the run noted
//    here (episodes, evaluations, numbers of updates) and its tallies.
// 2. The status and Prometheus measure when they are asked. A row of metrics.csv is due every
//    learner.metrics_s; it also has the differences since the last row. Rates count only the time
//    in which the run trained (row_trained_s), and none are given if that was too short.
// 3. After training rows follow the final evaluations instead of the clock: one for the evaluation
//    that training ended with, and one for each that ends after it.
// 4. The summary takes the same counts at the end, and explains what a user should know: why there
//    is no full evaluation, or that sampled actions did better than greedy ones.
//
// Failures. A number that was not measured is NaN: an empty cell. A row that cannot be written is
// left out, and the folder reports the failure until a row succeeds. An opening that fails ends the
// start of the run.
#include "learner/learner_report.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_log.h"
#include "common/oct_spread.h"
#include "common/oct_text.h"
#include "learner/learner_actors_wanted.h"
#include "learner/learner_atoms_warning.h"
#include "learner/learner_metrics.h"
#include "learner/learner_numbers.h"

#define RATE_ROW_SHARE 0.25 // of learner.metrics_s: shorter training has no rates
// A mean of RETURNS_LEAST training episodes or more is much better than that of an evaluation if it
// is higher by BETTER_SHARE of the larger of the two and by BETTER_ERRORS standard errors.
#define RETURNS_LEAST 20
#define BETTER_SHARE  0.2
#define BETTER_ERRORS 4
#define RETURNS_KEPT  100
#define WHY_BYTES     256

struct learner_report {
    learner_report_options o;
    const learner_train *train; // NULL before training begins, as batches
    const learner_batches *batches;
    learner_peers *peers;
    oct_numbers *numbers;
    learner_measurements now;
    learner_means means; // of the numbers that the algorithm gives with each update
    learner_eval_metrics eval_metrics;
    learner_metrics *metrics;
    wire_status status;
    const char *status_name[WIRE_STATS_MAX];
    double status_value[WIRE_STATS_MAX];
    // evaluations
    learner_eval_result last_eval;
    bool has_any_eval;
    uint32_t failed_evals, failed_full_evals; // all; all except short ones
    uint64_t eval_played;                     // episodes in accepted answers, …
    double eval_played_s;  // … and the seconds that the evaluators took for them
    uint64_t all_episodes; // training episodes that actors finished
    char unevaluated[WHY_BYTES], sampling[WHY_BYTES];
    // sums since the last row
    uint64_t episodes;
    double episode_return, episode_length;
    bool has_eval;      // an evaluation ended since the last row
    double eval_wall_s; // when its policy was made
    // values when the last row ended
    double begin_s, wait_s, published_bytes;
    double core_s; // of the quantizer stage
    uint64_t env_steps, updates, publications;
    learner_actors_totals totals;
    learner_staleness staleness;
    learner_actors_wanted wanted;               // over the last rows
    learner_atoms_warning cut_below, cut_above; // of targets
    double returns[RETURNS_KEPT];               // of training episode n at n modulo RETURNS_KEPT
};

// ---- life

oct_err
learner_report_open(learner_report **out, const learner_report_options *options)
{
    learner_report *report = oct_alloc(sizeof(*report));
    const config_experiment *config = options->config;
    report->o = *options;
    report->peers = learner_peers_create();
    report->numbers = oct_numbers_create("learner.");
    learner_measurements_init(&report->now);
    learner_numbers_add(report->numbers, &report->now);
    uint32_t count;
    const algo_number *algorithm = algo_numbers(config, &count);
    for (uint32_t i = 0; i < count; i++) {
        learner_means_add(&report->means, report->numbers, &algorithm[i]);
    }
    oct_err err = learner_metrics_open(&report->metrics, options->path, report->numbers,
                                       config_is_offline(config) ? "updates" : "env_steps",
                                       config->learner.metrics_rows, config->learner.metrics_s);
    if (err != OCT_OK) {
        int code = errno;
        learner_report_close(report);
        errno = code;
        return err;
    }
    *out = report;
    return OCT_OK;
}

void
learner_report_close(learner_report *report)
{
    if (report == NULL) {
        return;
    }
    learner_metrics_close(report->metrics);
    oct_numbers_destroy(report->numbers);
    learner_peers_destroy(report->peers);
    free(report);
}

void
learner_report_start(learner_report *report, const oct_metric_names *names,
                     const learner_train *train, const learner_batches *batches)
{
    learner_counts before = learner_progress_before(report->o.progress);
    report->train = train;
    report->batches = batches;
    report->begin_s = before.wall_s;
    report->env_steps = before.env_steps;
    report->updates = before.updates;
    learner_eval_metrics_add(&report->eval_metrics, report->numbers, names);
}

// ---- what the run notes

void
learner_report_found(learner_report *report, uint64_t env_steps)
{
    report->env_steps += env_steps;
}

void
learner_report_update(learner_report *report, const float *numbers)
{
    learner_means_update(&report->means, numbers);
}

void
learner_report_episode(learner_report *report, double episode_return, double episode_length)
{
    report->returns[report->all_episodes++ % RETURNS_KEPT] = episode_return;
    report->episodes++;
    report->episode_return += episode_return;
    report->episode_length += episode_length;
}

void
learner_report_evaluation(learner_report *report, const learner_eval_result *result, double wall_s)
{
    bool is_final = learner_progress_is(report->o.progress, LEARNER_FINAL);
    if (is_final && report->has_eval) {
        learner_report_row(report, true); // of the evaluation that training ended with
    }
    report->last_eval = *result;
    report->has_any_eval = report->has_eval = true;
    report->eval_wall_s = wall_s;
    if (is_final) {
        learner_report_row(report, true);
    }
}

void
learner_report_played(learner_report *report, uint32_t episodes, double seconds)
{
    report->eval_played += episodes;
    report->eval_played_s += seconds;
}

void
learner_report_failed(learner_report *report, learner_eval_stage stage, uint64_t version)
{
    report->failed_full_evals += stage != LEARNER_EVAL_SCREEN;
    if (report->failed_evals++ == 0) {
        oct_log_warn("LEARNER-EVAL-FAILED", "version=%" PRIu64 " the evaluator's log has the cause",
                     version);
    }
}

// ---- present values

static void
replay_measure(learner_report *report)
{
    learner_measurements *now = &report->now;
    learner_source_counts source = learner_batches_counts(report->batches, oct_clock_ns());
    // Only replay knows how many rows the table of an earlier process has.
    bool is_known = source.incarnation != 0 || !learner_folder_is_resumed(report->o.folder);
    now->inserts = is_known ? (double)source.inserts : NAN;
    now->samples = is_known ? (double)source.samples : NAN;
    now->given_up = (double)source.given_up;
    now->replay_size = is_known ? (double)source.size : NAN;
    now->replay_up = source.is_up;
    now->replay_wait_s = source.waiting_s;
    now->sample_lag = source.lag;
    now->sample_lag_max = source.lag_max;
    now->to_replay_bytes = (double)report->o.tallies->traffic.to_replay;
    now->from_replay_bytes = (double)report->o.tallies->traffic.from_replay;
    now->to_data_bytes = (double)report->o.tallies->traffic.to_data;
    now->from_data_bytes = (double)report->o.tallies->traffic.from_data;
    now->bad_samples = (double)source.bad_samples;
    now->data_samples = 0;
    now->shards = config_shards(report->o.config);
    now->replay_missing = report->batches != NULL ? learner_batches_missing(report->batches) : 0;
    if (report->batches != NULL && config_is_mixed(report->o.config)) {
        learner_source_counts data =
            learner_source_count(learner_batches_source(report->batches, now->shards));
        now->replay_up = source.is_up && data.is_up;
        now->data_samples = (double)data.windows;
        now->data_wait_s = learner_batches_data_wait_s(report->batches, oct_clock_ns());
        now->bad_samples += (double)data.bad_samples;
    }
}

static void
training_measure(learner_report *report)
{
    learner_measurements *now = &report->now;
    now->wall_s = learner_progress_now(report->o.progress).wall_s;
    now->own_wall_s = now->wall_s - learner_progress_before(report->o.progress).wall_s;
    now->time_s = floor((double)oct_clock_wall_us() * 1e-6);
    now->env_steps = (double)learner_progress_now(report->o.progress).env_steps;
    now->own_env_steps = (double)learner_progress_own_env_steps(report->o.progress);
    now->env_steps_budget = (double)report->o.config->run.env_steps;
    now->updates_budget = (double)report->o.config->run.updates;
    now->updates = (double)learner_progress_now(report->o.progress).updates;
    now->own_updates = (double)(learner_progress_now(report->o.progress).updates -
                                learner_progress_before(report->o.progress).updates);
    now->updates_refused = (double)learner_refusals_count(report->o.refusals);
    now->update_s = now->wait_s = 0;
    if (report->train != NULL) {
        learner_train_times(report->train, &now->update_s, &now->wait_s);
        now->learning_rate = (double)learner_train_rate(report->train);
    }
    group_counts exchanged;
    learner_group_counts(report->o.lg, &exchanged);
    now->learners = learner_group_size(report->o.lg);
    now->exchange_s = exchanged.seconds;
    now->exchange_bytes = exchanged.bytes;
    for (int i = 0; i < (int)OCT_COUNTOF(now->phase); i++) {
        now->phase[i] = (int)learner_progress_phase(report->o.progress) == i;
    }
    now->offline = config_is_offline(report->o.config);
    replay_measure(report);
    now->sent_policies_bytes = (double)report->o.tallies->traffic.published;
    now->from_callers_bytes = (double)report->o.tallies->traffic.from_callers;
    now->to_callers_bytes = (double)report->o.tallies->traffic.to_callers;
    now->bad_requests = (double)report->o.tallies->bad_requests;
    now->bad_tokens = (double)report->o.tallies->bad_tokens;
    now->bad_reports = (double)report->o.tallies->bad_reports;
    now->answers_refused = (double)report->o.tallies->answers_refused;
    now->tickets_refused = (double)report->o.tallies->tickets_refused;
    now->places_refused = (double)report->o.tallies->places_refused;
    now->actors_refused = (double)report->o.tallies->actors_refused;
    now->unsaved = learner_folder_is_unsaved(report->o.folder) || report->o.tallies->is_unkept;
    now->write_failures = (double)learner_folder_failures(report->o.folder);
    now->cpu_s = (double)oct_clock_process_cpu_ns() * 1e-9;
}

static void
policy_measure(learner_report *report)
{
    learner_measurements *now = &report->now;
    const learner_publishing counts = learner_publisher_counts(report->o.publisher);
    const learner_publishing *publishing = &counts;
    const quantizer_divergence *divergence = &publishing->divergence;
    // An earlier process's publication may be the best policy, which can be older than the newest.
    bool is_known = publishing->publications > 0 || !learner_folder_is_resumed(report->o.folder);
    now->policy_version = is_known ? (double)learner_publisher_version(report->o.publisher) : NAN;
    now->published_bytes = publishing->published_bytes;
    now->deltas = (double)publishing->deltas;
    now->complete = (double)publishing->publications - now->deltas;
    now->fp32_bytes = publishing->fp32_bytes;
    now->policy_bytes = publishing->bytes;
    now->policy_bytes_fp32_ratio = publishing->ratio;
    now->changed_share = publishing->changed_share;
    now->encode_ms = publishing->encode_ms;
    now->weight_error = publishing->weight_error;
    memcpy(now->layer_error, publishing->layer_error, sizeof(now->layer_error));
    now->divergence = divergence->relative_l2;
    now->divergence_max = divergence->max_abs;
    now->divergence_kl = divergence->kl;
    now->divergence_action_l2 = divergence->action_l2;
    now->agreement = divergence->agreement;
    now->snapshots_refused = (double)publishing->refused;
    now->snapshots_unchanged = (double)publishing->unchanged;
}

static void
evaluation_measure(learner_report *report)
{
    learner_measurements *now = &report->now;
    learner_eval_result best;
    bool has_best = learner_evals_best(report->o.evals, &best) != NULL;
    now->evaluations = (double)learner_evals_count(report->o.evals);
    now->own_evaluations = (double)learner_evals_own_count(report->o.evals);
    now->failed_evaluations = report->failed_evals;
    now->eval_played = (double)report->eval_played;
    now->eval_played_s = report->eval_played_s;
    now->eval_return = report->has_any_eval ? report->last_eval.mean : NAN;
    now->eval_std = report->has_any_eval ? report->last_eval.std : NAN;
    now->eval_episodes = report->has_any_eval ? report->last_eval.episodes : NAN;
    now->eval_failed = report->has_any_eval ? (double)report->last_eval.failed : NAN;
    now->eval_truncated = report->has_any_eval ? (double)report->last_eval.truncated : NAN;
    now->eval_sampling = report->o.config->evaluation.sampling;
    now->eval_best = has_best ? best.mean : NAN;
    learner_eval_metrics_put(&report->eval_metrics,
                             report->has_any_eval ? report->last_eval.metrics : NULL);
    learner_eval_stage stage;
    uint32_t eval_done = 0, eval_asked = 0;
    (void)learner_evals_at_work(report->o.evals, &stage, &eval_done, &eval_asked);
    now->eval_done = eval_done;
    now->eval_asked = eval_asked;
    uint64_t final_played, final_most;
    learner_evals_final(report->o.evals, &final_played, &final_most);
    now->final_played = (double)final_played;
    now->final_most = (double)final_most;
    now->eval_quiet_s = learner_evals_quiet_s(report->o.evals, oct_clock_ns());
    now->goal = report->o.config->run.stop_at_return;
    now->train_episodes = (double)report->all_episodes;
}

static void
actors_measure(learner_measurements *now, const learner_actors_totals *totals)
{
    now->actors = totals->actors;
    now->actors_stuck = totals->stuck;
    now->evaluators = totals->evaluators;
    now->policy_lag = totals->lag_mean;
    now->policy_lag_max = (double)totals->lag_max;
    now->policy_gaps = totals->policy_gaps;
    now->actor_bytes = totals->bytes;
    now->dropped = totals->dropped;
    now->resent = totals->resent;
    now->env_failures = totals->failures;
    now->evaluation_failures = totals->evaluation_failures;
    now->infer_s = totals->infer_s;
    now->env_s = totals->env_s;
    now->collect_s = totals->collect_s;
    now->idle_s = totals->wait_s;
}

// No actors are wanted in training from a data set alone, and after training.
static void
wanted_measure(learner_report *report)
{
    bool is_training = learner_progress_is(report->o.progress, LEARNER_WAITING) ||
                       learner_progress_is(report->o.progress, LEARNER_TRAINING);
    report->now.actors_wanted = is_training && !config_is_offline(report->o.config)
                                    ? learner_actors_wanted_get(&report->wanted, report->now.actors)
                                    : 0;
}

static void
measure(learner_report *report, const learner_actors_totals *totals)
{
    training_measure(report);
    policy_measure(report);
    evaluation_measure(report);
    actors_measure(&report->now, totals);
    report->now.relays = report->o.tallies->relays;
    wanted_measure(report);
}

static learner_actors_totals
totals_now(const learner_report *report)
{
    learner_actors_totals totals;
    learner_actors_totals_get(report->o.actors, oct_clock_ns(),
                              learner_publisher_version(report->o.publisher), &totals);
    return totals;
}

static void
measure_now(learner_report *report)
{
    learner_actors_totals totals = totals_now(report);
    measure(report, &totals);
}

// ---- rows

static double
mean_of(double sum, uint64_t count)
{
    return count > 0 ? sum / (double)count : NAN;
}

static double
share_of(double part, double whole)
{
    return whole > 0 ? part / whole : NAN;
}

static void
actors_row(learner_report *report, const learner_actors_totals *totals)
{
    learner_measurements *now = &report->now;
    const learner_actors_totals *last = &report->totals;
    double infer_s = totals->infer_s - last->infer_s, env_s = totals->env_s - last->env_s;
    double collect_s = totals->collect_s - last->collect_s, idle_s = totals->wait_s - last->wait_s;
    double acting_s = infer_s + env_s + collect_s + idle_s;
    now->actor_infer_share = share_of(infer_s, acting_s);
    now->actor_env_share = share_of(env_s, acting_s);
    now->actor_collect_share = share_of(collect_s, acting_s);
    now->actor_wait_share = share_of(idle_s, acting_s);
    report->totals = *totals;
}

static void
staleness_row(learner_report *report)
{
    learner_staleness since = {0};
    learner_group_staleness(report->o.lg, &since);
    bool any = since.updates > report->staleness.updates;
    report->now.staleness = mean_of((double)(since.sum - report->staleness.sum),
                                    since.updates - report->staleness.updates);
    report->now.staleness_max = any ? (double)since.max : NAN;
    report->now.stale = (double)since.given_up;
    report->now.staleness_sum = (double)since.sum;
    report->staleness = since;
}

static void
cut_row(learner_report *report, learner_atoms_warning *cut, const char *number, const char *key,
        double end, const char *side)
{
    double share = learner_means_of(&report->means, number);
    if (learner_atoms_warning_row(
            cut, share, learner_progress_now(report->o.progress).updates - report->updates)) {
        oct_log_warn("LEARNER-CUT",
                     "%s=%g %s=%.3g: targets lie %s this end of the atoms, where different actions "
                     "look alike, so learning may stall. Move %s outwards",
                     key, end, number, share, side, key);
    }
}

// Returns the seconds of a row of elapsed_s in which the run trained: all seconds before the end of
// training, NAN after it. The row in which training ends gives NAN if it has less training than
// RATE_ROW_SHARE of a full row, unless it is the first row. A row with NAN has no rates.
static double
row_trained_s(const learner_report *report, double elapsed_s)
{
    if (learner_progress_end_ns(report->o.progress) == 0) {
        return elapsed_s;
    }
    bool is_first = report->updates == learner_progress_before(report->o.progress).updates;
    double trained_s =
        elapsed_s - (double)(oct_clock_ns() - learner_progress_end_ns(report->o.progress)) * 1e-9;
    double least_s = is_first ? 0 : RATE_ROW_SHARE * report->o.config->learner.metrics_s;
    return trained_s > least_s ? trained_s : NAN;
}

// Measures the time since the last row.
static void
row_measure(learner_report *report, double elapsed_s, const learner_actors_totals *totals)
{
    learner_measurements *now = &report->now;
    double trained_s = row_trained_s(report, elapsed_s);
    uint64_t env_steps = learner_progress_now(report->o.progress).env_steps;
    const learner_publishing publishing = learner_publisher_counts(report->o.publisher);
    now->env_steps_per_s = (double)(env_steps - report->env_steps) / trained_s;
    now->updates_per_s =
        (double)(learner_progress_now(report->o.progress).updates - report->updates) / trained_s;
    now->published_bytes_per_s = (publishing.published_bytes - report->published_bytes) / trained_s;
    now->samples_per_insert = share_of(now->samples, now->inserts);
    now->publish_interval_s = mean_of(trained_s, publishing.publications - report->publications);
    now->publish_core_share = (publishing.core_s - report->core_s) / trained_s;
    now->wait_share = OCT_MIN(1, (now->wait_s - report->wait_s) / trained_s);
    now->train_return = mean_of(report->episode_return, report->episodes);
    now->train_length = mean_of(report->episode_length, report->episodes);
    now->row_eval_return = report->has_eval ? report->last_eval.mean : NAN;
    now->row_eval_std = report->has_eval ? report->last_eval.std : NAN;
    now->row_eval_episodes = report->has_eval ? report->last_eval.episodes : NAN;
    now->row_eval_failed = report->has_eval ? (double)report->last_eval.failed : NAN;
    now->row_eval_stage = report->has_eval ? (double)report->last_eval.stage : NAN;
    now->row_eval_env_steps = report->has_eval ? (double)report->last_eval.env_steps : NAN;
    now->row_eval_updates = report->has_eval ? (double)report->last_eval.updates : NAN;
    now->row_eval_wall_s = report->has_eval ? report->eval_wall_s : NAN;
    learner_eval_metrics_end_row(&report->eval_metrics, report->has_eval);
    actors_row(report, totals);
    if (now->samples > 0) { // before the first batch it is not known which side is slow
        learner_actors_wanted_row(&report->wanted, elapsed_s, now->wait_share,
                                  now->actor_wait_share);
    }
    wanted_measure(report);
    staleness_row(report);
    learner_means_end_row(&report->means);
    cut_row(report, &report->cut_below, "cut_below", "algo.value_min",
            report->o.config->algo.value_min, "below");
    cut_row(report, &report->cut_above, "cut_above", "algo.value_max",
            report->o.config->algo.value_max, "above");
    report->env_steps = env_steps;
    report->updates = learner_progress_now(report->o.progress).updates;
    report->published_bytes = publishing.published_bytes;
    report->publications = publishing.publications;
    report->core_s = publishing.core_s;
    report->wait_s = now->wait_s;
    report->episodes = 0;
    report->episode_return = report->episode_length = 0;
    report->has_eval = false;
}

void
learner_report_row(learner_report *report, bool now)
{
    double wall_s = learner_progress_now(report->o.progress).wall_s;
    double elapsed_s = wall_s - report->begin_s;
    if (elapsed_s <= 0 || (!now && elapsed_s < report->o.config->learner.metrics_s)) {
        return;
    }
    report->begin_s = wall_s;
    learner_actors_totals totals = totals_now(report);
    measure(report, &totals);
    row_measure(report, elapsed_s, &totals);
    int code = learner_metrics_write(report->metrics);
    learner_folder_wrote(report->o.folder, LEARNER_FILE_METRICS, code);
}

// ---- status

const wire_peers *
learner_report_peers(learner_report *report, const learner_relays *relays, uint32_t count_max)
{
    uint64_t newest = learner_publisher_version(report->o.publisher);
    wire_peers *peers = learner_peers_list(report->peers, report->o.actors, relays, oct_clock_ns(),
                                           newest, count_max);
    double *lag = learner_peers_lag_updates(report->peers);
    for (uint32_t i = 0; i < peers->count; i++) {
        lag[i] = learner_publisher_updates_of(report->o.publisher, newest) -
                 learner_publisher_updates_of(report->o.publisher, peers->version[i]);
    }
    peers->run_id = learner_folder_resumed(report->o.folder)->run_id;
    return peers;
}

const wire_status *
learner_report_status(learner_report *report, const char *refused)
{
    bool is_offline = config_is_offline(report->o.config);
    const char *const states[] = {"waiting for an actor",
                                  is_offline ? "learning from a data set" : "training",
                                  "final evaluation", "done"};
    measure_now(report);
    report->status = (wire_status){
        .run_id = learner_folder_resumed(report->o.folder)->run_id,
        .state = states[learner_progress_phase(report->o.progress)],
        .stat_count = oct_numbers_list(report->numbers, OCT_SHOWN_STATUS, report->status_name,
                                       report->status_value, WIRE_STATS_MAX),
        .stat_name = report->status_name,
        .stat_value = report->status_value,
        .refused = refused,
    };
    return &report->status;
}

void
learner_report_prometheus(learner_report *report, oct_prometheus *text)
{
    measure_now(report);
    oct_numbers_prometheus(report->numbers, text);
}

// ---- summary

// Explains why no full evaluation of the policy in policy.oct succeeded. Returns NULL if one did,
// or none was tried.
static const char *
unevaluated_explain(learner_report *report)
{
    learner_eval_result best = {.stage = LEARNER_EVAL_SCREEN};
    const config_experiment *config = report->o.config;
    (void)learner_evals_best(report->o.evals, &best);
    bool has_short = config->evaluation.screen_episodes < config->evaluation.episodes;
    bool is_full = best.episodes > 0 && (best.stage != LEARNER_EVAL_SCREEN || !has_short);
    uint32_t failed = report->failed_full_evals;
    const char *no_final = learner_progress_no_final(report->o.progress);
    if (is_full || (no_final == NULL && failed == 0)) {
        return NULL;
    }
    oct_text why;
    oct_text_init(&why, report->unevaluated, sizeof(report->unevaluated));
    if (failed > 0) {
        oct_text_add(&why, "%u full evaluation%s failed", failed, oct_text_plural(failed));
    }
    if (no_final != NULL) {
        oct_text_add(&why, "%s%s", failed > 0 ? "; " : "", no_final);
    }
    return report->unevaluated;
}

// Explains why evaluation.sampling may be needed: training episodes, which sample actions, had much
// better returns than policy.oct, which acts greedily. Returns NULL if they had not.
static const char *
sampling_explain(learner_report *report, const policy_spec *spec)
{
    const learner_eval_result *greedy = learner_folder_saved(report->o.folder);
    uint32_t count = (uint32_t)OCT_MIN(report->all_episodes, RETURNS_KEPT);
    if (report->o.config->evaluation.sampling || policy_spec_extra_dim(spec) == 0 ||
        count < RETURNS_LEAST || greedy->episodes == 0 || greedy->truncated > 0) {
        return NULL;
    }
    oct_spread drawn = oct_spread_of_f64(report->returns, count);
    double better = drawn.mean - greedy->mean;
    double error =
        sqrt(drawn.std * drawn.std / count + greedy->std * greedy->std / greedy->episodes);
    bool is_much = better > BETTER_SHARE * fmax(fabs(drawn.mean), fabs(greedy->mean));
    if (!is_much || better <= BETTER_ERRORS * error) {
        return NULL;
    }
    (void)snprintf(report->sampling, sizeof(report->sampling),
                   "the last %u training episodes, with sampled actions, had a mean return of "
                   "%.4g; greedy actions have %.4g; with evaluation.sampling: true, evaluations "
                   "sample actions, too",
                   count, drawn.mean, greedy->mean);
    return report->sampling;
}

learner_summary
learner_report_summary(learner_report *report, const policy_spec *spec)
{
    learner_actors_totals totals;
    uint64_t version = learner_publisher_version(report->o.publisher);
    const learner_publishing publishing = learner_publisher_counts(report->o.publisher);
    learner_actors_totals_get(report->o.actors, oct_clock_ns(), version, &totals);
    double update_s = 0, wait_s = 0;
    if (report->train != NULL) {
        learner_train_times(report->train, &update_s, &wait_s);
    }
    learner_source_counts source = learner_batches_counts(report->batches, oct_clock_ns());
    uint64_t end_ns = learner_progress_end_ns(report->o.progress) != 0
                          ? learner_progress_end_ns(report->o.progress)
                          : oct_clock_ns();
    learner_summary summary = {
        .config = report->o.config,
        .reason = learner_progress_reason(report->o.progress),
        .unlearned = learner_progress_unlearned(report->o.progress),
        .unevaluated = unevaluated_explain(report),
        .sampling = sampling_explain(report, spec),
        .precision = learner_publisher_precision(report->o.publisher),
        .run_id = learner_folder_resumed(report->o.folder)->run_id,
        .env_steps = learner_progress_now(report->o.progress).env_steps,
        .env_steps_base = learner_progress_before(report->o.progress).env_steps +
                          learner_progress_steps_of(report->o.progress, source.first_sample_steps),
        .updates = learner_progress_now(report->o.progress).updates,
        .updates_base = learner_progress_before(report->o.progress).updates,
        .updates_refused = learner_refusals_count(report->o.refusals),
        .env_failures = totals.failures,
        .evaluation_failures = totals.evaluation_failures,
        .policy_version = version,
        .inserts = source.inserts,
        .samples = source.samples,
        .wall_s = learner_progress_now(report->o.progress).wall_s,
        .training_s =
            source.first_sample_ns != 0 ? (double)(end_ns - source.first_sample_ns) * 1e-9 : 0,
        .replay_to_learner_bytes = (double)report->o.tallies->traffic.from_replay,
        .learner_to_replay_bytes = (double)report->o.tallies->traffic.to_replay,
        .actor_to_replay_bytes = totals.bytes,
        .learner_to_actors_bytes = (double)report->o.tallies->traffic.published,
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
        .last = learner_publisher_policy(report->o.publisher),
    };
    summary.solved = learner_evals_solved(report->o.evals);
    summary.has_last = learner_evals_last(report->o.evals, &summary.last_result);
    summary.screens = learner_evals_screens(report->o.evals, &summary.screens_mean);
    return summary;
}
