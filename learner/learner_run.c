#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/oct_blas.h"
#include "common/oct_clock.h"
#include "common/oct_log.h"
#include "learner/learner_run_state.h"
#include "nn/nn_gemm.h"
#include "nn/nn_tile.h"

#define FINAL_TIMEOUT_NS    120000000000u
#define CURVE_PERIOD_NS     2000000000u
#define PROBE_PERIOD_NS     1000000000u
#define PRIORITY_BATCHES    16
#define REFUSED_UPDATES_MAX 1000

static double
seconds_since(uint64_t from_ns)
{
    return (double)(oct_clock_ns() - from_ns) * 1e-9;
}

double
learner_run_wall_s(const learner_run *run)
{
    return run->wall_base_s + (run->begin_ns != 0 ? seconds_since(run->begin_ns) : 0);
}

// Each environment step becomes one transition; replay's count is newer than the actors' reports,
// which come a few times a second. Steps after training are nobody's: actors do not know its end.
uint64_t
learner_run_steps(const learner_run *run, const learner_actors_totals *totals)
{
    if (run->training_end_ns != 0) {
        return run->env_steps_end;
    }
    return run->env_steps_base + OCT_MAX(totals->env_steps, run->inserted);
}

uint64_t
learner_run_env_steps(const learner_run *run)
{
    learner_actors_totals totals;
    learner_actors_totals_get(run->actors, oct_clock_ns(), 0, &totals);
    return learner_run_steps(run, &totals);
}

// ---- life

oct_err
learner_run_create(learner_run **out, const learner_run_options *options, char *reason,
                   size_t reason_size)
{
    learner_run *run = oct_alloc(sizeof(*run));
    run->options = *options;
    run->config = options->config;
    const char *name =
        run->config->run.name[0] != '\0' ? run->config->run.name : run->config->env.id;
    (void)snprintf(run->run_name, sizeof(run->run_name), "%.*s", POLICY_NAME_MAX - 1, name);
    (void)snprintf(run->reason, sizeof(run->reason), "running");
    learner_policy_init(run);
    run->row.publish_interval_s = run->row.publish_core_share = NAN;
    run->row.grad_norm = run->row.policy_grad_norm = NAN;
    run->row.loss = run->row.train_return = run->row.wait_share = NAN;
    run->row.actor_wait_share = run->row.samples_per_insert = NAN;
    run->row.actor_infer_share = run->row.actor_env_share = run->row.actor_collect_share = NAN;
    oct_err err = learner_files_begin(run, reason, reason_size);
    if (err != OCT_OK) {
        free(run);
        return err;
    }
    if (learner_metrics_open(&run->metrics, options->folder) != OCT_OK) {
        (void)snprintf(reason, reason_size, "%s: cannot write metrics.csv there", options->folder);
        learner_files_end(run);
        free(run);
        return OCT_EIO;
    }
    run->actors = learner_actors_create();
    run->peers = learner_peers_create();
    run->evals = learner_evals_create(run->config, run->evaluations_base);
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
        learner_train_stop(run->train);
    }
    learner_files_end(run);
    learner_train_destroy(run->train);
    learner_policy_end(run);
    quantizer_publication_release(run->latest);
    quantizer_publication_release(run->policy);
    learner_evals_destroy(run->evals);
    quantizer_stage_destroy(run->stage);
    for (uint32_t i = 0; i < run->batch_count; i++) {
        learner_batch_destroy(run->batches[i]);
    }
    free(run->batches);
    free(run->free_batches);
    free(run->priority_key);
    free(run->priority);
    learner_actors_destroy(run->actors);
    learner_peers_destroy(run->peers);
    learner_metrics_close(run->metrics);
    free(run);
}

learner_phase
learner_run_phase(const learner_run *run)
{
    return run->phase;
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

void
learner_run_token(const learner_run *run, const learner_actor *actor, uint8_t out[WIRE_TOKEN_BYTES])
{
    wire_token_make(run->tokens, run->run_id, actor->session, actor->id, out);
}

learner_actor *
learner_run_known(learner_run *run, uint32_t actor_id, const uint8_t token[WIRE_TOKEN_BYTES])
{
    learner_actor *actor = learner_actors_find(run->actors, actor_id);
    if (actor == NULL) {
        return NULL;
    }
    uint8_t right[WIRE_TOKEN_BYTES];
    learner_run_token(run, actor, right);
    if (wire_token_equal(right, token)) {
        return actor;
    }
    if (run->bad_tokens++ == 0) {
        oct_log_warn("LEARNER-BAD-TOKEN",
                     "actor=%08" PRIx32 " without its token; more of these are only counted",
                     actor_id);
    }
    return NULL;
}

const policy_spec *
learner_run_spec(const learner_run *run)
{
    return run->train != NULL ? &run->spec : NULL;
}

bool
learner_run_failed(const learner_run *run)
{
    return run->failed || run->unsaved;
}

bool
learner_run_unsaved(const learner_run *run)
{
    return run->unsaved;
}

// ---- joining

static void
spec_from_env(policy_spec *spec, const wire_env_spec *env)
{
    *spec = (policy_spec){
        .obs_dtype = (policy_dtype)env->obs_dtype,
        .obs_count = env->obs_count,
        .action_kind = (policy_action_kind)env->action_kind,
        .action_count = env->action_count,
    };
    (void)snprintf(spec->env_id, sizeof(spec->env_id), "%.*s", POLICY_NAME_MAX - 1, env->env_id);
    spec->obs_rank = env->obs_rank;
    for (uint32_t i = 0; i < env->obs_rank; i++) {
        spec->obs_shape[i] = env->obs_shape[i];
    }
    for (uint32_t i = 0; env->action_low != NULL && i < env->action_count; i++) {
        spec->action_low[i] = env->action_low[i];
        spec->action_high[i] = env->action_high[i];
    }
}

static oct_err
join_alike(const learner_run *run, const policy_spec *spec, char *reason, size_t reason_size)
{
    if (spec->obs_dtype != run->spec.obs_dtype || spec->obs_count != run->spec.obs_count ||
        spec->action_kind != run->spec.action_kind ||
        spec->action_count != run->spec.action_count) {
        (void)snprintf(reason, reason_size,
                       "this run trains on %s with %u observed numbers and %u actions; this actor "
                       "has %s with %u and %u",
                       run->spec.env_id, run->spec.obs_count, run->spec.action_count, spec->env_id,
                       spec->obs_count, spec->action_count);
        return OCT_EINVAL;
    }
    if (spec->obs_rank != run->spec.obs_rank ||
        memcmp(spec->obs_shape, run->spec.obs_shape, sizeof(spec->obs_shape)) != 0) {
        (void)snprintf(
            reason, reason_size,
            "this run trains on observations of another shape than this actor has, which "
            "are %u numbers as well",
            spec->obs_count);
        return OCT_EINVAL;
    }
    for (uint32_t i = 0; i < spec->action_count; i++) {
        if (spec->action_low[i] != run->spec.action_low[i] ||
            spec->action_high[i] != run->spec.action_high[i]) {
            (void)snprintf(reason, reason_size,
                           "this run trains on action %u in [%g, %g]; this actor has it in "
                           "[%g, %g]",
                           i, (double)run->spec.action_low[i], (double)run->spec.action_high[i],
                           (double)spec->action_low[i], (double)spec->action_high[i]);
            return OCT_EINVAL;
        }
    }
    return OCT_OK;
}

static void
batches_reserve(learner_run *run)
{
    uint32_t B = run->config->learner.batch_size;
    run->batch_count =
        OCT_MAX(2u, run->config->learner.prefetch) + run->config->learner.batches_per_request;
    run->batches = oct_alloc(run->batch_count * sizeof(*run->batches));
    run->free_batches = oct_alloc(run->batch_count * sizeof(*run->free_batches));
    for (uint32_t i = 0; i < run->batch_count; i++) {
        run->batches[i] = learner_batch_create(&run->spec, B, 0);
        run->free_batches[run->free_count++] = run->batches[i];
    }
    run->priority_room = PRIORITY_BATCHES * B;
    run->priority_key = oct_alloc(run->priority_room * sizeof(uint64_t));
    run->priority = oct_alloc(run->priority_room * sizeof(float));
}

// state_bytes: weights, moments and targets of all networks, the critics' too.
static void
budget_log(const learner_run *run, size_t state_bytes)
{
    size_t params = policy_spec_params(&run->spec);
    size_t batch =
        (size_t)run->config->learner.batch_size * run->spec.obs_count * 2 * sizeof(float);
    oct_log_notice("LEARNER-BUDGET",
                   "policy_parameters=%zu state_bytes=%zu batches=%u batches_bytes=%zu "
                   "snapshots_bytes=%zu publication_bytes=%zu curve_bytes=%zu",
                   params, state_bytes, run->batch_count, batch * run->batch_count,
                   params * 3 * sizeof(float), params * 2 * sizeof(float),
                   LEARNER_CURVE_MAX * sizeof(learner_curve_point));
}

// Which kernels do the matrix products.
static void
kernels_begin(learner_run *run)
{
    char warning[256];
    const char *rounding = nn_gemm_set_bf16(run->config->learner.bf16);
    const nn_tile_ops *tiles = nn_tile_float();
    run->blas = nn_blas_init(run->config->learner.threads, warning, sizeof(warning));
    oct_log_notice("LEARNER-BLAS", "tiles=%s bf16=%s openblas=%s threads=%u removed=\"%s\"",
                   tiles != NULL ? tiles->name : "none", rounding != NULL ? rounding : "off",
                   run->blas, run->config->learner.threads, oct_blas_removed());
    if (run->config->learner.bf16 && rounding == NULL) {
        oct_log_warn(
            "LEARNER-BF16-MISSING",
            "learner.bf16: this CPU has no products of bfloat16 that are faster than those "
            "of floats (AMX, or AMD's AVX512-BF16); the run goes on in fp32");
    }
    if (warning[0] != '\0') {
        oct_log_warn("LEARNER-BLAS-SLOW", "%s", warning);
    }
}

static oct_err
join_algorithm(learner_run *run, algo **out, char *reason, size_t reason_size)
{
    kernels_begin(run);
    OCT_TRY(algo_make_spec(run->config, &run->spec, reason, reason_size));
    OCT_TRY(policy_spec_check(&run->spec, reason, reason_size));
    OCT_TRY(learner_policy_check(run, reason, reason_size));
    algo *algorithm;
    oct_err err = algo_create(&algorithm, run->config, &run->spec, run->config->run.seed);
    if (err == OCT_OK && (err = learner_policy_project(run, algorithm)) != OCT_OK) {
        algo_destroy(algorithm);
    }
    if (err != OCT_OK) {
        (void)snprintf(reason, reason_size, "the algorithm cannot be made: %s", oct_strerror(err));
        return err;
    }
    if (run->resumed.state != NULL) {
        oct_reader reader = {.at = run->resumed.state->bytes, .left = run->resumed.state->length};
        if (algo_load(algorithm, &reader) != OCT_OK) {
            (void)snprintf(reason, reason_size,
                           "%s/checkpoint.oct is of another algorithm, network or support than "
                           "algo.* and network.* say: resume with those that it began with",
                           run->options.folder);
            algo_destroy(algorithm);
            return OCT_EINVAL;
        }
        free(run->resumed.state);
        run->resumed.state = NULL;
    }
    *out = algorithm;
    return OCT_OK;
}

static oct_err
join_start(learner_run *run, algo *algorithm)
{
    oct_err err = learner_policy_begin(run);
    if (err != OCT_OK) {
        algo_destroy(algorithm);
        return err;
    }
    batches_reserve(run);
    run->begin_ns = oct_clock_ns();
    run->row_begin_s = run->wall_base_s;
    run->row_env_steps = run->env_steps_base;
    run->updates = run->updates_base = run->row_updates = algo_updates(algorithm);
    run->train = learner_train_create(algorithm, run->config, run->stage, run->batch_count,
                                      run->options.notify, run->options.arg);
    learner_train_set_env_steps(run->train, run->env_steps_base);
    // Before anything is published, so that a restarted learner goes on with this run id.
    learner_files_reserve(run, run->resumed.policy_version);
    learner_files_checkpoint(run, learner_train_state(run->train), false);
    run->checkpoint_ns = oct_clock_ns();
    return learner_train_start(run->train);
}

oct_err
learner_run_join(learner_run *run, const wire_env_spec *env, char *reason, size_t reason_size)
{
    policy_spec spec;
    spec_from_env(&spec, env);
    if (run->phase == LEARNER_DONE) {
        return OCT_EAGAIN;
    }
    if (run->train != NULL) {
        return join_alike(run, &spec, reason, reason_size);
    }
    run->spec = spec;
    algo *algorithm;
    OCT_TRY(join_algorithm(run, &algorithm, reason, reason_size));
    oct_writer measure = {0};
    algo_save(algorithm, &measure);
    if (join_start(run, algorithm) != OCT_OK) {
        (void)snprintf(reason, reason_size, "the learner could not start its threads");
        oct_log_error("LEARNER-THREADS", "%s", reason);
        run->failed = true;
        learner_run_finish(run, "no threads", false);
        return OCT_EINTERNAL;
    }
    budget_log(run, measure.used);
    oct_log_notice("LEARNER-START",
                   "env=%s obs=%u actions=%u layers=%u run=%016" PRIx64 " updates=%" PRIu64
                   " env_steps=%" PRIu64,
                   run->spec.env_id, run->spec.obs_count, run->spec.action_count,
                   run->spec.layer_count, run->run_id, run->updates, run->env_steps_base);
    run->phase = LEARNER_TRAINING;
    return OCT_OK;
}

wire_configure
learner_run_configure(const learner_run *run)
{
    OCT_ASSERT(run->train != NULL);
    const oct_config *config = run->config;
    static const wire_sampler samplers[] = {
        [OCT_SAMPLER_UNIFORM] = WIRE_SAMPLER_UNIFORM,
        [OCT_SAMPLER_PRIORITIZED] = WIRE_SAMPLER_PRIORITIZED,
        [OCT_SAMPLER_FIFO] = WIRE_SAMPLER_FIFO,
    };
    wire_configure configure = {
        .run_id = run->run_id,
        .capacity = config->replay.capacity,
        .obs_bytes = (uint32_t)policy_spec_obs_bytes(&run->spec),
        .obs_is_float = run->spec.obs_dtype == POLICY_F32,
        .action_bytes = (uint32_t)policy_spec_action_bytes(&run->spec),
        .action_is_float = run->spec.action_kind == POLICY_BOX,
        .sampler = samplers[config->replay.sampler],
        .priority_exponent = config->replay.priority_exponent,
        .min_size = config->replay.min_size,
        .samples_per_insert = config->replay.samples_per_insert,
        .tolerance = config->replay.tolerance,
        .seed = config->run.seed,
    };
    memcpy(configure.token_key, run->token_key, sizeof(configure.token_key));
    return configure;
}

// ---- batches

uint32_t
learner_run_reserve(learner_run *run)
{
    if (run->phase != LEARNER_TRAINING || run->free_count <= run->reserved) {
        return 0;
    }
    uint32_t room =
        OCT_MIN(run->free_count - run->reserved, run->config->learner.batches_per_request);
    run->reserved += room;
    return room;
}

void
learner_run_missed(learner_run *run, uint32_t reserved)
{
    OCT_ASSERT(run->reserved >= reserved);
    run->reserved -= reserved;
}

void
learner_run_sampled(learner_run *run, uint32_t reserved, const wire_sampled *sampled)
{
    learner_run_missed(run, reserved);
    if (run->phase != LEARNER_TRAINING) {
        return;
    }
    bool same_replay = run->incarnation == sampled->incarnation;
    bool fresh = run->incarnation == 0 && run->env_steps_base == 0;
    if ((same_replay || fresh) && sampled->inserts > run->inserts) {
        run->inserted += sampled->inserts - run->inserts;
    }
    if (!same_replay) {
        run->priority_count = 0; // keys of another process
    }
    run->replay_size = sampled->size;
    run->inserts = sampled->inserts;
    run->samples = sampled->samples;
    run->incarnation = sampled->incarnation;
    uint32_t B = run->config->learner.batch_size;
    if (sampled->count > 0 && run->first_sample_ns == 0) {
        run->first_sample_ns = oct_clock_ns();
    }
    double exponent = run->config->replay.sampler == OCT_SAMPLER_PRIORITIZED
                          ? run->config->replay.importance_exponent
                          : 0;
    for (uint32_t first = 0; first + B <= sampled->count && run->free_count > 0; first += B) {
        learner_batch *batch = run->free_batches[run->free_count - 1];
        oct_err err = learner_batch_fill(batch, &run->spec, sampled, first, exponent);
        if (err != OCT_OK) {
            if (run->bad_samples++ == 0) {
                oct_log_warn("LEARNER-BAD-SAMPLE",
                             "replay's answer does not fit: %s; more of these are only counted",
                             oct_strerror(err));
            }
            return;
        }
        run->free_count--;
        learner_train_put(run->train, batch);
        if (oct_clock_ns() - run->probe_ns > PROBE_PERIOD_NS) {
            run->probe_ns = oct_clock_ns();
            quantizer_stage_set_probe(run->stage, batch->obs,
                                      OCT_MIN(B, run->config->learner.probe_rows));
        }
    }
}

static void
batch_learned(learner_run *run, learner_batch *batch)
{
    uint32_t B = batch->view.B;
    run->free_batches[run->free_count++] = batch;
    run->updates = batch->updates;
    if (!batch->learned) {
        return;
    }
    run->sums.updates++;
    run->sums.loss += batch->result.loss;
    run->sums.td_abs += batch->result.td_abs;
    run->sums.value += batch->result.value;
    run->sums.grad_norm += batch->result.grad_norm;
    if (!isnan(batch->result.policy_grad_norm)) {
        run->sums.policy_updates++;
        run->sums.policy_grad_norm += batch->result.policy_grad_norm;
    }
    if (run->config->replay.sampler != OCT_SAMPLER_PRIORITIZED ||
        batch->incarnation != run->incarnation || run->priority_count + B > run->priority_room) {
        return;
    }
    memcpy(run->priority_key + run->priority_count, batch->key, B * sizeof(uint64_t));
    memcpy(run->priority + run->priority_count, batch->priority, B * sizeof(float));
    run->priority_count += B;
}

void
learner_run_collect(learner_run *run)
{
    if (run->train == NULL) {
        return;
    }
    learner_batch *batch;
    while ((batch = learner_train_take(run->train)) != NULL) {
        batch_learned(run, batch);
    }
    learner_state_bytes *state = learner_train_take_state(run->train);
    if (state != NULL) {
        learner_files_checkpoint(run, state, true);
    }
}

bool
learner_run_priorities(learner_run *run, wire_priorities *out)
{
    if (run->priority_count == 0) {
        return false;
    }
    *out = (wire_priorities){
        .incarnation = run->incarnation,
        .count = run->priority_count,
        .key = run->priority_key,
        .priority = run->priority,
    };
    run->priority_count = 0;
    return true;
}

// ---- evaluations

oct_err
learner_run_order(learner_run *run, uint32_t evaluator, learner_eval_order *out)
{
    if (run->phase == LEARNER_DONE) {
        return OCT_EAGAIN;
    }
    return learner_evals_order(run->evals, oct_clock_ns(), evaluator, out);
}

// ---- reports

static void
curve_add(learner_run *run, const learner_eval_result *result)
{
    // At the steps and the time of the policy, not of its evaluation, which comes later.
    learner_curve_point point = {
        .wall_s = run->wall_base_s + (double)(result->made_ns - run->begin_ns) * 1e-9,
        .env_steps = (double)result->env_steps,
        .mean = result->mean,
        .std = result->std,
    };
    learner_curve_add(run->curve, &run->curve_count, LEARNER_CURVE_MAX, &point);
    run->last_eval = *result;
    run->has_eval = true;
    run->eval_in_row = true;
}

// Nothing more can be learned about this version; a run that waits for it waits no longer.
static void
evaluation_failed(learner_run *run, const wire_report *report)
{
    learner_eval_stage stage;
    if (learner_evals_failed(run->evals, report->ticket, report->policy_version, &stage) !=
        OCT_OK) {
        return;
    }
    if (run->failed_evals++ == 0) {
        oct_log_warn("LEARNER-EVAL-FAILED", "version=%" PRIu64 " the evaluator's log says why",
                     report->policy_version);
    }
    if (stage == LEARNER_EVAL_FINAL && run->phase == LEARNER_FINAL) {
        run->phase = LEARNER_DONE;
    }
}

static void
evaluation_take(learner_run *run, const wire_report *report)
{
    static const char *const stages[] = {"screen", "full", "final"};
    if (report->episode_count == 0) {
        evaluation_failed(run, report);
        return;
    }
    learner_eval_result result;
    oct_err err = learner_evals_report(run->evals, report->ticket, report->policy_version,
                                       report->episode_count, report->episode_return,
                                       report->episode_length, &result);
    if (err != OCT_OK) {
        return; // late: it was given to another evaluator
    }
    curve_add(run, &result);
    run->final_begin_ns = oct_clock_ns(); // an evaluator is at work
    oct_log(result.stage == LEARNER_EVAL_SCREEN ? OCT_LOG_DEBUG : OCT_LOG_NOTICE, "LEARNER-EVAL",
            "stage=%s version=%" PRIu64 " episodes=%u mean=%.2f std=%.2f", stages[result.stage],
            result.version, result.episodes, result.mean, result.std);
    if (result.stage != LEARNER_EVAL_FINAL) {
        return;
    }
    if (learner_evals_solved(run->evals) && run->phase == LEARNER_TRAINING) {
        learner_run_finish(run, "solved", false);
    } else if (run->phase == LEARNER_FINAL) {
        run->phase = LEARNER_DONE;
    }
}

oct_err
learner_run_report(learner_run *run, const wire_report *report)
{
    learner_actor *actor = learner_run_known(run, report->actor_id, report->token);
    if (actor == NULL || actor->session != report->session) {
        return OCT_ENOTFOUND;
    }
    if (learner_actors_report(run->actors, actor, report, oct_clock_ns()) != OCT_OK) {
        return OCT_OK; // counted before
    }
    if (report->ticket != 0) {
        evaluation_take(run, report);
        return OCT_OK;
    }
    run->episodes += report->episode_count;
    for (uint32_t i = 0; i < report->episode_count; i++) {
        run->sums.episodes++;
        run->sums.episode_return += report->episode_return[i];
        run->sums.episode_length += report->episode_length[i];
    }
    return OCT_OK;
}

// ---- time

static void
budget_tick(learner_run *run, uint64_t env_steps)
{
    if (env_steps >= run->config->run.env_steps) {
        learner_run_finish(run, "budget", true);
    } else if (run->config->run.wall_s > 0 && learner_run_wall_s(run) >= run->config->run.wall_s) {
        learner_run_finish(run, "time", true);
    } else if (learner_train_refused(run->train) >= REFUSED_UPDATES_MAX) {
        oct_log_error("LEARNER-DIVERGED",
                      "%d updates in a row were not finite; lower "
                      "algo.learning_rate or set algo.grad_norm_max",
                      REFUSED_UPDATES_MAX);
        run->failed = true;
        learner_run_finish(run, "diverged", true);
    }
}

// A short run may end before its evaluator has registered: that one is waited for less long than
// for the answer of one that is there.
static void
final_tick(learner_run *run, const learner_actors_totals *totals, uint64_t now_ns)
{
    if (run->awaits_evaluator && totals->evaluators > 0) {
        run->awaits_evaluator = false;
        run->final_begin_ns = now_ns;
    }
    double limit_s =
        run->awaits_evaluator ? run->options.evaluator_wait_s : FINAL_TIMEOUT_NS * 1e-9;
    if ((double)(now_ns - run->final_begin_ns) * 1e-9 > limit_s) {
        oct_log_warn("LEARNER-NO-FINAL", "no evaluator %s; the last evaluation stands",
                     run->awaits_evaluator ? "registered" : "answered");
        run->phase = LEARNER_DONE;
    }
}

void
learner_run_tick(learner_run *run)
{
    uint64_t now_ns = oct_clock_ns();
    learner_actors_totals totals;
    learner_actors_totals_get(run->actors, now_ns, run->latest != NULL ? run->latest->version : 0,
                              &totals);
    if (run->phase == LEARNER_FINAL) {
        final_tick(run, &totals, now_ns);
    }
    if (run->phase != LEARNER_TRAINING) {
        return;
    }
    uint64_t env_steps = learner_run_steps(run, &totals);
    learner_train_set_env_steps(run->train, env_steps);
    quantizer_stage_set_listeners(run->stage, totals.actors);
    learner_report_row(run, &totals, false);
    if (run->config->learner.checkpoint_s > 0 &&
        (double)(now_ns - run->checkpoint_ns) * 1e-9 >= run->config->learner.checkpoint_s) {
        run->checkpoint_ns = now_ns;
        learner_run_checkpoint(run);
    }
    if (run->curve_count > 0 && now_ns - run->curve_ns > CURVE_PERIOD_NS) {
        run->curve_ns = now_ns;
        learner_files_curve(run);
    }
    budget_tick(run, env_steps);
}

void
learner_run_checkpoint(learner_run *run)
{
    if (run->phase == LEARNER_TRAINING) {
        learner_files_policies(run);
        learner_train_ask_state(run->train);
    }
}

void
learner_run_save(learner_run *run)
{
    if (run->train == NULL && run->resumed.state != NULL) {
        return; // it went on with nothing: the folder tells of the run as it was
    }
    run->unsaved = false; // what could not be written before is written now, or never
    if (run->train != NULL) {
        learner_actors_totals totals;
        learner_actors_totals_get(run->actors, oct_clock_ns(),
                                  run->latest != NULL ? run->latest->version : 0, &totals);
        learner_report_row(run, &totals, true);
    }
    learner_files_policies(run); // before the checkpoint, which says how good policy.oct is
    if (run->train != NULL) {
        learner_files_checkpoint(run, learner_train_state(run->train), false);
        learner_files_curve(run);
    }
    learner_files_summary(run);
}

void
learner_run_finish(learner_run *run, const char *reason, bool evaluate)
{
    if (run->phase == LEARNER_DONE) {
        return;
    }
    bool was_training = run->phase == LEARNER_TRAINING;
    learner_actors_totals totals;
    learner_actors_totals_get(run->actors, oct_clock_ns(), 0, &totals);
    if (was_training) {
        run->env_steps_end = learner_run_steps(run, &totals);
        run->training_end_ns = oct_clock_ns();
        learner_train_stop(run->train);
        learner_run_collect(run);
        (void)snprintf(run->reason, sizeof(run->reason), "%s", reason);
        oct_log_notice("LEARNER-STOP", "reason=%s env_steps=%" PRIu64 " updates=%" PRIu64, reason,
                       learner_run_env_steps(run), run->updates);
    }
    learner_evals_finish(run->evals);
    learner_eval_result known;
    bool wanted = evaluate && !learner_evals_final(run->evals, &known);
    bool awaits = totals.evaluators == 0 && run->options.evaluator_wait_s > 0;
    if (was_training && wanted && (totals.evaluators > 0 || awaits) && run->latest != NULL) {
        run->phase = LEARNER_FINAL;
        run->awaits_evaluator = awaits;
        run->final_begin_ns = oct_clock_ns();
        return;
    }
    if (!was_training && run->phase == LEARNER_WAITING) {
        (void)snprintf(run->reason, sizeof(run->reason), "%s", reason);
    }
    run->phase = LEARNER_DONE;
}

void
learner_run_count_refused(learner_run *run)
{
    run->bad_requests++;
}

void
learner_run_count_bytes(learner_run *run, size_t to_replay, size_t from_replay)
{
    run->to_replay_bytes += (double)to_replay;
    run->from_replay_bytes += (double)from_replay;
}
