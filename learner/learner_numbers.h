#ifndef LEARNER_LEARNER_NUMBERS_H
#define LEARNER_LEARNER_NUMBERS_H

#include "algos/algo.h"
#include "common/oct_metric.h"
#include "common/oct_numbers.h"
#include "policy/policy_spec.h"

// The learner's numbers: their values, and the registry's rows that name them. learner_report.c
// writes the values before a loop over the registry reads them. NaN: not measured.
//
// Threads: the loop thread. Owns: nothing.
typedef struct learner_measurements {
    // present values
    double wall_s, time_s, env_steps, env_steps_budget, updates, updates_budget, updates_refused;
    double own_wall_s, own_env_steps, own_updates, own_evaluations; // of this process
    double data_samples, data_wait_s;
    double inserts, samples, given_up, replay_size, replay_up, replay_wait_s;
    double shards, replay_missing;
    double sample_lag, sample_lag_max;
    double policy_version, policy_lag, policy_lag_max, policy_gaps;
    double published_bytes, complete, deltas, snapshots_refused, snapshots_unchanged;
    double learning_rate, update_s, wait_s;
    double learners, exchange_s, exchange_bytes, stale, staleness_sum;
    double actors, actors_stuck, actors_wanted, evaluators, relays, actor_bytes, dropped, resent,
        env_failures, evaluation_failures;
    double infer_s, env_s, collect_s, idle_s;
    double evaluations, failed_evaluations, eval_return, eval_std, eval_episodes, eval_failed;
    double eval_truncated, eval_sampling, eval_best, goal, eval_played, eval_played_s;
    double eval_done, eval_asked, eval_quiet_s, final_played, final_most;
    double train_episodes, bad_samples, bad_requests, bad_tokens, bad_reports;
    double answers_refused, tickets_refused;
    double places_refused, actors_refused;
    double unsaved, write_failures, cpu_s;
    double to_replay_bytes, from_replay_bytes, to_data_bytes, from_data_bytes;
    double sent_policies_bytes, from_callers_bytes, to_callers_bytes;
    double phase[4], offline;
    // of the newest publication and the newest probe
    double fp32_bytes; // of all weights and biases
    double policy_bytes, policy_bytes_fp32_ratio, changed_share, encode_ms;
    double weight_error; // relative, of the worst layer
    double layer_error[POLICY_LAYERS_MAX];
    double divergence, divergence_max, divergence_kl, divergence_action_l2, agreement;
    // of the last row of metrics.csv
    double env_steps_per_s, updates_per_s, published_bytes_per_s, samples_per_insert;
    double staleness, staleness_max;
    double publish_interval_s, publish_core_share, train_return, train_length, wait_share;
    double actor_infer_share, actor_env_share, actor_collect_share, actor_wait_share;
    double row_eval_return, row_eval_std, row_eval_episodes; // NaN: none ended in this row
    double row_eval_failed, row_eval_stage;                  // a learner_eval_stage
    double row_eval_env_steps, row_eval_updates, row_eval_wall_s;
} learner_measurements;

// Sets all values to not measured.
void learner_measurements_init(learner_measurements *now);
// Adds the rows to the registry; `now` is borrowed.
void learner_numbers_add(oct_numbers *numbers, const learner_measurements *now);

// ---- numbers that an algorithm gives with each update, shown as their means over a row

typedef struct learner_means {
    uint32_t count;
    const char *name[ALGO_NUMBERS_MAX];
    double sum[ALGO_NUMBERS_MAX];
    uint64_t values[ALGO_NUMBERS_MAX]; // count of values that were not NaN
    double mean[ALGO_NUMBERS_MAX];     // of the last row
} learner_means;

// Adds a number to metrics.csv, TensorBoard, status and Prometheus. Strings and means are borrowed.
void learner_means_add(learner_means *means, oct_numbers *numbers, const algo_number *number);
// Adds one update's values, in the order in which the numbers were added; NaN: not measured.
void learner_means_update(learner_means *means, const float *values);
// Ends a row: its means can be read until the next row ends.
void learner_means_end_row(learner_means *means);
// Returns the last row's mean of the number with this name; NaN: not measured, or the algorithm has
// no such number.
double learner_means_of(const learner_means *means, const char *name);

// ---- the environment's own metrics, measured in evaluations

#define LEARNER_EVAL_METRIC "eval_metric_" // prefix of each name

typedef struct learner_eval_metrics {
    uint32_t count;
    char name[OCT_METRICS_MAX][sizeof(LEARNER_EVAL_METRIC) + OCT_METRIC_NAME_BYTES + 4];
    double last[OCT_METRICS_MAX]; // mean of the last evaluation
    double row[OCT_METRICS_MAX];  // mean of the last evaluation that ended in the row
} learner_eval_metrics;

// Adds a number for each metric to metrics.csv, TensorBoard, status and Prometheus. In its name, _
// replaces characters that are neither letters nor digits; a name that is already used gets _2, _3,
// …. metrics is borrowed.
void learner_eval_metrics_add(learner_eval_metrics *metrics, oct_numbers *numbers,
                              const oct_metric_names *names);
// Sets the metrics of the last evaluation, in the order of names; NULL: there was none.
void learner_eval_metrics_put(learner_eval_metrics *metrics, const oct_metric *last);
// Ends a row; has_eval: the last evaluation ended in it.
void learner_eval_metrics_end_row(learner_eval_metrics *metrics, bool has_eval);

#endif // LEARNER_LEARNER_NUMBERS_H
