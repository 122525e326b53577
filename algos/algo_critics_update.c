// What critics compute in an update: targets, losses, gradients and slopes.
#include "algos/algo_critics.h"

#include <math.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_box.h"

oct_err
algo_critics_take(algo_critics *critics, const algo_batch *batch)
{
    if (batch->B < 1 || batch->B > critics->rows_max) {
        return OCT_EINVAL;
    }
    size_t dim = critics->action_count, B = batch->B;
    const float *action = batch->action;
    bool inside = true;
    for (size_t row = 0; row < B; row++) {
        for (size_t i = 0; i < dim; i++) {
            float a = (action[row * dim + i] - critics->low[i]) * critics->per_unit[i] - 1.0f;
            inside &= oct_box_holds_unit(a) || !isfinite(a);
            critics->taken[row * dim + i] = a;
        }
    }
    if (!inside) {
        return OCT_EINVAL;
    }
    bool finite = algo_all_finite(batch->obs, B * critics->obs_count) &&
                  algo_all_finite(batch->next, B * critics->obs_count) &&
                  algo_all_finite(critics->taken, B * dim) && algo_all_finite(batch->reward, B) &&
                  algo_all_finite(batch->discount, B) && algo_all_finite(batch->weight, B);
    return finite ? OCT_OK : OCT_EINTERNAL;
}

// joined[B][obs_count + action_count] = [obs, action].
static void
join(algo_critics *critics, const float *obs, const float *action, uint32_t B)
{
    size_t O = critics->obs_count, A = critics->action_count;
    float *to = critics->joined;
    for (size_t row = 0; row < B; row++) { // rows are short, so loops are faster than calls
        for (size_t i = 0; i < O; i++) {
            *to++ = *obs++;
        }
        for (size_t i = 0; i < A; i++) {
            *to++ = *action++;
        }
    }
}

// p[B][N] = the distribution Z'(next, a') of target critic c.
static void
target_distribution(algo_critics *critics, uint32_t c, float *p, uint32_t B)
{
    const float *logits = nn_net_forward_again(&critics->of[c].target, critics->joined, B);
    nn_categorical()->softmax(p, critics->log_total, logits, B, critics->support.N);
}

// Replaces rows of p by the other critic's where its mean is smaller.
static void
take_the_smaller(algo_critics *critics, uint32_t B)
{
    const nn_categorical_ops *ops = nn_categorical();
    const size_t N = critics->support.N;
    ops->mean(critics->td_target_mean, critics->p, &critics->support, B);
    ops->mean(critics->mean, critics->other, &critics->support, B);
    for (size_t i = 0; i < B; i++) {
        if (critics->mean[i] < critics->td_target_mean[i]) {
            memcpy(critics->p + i * N, critics->other + i * N, N * sizeof(*critics->p));
        }
    }
}

// td_target = the distribution of reward + discount * Z'(next, a'), td_target_mean = its mean. Each
// row has the Z' of the target critic with the smallest mean.
static void
td_target_distribution(algo_critics *critics, const algo_batch *batch)
{
    const nn_categorical_ops *ops = nn_categorical();
    uint32_t B = batch->B;
    target_distribution(critics, 0, critics->p, B);
    for (uint32_t c = 1; c < critics->count; c++) {
        target_distribution(critics, c, critics->other, B);
        take_the_smaller(critics, B);
    }
    ops->project(critics->td_target, critics->p, batch->reward, batch->discount, &critics->support,
                 B);
    ops->mean(critics->mean, critics->p, &critics->support, B);
    ops->mean(critics->td_target_mean, critics->td_target, &critics->support, B);
    critics->cut = algo_cut_of(&critics->support, batch, critics->mean, critics->td_target_mean);
}

// td_target = reward + discount * (the smallest Q'(next, a') + bonus).
static void
td_target_value(algo_critics *critics, const algo_batch *batch, const float *bonus)
{
    uint32_t B = batch->B;
    for (uint32_t c = 0; c < critics->count; c++) {
        const float *q = nn_net_forward_again(&critics->of[c].target, critics->joined, B);
        for (uint32_t i = 0; i < B; i++) {
            critics->mean[i] = c == 0 || q[i] < critics->mean[i] ? q[i] : critics->mean[i];
        }
    }
    for (uint32_t i = 0; bonus != NULL && i < B; i++) {
        critics->mean[i] += bonus[i];
    }
    for (uint32_t i = 0; i < B; i++) {
        critics->td_target[i] = batch->reward[i] + batch->discount[i] * critics->mean[i];
    }
    memcpy(critics->td_target_mean, critics->td_target, B * sizeof(*critics->td_target));
}

void
algo_critics_target(algo_critics *critics, const algo_batch *batch, const float *action,
                    const float *bonus)
{
    OCT_ASSERT(bonus == NULL || !critics->categorical);
    join(critics, batch->next, action, batch->B);
    if (critics->categorical) {
        td_target_distribution(critics, batch);
    } else {
        td_target_value(critics, batch, bonus);
    }
}

// Cross entropy: sets loss, mean and dy from the critic's logits, and error if has_error.
static void
loss_of_distribution(algo_critics *critics, const algo_batch *batch, const float *logits,
                     bool has_error)
{
    const nn_categorical_ops *ops = nn_categorical();
    uint32_t B = batch->B, N = critics->support.N;
    ops->softmax(critics->p, critics->log_total, logits, B, N);
    ops->mean(critics->mean, critics->p, &critics->support, B);
    ops->cross_entropy(critics->loss, critics->dy, critics->td_target, logits, critics->p,
                       critics->log_total, batch->weight, B, N);
    if (has_error) {
        ops->divergence(critics->error, critics->loss, critics->td_target, B, N);
    }
}

// Squared error: sets loss, error, mean and dy from the critic's values.
static void
loss_of_value(algo_critics *critics, const algo_batch *batch, const float *q)
{
    for (uint32_t i = 0; i < batch->B; i++) {
        float td = critics->td_target[i] - q[i];
        critics->mean[i] = q[i];
        critics->loss[i] = td * td;
        critics->error[i] = fabsf(td);
        critics->dy[i] = -2.0f * batch->weight[i] * td / (float)batch->B;
    }
}

// Adds critic c to numbers and to priority. loss is the sum over critics, the gradient norm the
// largest; td_abs and value are those of the first critic.
static void
numbers_add(algo_critics *critics, const algo_batch *batch, uint32_t c, float *numbers)
{
    double loss = 0, td_abs = 0, value = 0;
    for (uint32_t i = 0; i < batch->B; i++) {
        float td = fabsf(critics->td_target_mean[i] - critics->mean[i]);
        float error = critics->error[i];
        critics->priority[i] =
            c == 0 || error > critics->priority[i] ? error : critics->priority[i];
        loss += (double)(batch->weight[i] * critics->loss[i]);
        td_abs += (double)td;
        value += (double)critics->mean[i];
    }
    float norm = critics->of[c].grad_norm;
    numbers[ALGO_LOSS] += (float)(loss / batch->B);
    if (c == 0) {
        numbers[ALGO_TD_ABS] = (float)(td_abs / batch->B);
        numbers[ALGO_VALUE] = (float)(value / batch->B);
        numbers[ALGO_GRAD_NORM] = norm;
    } else {
        numbers[ALGO_GRAD_NORM] = norm > numbers[ALGO_GRAD_NORM] ? norm : numbers[ALGO_GRAD_NORM];
    }
}

void
algo_critics_learn(algo_critics *critics, const algo_batch *batch, bool has_error, float *numbers)
{
    memset(numbers, 0, ALGO_VALUE_NUMBERS * sizeof(*numbers));
    numbers[ALGO_CUT_BELOW] = critics->cut.below;
    numbers[ALGO_CUT_ABOVE] = critics->cut.above;
    join(critics, batch->obs, critics->taken, batch->B);
    for (uint32_t c = 0; c < critics->count; c++) {
        algo_critic *critic = &critics->of[c];
        const float *y = nn_trainer_forward(&critic->online, critics->joined, batch->B);
        if (critics->categorical) {
            loss_of_distribution(critics, batch, y, has_error);
        } else {
            loss_of_value(critics, batch, y);
        }
        critic->grad_norm = nn_trainer_backward(&critic->online, critics->dy, batch->B, NULL);
        numbers_add(critics, batch, c, numbers);
    }
}

// Sets value[B] of critic c at joined, with the weights that algo_critics_learn computed with, and
// dy[B][outputs], the derivative of each row's value by the critic's outputs.
static void
value_slope(algo_critics *critics, uint32_t c, float *value, float *dy, uint32_t B)
{
    const float *y = nn_tape_forward_again(&critics->of[c].online.tape, critics->joined, B);
    if (critics->categorical) {
        const nn_categorical_ops *ops = nn_categorical();
        ops->softmax(critics->p, critics->log_total, y, B, critics->support.N);
        ops->mean(value, critics->p, &critics->support, B);
        ops->mean_backward(dy, critics->p, value, 1.0f, &critics->support, B);
    } else {
        for (uint32_t i = 0; i < B; i++) {
            value[i] = y[i];
            dy[i] = 1.0f;
        }
    }
}

// Chooses one critic per row, the one with the smaller value: least becomes that value, and the
// other critic's dy becomes 0.
static void
follow_the_smaller(algo_critics *critics, uint32_t B)
{
    const size_t outputs = critics->outputs;
    for (size_t i = 0; i < B; i++) {
        bool smaller = critics->mean[i] < critics->least[i];
        critics->least[i] = smaller ? critics->mean[i] : critics->least[i];
        memset((smaller ? critics->dy : critics->other) + i * outputs, 0,
               outputs * sizeof(*critics->dy));
    }
}

void
algo_critics_slope(algo_critics *critics, const float *obs, const float *action, uint32_t B,
                   uint32_t count)
{
    OCT_ASSERT(count >= 1 && count <= critics->count);
    join(critics, obs, action, B);
    value_slope(critics, 0, critics->least, critics->dy, B);
    if (count > 1) {
        value_slope(critics, 1, critics->mean, critics->other, B);
        follow_the_smaller(critics, B);
    }
    nn_tape_backward_inputs(&critics->of[0].online.tape, critics->dy, B, critics->dvalue,
                            critics->obs_count);
    if (count > 1) {
        nn_tape_backward_inputs(&critics->of[1].online.tape, critics->other, B, critics->dother,
                                critics->obs_count);
        for (size_t i = 0; i < (size_t)B * critics->action_count; i++) {
            critics->dvalue[i] += critics->dother[i];
        }
    }
}

void
algo_critics_step(algo_critics *critics, float learning_rate, bool targets_follow)
{
    for (uint32_t c = 0; c < critics->count; c++) {
        algo_critic *critic = &critics->of[c];
        float scale = nn_clip_scale(critic->grad_norm, critics->grad_norm_max);
        nn_trainer_step_and_polyak(&critic->online, learning_rate * critics->rate_ratio, scale,
                                   targets_follow ? &critic->target : NULL, critics->target_rate);
        if (targets_follow) {
            nn_net_changed(&critic->target);
        }
    }
}
