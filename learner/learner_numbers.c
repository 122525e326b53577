// The registry's rows of the learner, and the means of the algorithm's numbers.
#include "learner/learner_numbers.h"

#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_text.h"

// A column of metrics.csv, and a tag of TensorBoard.
#define ROW         (OCT_SHOWN_CSV | OCT_SHOWN_TENSORBOARD)
#define CSV         OCT_SHOWN_CSV
#define STATUS      OCT_SHOWN_STATUS
#define NUMBER(...) OCT_NUMBER(learner_measurements, __VA_ARGS__)
#define MEAN(...)   OCT_NUMBER_MEAN(learner_measurements, __VA_ARGS__)
#define METRIC(...) OCT_NUMBER_METRIC(learner_measurements, __VA_ARGS__)
#define SAMPLE(...) OCT_NUMBER_SAMPLE(learner_measurements, __VA_ARGS__)
#define BYTES       "octet_learner_bytes_total"
#define ARROW(NAME, HELP, FIELD, FROM_TO)                                                          \
    SAMPLE(COUNTER, NAME, "bytes", HELP, 0, FIELD, BYTES, "arrow", FROM_TO, BYTES_HELP)
#define LAYER_ERROR(LAYER)                                                                         \
    NUMBER(GAUGE, "layer_error_" #LAYER, "ratio",                                                  \
           "quantization_l2 of each layer; the first is 0.", ROW, layer_error[LAYER])

#define BYTES_HELP        "Bytes of frames by arrow; policies count once for all actors."
#define PUBLICATIONS_HELP "Policies published by this process, complete or as a delta."

static const oct_number rows[] = {
    METRIC(GAUGE, "wall_s", "s", "Time since the first actor joined, over the whole run.",
           CSV | STATUS, wall_s, "octet_run_wall_seconds"),
    METRIC(COUNTER, "own_wall_s", "s", "Time since the first actor joined, in this process.", 0,
           own_wall_s, "octet_learner_wall_seconds_total"),
    NUMBER(GAUGE, "time_s", "s", "End of the interval, in seconds since 1970.", CSV, time_s),
    METRIC(GAUGE, "env_steps", "steps",
           "Environment steps that replay has received, over the whole run.", ROW | STATUS,
           env_steps, "octet_run_env_steps"),
    METRIC(COUNTER, "own_env_steps", "steps",
           "Environment steps that replay has received since this process began.", 0, own_env_steps,
           "octet_env_steps_total"),
    METRIC(GAUGE, "updates", "updates", "Updates, one batch each, over the whole run.",
           ROW | STATUS, updates, "octet_run_updates"),
    METRIC(COUNTER, "own_updates", "updates", "Updates of this process.", 0, own_updates,
           "octet_learner_updates_total"),
    METRIC(COUNTER, "updates_refused", "updates",
           "Updates of this process that changed nothing, mostly because they were not finite.",
           ROW | STATUS, updates_refused, "octet_learner_updates_refused_total"),
    MEAN("env_steps_per_s", "1/s", "Environment steps per second.", ROW | STATUS, env_steps_per_s,
         "wall_s"),
    MEAN("updates_per_s", "1/s", "Updates per second.", ROW | STATUS, updates_per_s, "wall_s"),
    NUMBER(GAUGE, "inserts", "windows", "Windows inserted since the table was made.", ROW, inserts),
    NUMBER(GAUGE, "samples", "windows", "Windows sampled since the table was made.", ROW, samples),
    NUMBER(GAUGE, "samples_per_insert", "ratio",
           "Samples divided by inserts; approaches replay.samples_per_insert.", ROW | STATUS,
           samples_per_insert),
    NUMBER(GAUGE, "replay_size", "windows", "Windows that replay holds.", ROW, replay_size),
    NUMBER(GAUGE, "given_up", "windows",
           "Windows discarded because their actions were too old (algo.lag_max, algo.rollout_lag).",
           ROW, given_up),
    NUMBER(GAUGE, "sample_lag", "versions",
           "Mean lag of the policies that acted in the last batch: versions behind the newest; "
           "empty for n-step windows.",
           ROW, sample_lag),
    NUMBER(GAUGE, "sample_lag_max", "versions", "Largest lag in the last batch.", ROW,
           sample_lag_max),
    METRIC(GAUGE, "policy_version", "version", "Newest published policy version.", ROW | STATUS,
           policy_version, "octet_policy_version"),
    METRIC(GAUGE, "policy_lag", "versions", "Mean lag of live actors: versions behind the newest.",
           ROW | STATUS, policy_lag, "octet_policy_lag"),
    METRIC(GAUGE, "policy_lag_max", "versions", "Largest lag of an actor.", ROW, policy_lag_max,
           "octet_policy_lag_max"),
    NUMBER(COUNTER, "published_bytes", "bytes",
           "Bytes of all published policies, each counted once, for any number of actors.",
           ROW | STATUS, published_bytes),
    MEAN("publish_interval_s", "s", "Mean time between two versions.", ROW | STATUS,
         publish_interval_s, "policy_version"),
    MEAN("publish_core_share", "0 … 1",
         "Share of one core spent on publishing; stays below learner.publish_core_share in the "
         "long run.",
         ROW | STATUS, publish_core_share, "wall_s"),
    {.name = "publish_encode_ms",
     .unit = "ms",
     .help = "Time to quantise and encode the newest version.",
     .kind = OCT_PROMETHEUS_GAUGE,
     .shown = ROW | STATUS,
     .family = "octet_policy_encode_seconds",
     .factor = 1e-3,
     .at = offsetof(learner_measurements, encode_ms)},
    METRIC(GAUGE, "policy_bytes", "bytes", "Bytes of the newest version as sent.", ROW | STATUS,
           policy_bytes, "octet_policy_bytes"),
    NUMBER(GAUGE, "policy_bytes_fp32_ratio", "ratio",
           "Bytes of the newest version as sent, divided by those of its weights in fp32.",
           ROW | STATUS, policy_bytes_fp32_ratio),
    NUMBER(GAUGE, "changed_share", "0 … 1",
           "Share of codes that the newest version changed, apart from new scales.", ROW | STATUS,
           changed_share),
    METRIC(GAUGE, "quantization_l2", "ratio",
           "Relative L2 error of the quantised weights in the layer where it is largest.",
           ROW | STATUS, weight_error, "octet_policy_quantization_error_ratio"),
    METRIC(GAUGE, "divergence", "ratio",
           "Relative L2 difference of the quantised policy's outputs from fp32 on a probe batch "
           "from replay; values and logits less their mean over actions.",
           ROW | STATUS, divergence, "octet_policy_divergence_ratio"),
    NUMBER(GAUGE, "divergence_max", "output",
           "Largest difference of one output on the probe batch.", ROW, divergence_max),
    NUMBER(GAUGE, "divergence_kl", "nats",
           "Discrete actions: mean KL divergence from fp32 on the probe batch; values are first "
           "divided by their spread.",
           ROW | STATUS, divergence_kl),
    NUMBER(GAUGE, "divergence_action_l2", "deviations",
           "Continuous actions: mean distance from fp32 on the probe batch, in units of each "
           "action's standard deviation there.",
           ROW | STATUS, divergence_action_l2),
    METRIC(GAUGE, "agreement", "0 … 1",
           "Share of the probe batch where quantised and fp32 policy choose the same action "
           "(continuous: each within 0.1 of its standard deviation there).",
           ROW | STATUS, agreement, "octet_policy_agreement_ratio"),
    METRIC(COUNTER, "policy_gaps", "gaps",
           "Versions that actors missed; they then request a complete policy.", ROW | STATUS,
           policy_gaps, "octet_policy_gaps_total"),
    NUMBER(GAUGE, "learning_rate", "", "Current learning rate.", ROW, learning_rate),
    {OCT_NUMBER_FIELDS(learner_measurements, GAUGE, "train_return", "return",
                       "Mean return of the training episodes that ended, with exploration.",
                       ROW | STATUS, train_return),
     .family = "octet_training_return", .over = "train_episodes"},
    MEAN("train_length", "steps", "Mean length of these episodes.", ROW, train_length,
         "train_episodes"),
    NUMBER(GAUGE, "eval_return", "return",
           "Mean return of the last evaluation that ended, by the published policy.", ROW,
           row_eval_return),
    NUMBER(GAUGE, "eval_std", "return", "Standard deviation of its returns.", ROW, row_eval_std),
    NUMBER(GAUGE, "eval_episodes", "episodes", "Its episodes.", ROW, row_eval_episodes),
    NUMBER(GAUGE, "eval_failed", "episodes",
           "Further episodes in which the environment failed; each was repeated.", ROW,
           row_eval_failed),
    NUMBER(GAUGE, "eval_stage", "", "Its stage: 0 screen (short), 1 full, 2 confirm, 3 result.",
           CSV, row_eval_stage),
    NUMBER(GAUGE, "eval_env_steps", "steps", "Environment steps at which its policy was made.", CSV,
           row_eval_env_steps),
    NUMBER(GAUGE, "eval_updates", "updates", "Updates after which its policy was made.", CSV,
           row_eval_updates),
    NUMBER(GAUGE, "eval_wall_s", "s", "wall_s at which its policy was made.", CSV, row_eval_wall_s),
    MEAN("wait_share", "0 … 1",
         "Share of the time in which the training thread waited for batches.", ROW | STATUS,
         wait_share, "wall_s"),
    METRIC(GAUGE, "actors", "actors", "Actors that reported in the last 10 s.", ROW | STATUS,
           actors, "octet_actors"),
    METRIC(GAUGE, "actors_stuck", "actors",
           "Actors and evaluators in an environment step that has taken longer than half of "
           "`run.env_hang_s`.",
           STATUS, actors_stuck, "octet_actors_stuck"),
    {OCT_NUMBER_FIELDS(learner_measurements, GAUGE, "actors_wanted", "actors",
                       "Number of actors with which actors and learner would wait equally long, "
                       "over 30 s; 0: no more actors are needed.",
                       ROW | STATUS, actors_wanted),
     .family = "octet_learner_actors_wanted", .over = "wall_s"},
    MEAN("actor_infer_share", "0 … 1", "Share of the acting threads' time spent in the policy.",
         ROW | STATUS, actor_infer_share, "wall_s"),
    MEAN("actor_env_share", "0 … 1", "Share of the acting threads' time spent in environments.",
         ROW | STATUS, actor_env_share, "wall_s"),
    MEAN("actor_collect_share", "0 … 1",
         "Share of the acting threads' time spent building batches.", ROW | STATUS,
         actor_collect_share, "wall_s"),
    MEAN("actor_wait_share", "0 … 1",
         "Share of the acting threads' time spent waiting for room in the ring.", ROW | STATUS,
         actor_wait_share, "wall_s"),
    LAYER_ERROR(0),
    LAYER_ERROR(1),
    LAYER_ERROR(2),
    LAYER_ERROR(3),
    LAYER_ERROR(4),
    LAYER_ERROR(5),
    LAYER_ERROR(6),
    LAYER_ERROR(7),
    LAYER_ERROR(8),
    LAYER_ERROR(9),
    LAYER_ERROR(10),
    LAYER_ERROR(11),
    LAYER_ERROR(12),
    LAYER_ERROR(13),
    LAYER_ERROR(14),
    LAYER_ERROR(15),
    METRIC(GAUGE, "env_steps_budget", "steps", "Budget of environment steps, run.env_steps.",
           STATUS, env_steps_budget, "octet_env_steps_budget"),
    METRIC(GAUGE, "shards", "replays", "Shards of replay (replay.shards).", STATUS, shards,
           "octet_learner_shards"),
    METRIC(GAUGE, "replay_missing", "0 … 1",
           "Share of windows in shards that do not answer; batches do not contain them.", STATUS,
           replay_missing, "octet_learner_replay_missing_ratio"),
    METRIC(COUNTER, "data_samples", "windows",
           "Windows that batches drew from the data set (replay.data_share), in this process.",
           STATUS, data_samples, "octet_learner_data_samples_total"),
    NUMBER(COUNTER, "data_wait_s", "s", "Time without a batch from the data set's replay.", STATUS,
           data_wait_s),
    NUMBER(GAUGE, "updates_budget", "updates", "Budget of updates, run.updates; 0: none.", STATUS,
           updates_budget),
    NUMBER(GAUGE, "published_bytes_per_s", "bytes/s", "Bytes published per second.", STATUS,
           published_bytes_per_s),
    METRIC(GAUGE, "evaluators", "evaluators", "Evaluators that reported in the last 10 s.", STATUS,
           evaluators, "octet_evaluators"),
    METRIC(GAUGE, "relays", "relays", "Relays that registered in the last 3 s.", STATUS, relays,
           "octet_relays"),
    METRIC(GAUGE, "evaluations", "evaluations",
           "Evaluations assigned to evaluators, over the whole run.", STATUS, evaluations,
           "octet_run_evaluations"),
    METRIC(COUNTER, "own_evaluations", "evaluations", "Evaluations assigned by this process.", 0,
           own_evaluations, "octet_evaluations_total"),
    METRIC(COUNTER, "evaluations_failed", "evaluations",
           "Evaluations that an evaluator could not play.", 0, failed_evaluations,
           "octet_evaluations_failed_total"),
    NUMBER(COUNTER, "eval_played", "episodes",
           "Episodes of evaluations that evaluators have played for this process.", STATUS,
           eval_played),
    NUMBER(COUNTER, "eval_played_s", "s", "Time that these took, added up over the evaluators.",
           STATUS, eval_played_s),
    METRIC(GAUGE, "eval_return", "return", "Mean return of the last evaluation.", STATUS,
           eval_return, "octet_evaluation_return"),
    METRIC(GAUGE, "eval_return_std", "return", "Standard deviation of its returns.", STATUS,
           eval_std, "octet_evaluation_return_stddev"),
    NUMBER(GAUGE, "eval_episodes", "episodes", "Episodes of the last evaluation.", STATUS,
           eval_episodes),
    METRIC(GAUGE, "eval_failed", "episodes",
           "Further episodes in which the environment failed; each was repeated.", STATUS,
           eval_failed, "octet_evaluation_failed_episodes"),
    METRIC(GAUGE, "eval_truncated", "episodes",
           "Episodes of the last evaluation that were truncated by evaluation.max_steps.", STATUS,
           eval_truncated, "octet_evaluation_truncated_episodes"),
    NUMBER(GAUGE, "eval_sampling", "0, 1",
           "1 where evaluations sample actions (evaluation.sampling); 0: they act greedily.",
           STATUS, eval_sampling),
    METRIC(GAUGE, "eval_best", "return", "Mean return of the best version so far.", STATUS,
           eval_best, "octet_evaluation_best_return"),
    NUMBER(GAUGE, "eval_done", "episodes", "Finished episodes of the current evaluation.", STATUS,
           eval_done),
    NUMBER(GAUGE, "eval_asked", "episodes",
           "All episodes of the current evaluation; 0: there is none.", STATUS, eval_asked),
    NUMBER(GAUGE, "eval_quiet_s", "s",
           "Longest time since the last step of an evaluator that is playing.", STATUS,
           eval_quiet_s),
    NUMBER(GAUGE, "final_played", "episodes", "Evaluation episodes played since training ended.",
           STATUS, final_played),
    NUMBER(GAUGE, "final_most", "episodes", "Upper limit of final_played.", STATUS, final_most),
    METRIC(GAUGE, "goal", "return", "Goal, run.stop_at_return.", STATUS, goal,
           "octet_evaluation_goal_return"),
    METRIC(COUNTER, "train_episodes", "episodes", "Training episodes that ended, in this process.",
           CSV | STATUS, train_episodes, "octet_training_episodes_total"),
    SAMPLE(COUNTER, "publications_complete", "versions",
           "Complete policies published by this process.", 0, complete, "octet_publications_total",
           "kind", "complete", PUBLICATIONS_HELP),
    SAMPLE(COUNTER, "policy_deltas", "versions", "Policies published by this process as a delta.",
           STATUS, deltas, "octet_publications_total", "kind", "delta", PUBLICATIONS_HELP),
    METRIC(GAUGE, "policy_fp32_bytes", "bytes", "Bytes of the policy's weights in fp32.", 0,
           fp32_bytes, "octet_policy_fp32_bytes"),
    METRIC(COUNTER, "snapshots_refused", "snapshots",
           "Policies not published because a weight was not finite.", STATUS, snapshots_refused,
           "octet_learner_snapshots_refused_total"),
    NUMBER(COUNTER, "snapshots_unchanged", "snapshots",
           "Policies not published because nothing had changed.", STATUS, snapshots_unchanged),
    SAMPLE(COUNTER, "actor_bytes", "bytes",
           "Batches from actors to replay, including resent batches.", STATUS, actor_bytes,
           "octet_learner_bytes_total", "arrow", "actors_to_replay", BYTES_HELP),
    ARROW("to_replay_bytes", "Requests of the learner to replay.", to_replay_bytes,
          "learner_to_replay"),
    ARROW("from_replay_bytes", "Replies of replay to the learner.", from_replay_bytes,
          "replay_to_learner"),
    ARROW("to_data_bytes", "Requests of the learner to the data set's replay.", to_data_bytes,
          "learner_to_data"),
    ARROW("from_data_bytes", "Replies of the data set's replay to the learner.", from_data_bytes,
          "data_to_learner"),
    ARROW("sent_policies_bytes", "Policies, each counted once, for any number of actors.",
          sent_policies_bytes, "learner_to_actors"),
    ARROW("from_callers_bytes", "Requests of actors, evaluators and operators to the learner.",
          from_callers_bytes, "callers_to_learner"),
    ARROW("to_callers_bytes", "Replies of the learner to these requests.", to_callers_bytes,
          "learner_to_callers"),
    METRIC(COUNTER, "dropped", "steps", "Steps that actors dropped because their ring was full.",
           STATUS, dropped, "octet_actors_dropped_total"),
    METRIC(COUNTER, "resent", "batches", "Batches sent again by all actors.", STATUS, resent,
           "octet_actors_resent_total"),
    METRIC(COUNTER, "env_failures", "steps",
           "Environment steps that failed and were left out, in this process (ACTOR-ENV-UNSOUND "
           "has the causes).",
           ROW | STATUS, env_failures, "octet_actors_failures_total"),
    METRIC(COUNTER, "evaluation_failures", "calls",
           "Steps and resets of environments that failed in evaluators, in this process.",
           ROW | STATUS, evaluation_failures, "octet_evaluators_failures_total"),
    METRIC(COUNTER, "bad_requests", "requests",
           "Requests that were malformed, of another version, or not for the caller's role.",
           STATUS, bad_requests, "octet_learner_bad_requests_total"),
    NUMBER(COUNTER, "bad_tokens", "requests",
           "Requests with a registered actor's ID but without its token.", STATUS, bad_tokens),
    METRIC(COUNTER, "bad_reports", "reports",
           "Ignored messages: impossible numbers, or another evaluator's evaluations.", STATUS,
           bad_reports, "octet_learner_bad_reports_total"),
    METRIC(COUNTER, "answers_refused", "requests",
           "Requests for policies refused, because their peers do not read the answers.", STATUS,
           answers_refused, "octet_learner_answers_refused_total"),
    METRIC(COUNTER, "tickets_refused", "requests",
           "Requests for evaluations refused, because their certificate left others unanswered.",
           STATUS, tickets_refused, "octet_learner_tickets_refused_total"),
    METRIC(COUNTER, "places_refused", "registrations",
           "Registrations refused because their certificate has reached "
           "learner.actors_per_certificate.",
           STATUS, places_refused, "octet_learner_places_refused_total"),
    METRIC(
        COUNTER, "actors_refused", "registrations",
        "Registrations refused because of another environment or, in lock-step, another C library.",
        STATUS, actors_refused, "octet_learner_actors_refused_total"),
    METRIC(COUNTER, "bad_samples", "samples", "Sampled batches that did not fit the network.", 0,
           bad_samples, "octet_learner_bad_samples_total"),
    NUMBER(COUNTER, "cpu_s", "s", "CPU time of this learner process.", STATUS, cpu_s),
    SAMPLE(COUNTER, "thread_update_s", "s", "Time of the training thread by activity.", 0, update_s,
           "octet_learner_seconds_total", "activity", "update", NULL),
    SAMPLE(COUNTER, "thread_wait_s", "s", "Time of the training thread by activity.", 0, wait_s,
           "octet_learner_seconds_total", "activity", "wait", NULL),
    METRIC(GAUGE, "learners", "learners", "Learners of the run (learner.count).", STATUS, learners,
           "octet_learners"),
    METRIC(COUNTER, "exchange_s", "s",
           "Time of the training thread in exchanges with other learners, including waits.", STATUS,
           exchange_s, "octet_learner_exchange_seconds_total"),
    METRIC(COUNTER, "exchange_bytes", "bytes", "Bytes exchanged with other learners.", STATUS,
           exchange_bytes, "octet_learner_exchange_bytes_total"),
    METRIC(COUNTER, "stale", "updates",
           "Gradients discarded because they were older than learner.staleness_max.", CSV | STATUS,
           stale, "octet_learner_stale_total"),
    METRIC(COUNTER, "staleness_sum", "updates", "Sum of the staleness of all updates.", STATUS,
           staleness_sum, "octet_learner_staleness_updates_total"),
    NUMBER(GAUGE, "staleness", "updates",
           "Asynchronous learners: mean number of updates between a gradient's copy of the "
           "parameters and its own update.",
           ROW | STATUS, staleness),
    NUMBER(GAUGE, "staleness_max", "updates", "Largest staleness.", CSV | STATUS, staleness_max),
    SAMPLE(COUNTER, "actors_infer_s", "s", "Time of all acting threads by activity.", 0, infer_s,
           "octet_actors_seconds_total", "activity", "infer", NULL),
    SAMPLE(COUNTER, "actors_env_s", "s", "Time of all acting threads by activity.", 0, env_s,
           "octet_actors_seconds_total", "activity", "env", NULL),
    SAMPLE(COUNTER, "actors_collect_s", "s", "Time of all acting threads by activity.", 0,
           collect_s, "octet_actors_seconds_total", "activity", "collect", NULL),
    SAMPLE(COUNTER, "actors_wait_s", "s", "Time of all acting threads by activity.", 0, idle_s,
           "octet_actors_seconds_total", "activity", "wait", NULL),
    METRIC(GAUGE, "unsaved", "0, 1", "1 if the last write of a file of the run folder failed.",
           STATUS, unsaved, "octet_learner_unsaved"),
    METRIC(COUNTER, "write_failures", "writes",
           "Failed writes of files of the run folder; each is tried again.", STATUS, write_failures,
           "octet_learner_write_failures_total"),
    NUMBER(COUNTER, "replay_wait_s", "s", "Time without a batch from replay.", STATUS,
           replay_wait_s),
    METRIC(GAUGE, "replay_up", "0, 1",
           "1 while replay (and the data set's replay) answers with the run's table.", 0, replay_up,
           "octet_learner_replay_up"),
    SAMPLE(GAUGE, "phase_waiting", "0, 1", "1 for the phase that the run is in.", 0, phase[0],
           "octet_learner_phase", "phase", "waiting", NULL),
    SAMPLE(GAUGE, "phase_training", "0, 1", "1 for the phase that the run is in.", 0, phase[1],
           "octet_learner_phase", "phase", "training", NULL),
    SAMPLE(GAUGE, "phase_final", "0, 1", "1 for the phase that the run is in.", 0, phase[2],
           "octet_learner_phase", "phase", "final", NULL),
    SAMPLE(GAUGE, "phase_done", "0, 1", "1 for the phase that the run is in.", 0, phase[3],
           "octet_learner_phase", "phase", "done", NULL),
    METRIC(GAUGE, "offline", "0, 1", "1 if the run learns from a data set alone, without actors.",
           0, offline, "octet_learner_offline"),
};

void
learner_measurements_init(learner_measurements *now)
{
    for (size_t at = 0; at < sizeof(*now); at += sizeof(double)) {
        *(double *)((char *)now + at) = NAN;
    }
    now->env_steps_per_s = now->updates_per_s = now->published_bytes_per_s = 0;
}

_Static_assert(sizeof(learner_measurements) % sizeof(double) == 0, "only doubles");
_Static_assert(POLICY_LAYERS_MAX == 16, "rows[] has a row for each layer's error");

void
learner_numbers_add(oct_numbers *numbers, const learner_measurements *now)
{
    oct_numbers_add_all(numbers, rows, OCT_COUNTOF(rows), now);
}

// ---- means

#define NORM_HELP "Mean norm of the gradient in the last interval, before clipping."

// Numbers with their own Prometheus family; the other numbers share octet_learner_algorithm.
static const struct {
    const char *name, *family, *label, *label_value, *help;
} families[] = {
    {"grad_norm", "octet_learner_gradient_norm", "network", "value", NORM_HELP},
    {"policy_grad_norm", "octet_learner_gradient_norm", "network", "policy", NORM_HELP},
    {"loss", "octet_learner_loss", NULL, NULL, NULL},
};

void
learner_means_add(learner_means *means, oct_numbers *numbers, const algo_number *number)
{
    OCT_ASSERT(means->count < ALGO_NUMBERS_MAX);
    means->name[means->count] = number->name;
    means->mean[means->count] = NAN;
    oct_number row = {
        .name = number->name,
        .unit = number->unit,
        .help = number->help,
        .shown = ROW | OCT_SHOWN_STATUS,
        .kind = OCT_PROMETHEUS_GAUGE,
        .over = "updates",
        .family = "octet_learner_algorithm",
        .label = "number",
        .label_value = number->name,
        .family_help = "Numbers that the algorithm reports: means over the last interval.",
        .arg = &means->mean[means->count],
    };
    for (size_t i = 0; i < OCT_COUNTOF(families); i++) {
        if (strcmp(number->name, families[i].name) == 0) {
            row.family = families[i].family;
            row.family_help = families[i].help;
            row.label = families[i].label;
            row.label_value = families[i].label_value;
        }
    }
    oct_numbers_add(numbers, &row);
    means->count++;
}

void
learner_means_update(learner_means *means, const float *values)
{
    for (uint32_t i = 0; i < means->count; i++) {
        if (!isnan(values[i])) {
            means->sum[i] += (double)values[i];
            means->values[i]++;
        }
    }
}

void
learner_means_end_row(learner_means *means)
{
    for (uint32_t i = 0; i < means->count; i++) {
        means->mean[i] = means->values[i] > 0 ? means->sum[i] / (double)means->values[i] : NAN;
        means->sum[i] = 0;
        means->values[i] = 0;
    }
}

double
learner_means_of(const learner_means *means, const char *name)
{
    for (uint32_t i = 0; i < means->count; i++) {
        if (strcmp(means->name[i], name) == 0) {
            return means->mean[i];
        }
    }
    return NAN;
}

// ---- what the environment itself measures

static bool
is_taken(const learner_eval_metrics *metrics, const char *name)
{
    for (uint32_t i = 0; i < metrics->count; i++) {
        if (strcmp(metrics->name[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static void
metric_name_put(learner_eval_metrics *metrics, const char *from)
{
    char plain[OCT_METRIC_NAME_BYTES];
    char *out = metrics->name[metrics->count];
    oct_text_copy(plain, sizeof(plain), from);
    for (char *at = plain; *at != '\0'; at++) {
        *at = isalnum((unsigned char)*at) ? *at : '_';
    }
    (void)snprintf(out, sizeof(metrics->name[0]), LEARNER_EVAL_METRIC "%s", plain);
    for (unsigned k = 2; is_taken(metrics, out); k++) {
        (void)snprintf(out, sizeof(metrics->name[0]), LEARNER_EVAL_METRIC "%s_%u", plain, k);
    }
}

void
learner_eval_metrics_add(learner_eval_metrics *metrics, oct_numbers *numbers,
                         const oct_metric_names *names)
{
    for (uint32_t i = 0; i < names->count; i++) {
        OCT_ASSERT(metrics->count < OCT_METRICS_MAX);
        metric_name_put(metrics, names->name[i]);
        metrics->last[metrics->count] = metrics->row[metrics->count] = NAN;
        const char *name = metrics->name[metrics->count];
        const oct_number row = {
            .name = name,
            .unit = "",
            .help = "Mean of the environment's own metric over the last evaluation.",
            .shown = ROW,
            .kind = OCT_PROMETHEUS_GAUGE,
            .arg = &metrics->row[metrics->count],
        };
        const oct_number last = {
            .name = name,
            .unit = "",
            .help = "Mean of the environment's own metric over the last evaluation.",
            .shown = STATUS,
            .kind = OCT_PROMETHEUS_GAUGE,
            .family = "octet_evaluation_metric",
            .label = "metric",
            .label_value = name + strlen(LEARNER_EVAL_METRIC),
            .family_help = "Means of the environment's metrics in the last evaluation.",
            .arg = &metrics->last[metrics->count],
        };
        oct_numbers_add(numbers, &row);
        oct_numbers_add(numbers, &last);
        metrics->count++;
    }
}

void
learner_eval_metrics_put(learner_eval_metrics *metrics, const oct_metric *last)
{
    for (uint32_t i = 0; i < metrics->count; i++) {
        metrics->last[i] = last != NULL ? oct_metric_mean(&last[i]) : NAN;
    }
}

void
learner_eval_metrics_end_row(learner_eval_metrics *metrics, bool has_eval)
{
    for (uint32_t i = 0; i < metrics->count; i++) {
        metrics->row[i] = has_eval ? metrics->last[i] : NAN;
    }
}
