// The run's numbers: measured here, reported by loops over the registry.
#include <math.h>
#include <string.h>

#include "common/oct_clock.h"
#include "common/oct_log.h"
#include "learner/learner_run_state.h"

#define RATE_ROW_SHARE 0.25 // of learner.metrics_s: shorter training has no rates

// ---- life

oct_err
learner_report_begin(learner_run *run)
{
    learner_report *report = &run->report;
    report->numbers = oct_numbers_create("learner.");
    learner_measurements_init(&report->now);
    learner_numbers_add(report->numbers, &report->now);
    uint32_t count;
    const algo_number *algorithm = algo_numbers(run->config, &count);
    for (uint32_t i = 0; i < count; i++) {
        learner_means_add(&report->means, report->numbers, &algorithm[i]);
    }
    return learner_metrics_open(&report->metrics, run->options.folder, report->numbers,
                                config_is_offline(run->config) ? "updates" : "env_steps",
                                run->config->learner.metrics_rows, run->config->learner.metrics_s);
}

void
learner_report_end(learner_run *run)
{
    learner_metrics_close(run->report.metrics);
    oct_numbers_destroy(run->report.numbers);
}

void
learner_report_metrics(learner_run *run)
{
    learner_eval_metrics_add(&run->report.eval_metrics, run->report.numbers, &run->metrics);
}

void
learner_report_start(learner_run *run)
{
    run->report.begin_s = learner_progress_before(run->progress).wall_s;
    run->report.env_steps = learner_progress_before(run->progress).env_steps;
    run->report.updates = learner_progress_now(run->progress).updates;
}

void
learner_report_episode(learner_run *run, double episode_return, double episode_length)
{
    run->report.returns[run->episodes++ % LEARNER_RETURNS] = episode_return;
    run->report.episodes++;
    run->report.episode_return += episode_return;
    run->report.episode_length += episode_length;
}

// ---- present values

static void
replay_measure(learner_run *run)
{
    learner_measurements *now = &run->report.now;
    learner_source_counts source = learner_batches_counts(run->batches, oct_clock_ns());
    // Only replay knows how many rows the table of an earlier process has.
    bool is_known = source.incarnation != 0 || !learner_folder_is_resumed(run->folder);
    now->inserts = is_known ? (double)source.inserts : NAN;
    now->samples = is_known ? (double)source.samples : NAN;
    now->given_up = (double)source.given_up;
    now->replay_size = is_known ? (double)source.size : NAN;
    now->replay_up = source.is_up;
    now->replay_wait_s = source.waiting_s;
    now->sample_lag = source.lag;
    now->sample_lag_max = source.lag_max;
    now->to_replay_bytes = (double)run->traffic.to_replay;
    now->from_replay_bytes = (double)run->traffic.from_replay;
    now->to_data_bytes = (double)run->traffic.to_data;
    now->from_data_bytes = (double)run->traffic.from_data;
    now->bad_samples = (double)source.bad_samples;
    now->data_samples = 0;
    now->shards = config_shards(run->config);
    now->replay_missing = run->batches != NULL ? learner_batches_missing(run->batches) : 0;
    if (run->batches != NULL && config_is_mixed(run->config)) {
        learner_source_counts data =
            learner_source_count(learner_batches_source(run->batches, now->shards));
        now->replay_up = source.is_up && data.is_up;
        now->data_samples = (double)data.windows;
        now->data_wait_s = learner_batches_data_wait_s(run->batches, oct_clock_ns());
        now->bad_samples += (double)data.bad_samples;
    }
}

static void
training_measure(learner_run *run)
{
    learner_measurements *now = &run->report.now;
    now->wall_s = learner_progress_now(run->progress).wall_s;
    now->own_wall_s = now->wall_s - learner_progress_before(run->progress).wall_s;
    now->time_s = floor((double)oct_clock_wall_us() * 1e-6);
    now->env_steps = (double)learner_progress_now(run->progress).env_steps;
    now->own_env_steps = (double)learner_progress_own_env_steps(run->progress);
    now->env_steps_budget = (double)run->config->run.env_steps;
    now->updates_budget = (double)run->config->run.updates;
    now->updates = (double)learner_progress_now(run->progress).updates;
    now->own_updates = (double)(learner_progress_now(run->progress).updates -
                                learner_progress_before(run->progress).updates);
    now->updates_refused = (double)learner_refusals_count(run->refusals);
    now->update_s = now->wait_s = 0;
    if (run->train != NULL) {
        learner_train_times(run->train, &now->update_s, &now->wait_s);
        now->learning_rate = (double)learner_train_rate(run->train);
    }
    group_counts exchanged;
    learner_group_counts(run->options.lg, &exchanged);
    now->learners = learner_group_size(run->options.lg);
    now->exchange_s = exchanged.seconds;
    now->exchange_bytes = exchanged.bytes;
    for (int i = 0; i < (int)OCT_COUNTOF(now->phase); i++) {
        now->phase[i] = (int)learner_progress_phase(run->progress) == i;
    }
    now->offline = config_is_offline(run->config);
    replay_measure(run);
    now->sent_policies_bytes = (double)run->traffic.published;
    now->from_callers_bytes = (double)run->traffic.from_callers;
    now->to_callers_bytes = (double)run->traffic.to_callers;
    now->bad_requests = (double)run->bad_requests;
    now->bad_tokens = (double)run->bad_tokens;
    now->bad_reports = (double)run->bad_reports;
    now->answers_refused = (double)run->answers_refused;
    now->tickets_refused = (double)run->tickets_refused;
    now->places_refused = (double)run->places_refused;
    now->actors_refused = (double)run->actors_refused;
    now->unsaved = learner_folder_is_unsaved(run->folder) || learner_run_unkept(run) != NULL;
    now->write_failures = (double)learner_folder_failures(run->folder);
    now->cpu_s = (double)oct_clock_process_cpu_ns() * 1e-9;
}

static void
policy_measure(learner_run *run)
{
    learner_measurements *now = &run->report.now;
    const learner_publishing counts = learner_publisher_counts(run->publisher);
    const learner_publishing *publishing = &counts;
    const quantizer_divergence *divergence = &publishing->divergence;
    // An earlier process's publication may be the best policy, which can be older than the newest.
    bool is_known = publishing->publications > 0 || !learner_folder_is_resumed(run->folder);
    now->policy_version = is_known ? (double)learner_publisher_version(run->publisher) : NAN;
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
evaluation_measure(learner_run *run)
{
    learner_measurements *now = &run->report.now;
    learner_eval_result best;
    bool has_best = learner_evals_best(run->evals, &best) != NULL;
    now->evaluations = (double)learner_evals_count(run->evals);
    now->own_evaluations = (double)learner_evals_own_count(run->evals);
    now->failed_evaluations = run->failed_evals;
    now->eval_played = (double)run->eval_played;
    now->eval_played_s = run->eval_played_s;
    now->eval_return = run->has_eval ? run->last_eval.mean : NAN;
    now->eval_std = run->has_eval ? run->last_eval.std : NAN;
    now->eval_episodes = run->has_eval ? run->last_eval.episodes : NAN;
    now->eval_failed = run->has_eval ? (double)run->last_eval.failed : NAN;
    now->eval_truncated = run->has_eval ? (double)run->last_eval.truncated : NAN;
    now->eval_sampling = run->config->evaluation.sampling;
    now->eval_best = has_best ? best.mean : NAN;
    learner_eval_metrics_put(&run->report.eval_metrics,
                             run->has_eval ? run->last_eval.metrics : NULL);
    learner_eval_stage stage;
    uint32_t eval_done = 0, eval_asked = 0;
    (void)learner_evals_at_work(run->evals, &stage, &eval_done, &eval_asked);
    now->eval_done = eval_done;
    now->eval_asked = eval_asked;
    uint64_t final_played, final_most;
    learner_evals_final(run->evals, &final_played, &final_most);
    now->final_played = (double)final_played;
    now->final_most = (double)final_most;
    now->eval_quiet_s = learner_evals_quiet_s(run->evals, oct_clock_ns());
    now->goal = run->config->run.stop_at_return;
    now->train_episodes = (double)run->episodes;
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
wanted_measure(learner_run *run)
{
    learner_report *report = &run->report;
    bool is_training = learner_progress_is(run->progress, LEARNER_WAITING) ||
                       learner_progress_is(run->progress, LEARNER_TRAINING);
    report->now.actors_wanted = is_training && !config_is_offline(run->config)
                                    ? learner_actors_wanted_get(&report->wanted, report->now.actors)
                                    : 0;
}

static void
measure(learner_run *run, const learner_actors_totals *totals)
{
    training_measure(run);
    policy_measure(run);
    evaluation_measure(run);
    actors_measure(&run->report.now, totals);
    run->report.now.relays = run->relays;
    wanted_measure(run);
}

static learner_actors_totals
totals_now(const learner_run *run)
{
    learner_actors_totals totals;
    learner_actors_totals_get(run->actors, oct_clock_ns(),
                              learner_publisher_version(run->publisher), &totals);
    return totals;
}

static void
measure_now(learner_run *run)
{
    learner_actors_totals totals = totals_now(run);
    measure(run, &totals);
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
staleness_row(learner_run *run)
{
    learner_report *report = &run->report;
    learner_staleness since = {0};
    learner_group_staleness(run->options.lg, &since);
    bool any = since.updates > report->staleness.updates;
    report->now.staleness = mean_of((double)(since.sum - report->staleness.sum),
                                    since.updates - report->staleness.updates);
    report->now.staleness_max = any ? (double)since.max : NAN;
    report->now.stale = (double)since.given_up;
    report->now.staleness_sum = (double)since.sum;
    report->staleness = since;
}

static void
cut_row(learner_run *run, learner_atoms_warning *cut, const char *number, const char *key,
        double end, const char *side)
{
    double share = learner_means_of(&run->report.means, number);
    if (learner_atoms_warning_row(
            cut, share, learner_progress_now(run->progress).updates - run->report.updates)) {
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
row_trained_s(const learner_run *run, double elapsed_s)
{
    if (learner_progress_end_ns(run->progress) == 0) {
        return elapsed_s;
    }
    bool is_first = run->report.updates == learner_progress_before(run->progress).updates;
    double trained_s =
        elapsed_s - (double)(oct_clock_ns() - learner_progress_end_ns(run->progress)) * 1e-9;
    double least_s = is_first ? 0 : RATE_ROW_SHARE * run->config->learner.metrics_s;
    return trained_s > least_s ? trained_s : NAN;
}

// Measures the time since the last row.
static void
row_measure(learner_run *run, double elapsed_s, const learner_actors_totals *totals)
{
    learner_report *report = &run->report;
    learner_measurements *now = &report->now;
    double trained_s = row_trained_s(run, elapsed_s);
    uint64_t env_steps = learner_progress_now(run->progress).env_steps;
    const learner_publishing publishing = learner_publisher_counts(run->publisher);
    now->env_steps_per_s = (double)(env_steps - report->env_steps) / trained_s;
    now->updates_per_s =
        (double)(learner_progress_now(run->progress).updates - report->updates) / trained_s;
    now->published_bytes_per_s = (publishing.published_bytes - report->published_bytes) / trained_s;
    now->samples_per_insert = share_of(now->samples, now->inserts);
    now->publish_interval_s = mean_of(trained_s, publishing.publications - report->publications);
    now->publish_core_share = (publishing.core_s - report->core_s) / trained_s;
    now->wait_share = OCT_MIN(1, (now->wait_s - report->wait_s) / trained_s);
    now->train_return = mean_of(report->episode_return, report->episodes);
    now->train_length = mean_of(report->episode_length, report->episodes);
    now->row_eval_return = report->has_eval ? run->last_eval.mean : NAN;
    now->row_eval_std = report->has_eval ? run->last_eval.std : NAN;
    now->row_eval_episodes = report->has_eval ? run->last_eval.episodes : NAN;
    now->row_eval_failed = report->has_eval ? (double)run->last_eval.failed : NAN;
    now->row_eval_stage = report->has_eval ? (double)run->last_eval.stage : NAN;
    now->row_eval_env_steps = report->has_eval ? (double)run->last_eval.env_steps : NAN;
    now->row_eval_updates = report->has_eval ? (double)run->last_eval.updates : NAN;
    now->row_eval_wall_s = report->has_eval ? report->eval_wall_s : NAN;
    learner_eval_metrics_end_row(&report->eval_metrics, report->has_eval);
    actors_row(report, totals);
    if (now->samples > 0) { // before the first batch it is not known which side is slow
        learner_actors_wanted_row(&report->wanted, elapsed_s, now->wait_share,
                                  now->actor_wait_share);
    }
    wanted_measure(run);
    staleness_row(run);
    learner_means_end_row(&report->means);
    cut_row(run, &report->cut_below, "cut_below", "algo.value_min", run->config->algo.value_min,
            "below");
    cut_row(run, &report->cut_above, "cut_above", "algo.value_max", run->config->algo.value_max,
            "above");
    report->env_steps = env_steps;
    report->updates = learner_progress_now(run->progress).updates;
    report->published_bytes = publishing.published_bytes;
    report->publications = publishing.publications;
    report->core_s = publishing.core_s;
    report->wait_s = now->wait_s;
    report->episodes = 0;
    report->episode_return = report->episode_length = 0;
    report->has_eval = false;
}

void
learner_report_row(learner_run *run, bool now)
{
    learner_report *report = &run->report;
    double wall_s = learner_progress_now(run->progress).wall_s;
    double elapsed_s = wall_s - report->begin_s;
    if (elapsed_s <= 0 || (!now && elapsed_s < run->config->learner.metrics_s)) {
        return;
    }
    report->begin_s = wall_s;
    learner_actors_totals totals = totals_now(run);
    measure(run, &totals);
    row_measure(run, elapsed_s, &totals);
    int code = learner_metrics_write(report->metrics);
    learner_folder_wrote(run->folder, LEARNER_FILE_METRICS, code);
}

// ---- status

const wire_peers *
learner_run_peers(learner_run *run, const learner_relays *relays, uint32_t count_max)
{
    uint64_t newest = learner_publisher_version(run->publisher);
    wire_peers *peers =
        learner_peers_list(run->peers, run->actors, relays, oct_clock_ns(), newest, count_max);
    double *lag = learner_peers_lag_updates(run->peers);
    for (uint32_t i = 0; i < peers->count; i++) {
        lag[i] = learner_publisher_updates_of(run->publisher, newest) -
                 learner_publisher_updates_of(run->publisher, peers->version[i]);
    }
    peers->run_id = run->run_id;
    return peers;
}

const wire_status *
learner_run_status(learner_run *run)
{
    bool is_offline = config_is_offline(run->config);
    const char *const states[] = {"waiting for an actor",
                                  is_offline ? "learning from a data set" : "training",
                                  "final evaluation", "done"};
    learner_report *report = &run->report;
    measure_now(run);
    report->status = (wire_status){
        .run_id = run->run_id,
        .state = states[learner_progress_phase(run->progress)],
        .stat_count = oct_numbers_list(report->numbers, OCT_SHOWN_STATUS, report->status_name,
                                       report->status_value, WIRE_STATS_MAX),
        .stat_name = report->status_name,
        .stat_value = report->status_value,
        .refused = learner_run_last_refused(run),
    };
    return &report->status;
}

void
learner_run_prometheus(learner_run *run, oct_prometheus *text)
{
    measure_now(run);
    oct_numbers_prometheus(run->report.numbers, text);
}
