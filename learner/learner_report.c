#include <math.h>

#include "common/oct_clock.h"
#include "common/oct_log.h"
#include "learner/learner_run_state.h"

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

#define ONE(column) +1
_Static_assert((LEARNER_LAYER_ERRORS(ONE)) == POLICY_LAYERS_MAX, "a column for each layer");
#undef ONE

static void
row_fill_policy(learner_run *run, double elapsed_s)
{
    learner_row *row = &run->row;
    const learner_publishing *publishing = &run->publishing;
    const quantizer_divergence *divergence = &publishing->divergence;
    double core_s = quantizer_stage_core_s(run->stage);
    uint64_t publications = run->publications - run->row_publications;
    row->publish_interval_s = mean_of(elapsed_s, publications);
    row->publish_core_share = (core_s - run->row_core_s) / elapsed_s;
    row->publish_encode_ms = publishing->encode_ms;
    row->policy_bytes = publishing->bytes;
    row->policy_bytes_fp32_ratio = publishing->ratio;
    row->changed_share = publishing->changed_share;
    row->quantization_l2 = publishing->weight_error;
    row->divergence = divergence->relative_l2;
    row->divergence_max = divergence->max_abs;
    row->divergence_kl = divergence->kl;
    row->divergence_action_l2 = divergence->action_l2;
    row->agreement = divergence->agreement;
    int layer = 0;
#define TAKE(column) row->column = publishing->layer_error[layer++];
    LEARNER_LAYER_ERRORS(TAKE)
#undef TAKE
    run->row_publications = run->publications;
    run->row_core_s = core_s;
}

static void
row_fill(learner_run *run, double elapsed_s, const learner_actors_totals *totals)
{
    learner_row *row = &run->row;
    uint64_t env_steps = learner_run_steps(run, totals);
    double update_s = 0, wait_s = 0;
    learner_train_times(run->train, &update_s, &wait_s);
    const learner_actors_totals *last = &run->row_totals;
    double infer_s = totals->infer_s - last->infer_s, env_s = totals->env_s - last->env_s;
    double collect_s = totals->collect_s - last->collect_s, idle_s = totals->wait_s - last->wait_s;
    double acting_s = infer_s + env_s + collect_s + idle_s;
    run->env_steps_per_s = (double)(env_steps - run->row_env_steps) / elapsed_s;
    run->updates_per_s = (double)(run->updates - run->row_updates) / elapsed_s;
    run->published_per_s = (run->published_bytes - run->row_published) / elapsed_s;
    *row = (learner_row){
        .wall_s = learner_run_wall_s(run),
        .env_steps = (double)env_steps,
        .updates = (double)run->updates,
        .env_steps_per_s = run->env_steps_per_s,
        .updates_per_s = run->updates_per_s,
        .inserts = (double)run->inserts,
        .samples = (double)run->samples,
        .samples_per_insert = run->inserts > 0 ? (double)run->samples / (double)run->inserts : NAN,
        .replay_size = (double)run->replay_size,
        .policy_version = run->latest != NULL ? (double)run->latest->version : 0,
        .policy_lag = totals->lag_mean,
        .policy_lag_max = (double)totals->lag_max,
        .published_bytes = run->published_bytes,
        .policy_gaps = totals->policy_gaps,
        .loss = mean_of(run->sums.loss, run->sums.updates),
        .td_abs = mean_of(run->sums.td_abs, run->sums.updates),
        .value = mean_of(run->sums.value, run->sums.updates),
        .grad_norm = mean_of(run->sums.grad_norm, run->sums.updates),
        .policy_grad_norm = mean_of(run->sums.policy_grad_norm, run->sums.policy_updates),
        .learning_rate = learner_train_rate(run->train),
        .train_return = mean_of(run->sums.episode_return, run->sums.episodes),
        .train_length = mean_of(run->sums.episode_length, run->sums.episodes),
        .eval_return = run->eval_in_row ? run->last_eval.mean : NAN,
        .eval_std = run->eval_in_row ? run->last_eval.std : NAN,
        .eval_episodes = run->eval_in_row ? run->last_eval.episodes : NAN,
        .wait_share = OCT_MIN(1, (wait_s - run->row_wait_s) / elapsed_s),
        .actors = totals->actors,
        .actor_infer_share = share_of(infer_s, acting_s),
        .actor_env_share = share_of(env_s, acting_s),
        .actor_collect_share = share_of(collect_s, acting_s),
        .actor_wait_share = share_of(idle_s, acting_s),
    };
    row_fill_policy(run, elapsed_s);
    run->row_env_steps = env_steps;
    run->row_updates = run->updates;
    run->row_published = run->published_bytes;
    run->row_wait_s = wait_s;
    run->row_totals = *totals;
    run->eval_in_row = false;
    run->sums = (learner_sums){0};
}

void
learner_report_row(learner_run *run, const learner_actors_totals *totals, bool now)
{
    double wall_s = learner_run_wall_s(run);
    double elapsed_s = wall_s - run->row_begin_s;
    if (elapsed_s <= 0 || (!now && elapsed_s < run->config->learner.metrics_s)) {
        return;
    }
    run->row_begin_s = wall_s;
    row_fill(run, elapsed_s, totals);
    bool was_fine = learner_metrics_failed(run->metrics) == 0;
    learner_metrics_write(run->metrics, &run->row);
    if (was_fine && learner_metrics_failed(run->metrics) != 0) {
        oct_log_error("LEARNER-WRITE", "%s/metrics.csv: %s; training goes on without",
                      run->options.folder, strerror(learner_metrics_failed(run->metrics)));
        run->failed = true;
    }
}

// ---- status

static void
status_add(learner_run *run, const char *name, double value)
{
    OCT_ASSERT(run->status.stat_count < WIRE_STATS_MAX);
    run->status_name[run->status.stat_count] = name;
    run->status_value[run->status.stat_count] = value;
    run->status.stat_count++;
}

// Updates that the version was made after; NaN: no longer known.
static double
version_updates(const learner_run *run, uint64_t version)
{
    const learner_version *kept = &run->versions[version % LEARNER_VERSIONS_KEPT];
    return version > 0 && kept->version == version ? (double)kept->updates : NAN;
}

const wire_peers *
learner_run_peers(learner_run *run, uint32_t count_max)
{
    uint64_t newest = run->latest != NULL ? run->latest->version : 0;
    wire_peers *peers =
        learner_peers_list(run->peers, run->actors, oct_clock_ns(), newest, count_max);
    double *lag = learner_peers_lag_updates(run->peers);
    for (uint32_t i = 0; i < peers->count; i++) {
        lag[i] = version_updates(run, newest) - version_updates(run, peers->version[i]);
    }
    peers->run_id = run->run_id;
    return peers;
}

static void
status_evaluations(learner_run *run)
{
    learner_eval_result best;
    bool has_best = learner_evals_best(run->evals, &best) != NULL;
    status_add(run, "learner.evaluations", (double)learner_evals_count(run->evals));
    status_add(run, "learner.eval_return", run->has_eval ? run->last_eval.mean : NAN);
    status_add(run, "learner.eval_return_std", run->has_eval ? run->last_eval.std : NAN);
    status_add(run, "learner.eval_episodes", run->has_eval ? run->last_eval.episodes : NAN);
    status_add(run, "learner.eval_best", has_best ? best.mean : NAN);
    learner_eval_stage stage;
    uint32_t eval_done = 0, eval_asked = 0;
    (void)learner_evals_at_work(run->evals, &stage, &eval_done, &eval_asked);
    status_add(run, "learner.eval_done", eval_done);
    status_add(run, "learner.eval_asked", eval_asked);
    status_add(run, "learner.goal", run->config->run.stop_at_return);
}

const wire_status *
learner_run_status(learner_run *run)
{
    static const char *const states[] = {"waiting for an actor", "training", "final evaluation",
                                         "done"};
    learner_actors_totals totals;
    uint64_t version = run->latest != NULL ? run->latest->version : 0;
    learner_actors_totals_get(run->actors, oct_clock_ns(), version, &totals);
    run->status = (wire_status){
        .run_id = run->run_id,
        .state = states[run->phase],
        .stat_name = run->status_name,
        .stat_value = run->status_value,
    };
    status_add(run, "learner.wall_s", learner_run_wall_s(run));
    status_add(run, "learner.env_steps", (double)learner_run_steps(run, &totals));
    status_add(run, "learner.env_steps_budget", (double)run->config->run.env_steps);
    status_add(run, "learner.env_steps_per_s", run->env_steps_per_s);
    status_add(run, "learner.updates", (double)run->updates);
    status_add(run, "learner.updates_per_s", run->updates_per_s);
    status_add(run, "learner.policy_version", (double)version);
    status_add(run, "learner.policy_lag", totals.lag_mean);
    status_add(run, "learner.published_bytes", run->published_bytes);
    status_add(run, "learner.published_bytes_per_s", run->published_per_s);
    status_add(run, "learner.actors", totals.actors);
    status_add(run, "learner.evaluators", totals.evaluators);
    status_evaluations(run);
    status_add(run, "learner.train_return", run->row.train_return);
    status_add(run, "learner.train_episodes", (double)run->episodes);
    status_add(run, "learner.loss", run->row.loss);
    status_add(run, "learner.grad_norm", run->row.grad_norm);
    status_add(run, "learner.policy_grad_norm", run->row.policy_grad_norm);
    status_add(run, "learner.wait_share", run->row.wait_share);
    status_add(run, "learner.actor_infer_share", run->row.actor_infer_share);
    status_add(run, "learner.actor_env_share", run->row.actor_env_share);
    status_add(run, "learner.actor_collect_share", run->row.actor_collect_share);
    status_add(run, "learner.actor_wait_share", run->row.actor_wait_share);
    const learner_publishing *publishing = &run->publishing;
    status_add(run, "learner.policy_bytes", publishing->bytes);
    status_add(run, "learner.policy_bytes_fp32_ratio", publishing->ratio);
    status_add(run, "learner.policy_deltas", (double)publishing->deltas);
    status_add(run, "learner.policy_gaps", totals.policy_gaps);
    status_add(run, "learner.changed_share", publishing->changed_share);
    status_add(run, "learner.publish_encode_ms", publishing->encode_ms);
    status_add(run, "learner.publish_interval_s", run->row.publish_interval_s);
    status_add(run, "learner.publish_core_share", run->row.publish_core_share);
    status_add(run, "learner.quantization_l2", publishing->weight_error);
    status_add(run, "learner.divergence", publishing->divergence.relative_l2);
    status_add(run, "learner.divergence_kl", publishing->divergence.kl);
    status_add(run, "learner.divergence_action_l2", publishing->divergence.action_l2);
    status_add(run, "learner.agreement", publishing->divergence.agreement);
    status_add(run, "learner.samples_per_insert", run->row.samples_per_insert);
    status_add(run, "learner.actor_bytes", totals.bytes);
    status_add(run, "learner.snapshots_refused",
               run->stage != NULL ? (double)quantizer_stage_failures(run->stage) : 0);
    status_add(run, "learner.snapshots_unchanged",
               run->stage != NULL ? (double)quantizer_stage_unchanged(run->stage) : 0);
    status_add(run, "learner.dropped", totals.dropped);
    status_add(run, "learner.resent", totals.resent);
    status_add(run, "learner.bad_requests", (double)run->bad_requests);
    status_add(run, "learner.bad_tokens", (double)run->bad_tokens);
    status_add(run, "learner.cpu_s", (double)oct_clock_process_cpu_ns() * 1e-9);
    return &run->status;
}
