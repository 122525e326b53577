// PPO (Schulman et al. 2017) on rollouts of the newest policy: generalised advantages, and epochs
// of minibatches with a clipped ratio. A2C (Mnih et al. 2016, synchronous) is one epoch of one
// minibatch without clipping.
//
// An update is begin, all minibatches in order, then end (algo_rollout.c). Each minibatch is one
// gradient step of both networks, whose gradients are clipped together. With algo.kl_max the update
// stops early, before a step, when the policy is too far from the policy before the update. A
// number that is not finite undoes the whole update.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/algo_rollout.h"
#include "common/oct_base.h"

typedef struct algo_ppo {
    algo_rollout on;
    bool clips;   // ppo; false: a2c
    float clip;   // epsilon of the clipped ratio
    float kl_max; // 0: off
    algo_entropy_cost entropy_cost;
    float mean_noise;    // half-width of RPO's noise; 0: off
    float grad_norm_max; // of both gradients together; 0: no clipping
    bool normalise_advantage;

    // The current minibatch.
    int32_t *choice; // [n]
    float *drawn;    // [n][action_count]
    float *gain;     // [n], the advantage, standardised if configured
    float *log_pi;   // [n]
    float *entropy;  // [n]
    float *dlog_pi;  // [n]
} algo_ppo;

enum { NUMBER_UPDATE_KL = ALGO_PG_NUMBERS, NUMBER_STEPS, NUMBERS };

static const algo_number ppo_numbers[NUMBERS] = {
    ALGO_PG_ROWS,
    [NUMBER_UPDATE_KL] = {"update_kl", "nats",
                          "Mean KL divergence to the policy at the end of an update."},
    [NUMBER_STEPS] = {"gradient_steps", "", "Mean number of gradient steps in an update."},
};

// ---- create and destroy

// A2C is PPO with these settings and another loss.
static void
a2c_configure(config_experiment *config)
{
    config->algo.epochs = 1;
    config->algo.minibatches = 1;
    config->algo.value_clip = 0;
    config->algo.kl_max = 0;
    config->algo.correction = CONFIG_CORRECTION_RATIO;
}

static void
ppo_configure(algo_ppo *ppo, const config_experiment *config, bool clips)
{
    ppo->clips = clips;
    ppo->on.base.ops = clips ? &algo_ppo_ops : &algo_a2c_ops;
    ppo->clip = (float)config->algo.clip;
    ppo->kl_max = (float)config->algo.kl_max;
    algo_entropy_cost_init(&ppo->entropy_cost, config);
    ppo->mean_noise = clips ? (float)config->algo.mean_noise : 0;
    ppo->grad_norm_max = (float)config->algo.grad_norm_max;
    ppo->normalise_advantage = config->algo.normalise_advantage;
}

static void
ppo_reserve(algo_ppo *ppo, nn_context *context)
{
    const algo_rows *rows = &ppo->on.rows;
    size_t n = ppo->on.n_max;
    ppo->choice = nn_context_alloc(context, n * sizeof(int32_t));
    ppo->drawn =
        nn_context_alloc(context, (rows->is_box ? n * rows->action_count : 1) * sizeof(float));
    ppo->gain = nn_context_alloc(context, n * sizeof(float));
    ppo->log_pi = nn_context_alloc(context, n * sizeof(float));
    ppo->entropy = nn_context_alloc(context, n * sizeof(float));
    ppo->dlog_pi = nn_context_alloc(context, n * sizeof(float));
}

static oct_err
ppo_create(algo **out, nn_context *context, const config_experiment *config,
           const policy_spec *spec, uint64_t seed)
{
    config_experiment own = *config;
    bool clips = config->algo.name == CONFIG_ALGO_PPO;
    if (!clips) {
        a2c_configure(&own);
    }
    algo_ppo *ppo = oct_alloc(sizeof(*ppo));
    oct_err err = algo_rollout_init(&ppo->on, context, &own, spec, seed, false);
    if (err != OCT_OK) {
        free(ppo);
        return err;
    }
    ppo_configure(ppo, &own, clips);
    ppo_reserve(ppo, context);
    *out = &ppo->on.base;
    return OCT_OK;
}

static void
ppo_destroy(algo *a)
{
    algo_ppo *ppo = (algo_ppo *)a;
    algo_rollout_fini(&ppo->on);
    void *blocks[] = {ppo->choice, ppo->drawn, ppo->gain, ppo->log_pi, ppo->entropy, ppo->dlog_pi};
    for (size_t i = 0; i < OCT_COUNTOF(blocks); i++) {
        free(blocks[i]);
    }
    free(ppo);
}

// ---- a minibatch

// RPO (Rahman and Xue 2022): uniform noise z moves the mean of each row. The density of an action
// under a mean moved by z is the density of the action minus z under the mean itself, so the noise
// is subtracted from the actions.
static void
means_move(algo_ppo *ppo)
{
    size_t count = ppo->on.rows.is_box ? (size_t)ppo->on.n * ppo->on.rows.action_count : 0;
    for (size_t i = 0; ppo->mean_noise > 0 && i < count; i++) {
        ppo->drawn[i] -= ppo->mean_noise * (2 * oct_rng_float(&ppo->on.rng) - 1);
    }
}

static void
minibatch_take(algo_ppo *ppo, uint32_t k)
{
    const algo_rows *rows = &ppo->on.rows;
    size_t dim = rows->action_count;
    algo_rollout_minibatch(&ppo->on, k);
    for (uint32_t i = 0; i < ppo->on.n; i++) {
        size_t row = ppo->on.chosen[i];
        ppo->gain[i] = ppo->on.advantage[row];
        if (rows->is_box) {
            memcpy(ppo->drawn + i * dim, rows->drawn + row * dim, dim * sizeof(float));
        } else {
            ppo->choice[i] = rows->choice[row];
        }
    }
    if (ppo->normalise_advantage) {
        algo_standardise(ppo->on.base.group, ppo->gain, ppo->on.n);
    }
    means_move(ppo);
}

// Adds the loss of row i to sums and returns its derivative by log pi. In a2c's gradient ratio and
// advantage are constants. In ppo's only the advantage is; where the ratio is beyond the clip on
// the side towards which the advantage pulls, the derivative is 0.
static float
row_slope(const algo_ppo *ppo, uint32_t i, float ratio, algo_pg_sums *sums)
{
    float gain = ppo->gain[i];
    if (!ppo->clips) {
        return algo_pg_add_weighted(sums, ratio, ppo->on.ratio_max, gain, ppo->log_pi[i]);
    }
    float weight = ppo->on.weight[ppo->on.chosen[i]];
    float low = 1.0f - ppo->clip, high = 1.0f + ppo->clip;
    bool is_above = ratio > high, is_below = ratio < low;
    float cut = is_above ? high : is_below ? low : ratio;
    bool is_dead = (gain > 0 && is_above) || (gain < 0 && is_below);
    sums->clipped += is_above || is_below;
    sums->loss -= (double)(weight * (is_dead ? cut : ratio) * gain);
    return is_dead ? 0.0f : -weight * ratio * gain;
}

// Computes the policy's gradient on the minibatch; returns its norm.
static float
minibatch_policy(algo_ppo *ppo, algo_pg_sums *sums)
{
    algo_rollout *on = &ppo->on;
    algo_done done = {ppo->choice, ppo->drawn, on->n};
    algo_pair_forward(&on->pair, on->x, done, ppo->log_pi, ppo->entropy);
    for (uint32_t i = 0; i < on->n; i++) {
        uint32_t row = on->chosen[i];
        double log_ratio = (double)algo_log_ratio(ppo->log_pi[i], on->centre[row]);
        double ratio = exp(log_ratio);
        ppo->dlog_pi[i] = row_slope(ppo, i, (float)ratio, sums) / on->n_mean;
        (void)algo_pg_add(sums, ppo->log_pi[i], on->rows.log_mu[row], ppo->entropy[i]);
        sums->update_kl += ratio - 1.0 - log_ratio;
    }
    return algo_pair_backward(&on->pair, ppo->dlog_pi, -ppo->entropy_cost.now / on->n_mean);
}

// ---- the update

// Numbers that are means over the minibatches of an update.
static const int means[] = {ALGO_PG_LOSS,       ALGO_PG_ENTROPY,          ALGO_PG_RATIO_CLIPPED,
                            ALGO_PG_VALUE_LOSS, ALGO_PG_POLICY_GRAD_NORM, ALGO_PG_GRAD_NORM};

// Adds the numbers of a minibatch to those of the minibatches before it.
static void
numbers_add(float *numbers, const float *now)
{
    if (numbers[NUMBER_STEPS] == 0) { // only the first minibatch: later the policy has moved
        numbers[ALGO_PG_RATIO_MEAN] = now[ALGO_PG_RATIO_MEAN];
        numbers[ALGO_PG_KL] = now[ALGO_PG_KL];
    }
    for (size_t i = 0; i < OCT_COUNTOF(means); i++) {
        numbers[means[i]] += now[means[i]];
    }
    numbers[NUMBER_UPDATE_KL] = now[NUMBER_UPDATE_KL];
    numbers[NUMBER_STEPS] += 1;
}

static void
numbers_end(float *numbers)
{
    for (size_t i = 0; i < OCT_COUNTOF(means); i++) {
        numbers[means[i]] /= numbers[NUMBER_STEPS];
    }
}

// Takes one gradient step. OCT_EAGAIN: the policy has moved far enough, and no step was taken.
// OCT_EINTERNAL: a number is not finite.
static oct_err
minibatch_learn(algo_ppo *ppo, float learning_rate, float *numbers)
{
    algo_pair *pair = &ppo->on.pair;
    algo_pg_sums sums = {0};
    float now[NUMBERS] = {0};
    bool is_first = numbers[NUMBER_STEPS] == 0;
    float norm = minibatch_policy(ppo, &sums);
    float value_norm = algo_rollout_value(&ppo->on, &sums);
    algo_pg_together(ppo->on.base.group, &sums);
    now[NUMBER_UPDATE_KL] = (float)(sums.update_kl / ppo->on.n_all);
    algo_pg_means(&sums, ppo->on.n_all, ppo->entropy_cost.now, ppo->on.value_cost, now);
    now[ALGO_PG_POLICY_GRAD_NORM] = norm;
    now[ALGO_PG_GRAD_NORM] = value_norm;
    numbers_add(numbers, now);
    if (!algo_numbers_finite(numbers, NUMBERS)) {
        return OCT_EINTERNAL;
    }
    if (ppo->kl_max > 0 && !is_first && numbers[NUMBER_UPDATE_KL] > ppo->kl_max) {
        return OCT_EAGAIN;
    }
    double both = sqrt((double)norm * (double)norm + (double)value_norm * (double)value_norm);
    float scale = nn_clip_scale((float)both, ppo->grad_norm_max);
    nn_trainer_step(&pair->policy, learning_rate, scale);
    nn_trainer_step(&pair->value, learning_rate * pair->value_rate_ratio, scale);
    algo_pair_changed(pair);
    return OCT_OK;
}

// Takes the steps of all minibatches; results as of minibatch_learn.
static oct_err
update_epochs(algo_ppo *ppo, float learning_rate, float *numbers)
{
    uint32_t count = algo_rollout_minibatches(&ppo->on);
    for (uint32_t k = 0; k < count; k++) {
        minibatch_take(ppo, k);
        OCT_TRY(minibatch_learn(ppo, learning_rate, numbers));
    }
    return OCT_OK;
}

static oct_err
ppo_update(algo *a, const algo_batch *batch, float learning_rate, float *priorities, float *numbers)
{
    algo_ppo *ppo = (algo_ppo *)a;
    float now[NUMBERS] = {0};
    OCT_TRY(algo_rollout_begin(&ppo->on, batch, now));
    algo_entropy_cost_set(&ppo->entropy_cost, batch->spent);
    oct_err err = update_epochs(ppo, learning_rate, now);
    if (err != OCT_OK && err != OCT_EAGAIN) {
        algo_rollout_undo(&ppo->on);
        return OCT_EINTERNAL;
    }
    numbers_end(now);
    now[NUMBER_STEPS] -= err == OCT_EAGAIN;
    algo_rollout_end(&ppo->on, batch, priorities);
    memcpy(numbers, now, sizeof(now));
    return OCT_OK;
}

#define PPO_OPS(text)                                                                              \
    {                                                                                              \
        .name = (text), .numbers = ppo_numbers, .number_count = NUMBERS, .splits = true,           \
        .make_spec = algo_rollout_make_spec, .create = ppo_create, .destroy = ppo_destroy,         \
        .update = ppo_update, .normaliser = algo_rollout_normaliser,                               \
        .set_projection = algo_rollout_set_projection, .networks = algo_rollout_networks,          \
        .policy_params = algo_rollout_policy_params, .save = algo_rollout_save,                    \
        .load = algo_rollout_load,                                                                 \
    }
const algo_ops algo_ppo_ops = PPO_OPS("ppo");
const algo_ops algo_a2c_ops = PPO_OPS("a2c");
