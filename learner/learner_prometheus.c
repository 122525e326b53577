#include <math.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "learner/learner_run_state.h"

// The run's numbers for Prometheus. docs/operations.md explains each.

static void
policy_write(const learner_run *run, const learner_actors_totals *totals, oct_prometheus *text)
{
    const learner_publishing *publishing = &run->publishing;
    oct_prometheus_gauge(text, "octet_policy_version", "Newest policy version published.",
                         run->latest != NULL ? (double)run->latest->version : 0);
    oct_prometheus_gauge(
        text, "octet_policy_lag",
        "Versions that acting policies are behind the newest, mean of live actors.",
        totals->lag_mean);
    oct_prometheus_gauge(text, "octet_policy_lag_max", "The same of the actor farthest behind.",
                         (double)totals->lag_max);
    oct_prometheus_counter(text, "octet_policy_gaps_total",
                           "Versions that actors missed, each mended by a complete policy.",
                           totals->policy_gaps);
    oct_prometheus_begin(text, OCT_PROMETHEUS_COUNTER, "octet_publications_total",
                         "Policy versions published by this process, complete or as a change.");
    double deltas = (double)publishing->deltas;
    oct_prometheus_add_for(text, "kind", "complete", (double)run->publications - deltas);
    oct_prometheus_add_for(text, "kind", "delta", deltas);
    oct_prometheus_gauge(text, "octet_policy_bytes", "Bytes of the newest version as it was sent.",
                         publishing->bytes);
    oct_prometheus_gauge(text, "octet_policy_fp32_bytes",
                         "Bytes of the weights and biases in fp32.", publishing->fp32_bytes);
    oct_prometheus_gauge(text, "octet_policy_encode_seconds",
                         "Time to quantise and encode the newest version.",
                         publishing->encode_ms * 1e-3);
    oct_prometheus_gauge(text, "octet_policy_quantization_error_ratio",
                         "Relative L2 error of the worst layer's quantised weights.",
                         publishing->weight_error);
    oct_prometheus_gauge(text, "octet_policy_divergence_ratio",
                         "Relative L2 difference of the quantised policy's outputs from fp32's.",
                         publishing->divergence.relative_l2);
    oct_prometheus_gauge(text, "octet_policy_agreement_ratio",
                         "Share of probe observations where int8 and fp32 choose the same action.",
                         publishing->divergence.agreement);
    oct_prometheus_counter(text, "octet_learner_snapshots_refused_total",
                           "Snapshots of weights that were not finite and so not published.",
                           run->stage != NULL ? (double)quantizer_stage_failures(run->stage) : 0);
}

static void
evaluation_write(learner_run *run, oct_prometheus *text)
{
    learner_eval_result best;
    bool has_best = learner_evals_best(run->evals, &best) != NULL;
    const learner_eval_result *last = &run->last_eval;
    oct_prometheus_counter(text, "octet_evaluations_total",
                           "Evaluations given out, those before a resume included.",
                           (double)learner_evals_count(run->evals));
    oct_prometheus_counter(text, "octet_evaluations_failed_total",
                           "Evaluations that an evaluator could not play.", run->failed_evals);
    oct_prometheus_gauge(text, "octet_evaluation_return",
                         "Mean return of the last evaluation, greedy.",
                         run->has_eval ? last->mean : NAN);
    oct_prometheus_gauge(text, "octet_evaluation_return_stddev",
                         "Standard deviation of that evaluation's returns.",
                         run->has_eval ? last->std : NAN);
    oct_prometheus_gauge(text, "octet_evaluation_best_return",
                         "Mean return of the best version so far.", has_best ? best.mean : NAN);
    oct_prometheus_gauge(text, "octet_evaluation_goal_return", "run.stop_at_return.",
                         run->config->run.stop_at_return);
    oct_prometheus_counter(text, "octet_training_episodes_total",
                           "Training episodes that actors finished since this process began.",
                           (double)run->episodes);
    oct_prometheus_gauge(text, "octet_training_return",
                         "Mean return of the training episodes of the last row, with exploration.",
                         run->row.train_return);
}

static void
training_write(learner_run *run, const learner_actors_totals *totals, oct_prometheus *text)
{
    double update_s = 0, wait_s = 0;
    if (run->train != NULL) {
        learner_train_times(run->train, &update_s, &wait_s);
    }
    oct_prometheus_counter(text, "octet_learner_updates_total",
                           "Gradient steps, those before a resume included.", (double)run->updates);
    oct_prometheus_counter(text, "octet_env_steps_total",
                           "Environment steps of all actors, those before a resume included.",
                           (double)learner_run_steps(run, totals));
    oct_prometheus_gauge(text, "octet_env_steps_budget", "run.env_steps: training ends there.",
                         (double)run->config->run.env_steps);
    oct_prometheus_counter(text, "octet_learner_wall_seconds_total",
                           "Time since the first actor joined, over all processes of the run.",
                           learner_run_wall_s(run));
    oct_prometheus_begin(text, OCT_PROMETHEUS_COUNTER, "octet_learner_seconds_total",
                         "Time of the training thread by activity.");
    oct_prometheus_add_for(text, "activity", "update", update_s);
    oct_prometheus_add_for(text, "activity", "wait", wait_s);
    oct_prometheus_gauge(text, "octet_learner_loss", "Mean loss of the last row.", run->row.loss);
    oct_prometheus_begin(text, OCT_PROMETHEUS_GAUGE, "octet_learner_gradient_norm",
                         "Mean norm of the gradient in the last row, before clipping.");
    oct_prometheus_add_for(text, "network", "value", run->row.grad_norm);
    oct_prometheus_add_for(text, "network", "policy", run->row.policy_grad_norm);
    oct_prometheus_counter(text, "octet_learner_bad_samples_total",
                           "Sampled batches that did not fit the network.",
                           (double)run->bad_samples);
    oct_prometheus_gauge(text, "octet_learner_unsaved",
                         "1: a file of the run folder could not be written the last time.",
                         run->unsaved);
}

static void
actors_write(const learner_run *run, const learner_actors_totals *totals, oct_prometheus *text)
{
    oct_prometheus_gauge(text, "octet_actors", "Actors heard of in the last 10 s.", totals->actors);
    oct_prometheus_gauge(text, "octet_evaluators", "Evaluators heard of in the last 60 s.",
                         totals->evaluators);
    oct_prometheus_begin(text, OCT_PROMETHEUS_COUNTER, "octet_actors_seconds_total",
                         "Time of all acting threads by activity, as they reported it.");
    oct_prometheus_add_for(text, "activity", "infer", totals->infer_s);
    oct_prometheus_add_for(text, "activity", "env", totals->env_s);
    oct_prometheus_add_for(text, "activity", "collect", totals->collect_s);
    oct_prometheus_add_for(text, "activity", "wait", totals->wait_s);
    oct_prometheus_counter(text, "octet_actors_dropped_total",
                           "Transitions given up by actors because their ring was full.",
                           totals->dropped);
    oct_prometheus_counter(text, "octet_actors_resent_total", "Batches sent again by all actors.",
                           totals->resent);
    oct_prometheus_counter(text, "octet_actors_failures_total",
                           "Environments that had to be recovered.", totals->failures);
    oct_prometheus_begin(text, OCT_PROMETHEUS_COUNTER, "octet_learner_bytes_total",
                         "Bytes by arrow; what goes to actors is counted once for all of them.");
    oct_prometheus_add_for(text, "arrow", "actors_to_replay", totals->bytes);
    oct_prometheus_add_for(text, "arrow", "learner_to_actors", run->published_bytes);
    oct_prometheus_add_for(text, "arrow", "learner_to_replay", run->to_replay_bytes);
    oct_prometheus_add_for(text, "arrow", "replay_to_learner", run->from_replay_bytes);
}

void
learner_run_prometheus(learner_run *run, oct_prometheus *text)
{
    static const char *const phases[] = {"waiting", "training", "final", "done"};
    learner_actors_totals totals;
    learner_actors_totals_get(run->actors, oct_clock_ns(),
                              run->latest != NULL ? run->latest->version : 0, &totals);
    oct_prometheus_begin(text, OCT_PROMETHEUS_GAUGE, "octet_learner_phase",
                         "1 for the phase that the run is in, 0 for the others.");
    for (int i = 0; i < (int)OCT_COUNTOF(phases); i++) {
        oct_prometheus_add_for(text, "phase", phases[i], (int)run->phase == i);
    }
    training_write(run, &totals, text);
    policy_write(run, &totals, text);
    evaluation_write(run, text);
    actors_write(run, &totals, text);
}
