// REINFORCE (Williams 1992) with a learned baseline (Sutton and Barto 2018, section 13.4) over
// whole episodes, corrected by importance weights for policies that acted earlier, and in eight
// bits.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/algo_head.h"
#include "algos/algo_ops.h"
#include "common/oct_base.h"
#include "common/oct_text.h"
#include "nn/nn_state.h"
#include "policy/policy_draw.h"

#define INIT_STREAM 0x7266u // of the seed, for the first weights

// The policy's last layer begins at this share of the others' deviation, so that all actions begin
// about as likely as each other.
#define LAST_LAYER_SHARE 0.01f

// Actions a rounding beyond their bounds are taken as they are.
#define BOUND_TOLERANCE 1e-3f

// Logarithms of ratios are cut here, so that one action that the policy has become sure of does not
// overflow the numbers.
#define LOG_RATIO_MAX 20.0f

#define ADVANTAGE_EPSILON 1e-8

// Where the return behind a row comes from, beside a row of observations to bootstrap from.
#define BEHIND_NEXT    UINT32_MAX // the next row of the batch
#define BEHIND_NOTHING (UINT32_MAX - 1)

typedef struct algo_reinforce {
    algo base;
    uint32_t windows_max;
    uint32_t steps; // T
    uint32_t obs_count;
    uint32_t action_count;
    uint32_t extra_dim;
    bool is_box;
    float low[POLICY_ACTIONS_MAX], high[POLICY_ACTIONS_MAX];
    float discount;
    float reward_clip; // 0: off
    float ratio_max;
    float entropy_cost;
    float value_cost;
    bool normalise_advantage;
    float grad_norm_max;
    float value_rate_ratio; // the value's learning rate by the policy's

    nn_trainer policy;
    nn_trainer value;
    algo_head head;
    size_t deviation_at, deviation_count; // in the policy's block; 0 for softmax
    algo_projection projection;           // none: project is NULL
    float *policy_weights;                // [params], of the projection, else NULL

    // Work space of an update: N rows that have an action, in order, and behind them the M
    // observations to bootstrap from; N + M <= windows_max * (T + 1).
    uint32_t N, M;
    float *x;         // [N + M][obs_count]
    int32_t *choice;  // [N], discrete actions
    float *drawn;     // [N][action_count], numbers that actions in a box were made of
    float *log_mu;    // [N], as the policy that acted recorded it
    float *reward;    // [N]
    uint32_t *behind; // [N], BEHIND_ …, or a row of x
    float *target;    // [N], the return
    float *advantage; // [N]
    float *log_pi;    // [N]
    float *entropy;   // [N]
    float *dlog_pi;   // [N]
    float *dy;        // [N][action_count]
    float *dv;        // [N]
} algo_reinforce;

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
    NUMBERS
};

static const algo_number reinforce_numbers[NUMBERS] = {
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
                              "Share of the actions whose ratio was cut to algo.ratio_max."},
    [NUMBER_KL] = {"kl", "nats",
                   "Mean KL divergence from the policy that acted to the one that learns, "
                   "estimated from the actions taken."},
    [NUMBER_VALUE_LOSS] = {"value_loss", "loss", "Mean of (V(s) - return)^2 / 2 in the row."},
    [NUMBER_EXPLAINED] = {"explained_variance", "share",
                          "Share of the variance of returns that V(s) explains: 1 is all, 0 as "
                          "much as a constant."},
};

// ---- the networks

// V(s) sees what the policy sees.
static oct_err
value_make_spec(const oct_config *config, const policy_spec *policy, policy_spec *spec,
                char *reason, size_t reason_size)
{
    const oct_config_ints *hidden = config->network.critic_hidden.count > 0
                                        ? &config->network.critic_hidden
                                        : &config->network.hidden;
    *spec = (policy_spec){
        .env_id = "value",
        .obs_dtype = policy->obs_dtype,
        .obs_count = policy->obs_count,
        .obs_rank = policy->obs_rank,
        .action_kind = POLICY_DISCRETE,
        .action_count = 1,
        .head = POLICY_HEAD_VALUES,
    };
    memcpy(spec->obs_shape, policy->obs_shape, sizeof(spec->obs_shape));
    OCT_TRY(algo_make_layers(config, hidden, spec, 1, reason, reason_size));
    return policy_spec_check(spec, reason, reason_size);
}

static oct_err
reinforce_make_spec(const oct_config *config, policy_spec *spec, algo_wants *wants, char *reason,
                    size_t reason_size)
{
    bool is_box = spec->action_kind == POLICY_BOX;
    spec->head = is_box ? POLICY_HEAD_GAUSSIAN : POLICY_HEAD_LOGITS;
    spec->state_deviation = false;
    spec->atoms = 0;
    spec->value_min = spec->value_max = 0.0f;
    spec->normalise = false;
    *wants = (algo_wants){
        .window = ALGO_WINDOW_SEQUENCE,
        .steps = config->algo.sequence_steps,
        .stride = 0,
        .each_once = true,
        .lag_max = config->algo.lag_max,
    };
    OCT_TRY(algo_make_layers(config, &config->network.hidden, spec, spec->action_count, reason,
                             reason_size));
    OCT_TRY(policy_spec_check(spec, reason, reason_size));
    policy_spec value;
    return value_make_spec(config, spec, &value, reason, reason_size);
}

static void
reinforce_configure(algo_reinforce *rf, const oct_config *config, const policy_spec *spec)
{
    rf->base.ops = &algo_reinforce_ops;
    rf->windows_max = config->learner.batch_size;
    rf->steps = config->algo.sequence_steps;
    rf->obs_count = spec->obs_count;
    rf->action_count = spec->action_count;
    rf->extra_dim = policy_spec_extra_dim(spec);
    rf->is_box = spec->action_kind == POLICY_BOX;
    memcpy(rf->low, spec->action_low, sizeof(rf->low));
    memcpy(rf->high, spec->action_high, sizeof(rf->high));
    rf->discount = (float)config->algo.discount;
    rf->reward_clip = (float)config->algo.reward_clip;
    rf->ratio_max = (float)config->algo.ratio_max;
    rf->entropy_cost = (float)config->algo.entropy_cost;
    rf->value_cost = (float)config->algo.value_cost;
    rf->normalise_advantage = config->algo.normalise_advantage;
    rf->grad_norm_max = (float)config->algo.grad_norm_max;
    rf->value_rate_ratio =
        config->algo.critic_learning_rate_is_same
            ? 1.0f
            : (float)(config->algo.critic_learning_rate / config->algo.learning_rate);
    if (policy_spec_has_deviation(spec)) {
        rf->deviation_at = policy_spec_deviation(spec);
        rf->deviation_count = spec->action_count;
    }
}

static void
reinforce_reserve(algo_reinforce *rf)
{
    size_t rows = (size_t)rf->windows_max * rf->steps;
    size_t observed = (size_t)rf->windows_max * (rf->steps + 1);
    rf->x = oct_alloc(observed * rf->obs_count * sizeof(float));
    rf->choice = oct_alloc(rows * sizeof(int32_t));
    rf->drawn = oct_alloc((rf->is_box ? rows * rf->action_count : 1) * sizeof(float));
    rf->log_mu = oct_alloc(rows * sizeof(float));
    rf->reward = oct_alloc(rows * sizeof(float));
    rf->behind = oct_alloc(rows * sizeof(uint32_t));
    rf->target = oct_alloc(rows * sizeof(float));
    rf->advantage = oct_alloc(rows * sizeof(float));
    rf->log_pi = oct_alloc(rows * sizeof(float));
    rf->entropy = oct_alloc(rows * sizeof(float));
    rf->dlog_pi = oct_alloc(rows * sizeof(float));
    rf->dy = oct_alloc(rows * rf->action_count * sizeof(float));
    rf->dv = oct_alloc(rows * sizeof(float));
}

static void
reinforce_randomise(algo_reinforce *rf, uint64_t seed, float deviation)
{
    oct_rng rng;
    oct_rng_init(&rng, seed, INIT_STREAM);
    nn_net *policy = &rf->policy.tape.net;
    nn_net_randomise(policy, &rng);
    const nn_layer *last = &policy->layers[policy->layer_count - 1];
    for (size_t i = last->at.weight; i < last->at.bias; i++) {
        policy->params[i] *= LAST_LAYER_SHARE;
    }
    for (size_t i = 0; i < rf->deviation_count; i++) {
        policy->params[rf->deviation_at + i] = (float)log((double)deviation);
    }
    nn_net_randomise(&rf->value.tape.net, &rng);
}

static oct_err
reinforce_create(algo **out, nn_context *context, const oct_config *config, const policy_spec *spec,
                 uint64_t seed)
{
    policy_spec value;
    uint64_t observed =
        (uint64_t)config->learner.batch_size * ((uint64_t)config->algo.sequence_steps + 1);
    if (policy_spec_check(spec, NULL, 0) != OCT_OK || !algo_head_is_known(spec) ||
        config->learner.batch_size < 1 || config->algo.sequence_steps < 1 ||
        observed >= BEHIND_NOTHING || !(config->algo.initial_deviation > 0) ||
        value_make_spec(config, spec, &value, NULL, 0) != OCT_OK) {
        return OCT_EINVAL;
    }
    algo_reinforce *rf = oct_alloc(sizeof(*rf));
    nn_adam adam = {
        .beta1 = (float)config->algo.adam_beta1,
        .beta2 = (float)config->algo.adam_beta2,
        .epsilon = (float)config->algo.adam_epsilon,
    };
    reinforce_configure(rf, config, spec);
    reinforce_reserve(rf);
    uint32_t rows = rf->windows_max * rf->steps;
    algo_head_init(&rf->head, spec, rows);
    nn_trainer_init(&rf->policy, context, spec, rows, &adam);
    nn_trainer_init(&rf->value, context, &value, (uint32_t)observed, &adam);
    reinforce_randomise(rf, seed, (float)config->algo.initial_deviation);
    *out = &rf->base;
    return OCT_OK;
}

static void
reinforce_destroy(algo *a)
{
    algo_reinforce *rf = (algo_reinforce *)a;
    nn_trainer_fini(&rf->policy);
    nn_trainer_fini(&rf->value);
    algo_head_fini(&rf->head);
    void *blocks[] = {rf->policy_weights, rf->x,      rf->choice,    rf->drawn,  rf->log_mu,
                      rf->reward,         rf->behind, rf->target,    rf->log_pi, rf->entropy,
                      rf->dlog_pi,        rf->dy,     rf->advantage, rf->dv};
    for (size_t i = 0; i < OCT_COUNTOF(blocks); i++) {
        free(blocks[i]);
    }
    free(rf);
}

static void
policy_changed(algo_reinforce *rf)
{
    if (rf->projection.project != NULL) {
        rf->projection.project(rf->projection.arg, rf->policy.tape.net.params, rf->policy_weights);
    }
}

static void
reinforce_set_projection(algo *a, const algo_projection *projection)
{
    algo_reinforce *rf = (algo_reinforce *)a;
    OCT_ASSERT(rf->projection.project == NULL);
    rf->projection = *projection;
    rf->policy_weights = oct_alloc(rf->policy.tape.net.param_count * sizeof(float));
    rf->policy.tape.net.weights = rf->policy_weights;
    policy_changed(rf);
}

static const float *
reinforce_policy_params(const algo *a)
{
    return ((const algo_reinforce *)a)->policy.tape.net.params;
}

// ---- the batch: rows that have an action, one behind the other

// The action of row from of the batch becomes row N. False: it is out of range.
static bool
take_action(algo_reinforce *rf, const algo_batch *batch, size_t from)
{
    const float *extra = batch->extra + from * rf->extra_dim;
    rf->log_mu[rf->N] = extra[0];
    if (!rf->is_box) {
        int32_t choice = ((const int32_t *)batch->action)[from];
        rf->choice[rf->N] = choice;
        return (uint32_t)choice < rf->action_count; // also the negative ones
    }
    const float *action = (const float *)batch->action + from * rf->action_count;
    bool inside = true;
    for (uint32_t i = 0; i < rf->action_count; i++) {
        float tolerance = BOUND_TOLERANCE * (rf->high[i] - rf->low[i]);
        inside &= action[i] >= rf->low[i] - tolerance && action[i] <= rf->high[i] + tolerance;
    }
    memcpy(rf->drawn + (size_t)rf->N * rf->action_count, extra + 1,
           rf->action_count * sizeof(*extra));
    return inside;
}

static float
take_reward(const algo_reinforce *rf, float reward)
{
    float most = rf->reward_clip;
    return most > 0.0f && fabsf(reward) > most ? copysignf(most, reward) : reward;
}

// What is behind row t of a window: for the last action before an end row, and for the last row of
// the window, the observation there, unless the episode terminated.
static uint32_t
take_behind(const algo_batch *batch, const uint8_t *flags, uint32_t t)
{
    if ((flags[t] & ALGO_TERMINATED) != 0) {
        return BEHIND_NOTHING;
    }
    bool goes_on =
        t + 1 < batch->T && (flags[t + 1] & ALGO_END) == 0 && (flags[t] & ALGO_TRUNCATED) == 0;
    return goes_on ? BEHIND_NEXT : 0; // 0: take_bootstraps gives it its row
}

static void
take_obs(algo_reinforce *rf, const float *obs, uint32_t row)
{
    memcpy(rf->x + (size_t)row * rf->obs_count, obs, rf->obs_count * sizeof(*obs));
}

static bool
take_rows(algo_reinforce *rf, const algo_batch *batch)
{
    bool inside = true;
    rf->N = 0;
    for (uint32_t b = 0; b < batch->B; b++) {
        const uint8_t *flags = batch->flags + (size_t)b * batch->T;
        const float *obs = batch->obs + (size_t)b * (batch->T + 1) * rf->obs_count;
        for (uint32_t t = 0; t < batch->T; t++) {
            size_t from = (size_t)b * batch->T + t;
            if ((flags[t] & ALGO_END) == 0) {
                inside &= take_action(rf, batch, from);
                take_obs(rf, obs + (size_t)t * rf->obs_count, rf->N);
                rf->reward[rf->N] = take_reward(rf, batch->reward[from]);
                rf->behind[rf->N++] = take_behind(batch, flags, t);
            }
        }
    }
    return inside;
}

static void
take_bootstraps(algo_reinforce *rf, const algo_batch *batch)
{
    rf->M = 0;
    for (uint32_t b = 0, n = 0; b < batch->B; b++) {
        const uint8_t *flags = batch->flags + (size_t)b * batch->T;
        const float *obs = batch->obs + (size_t)b * (batch->T + 1) * rf->obs_count;
        for (uint32_t t = 0; t < batch->T; t++) {
            if ((flags[t] & ALGO_END) != 0) {
                continue;
            }
            if (rf->behind[n] < BEHIND_NOTHING) {
                rf->behind[n] = rf->N + rf->M++;
                take_obs(rf, obs + (size_t)(t + 1) * rf->obs_count, rf->behind[n]);
            }
            n++;
        }
    }
}

static oct_err
batch_take(algo_reinforce *rf, const algo_batch *batch)
{
    if (batch->B < 1 || batch->B > rf->windows_max || batch->T != rf->steps) {
        return OCT_EINVAL;
    }
    if (!take_rows(rf, batch) || rf->N == 0) {
        return OCT_EINVAL;
    }
    take_bootstraps(rf, batch);
    size_t observed = (size_t)(rf->N + rf->M) * rf->obs_count;
    bool finite = algo_all_finite(rf->x, observed) && algo_all_finite(rf->reward, rf->N) &&
                  algo_all_finite(rf->log_mu, rf->N) &&
                  (!rf->is_box || algo_all_finite(rf->drawn, (size_t)rf->N * rf->action_count));
    return finite ? OCT_OK : OCT_EINTERNAL;
}

// ---- the update

// target = the return: what came until the episode's end or the window's, then V there.
static void
update_target(algo_reinforce *rf, const float *v)
{
    for (uint32_t n = rf->N; n-- > 0;) {
        uint32_t behind = rf->behind[n];
        float rest = behind == BEHIND_NOTHING ? 0.0f
                     : behind == BEHIND_NEXT  ? rf->target[n + 1]
                                              : v[behind];
        rf->target[n] = rf->reward[n] + rf->discount * rest;
    }
}

typedef struct moments {
    double mean, variance;
} moments;

static moments
moments_of(const float *x, uint32_t count)
{
    double sum = 0, squares = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum += (double)x[i];
    }
    double mean = sum / count;
    for (uint32_t i = 0; i < count; i++) {
        double off = (double)x[i] - mean;
        squares += off * off;
    }
    return (moments){mean, squares / count};
}

// The gradient of the values; advantage = target - V, and the numbers of both.
static void
update_value(algo_reinforce *rf, float *numbers)
{
    uint32_t N = rf->N;
    const float *v = nn_trainer_forward(&rf->value, rf->x, N + rf->M);
    double value = 0, loss = 0;
    update_target(rf, v);
    for (uint32_t i = 0; i < N; i++) {
        float error = rf->target[i] - v[i];
        rf->advantage[i] = error;
        rf->dv[i] = -rf->value_cost * error / (float)N;
        value += (double)v[i];
        loss += 0.5 * (double)error * (double)error;
    }
    moments target = moments_of(rf->target, N), error = moments_of(rf->advantage, N);
    numbers[NUMBER_VALUE] = (float)(value / N);
    numbers[NUMBER_VALUE_LOSS] = (float)(loss / N);
    numbers[NUMBER_EXPLAINED] = (float)(1.0 - error.variance / fmax(target.variance, 1e-12));
    numbers[NUMBER_GRAD_NORM] = nn_trainer_backward(&rf->value, rf->dv, N, NULL);
    if (rf->normalise_advantage) {
        double scale = 1.0 / (sqrt(error.variance) + ADVANTAGE_EPSILON);
        for (uint32_t i = 0; i < N; i++) {
            rf->advantage[i] = (float)(((double)rf->advantage[i] - error.mean) * scale);
        }
    }
}

// dlog_pi = -weight * advantage / N, where the weight corrects for who acted. Ratios and advantages
// are constants to the gradient.
static void
policy_loss(algo_reinforce *rf, float *numbers)
{
    double loss = 0, entropy = 0, ratios = 0, clipped = 0, kl = 0;
    for (uint32_t i = 0; i < rf->N; i++) {
        float log_ratio = rf->log_pi[i] - rf->log_mu[i];
        log_ratio = log_ratio > LOG_RATIO_MAX ? LOG_RATIO_MAX : log_ratio; // NaN goes through
        float ratio = (float)exp((double)log_ratio);
        float weight = ratio > rf->ratio_max ? rf->ratio_max : ratio;
        float slope = -weight * rf->advantage[i];
        rf->dlog_pi[i] = slope / (float)rf->N;
        loss += (double)(slope * rf->log_pi[i]);
        entropy += (double)rf->entropy[i];
        ratios += (double)ratio;
        clipped += ratio > rf->ratio_max;
        kl += (double)ratio - 1.0 - (double)log_ratio;
    }
    double N = rf->N;
    numbers[NUMBER_LOSS] = (float)((loss - (double)rf->entropy_cost * entropy) / N +
                                   (double)(rf->value_cost * numbers[NUMBER_VALUE_LOSS]));
    numbers[NUMBER_ENTROPY] = (float)(entropy / N);
    numbers[NUMBER_RATIO_MEAN] = (float)(ratios / N);
    numbers[NUMBER_RATIO_CLIPPED] = (float)(clipped / N);
    numbers[NUMBER_KL] = (float)(kl / N);
}

// The gradient of the policy, its log deviations with it.
static void
update_policy(algo_reinforce *rf, float *numbers)
{
    nn_trainer *policy = &rf->policy;
    bool deviates = rf->deviation_count > 0;
    const float *log_std = deviates ? policy->tape.net.weights + rf->deviation_at : NULL;
    float *dlog_std = deviates ? policy->gradient + rf->deviation_at : NULL;
    algo_done done = {.choice = rf->choice, .drawn = rf->drawn};
    const float *y = nn_trainer_forward(policy, rf->x, rf->N);
    algo_head_forward(&rf->head, y, log_std, done, rf->N, rf->log_pi, rf->entropy);
    policy_loss(rf, numbers);
    algo_head_backward(&rf->head, y, log_std, done, rf->N, rf->dlog_pi,
                       -rf->entropy_cost / (float)rf->N, rf->dy, dlog_std);
    float norm = nn_trainer_backward(policy, rf->dy, rf->N, NULL); // leaves the deviations alone
    if (deviates) {
        double squares = (double)nn_vec()->sum_of_squares(dlog_std, rf->deviation_count);
        norm = (float)sqrt((double)norm * (double)norm + squares);
    }
    numbers[NUMBER_POLICY_GRAD_NORM] = norm;
}

static void
trainer_step(const algo_reinforce *rf, nn_trainer *trainer, float learning_rate, float norm)
{
    nn_trainer_step(trainer, learning_rate, nn_clip_scale(norm, rf->grad_norm_max));
}

static oct_err
reinforce_update(algo *a, const algo_batch *batch, float learning_rate, float *priorities,
                 float *numbers)
{
    algo_reinforce *rf = (algo_reinforce *)a;
    float now[NUMBERS];
    OCT_TRY(batch_take(rf, batch));
    update_value(rf, now);
    update_policy(rf, now);
    if (!algo_numbers_finite(now, OCT_COUNTOF(now))) {
        return OCT_EINTERNAL;
    }
    trainer_step(rf, &rf->value, learning_rate * rf->value_rate_ratio, now[NUMBER_GRAD_NORM]);
    trainer_step(rf, &rf->policy, learning_rate, now[NUMBER_POLICY_GRAD_NORM]);
    float *log_std = rf->policy.tape.net.params + rf->deviation_at;
    for (size_t i = 0; i < rf->deviation_count; i++) { // none leaves the range where it counts
        log_std[i] = policy_clamp(log_std[i], POLICY_LOG_STD_MIN, POLICY_LOG_STD_MAX);
    }
    policy_changed(rf);
    rf->base.updates++;
    for (uint32_t b = 0; priorities != NULL && b < batch->B; b++) {
        priorities[b] = 0.0f; // each window comes once
    }
    memcpy(numbers, now, sizeof(now));
    return OCT_OK;
}

// ---- state

static void
reinforce_save(const algo *a, oct_writer *writer)
{
    const algo_reinforce *rf = (const algo_reinforce *)a;
    nn_trainer_save(&rf->policy, writer);
    nn_trainer_save(&rf->value, writer);
}

static oct_err
reinforce_load(algo *a, oct_reader *reader)
{
    algo_reinforce *rf = (algo_reinforce *)a;
    nn_trainer_view policy, value;
    OCT_TRY(nn_trainer_read(&policy, &rf->policy, reader));
    OCT_TRY(nn_trainer_read(&value, &rf->value, reader));
    if (reader->left != 0) {
        return OCT_EPROTO;
    }
    nn_trainer_apply(&rf->policy, &policy);
    nn_trainer_apply(&rf->value, &value);
    policy_changed(rf);
    return OCT_OK;
}

const algo_ops algo_reinforce_ops = {
    .name = "reinforce",
    .numbers = reinforce_numbers,
    .number_count = NUMBERS,
    .make_spec = reinforce_make_spec,
    .create = reinforce_create,
    .destroy = reinforce_destroy,
    .update = reinforce_update,
    .set_projection = reinforce_set_projection,
    .policy_params = reinforce_policy_params,
    .save = reinforce_save,
    .load = reinforce_load,
};
