// One update of D4PG, DDPG or TD3: one function per stage, in the order of algo_dpg_update. All
// gradients are taken at the parameters as they were before the update (as Acme does), so that
// nothing has changed when one of them is not finite.
#include "algos/algo_dpg.h"

#include <math.h>
#include <string.h>

#include "common/oct_base.h"

// Actions a rounding beyond their bounds are taken as they are.
#define BOUND_TOLERANCE 1e-3f

#define SQUASH_COLUMNS 256

// Fills taken with the batch's actions in [-1, 1].
static oct_err
batch_take(algo_dpg *dpg, const algo_batch *batch)
{
    if (batch->B < 1 || batch->B > dpg->rows_max) {
        return OCT_EINVAL;
    }
    size_t dim = dpg->action_count, B = batch->B;
    const float *action = batch->action;
    bool inside = true;
    for (size_t row = 0; row < B; row++) {
        for (size_t i = 0; i < dim; i++) {
            float a = (action[row * dim + i] - dpg->low[i]) * dpg->per_unit[i] - 1.0f;
            inside &= !(fabsf(a) > 1.0f + BOUND_TOLERANCE) || !isfinite(a);
            dpg->taken[row * dim + i] = a;
        }
    }
    if (!inside) {
        return OCT_EINVAL;
    }
    bool finite = algo_all_finite(batch->obs, B * dpg->obs_count) &&
                  algo_all_finite(batch->next, B * dpg->obs_count) &&
                  algo_all_finite(dpg->taken, B * dim) && algo_all_finite(batch->reward, B) &&
                  algo_all_finite(batch->discount, B) && algo_all_finite(batch->weight, B);
    return finite ? OCT_OK : OCT_EINTERNAL;
}

// joined[B][obs_count + action_count] = [obs, action]
static void
join(algo_dpg *dpg, const float *obs, const float *action, uint32_t B)
{
    size_t O = dpg->obs_count, A = dpg->action_count;
    float *to = dpg->joined;
    for (size_t row = 0; row < B; row++) { // rows are short: loops, not calls
        for (size_t i = 0; i < O; i++) {
            *to++ = *obs++;
        }
        for (size_t i = 0; i < A; i++) {
            *to++ = *action++;
        }
    }
}

// Target policy smoothing (TD3): noise of a normal distribution, cut, on actions kept in [-1, 1].
static void
target_action_smooth(algo_dpg *dpg, oct_rng *rng, uint32_t B)
{
    const float cut = dpg->noise_clip;
    size_t count = (size_t)B * dpg->action_count;
    for (size_t i = 0; i < count; i++) {
        float noise = dpg->noise * oct_rng_normal(rng);
        noise = noise < -cut ? -cut : noise > cut ? cut : noise;
        float a = dpg->action[i] + noise;
        dpg->action[i] = a < -1.0f ? -1.0f : a > 1.0f ? 1.0f : a;
    }
}

// td_target = the distribution of reward + discount * Z'(next, a'), td_target_mean its mean.
static void
td_target_distribution(algo_dpg *dpg, const algo_batch *batch)
{
    const nn_categorical_ops *ops = nn_categorical();
    uint32_t B = batch->B;
    const float *logits = nn_net_forward_again(&dpg->critics[0].target, dpg->joined, B);
    ops->softmax(dpg->p, dpg->log_total, logits, B, dpg->support.N);
    ops->project(dpg->td_target, dpg->p, batch->reward, batch->discount, &dpg->support, B);
    ops->mean(dpg->td_target_mean, dpg->td_target, &dpg->support, B);
}

// td_target = reward + discount * the smallest Q'(next, a').
static void
td_target_value(algo_dpg *dpg, const algo_batch *batch)
{
    uint32_t B = batch->B;
    for (uint32_t c = 0; c < dpg->variant->critics; c++) {
        const float *q = nn_net_forward_again(&dpg->critics[c].target, dpg->joined, B);
        for (uint32_t i = 0; i < B; i++) {
            dpg->mean[i] = c == 0 || q[i] < dpg->mean[i] ? q[i] : dpg->mean[i];
        }
    }
    for (uint32_t i = 0; i < B; i++) {
        dpg->td_target[i] = batch->reward[i] + batch->discount[i] * dpg->mean[i];
    }
    memcpy(dpg->td_target_mean, dpg->td_target, B * sizeof(*dpg->td_target));
}

// A policy's outputs become actions in [-1, 1]: tanh of each, in long rows, as those of a few
// actions leave vectors empty.
static void
squash(float *action, size_t count)
{
    static const float no_bias[SQUASH_COLUMNS];
    size_t rows = count / SQUASH_COLUMNS, done = rows * SQUASH_COLUMNS;
    nn_vec()->bias[POLICY_TANH](action, no_bias, (uint32_t)rows, SQUASH_COLUMNS);
    nn_vec()->bias[POLICY_TANH](action + done, no_bias, 1, (uint32_t)(count - done));
}

// What critics learn, from the target networks at next.
static void
update_td_target(algo_dpg *dpg, const algo_batch *batch, oct_rng *rng)
{
    const float *y = nn_net_forward_again(&dpg->policy_target, batch->next, batch->B);
    size_t count = (size_t)batch->B * dpg->action_count;
    memcpy(dpg->action, y, count * sizeof(*y));
    squash(dpg->action, count);
    if (dpg->variant->target_noise) {
        target_action_smooth(dpg, rng, batch->B);
    }
    join(dpg, batch->next, dpg->action, batch->B);
    if (dpg->variant->categorical) {
        td_target_distribution(dpg, batch);
    } else {
        td_target_value(dpg, batch);
    }
}

// Cross entropy: loss, mean and dy from the critic's logits; error where it is asked for.
static void
loss_of_distribution(algo_dpg *dpg, const algo_batch *batch, const float *logits, bool has_error)
{
    const nn_categorical_ops *ops = nn_categorical();
    uint32_t B = batch->B, N = dpg->support.N;
    ops->softmax(dpg->p, dpg->log_total, logits, B, N);
    ops->mean(dpg->mean, dpg->p, &dpg->support, B);
    ops->cross_entropy(dpg->loss, dpg->dy, dpg->td_target, logits, dpg->p, dpg->log_total,
                       batch->weight, B, N);
    if (has_error) {
        ops->divergence(dpg->error, dpg->loss, dpg->td_target, B, N);
    }
}

// Square error: loss, error, mean and dy from the critic's values.
static void
loss_of_value(algo_dpg *dpg, const algo_batch *batch, const float *q)
{
    for (uint32_t i = 0; i < batch->B; i++) {
        float td = dpg->td_target[i] - q[i];
        dpg->mean[i] = q[i];
        dpg->loss[i] = td * td;
        dpg->error[i] = fabsf(td);
        dpg->dy[i] = -2.0f * batch->weight[i] * td / (float)batch->B;
    }
}

// Adds critic c to the numbers and to the priorities.
static void
numbers_add(algo_dpg *dpg, const algo_batch *batch, uint32_t c, float *numbers)
{
    double loss = 0, td_abs = 0, value = 0;
    for (uint32_t i = 0; i < batch->B; i++) {
        float td = fabsf(dpg->td_target_mean[i] - dpg->mean[i]);
        float error = dpg->error[i];
        dpg->priority[i] = c == 0 || error > dpg->priority[i] ? error : dpg->priority[i];
        loss += (double)(batch->weight[i] * dpg->loss[i]);
        td_abs += (double)td;
        value += (double)dpg->mean[i];
    }
    float norm = dpg->critics[c].grad_norm;
    numbers[ALGO_LOSS] += (float)(loss / batch->B);
    if (c == 0) {
        numbers[ALGO_TD_ABS] = (float)(td_abs / batch->B);
        numbers[ALGO_VALUE] = (float)(value / batch->B);
        numbers[ALGO_GRAD_NORM] = norm;
    } else {
        numbers[ALGO_GRAD_NORM] = norm > numbers[ALGO_GRAD_NORM] ? norm : numbers[ALGO_GRAD_NORM];
    }
}

// The gradients of all critics at what was done.
static void
update_critics(algo_dpg *dpg, const algo_batch *batch, bool has_error, float *numbers)
{
    memset(numbers, 0, ALGO_VALUE_NUMBERS * sizeof(*numbers));
    join(dpg, batch->obs, dpg->taken, batch->B);
    for (uint32_t c = 0; c < dpg->variant->critics; c++) {
        dpg_critic *critic = &dpg->critics[c];
        const float *y = nn_trainer_forward(&critic->online, dpg->joined, batch->B);
        if (dpg->variant->categorical) {
            loss_of_distribution(dpg, batch, y, has_error);
        } else {
            loss_of_value(dpg, batch, y);
        }
        critic->grad_norm = nn_trainer_backward(&critic->online, dpg->dy, batch->B, NULL);
        numbers_add(dpg, batch, c, numbers);
    }
}

// dy = the derivative of each row's value by the first critic's outputs y.
static void
value_slope(algo_dpg *dpg, const float *y, uint32_t B)
{
    if (dpg->variant->categorical) {
        const nn_categorical_ops *ops = nn_categorical();
        ops->softmax(dpg->p, dpg->log_total, y, B, dpg->support.N);
        ops->mean(dpg->mean, dpg->p, &dpg->support, B);
        ops->mean_backward(dpg->dy, dpg->p, dpg->mean, 1.0f, &dpg->support, B);
    } else {
        for (uint32_t i = 0; i < B; i++) {
            dpg->dy[i] = 1.0f;
        }
    }
}

// daction = -dvalue / B, each row cut to action_grad_norm_max.
static void
action_slope(algo_dpg *dpg, uint32_t B)
{
    size_t A = dpg->action_count;
    for (size_t row = 0; row < B; row++) {
        const float *from = dpg->dvalue + row * A;
        float *to = dpg->daction + row * A;
        float squares = 0, scale = 1;
        for (size_t i = 0; dpg->action_grad_norm_max > 0 && i < A; i++) {
            squares += from[i] * from[i];
        }
        if (dpg->action_grad_norm_max > 0) {
            scale = nn_clip_scale(sqrtf(squares), dpg->action_grad_norm_max);
        }
        for (size_t i = 0; i < A; i++) {
            to[i] = -scale * from[i] / (float)B;
        }
    }
}

// The deterministic policy gradient (Silver et al. 2014): the critic's weights get none of it.
// Returns its norm.
static float
update_policy(algo_dpg *dpg, const algo_batch *batch)
{
    uint32_t B = batch->B;
    size_t count = (size_t)B * dpg->action_count;
    const float *obs = dpg->variant->policy_at_next ? batch->next : batch->obs;
    const float *y = nn_trainer_forward(&dpg->policy, obs, B);
    memcpy(dpg->action, y, count * sizeof(*y));
    squash(dpg->action, count);
    join(dpg, obs, dpg->action, B);
    nn_tape *critic = &dpg->critics[0].online.tape;
    // With the weights that update_critics computed with.
    value_slope(dpg, nn_tape_forward_again(critic, dpg->joined, B), B);
    nn_tape_backward_inputs(critic, dpg->dy, B, dpg->dvalue, dpg->obs_count);
    action_slope(dpg, B);
    nn_vec()->backward[POLICY_TANH](dpg->daction, dpg->action, count);
    return nn_trainer_backward(&dpg->policy, dpg->daction, B, NULL);
}

static void
trainer_step(const algo_dpg *dpg, nn_trainer *trainer, float learning_rate, float grad_norm,
             nn_net *target)
{
    nn_trainer_step_and_polyak(trainer, learning_rate, nn_clip_scale(grad_norm, dpg->grad_norm_max),
                               target, dpg->target_rate);
}

oct_err
algo_dpg_update(algo *a, const algo_batch *batch, float learning_rate, float *priorities,
                float *numbers)
{
    algo_dpg *dpg = (algo_dpg *)a;
    uint64_t number = dpg->base.updates + 1;
    bool policy_learns = number % dpg->policy_delay == 0;
    oct_rng rng = dpg->rng;
    float policy_norm = 0;
    float now[ALGO_VALUE_NUMBERS];
    OCT_TRY(batch_take(dpg, batch));
    update_td_target(dpg, batch, &rng);
    update_critics(dpg, batch, priorities != NULL, now);
    if (policy_learns) {
        policy_norm = update_policy(dpg, batch);
    }
    now[ALGO_POLICY_GRAD_NORM] = policy_norm;
    if (!algo_numbers_finite(now, OCT_COUNTOF(now))) {
        return OCT_EINTERNAL;
    }
    dpg->rng = rng;
    bool target_moves = policy_learns && number % dpg->target_period == 0;
    for (uint32_t c = 0; c < dpg->variant->critics; c++) {
        dpg_critic *critic = &dpg->critics[c];
        trainer_step(dpg, &critic->online, learning_rate * dpg->critic_rate_ratio,
                     critic->grad_norm, target_moves ? &critic->target : NULL);
    }
    if (policy_learns) {
        trainer_step(dpg, &dpg->policy, learning_rate, policy_norm,
                     target_moves ? &dpg->policy_target : NULL);
        algo_dpg_policy_changed(dpg);
    }
    if (target_moves) {
        algo_dpg_target_changed(dpg);
    }
    dpg->base.updates = number;
    if (priorities != NULL) {
        memcpy(priorities, dpg->priority, batch->B * sizeof(*priorities));
    }
    now[ALGO_POLICY_GRAD_NORM] = policy_learns ? policy_norm : NAN;
    memcpy(numbers, now, sizeof(now));
    return OCT_OK;
}
