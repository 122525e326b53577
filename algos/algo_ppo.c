// PPO (Schulman et al. 2017) on rollouts of the newest policy: generalised advantages, and epochs
// of minibatches with a clipped ratio. A2C (Mnih et al. 2016, synchronous) is one epoch of one
// minibatch without clipping.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/algo_advantage.h"
#include "algos/algo_ops.h"
#include "algos/algo_pair.h"
#include "common/oct_base.h"

// Of the seed, for the first weights and for the order of rows.
#define INIT_STREAM  0x7070u
#define ORDER_STREAM 0x7071u

// Lengths of the rows of the first weights.
#define GAIN        1.41421356f
#define POLICY_GAIN 0.01f // all actions begin about as likely as each other
#define VALUE_GAIN  1.0f

typedef struct algo_ppo {
    algo base;
    bool clips; // ppo; otherwise a2c
    uint32_t epochs;
    uint32_t minibatches;
    float discount, lambda;
    float clip;
    float value_clip; // 0: off
    float kl_max;     // 0: off
    float ratio_max;
    float entropy_cost, value_cost;
    float grad_norm_max;
    bool normalise_advantage;
    bool scale_rewards;
    oct_correction_name correction;

    algo_pair pair;
    oct_rng rng; // of the order of rows
    algo_reward_scale scale;

    // Work space of an update, by row of the batch.
    algo_rows rows;
    float *reward;    // [N]
    float *v;         // [N + M] before the update
    float *target;    // [N]
    float *advantage; // [N]
    float *centre;    // [N] log-probabilities that ratios are to
    float *weight;    // [N] importance weights beside the ratio
    uint32_t *order;  // [N]

    // Of a minibatch of n rows, by row of it.
    uint32_t n, n_max;
    const uint32_t *chosen; // [n] rows of the batch
    float *x;               // [n][obs_count]
    int32_t *choice;        // [n]
    float *drawn;           // [n][action_count]
    float *gain;            // [n] advantage
    float *log_pi;          // [n]
    float *entropy;         // [n]
    float *dlog_pi;         // [n]
    float *dv;              // [n]

    float *before; // what an update that fails puts back: parameters and moments
} algo_ppo;

enum {
    NUMBER_LOSS,
    NUMBER_VALUE,
    NUMBER_GRAD_NORM,
    NUMBER_POLICY_GRAD_NORM,
    NUMBER_ENTROPY,
    NUMBER_RATIO_MEAN,
    NUMBER_RATIO_CLIPPED,
    NUMBER_KL,
    NUMBER_VALUE_LOSS,
    NUMBER_EXPLAINED,
    NUMBER_UPDATE_KL,
    NUMBER_STEPS,
    NUMBERS
};

static const algo_number ppo_numbers[NUMBERS] = {
    [NUMBER_LOSS] = {"loss", "loss",
                     "Mean loss of the row's updates: of policy, entropy and value together."},
    [NUMBER_VALUE] = {"value", "return", "Mean V(s) of the steps learned from in the row."},
    [NUMBER_GRAD_NORM] = {"grad_norm", "norm",
                          "Mean norm of the gradient of the network of values in the row, before "
                          "clipping."},
    [NUMBER_POLICY_GRAD_NORM] = {"policy_grad_norm", "norm",
                                 "Mean norm of the policy network's gradient over the updates "
                                 "that it learned in, before clipping; empty where there is none."},
    [NUMBER_ENTROPY] = {"entropy", "nats", "Mean entropy of the policy where it acted."},
    [NUMBER_RATIO_MEAN] = {"ratio_mean", "",
                           "Mean of pi(a|s) / mu(a|s), of the policy that learns and the quantised "
                           "one that acted; 1 where they are the same."},
    [NUMBER_RATIO_CLIPPED] = {"ratio_clipped", "share",
                              "Share of the actions whose ratio was outside 1 - algo.clip .. 1 + "
                              "algo.clip (a2c: cut to algo.ratio_max)."},
    [NUMBER_KL] = {"kl", "nats",
                   "Mean KL divergence from the policy that acted to the one that learns, "
                   "estimated from the actions taken."},
    [NUMBER_VALUE_LOSS] = {"value_loss", "loss", "Mean of (V(s) - return)^2 / 2 in the row."},
    [NUMBER_EXPLAINED] = {"explained_variance", "share",
                          "Share of the variance of returns that V(s) explains: 1 is all, 0 as "
                          "much as a constant."},
    [NUMBER_UPDATE_KL] = {"update_kl", "nats",
                          "Mean KL divergence to the policy at the end of an update, estimated in "
                          "its last minibatch."},
    [NUMBER_STEPS] = {"gradient_steps", "", "Mean gradient steps of an update."},
};

static oct_err
ppo_make_spec(const oct_config *config, policy_spec *spec, algo_wants *wants, char *reason,
              size_t reason_size)
{
    *wants = (algo_wants){
        .window = ALGO_WINDOW_ROLLOUT,
        .steps = oct_config_rollout_rows(config->algo.sequence_steps) - 1,
        .each_once = true,
        .lag_max = config->algo.rollout_lag,
    };
    return algo_pair_make_spec(config, spec, reason, reason_size);
}

// ---- life

static void
ppo_configure(algo_ppo *ppo, const oct_config *config)
{
    ppo->clips = config->algo.name == OCT_ALGO_PPO;
    ppo->base.ops = ppo->clips ? &algo_ppo_ops : &algo_a2c_ops;
    ppo->epochs = ppo->clips ? config->algo.epochs : 1;
    ppo->minibatches = ppo->clips ? config->algo.minibatches : 1;
    ppo->discount = (float)config->algo.discount;
    ppo->lambda = (float)config->algo.gae_lambda;
    ppo->clip = (float)config->algo.clip;
    ppo->value_clip = ppo->clips ? (float)config->algo.value_clip : 0.0f;
    ppo->kl_max = ppo->clips ? (float)config->algo.kl_max : 0.0f;
    ppo->correction = ppo->clips ? config->algo.correction : OCT_CORRECTION_RATIO;
    ppo->ratio_max = (float)config->algo.ratio_max;
    ppo->entropy_cost = (float)config->algo.entropy_cost;
    ppo->value_cost = (float)config->algo.value_cost;
    ppo->grad_norm_max = (float)config->algo.grad_norm_max;
    ppo->normalise_advantage = config->algo.normalise_advantage;
    ppo->scale_rewards = config->algo.scale_rewards;
}

static size_t
trainer_floats(const nn_trainer *trainer)
{
    return 3 * trainer->tape.net.param_count;
}

static void
ppo_reserve(algo_ppo *ppo)
{
    const algo_rows *rows = &ppo->rows;
    size_t all = (size_t)rows->windows_max * rows->steps, n = ppo->n_max;
    ppo->reward = oct_alloc(all * sizeof(float));
    ppo->v = oct_alloc((all + rows->windows_max) * sizeof(float));
    ppo->target = oct_alloc(all * sizeof(float));
    ppo->advantage = oct_alloc(all * sizeof(float));
    ppo->centre = oct_alloc(all * sizeof(float));
    ppo->weight = oct_alloc(all * sizeof(float));
    ppo->order = oct_alloc(all * sizeof(uint32_t));
    ppo->x = oct_alloc(n * rows->obs_count * sizeof(float));
    ppo->choice = oct_alloc(n * sizeof(int32_t));
    ppo->drawn = oct_alloc((rows->is_box ? n * rows->action_count : 1) * sizeof(float));
    ppo->gain = oct_alloc(n * sizeof(float));
    ppo->log_pi = oct_alloc(n * sizeof(float));
    ppo->entropy = oct_alloc(n * sizeof(float));
    ppo->dlog_pi = oct_alloc(n * sizeof(float));
    ppo->dv = oct_alloc(n * sizeof(float));
    size_t saved = trainer_floats(&ppo->pair.policy) + trainer_floats(&ppo->pair.value);
    ppo->before = oct_alloc(saved * sizeof(float));
}

static void
ppo_randomise(algo_ppo *ppo, uint64_t seed, double deviation)
{
    oct_rng rng;
    oct_rng_init(&rng, seed, INIT_STREAM);
    nn_net_orthogonalise(&ppo->pair.policy.tape.net, &rng, GAIN, POLICY_GAIN);
    nn_net_orthogonalise(&ppo->pair.value.tape.net, &rng, GAIN, VALUE_GAIN);
    algo_pair_set_deviation(&ppo->pair, deviation);
    oct_rng_init(&ppo->rng, seed, ORDER_STREAM);
}

static oct_err
ppo_create(algo **out, nn_context *context, const oct_config *config, const policy_spec *spec,
           uint64_t seed)
{
    uint32_t windows = config->learner.batch_size;
    uint32_t steps = oct_config_rollout_rows(config->algo.sequence_steps) - 1;
    algo_ppo *ppo = oct_alloc(sizeof(*ppo));
    ppo_configure(ppo, config);
    oct_err err =
        ppo->epochs < 1 || ppo->minibatches < 1
            ? OCT_EINVAL
            : algo_rows_init(&ppo->rows, spec, windows, steps, (float)config->algo.reward_clip);
    if (err == OCT_OK) {
        ppo->n_max = (windows * steps + ppo->minibatches - 1) / ppo->minibatches;
        err = algo_pair_init(&ppo->pair, context, config, spec, ppo->n_max, ppo->n_max);
    }
    if (err != OCT_OK) {
        algo_rows_fini(&ppo->rows);
        free(ppo);
        return err;
    }
    ppo_reserve(ppo);
    ppo_randomise(ppo, seed, config->algo.initial_deviation);
    *out = &ppo->base;
    return OCT_OK;
}

static void
ppo_destroy(algo *a)
{
    algo_ppo *ppo = (algo_ppo *)a;
    algo_pair_fini(&ppo->pair);
    algo_rows_fini(&ppo->rows);
    void *blocks[] = {ppo->reward,  ppo->v,       ppo->target, ppo->advantage,
                      ppo->centre,  ppo->weight,  ppo->order,  ppo->x,
                      ppo->choice,  ppo->drawn,   ppo->gain,   ppo->log_pi,
                      ppo->entropy, ppo->dlog_pi, ppo->dv,     ppo->before};
    for (size_t i = 0; i < OCT_COUNTOF(blocks); i++) {
        free(blocks[i]);
    }
    free(ppo);
}

static void
ppo_set_projection(algo *a, const algo_projection *projection)
{
    algo_pair_set_projection(&((algo_ppo *)a)->pair, projection);
}

static const float *
ppo_policy_params(const algo *a)
{
    return ((const algo_ppo *)a)->pair.policy.tape.net.params;
}

// ---- before an update: what is constant in it

// V of all rows, and of those to bootstrap from.
static void
rollout_values(algo_ppo *ppo)
{
    uint32_t observed = ppo->rows.N + ppo->rows.M;
    for (uint32_t from = 0; from < observed; from += ppo->n_max) {
        uint32_t count = OCT_MIN(observed - from, ppo->n_max);
        const float *x = ppo->rows.x + (size_t)from * ppo->rows.obs_count;
        memcpy(ppo->v + from, nn_trainer_forward(&ppo->pair.value, x, count),
               count * sizeof(float));
    }
}

static void
rollout_advantages(algo_ppo *ppo, float *numbers)
{
    const algo_rows *rows = &ppo->rows;
    const float *reward = rows->reward;
    if (ppo->scale_rewards) {
        algo_reward_scale_apply(&ppo->scale, rows, ppo->discount, ppo->reward);
        reward = ppo->reward;
    }
    rollout_values(ppo);
    algo_gae(rows, reward, ppo->v, ppo->discount, ppo->lambda, ppo->advantage, ppo->target);
    algo_moments target = algo_moments_of(ppo->target, rows->N);
    algo_moments error = algo_moments_of(ppo->advantage, rows->N); // target - V
    numbers[NUMBER_VALUE] = (float)algo_moments_of(ppo->v, rows->N).mean;
    numbers[NUMBER_EXPLAINED] = (float)(1.0 - error.variance / fmax(target.variance, 1e-12));
}

// What ratios are to: the policy that acted, or the one before the update, with the importance
// weight from the one to the other (Hilton, Cobbe and Schulman 2021, equation 6).
static void
rollout_centre(algo_ppo *ppo)
{
    const algo_rows *rows = &ppo->rows;
    algo_done done = algo_rows_done(rows);
    if (ppo->correction == OCT_CORRECTION_RATIO) {
        memcpy(ppo->centre, rows->log_mu, rows->N * sizeof(float));
    }
    for (uint32_t i = 0; i < rows->N; i++) {
        ppo->weight[i] = 1.0f;
    }
    for (uint32_t from = 0; ppo->correction != OCT_CORRECTION_RATIO && from < rows->N;
         from += ppo->n_max) {
        uint32_t count = OCT_MIN(rows->N - from, ppo->n_max);
        algo_done part = {.choice = done.choice + from,
                          .drawn = done.drawn + (rows->is_box ? from * rows->action_count : 0)};
        algo_pair_forward(&ppo->pair, rows->x + (size_t)from * rows->obs_count, part, count,
                          ppo->centre + from, ppo->entropy);
        for (uint32_t i = from; ppo->correction == OCT_CORRECTION_DECOUPLED && i < from + count;
             i++) {
            float ratio = expf(algo_log_ratio(ppo->centre[i], rows->log_mu[i]));
            ppo->weight[i] = ratio > ppo->ratio_max ? ppo->ratio_max : ratio;
        }
    }
}

// ---- a minibatch

// Fisher and Yates.
static void
order_shuffle(algo_ppo *ppo)
{
    for (uint32_t i = ppo->rows.N; i > 1; i--) {
        uint32_t other = oct_rng_below(&ppo->rng, i), last = ppo->order[i - 1];
        ppo->order[i - 1] = ppo->order[other];
        ppo->order[other] = last;
    }
}

static void
minibatch_take(algo_ppo *ppo, const uint32_t *chosen, uint32_t n)
{
    const algo_rows *rows = &ppo->rows;
    size_t obs = rows->obs_count, dim = rows->action_count;
    ppo->chosen = chosen;
    ppo->n = n;
    for (uint32_t i = 0; i < n; i++) {
        size_t row = chosen[i];
        memcpy(ppo->x + i * obs, rows->x + row * obs, obs * sizeof(float));
        ppo->gain[i] = ppo->advantage[row];
        if (rows->is_box) {
            memcpy(ppo->drawn + i * dim, rows->drawn + row * dim, dim * sizeof(float));
        } else {
            ppo->choice[i] = rows->choice[row];
        }
    }
    if (ppo->normalise_advantage) {
        algo_standardise(ppo->gain, n, algo_moments_of(ppo->gain, n));
    }
}

typedef struct sums {
    double loss, entropy, ratio, clipped, kl, update_kl, value_loss;
} sums;

// The loss of a row and its slope by log pi. Ratio and advantage are constants to a2c's gradient;
// ppo's ratio is not, but beyond the clip on the side that its advantage pulls to, the slope is 0.
static float
row_slope(const algo_ppo *ppo, uint32_t i, float ratio, sums *out)
{
    float gain = ppo->gain[i];
    if (!ppo->clips) {
        float weight = ratio > ppo->ratio_max ? ppo->ratio_max : ratio;
        out->clipped += ratio > ppo->ratio_max;
        out->loss -= (double)(weight * gain * ppo->log_pi[i]);
        return -weight * gain;
    }
    float weight = ppo->weight[ppo->chosen[i]], low = 1.0f - ppo->clip, high = 1.0f + ppo->clip;
    bool is_above = ratio > high, is_below = ratio < low;
    float cut = is_above ? high : is_below ? low : ratio;
    bool is_dead = (gain > 0 && is_above) || (gain < 0 && is_below);
    out->clipped += is_above || is_below;
    out->loss -= (double)(weight * (is_dead ? cut : ratio) * gain);
    return is_dead ? 0.0f : -weight * ratio * gain;
}

static void
minibatch_policy(algo_ppo *ppo, sums *out, float *norm)
{
    algo_done done = {.choice = ppo->choice, .drawn = ppo->drawn};
    uint32_t n = ppo->n;
    algo_pair_forward(&ppo->pair, ppo->x, done, n, ppo->log_pi, ppo->entropy);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = ppo->chosen[i];
        float log_ratio = algo_log_ratio(ppo->log_pi[i], ppo->centre[row]);
        float log_acted = algo_log_ratio(ppo->log_pi[i], ppo->rows.log_mu[row]);
        double ratio = exp((double)log_ratio), acted = exp((double)log_acted);
        ppo->dlog_pi[i] = row_slope(ppo, i, (float)ratio, out) / (float)n;
        out->entropy += (double)ppo->entropy[i];
        out->ratio += acted;
        out->kl += acted - 1.0 - (double)log_acted;
        out->update_kl += ratio - 1.0 - (double)log_ratio;
    }
    *norm = algo_pair_backward(&ppo->pair, done, n, ppo->dlog_pi, -ppo->entropy_cost / (float)n);
}

static void
minibatch_value(algo_ppo *ppo, sums *out, float *norm)
{
    uint32_t n = ppo->n;
    const float *v = nn_trainer_forward(&ppo->pair.value, ppo->x, n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = ppo->chosen[i];
        float error = v[i] - ppo->target[row], slope = error;
        if (ppo->value_clip > 0) {
            float off = v[i] - ppo->v[row], most = ppo->value_clip;
            float cut = off > most ? most : off < -most ? -most : off;
            float other = ppo->v[row] + cut - ppo->target[row];
            if (other * other > error * error) {
                error = other;
                slope = cut == off ? other : 0.0f;
            }
        }
        ppo->dv[i] = ppo->value_cost * slope / (float)n;
        out->value_loss += 0.5 * (double)error * (double)error;
    }
    *norm = nn_trainer_backward(&ppo->pair.value, ppo->dv, n, NULL);
}

// ---- the update

// The numbers of a minibatch, on top of those of the ones before it.
static void
numbers_add(const algo_ppo *ppo, float *numbers, const sums *now, float norm, float value_norm)
{
    double n = ppo->n;
    bool is_first = numbers[NUMBER_STEPS] == 0;
    double loss = now->loss - (double)ppo->entropy_cost * now->entropy +
                  (double)ppo->value_cost * now->value_loss;
    numbers[NUMBER_LOSS] += (float)(loss / n);
    numbers[NUMBER_ENTROPY] += (float)(now->entropy / n);
    numbers[NUMBER_RATIO_CLIPPED] += (float)(now->clipped / n);
    numbers[NUMBER_VALUE_LOSS] += (float)(now->value_loss / n);
    numbers[NUMBER_POLICY_GRAD_NORM] += norm;
    numbers[NUMBER_GRAD_NORM] += value_norm;
    numbers[NUMBER_UPDATE_KL] = (float)(now->update_kl / n);
    if (is_first) { // later the policy has moved
        numbers[NUMBER_RATIO_MEAN] = (float)(now->ratio / n);
        numbers[NUMBER_KL] = (float)(now->kl / n);
    }
    numbers[NUMBER_STEPS] += 1;
}

static void
numbers_end(float *numbers)
{
    static const int means[] = {NUMBER_LOSS,       NUMBER_ENTROPY,          NUMBER_RATIO_CLIPPED,
                                NUMBER_VALUE_LOSS, NUMBER_POLICY_GRAD_NORM, NUMBER_GRAD_NORM};
    for (size_t i = 0; i < OCT_COUNTOF(means); i++) {
        numbers[means[i]] /= numbers[NUMBER_STEPS];
    }
}

// One gradient step. OCT_EAGAIN: the policy has moved far enough, and none was taken.
static oct_err
minibatch_learn(algo_ppo *ppo, float learning_rate, float *numbers)
{
    sums now = {0};
    float norm, value_norm;
    minibatch_policy(ppo, &now, &norm);
    minibatch_value(ppo, &now, &value_norm);
    bool is_first = numbers[NUMBER_STEPS] == 0;
    numbers_add(ppo, numbers, &now, norm, value_norm);
    if (!algo_numbers_finite(numbers, NUMBERS)) {
        return OCT_EINTERNAL;
    }
    if (ppo->kl_max > 0 && !is_first && numbers[NUMBER_UPDATE_KL] > ppo->kl_max) {
        return OCT_EAGAIN;
    }
    double both = sqrt((double)norm * (double)norm + (double)value_norm * (double)value_norm);
    float scale = nn_clip_scale((float)both, ppo->grad_norm_max);
    nn_trainer_step(&ppo->pair.policy, learning_rate, scale);
    nn_trainer_step(&ppo->pair.value, learning_rate * ppo->pair.value_rate_ratio, scale);
    algo_pair_changed(&ppo->pair);
    return OCT_OK;
}

// As minibatch_learn.
static oct_err
update_epochs(algo_ppo *ppo, float learning_rate, float *numbers)
{
    uint32_t N = ppo->rows.N, parts = OCT_MIN(ppo->minibatches, N);
    for (uint32_t i = 0; i < N; i++) {
        ppo->order[i] = i;
    }
    for (uint32_t part = 0; part < ppo->epochs * parts; part++) {
        uint64_t k = part % parts;
        if (k == 0 && parts > 1) {
            order_shuffle(ppo);
        }
        uint32_t from = (uint32_t)(k * N / parts), to = (uint32_t)((k + 1) * N / parts);
        minibatch_take(ppo, ppo->order + from, to - from);
        OCT_TRY(minibatch_learn(ppo, learning_rate, numbers));
    }
    return OCT_OK;
}

// Copies a trainer's parameters and moments to or from kept; gives where the next one's begin.
static float *
trainer_copy(nn_trainer *trainer, float *kept, bool back)
{
    size_t count = trainer->tape.net.param_count;
    float *blocks[] = {trainer->tape.net.params, trainer->m, trainer->v};
    for (size_t i = 0; i < OCT_COUNTOF(blocks); i++, kept += count) {
        memcpy(back ? blocks[i] : kept, back ? kept : blocks[i], count * sizeof(float));
    }
    return kept;
}

static void
pair_copy(algo_ppo *ppo, bool back)
{
    (void)trainer_copy(&ppo->pair.value, trainer_copy(&ppo->pair.policy, ppo->before, back), back);
}

static oct_err
ppo_update(algo *a, const algo_batch *batch, float learning_rate, float *priorities, float *numbers)
{
    algo_ppo *ppo = (algo_ppo *)a;
    float now[NUMBERS] = {0};
    OCT_TRY(algo_rows_take(&ppo->rows, batch));
    const algo_reward_scale scale = ppo->scale;
    const oct_rng rng = ppo->rng;
    const uint64_t steps[] = {ppo->pair.policy.steps, ppo->pair.value.steps};
    pair_copy(ppo, false);
    rollout_advantages(ppo, now);
    rollout_centre(ppo);
    oct_err err = update_epochs(ppo, learning_rate, now);
    if (err != OCT_OK && err != OCT_EAGAIN) {
        pair_copy(ppo, true);
        ppo->pair.policy.steps = steps[0];
        ppo->pair.value.steps = steps[1];
        ppo->scale = scale;
        ppo->rng = rng;
        algo_pair_changed(&ppo->pair);
        return OCT_EINTERNAL;
    }
    numbers_end(now);
    now[NUMBER_STEPS] -= err == OCT_EAGAIN;
    ppo->base.updates++;
    for (uint32_t b = 0; priorities != NULL && b < batch->B; b++) {
        priorities[b] = 0.0f; // each window comes once
    }
    memcpy(numbers, now, sizeof(now));
    return OCT_OK;
}

// ---- state

static void
ppo_save(const algo *a, oct_writer *writer)
{
    const algo_ppo *ppo = (const algo_ppo *)a;
    algo_pair_save(&ppo->pair, writer);
    oct_write_u64(writer, ppo->rng.state);
    oct_write_u64(writer, ppo->rng.stream);
    algo_reward_scale_save(&ppo->scale, writer);
}

static oct_err
ppo_load(algo *a, oct_reader *reader)
{
    algo_ppo *ppo = (algo_ppo *)a;
    algo_pair_view view;
    algo_reward_scale scale;
    OCT_TRY(algo_pair_read(&view, &ppo->pair, reader));
    oct_rng rng = {.state = oct_read_u64(reader)};
    rng.stream = oct_read_u64(reader);
    OCT_TRY(algo_reward_scale_read(&scale, reader));
    if (reader->left != 0 || rng.stream % 2 == 0) {
        return OCT_EPROTO;
    }
    algo_pair_apply(&ppo->pair, &view);
    ppo->rng = rng;
    ppo->scale = scale;
    return OCT_OK;
}

const algo_ops algo_ppo_ops = {
    .name = "ppo",
    .numbers = ppo_numbers,
    .number_count = NUMBERS,
    .make_spec = ppo_make_spec,
    .create = ppo_create,
    .destroy = ppo_destroy,
    .update = ppo_update,
    .set_projection = ppo_set_projection,
    .policy_params = ppo_policy_params,
    .save = ppo_save,
    .load = ppo_load,
};

const algo_ops algo_a2c_ops = {
    .name = "a2c",
    .numbers = ppo_numbers,
    .number_count = NUMBERS,
    .make_spec = ppo_make_spec,
    .create = ppo_create,
    .destroy = ppo_destroy,
    .update = ppo_update,
    .set_projection = ppo_set_projection,
    .policy_params = ppo_policy_params,
    .save = ppo_save,
    .load = ppo_load,
};
