// TRPO (Schulman et al. 2015) on rollouts of the newest policy: a step along the natural gradient,
// as long as the KL divergence from the policy before it allows. Values learn as PPO's do.
//
// The policy's step: the gradient g of the loss; x with (F + damping) x = g by conjugate gradients,
// where F is the policy's Fisher matrix; then the longest step along -x that the quadratic model of
// the KL divergence allows, shortened until the actual divergence is within kl_max and the
// objective has improved. If no length does, the policy stays as it was and only values learn. A
// number that is not finite undoes the whole update.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/algo_cg.h"
#include "algos/algo_rollout.h"
#include "common/oct_base.h"
#include "common/oct_pulse.h"

typedef struct algo_trpo {
    algo_rollout on;
    float kl_max;  // of one update, nats
    float damping; // added to the diagonal of F
    float shrink;  // factor between the lengths that the line search tries
    uint32_t cg_iterations, line_search_steps;
    algo_entropy_cost entropy_cost;
    float grad_norm_max; // of the values; the KL divergence limits the policy's step
    bool normalise_advantage;

    nn_tangent tangent;
    algo_cg cg;

    // By row of the batch.
    float *gain;    // [N], the advantage, standardised if configured
    float *log_pi;  // [N]
    float *entropy; // [N]
    float *dlog_pi; // [N]
    float *kept;    // [N + 1][action_count], the policy before the step (algo_pair_keep)

    uint32_t N_all; // rows of all ranks
    float N_mean;   // mean rows per rank; sums over rows are divided by it
} algo_trpo;

enum { NUMBER_STEP_KL = ALGO_PG_NUMBERS, NUMBER_SUCCESS, NUMBER_SEARCH_STEPS, NUMBERS };

static const algo_number trpo_numbers[NUMBERS] = {
    ALGO_PG_ROWS,
    [NUMBER_STEP_KL] =
        {"step_kl", "nats",
         "Mean KL divergence from the policy before an update to the policy after it."},
    [NUMBER_SUCCESS] = {"line_search_success", "share",
                        "Share of the updates whose line search found a step; in the others the "
                        "policy did not change."},
    [NUMBER_SEARCH_STEPS] = {"line_search_steps", "", "Mean number of steps tried in an update."},
};

// ---- create and destroy

static void
trpo_configure(algo_trpo *trpo, const config_experiment *config)
{
    trpo->on.base.ops = &algo_trpo_ops;
    trpo->kl_max = (float)config->algo.kl_max;
    trpo->damping = (float)config->algo.cg_damping;
    trpo->shrink = (float)config->algo.line_search_shrink;
    trpo->cg_iterations = config->algo.cg_iterations;
    trpo->line_search_steps = config->algo.line_search_steps;
    algo_entropy_cost_init(&trpo->entropy_cost, config);
    trpo->grad_norm_max = (float)config->algo.grad_norm_max;
    trpo->normalise_advantage = config->algo.normalise_advantage;
}

static void
trpo_reserve(algo_trpo *trpo, nn_context *context)
{
    const algo_rows *rows = &trpo->on.rows;
    const nn_tape *tape = &trpo->on.pair.policy.tape;
    size_t all = (size_t)rows->windows_max * rows->steps;
    nn_tangent_init(&trpo->tangent, tape);
    algo_cg_init(&trpo->cg, context, tape->net.param_count);
    trpo->gain = nn_context_alloc(context, all * sizeof(float));
    trpo->log_pi = nn_context_alloc(context, all * sizeof(float));
    trpo->entropy = nn_context_alloc(context, all * sizeof(float));
    trpo->dlog_pi = nn_context_alloc(context, all * sizeof(float));
    trpo->kept = nn_context_alloc(context, (all + 1) * rows->action_count * sizeof(float));
}

static oct_err
trpo_create(algo **out, nn_context *context, const config_experiment *config,
            const policy_spec *spec, uint64_t seed)
{
    algo_trpo *trpo = oct_alloc(sizeof(*trpo));
    oct_err err = config->algo.kl_max > 0
                      ? algo_rollout_init(&trpo->on, context, config, spec, seed, true)
                      : OCT_EINVAL;
    if (err != OCT_OK) {
        free(trpo);
        return err;
    }
    trpo_configure(trpo, config);
    trpo_reserve(trpo, context);
    *out = &trpo->on.base;
    return OCT_OK;
}

static void
trpo_destroy(algo *a)
{
    algo_trpo *trpo = (algo_trpo *)a;
    nn_tangent_fini(&trpo->tangent);
    algo_cg_fini(&trpo->cg);
    algo_rollout_fini(&trpo->on);
    void *blocks[] = {trpo->gain, trpo->log_pi, trpo->entropy, trpo->dlog_pi, trpo->kept};
    for (size_t i = 0; i < OCT_COUNTOF(blocks); i++) {
        free(blocks[i]);
    }
    free(trpo);
}

// ---- the policy's step

static void
rows_count(algo_trpo *trpo)
{
    const algo_rollout *on = &trpo->on;
    trpo->N_all = 0;
    for (uint32_t r = 0; r < group_size(on->base.group); r++) {
        trpo->N_all += on->N_of[r];
    }
    trpo->N_mean = (float)trpo->N_all / (float)group_size(on->base.group);
}

// Runs the current policy on all rows. Returns the objective, over all ranks: the mean of weight *
// ratio * advantage, plus entropy_cost times the mean entropy.
static double
policy_forward(algo_trpo *trpo)
{
    algo_rollout *on = &trpo->on;
    uint32_t N = on->rows.N;
    double sum = 0, entropy = 0, objective;
    algo_pair_forward(&on->pair, on->rows.x, algo_rows_done(&on->rows), trpo->log_pi,
                      trpo->entropy);
    for (uint32_t i = 0; i < N; i++) {
        double ratio = exp((double)algo_log_ratio(trpo->log_pi[i], on->centre[i]));
        sum += (double)on->weight[i] * ratio * (double)trpo->gain[i];
        entropy += (double)trpo->entropy[i];
    }
    objective = sum + (double)trpo->entropy_cost.now * entropy;
    group_sum(on->base.group, &objective, 1);
    return objective / trpo->N_all;
}

// Computes the gradient of the loss (minus the objective) before the step, over all ranks, and
// gives every rank the whole gradient. Returns its norm.
static float
policy_gradient(algo_trpo *trpo, algo_pg_sums *sums)
{
    algo_rollout *on = &trpo->on;
    uint32_t N = on->rows.N;
    for (uint32_t i = 0; i < N; i++) {
        double ratio = exp((double)algo_log_ratio(trpo->log_pi[i], on->centre[i]));
        double acted = algo_pg_add(sums, trpo->log_pi[i], on->rows.log_mu[i], trpo->entropy[i]);
        float slope = -on->weight[i] * (float)ratio * trpo->gain[i];
        bool is_cut =
            on->correction == CONFIG_CORRECTION_DECOUPLED && acted > (double)on->ratio_max;
        trpo->dlog_pi[i] = slope / trpo->N_mean;
        sums->loss += (double)slope;
        sums->clipped += is_cut;
    }
    float norm =
        algo_pair_backward(&on->pair, trpo->dlog_pi, -trpo->entropy_cost.now / trpo->N_mean);
    nn_trainer_share_gradient(&on->pair.policy);
    return norm;
}

// Fv = (F + damping) v, where the policy's Fisher matrix F is the mean over all ranks' rows.
static void
fisher_product(void *arg, const float *v, float *Fv)
{
    algo_trpo *trpo = arg;
    group *all = trpo->on.base.group;
    oct_pulse_beat_again();
    algo_pair_fisher(&trpo->on.pair, &trpo->tangent, v, Fv);
    for (size_t i = 0; all != NULL && i < trpo->cg.count; i++) {
        Fv[i] *= (float)trpo->on.rows.N / trpo->N_mean;
    }
    group_mean_own(all, Fv, trpo->cg.count, 0);
    group_share(all, Fv, trpo->cg.count, 0);
    for (size_t i = 0; i < trpo->cg.count; i++) {
        Fv[i] += trpo->damping * v[i];
    }
}

// params = before - length * x, where x is F^-1 times the gradient of the loss.
static void
policy_move(algo_trpo *trpo, const float *before, double length)
{
    float *params = trpo->on.pair.policy.tape.net.params;
    for (size_t i = 0; i < trpo->cg.count; i++) {
        params[i] = before[i] - (float)(length * trpo->cg.x[i]);
    }
    algo_pair_changed(&trpo->on.pair);
}

// Returns the mean KL divergence from the policy before the step to the current one, over all rows
// of all ranks.
static double
step_kl(const algo_trpo *trpo)
{
    uint32_t N = trpo->on.rows.N;
    double kl = algo_pair_kl(&trpo->on.pair, trpo->kept) * N;
    group_sum(trpo->on.base.group, &kl, 1);
    return kl / trpo->N_all;
}

// Tries lengths from the longest that the quadratic model of the KL divergence allows to shorter
// ones, until the divergence is below its limit and the objective has improved. If none does, the
// policy is restored.
static void
line_search(algo_trpo *trpo, double energy, double objective, float *numbers)
{
    const float *before = trpo->on.params_before; // the policy's come first
    double length = sqrt(2 * (double)trpo->kl_max / energy);
    for (uint32_t k = 0; k < trpo->line_search_steps; k++, length *= (double)trpo->shrink) {
        policy_move(trpo, before, length);
        double gained = policy_forward(trpo) - objective;
        double kl = step_kl(trpo);
        numbers[NUMBER_SEARCH_STEPS] += 1;
        if (kl < (double)trpo->kl_max && gained > 0) {
            numbers[NUMBER_STEP_KL] = (float)kl;
            numbers[NUMBER_SUCCESS] = 1;
            return;
        }
    }
    policy_move(trpo, before, 0);
}

static oct_err
update_policy(algo_trpo *trpo, algo_pg_sums *sums, float *numbers)
{
    algo_rollout *on = &trpo->on;
    uint32_t N = on->rows.N;
    rows_count(trpo);
    memcpy(trpo->gain, on->advantage, N * sizeof(float));
    if (trpo->normalise_advantage) {
        algo_standardise(trpo->on.base.group, trpo->gain, N);
    }
    double objective = policy_forward(trpo);
    algo_pair_keep(&on->pair, trpo->kept);
    numbers[ALGO_PG_POLICY_GRAD_NORM] = policy_gradient(trpo, sums);
    if (!isfinite(objective) || !isfinite(numbers[ALGO_PG_POLICY_GRAD_NORM])) {
        return OCT_EINTERNAL;
    }
    double energy = algo_cg_solve(&trpo->cg, on->pair.policy.gradient, trpo->cg_iterations,
                                  fisher_product, trpo);
    if (!isfinite(energy)) {
        return OCT_EINTERNAL;
    }
    if (energy > 0) { // otherwise there is no gradient
        line_search(trpo, energy, objective, numbers);
    }
    return OCT_OK;
}

// ---- the update

static oct_err
update_values(algo_trpo *trpo, float learning_rate, algo_pg_sums *sums, float *numbers)
{
    nn_trainer *value = &trpo->on.pair.value;
    uint32_t count = algo_rollout_minibatches(&trpo->on);
    double norms = 0;
    for (uint32_t k = 0; k < count; k++) {
        algo_rollout_minibatch(&trpo->on, k);
        float norm = algo_rollout_value(&trpo->on, sums);
        norms += (double)norm;
        if (!isfinite(norms)) {
            return OCT_EINTERNAL; // on all ranks, since the norm is the same
        }
        nn_trainer_step(value, learning_rate * trpo->on.pair.value_rate_ratio,
                        nn_clip_scale(norm, trpo->grad_norm_max));
    }
    sums->value_loss /= trpo->on.epochs;
    numbers[ALGO_PG_GRAD_NORM] = (float)(norms / count);
    return OCT_OK;
}

static oct_err
trpo_update(algo *a, const algo_batch *batch, float learning_rate, float *priorities,
            float *numbers)
{
    algo_trpo *trpo = (algo_trpo *)a;
    algo_pg_sums sums = {0};
    float now[NUMBERS] = {0};
    OCT_TRY(algo_rollout_begin(&trpo->on, batch, now));
    algo_entropy_cost_set(&trpo->entropy_cost, batch->spent);
    oct_err err = update_policy(trpo, &sums, now);
    if (err == OCT_OK) {
        err = update_values(trpo, learning_rate, &sums, now);
    }
    algo_pg_together(trpo->on.base.group, &sums);
    algo_pg_means(&sums, trpo->N_all, trpo->entropy_cost.now, trpo->on.value_cost, now);
    if (err != OCT_OK || !algo_numbers_finite(now, NUMBERS)) {
        algo_rollout_undo(&trpo->on);
        return OCT_EINTERNAL;
    }
    algo_rollout_end(&trpo->on, batch, priorities);
    memcpy(numbers, now, sizeof(now));
    return OCT_OK;
}

const algo_ops algo_trpo_ops = {
    .name = "trpo",
    .numbers = trpo_numbers,
    .number_count = NUMBERS,
    .splits = true,
    .make_spec = algo_rollout_make_spec,
    .create = trpo_create,
    .destroy = trpo_destroy,
    .update = trpo_update,
    .normaliser = algo_rollout_normaliser,
    .set_projection = algo_rollout_set_projection,
    .networks = algo_rollout_networks,
    .policy_params = algo_rollout_policy_params,
    .save = algo_rollout_save,
    .load = algo_rollout_load,
};
