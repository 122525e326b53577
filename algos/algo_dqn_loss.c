// DQN's losses of values (Huber) and of distributions over atoms (cross entropy), with their
// gradients.
#include "algos/algo_dqn_loss.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/algo_cut.h"
#include "common/oct_base.h"
#include "nn/nn_loss.h"
#include "nn/nn_net.h"

static void
loss_carve(algo_dqn_loss *loss, uint32_t rows_max, nn_carver *carver)
{
    size_t rows = rows_max;
    loss->error = nn_carver_floats(carver, rows);
    loss->slope = nn_carver_floats(carver, rows);
    if (loss->atoms > 0) {
        size_t all = rows * loss->action_count;
        loss->p = nn_carver_floats(carver, all * loss->atoms);
        loss->mean = nn_carver_floats(carver, all);
        loss->logits = nn_carver_floats(carver, rows * loss->atoms);
        loss->next = nn_carver_floats(carver, rows * loss->atoms);
        loss->targets = nn_carver_floats(carver, rows * loss->atoms);
        loss->dlogits = nn_carver_floats(carver, rows * loss->atoms);
        loss->log_total = nn_carver_floats(carver, all);
        loss->cross_entropy = nn_carver_floats(carver, rows);
    }
}

void
algo_dqn_loss_init(algo_dqn_loss *loss, nn_context *context, const config_experiment *config,
                   const policy_spec *spec, uint32_t rows_max)
{
    *loss = (algo_dqn_loss){
        .action_count = spec->action_count,
        .atoms = spec->head == POLICY_HEAD_ATOMS ? spec->atoms : 0,
        .support = {.low = spec->value_min, .high = spec->value_max, .N = spec->atoms},
        .huber_delta = (float)config->algo.huber_delta,
        .bootstrap = algo_target_of(config),
        .categorical = nn_categorical(),
    };
    nn_carver carver = {0};
    loss_carve(loss, rows_max, &carver);
    loss->block = nn_context_alloc(context, carver.used);
    carver = (nn_carver){.base = loss->block};
    loss_carve(loss, rows_max, &carver);
}

void
algo_dqn_loss_fini(algo_dqn_loss *loss)
{
    free(loss->block);
    *loss = (algo_dqn_loss){0};
}

static bool
is_step(const int32_t *taken, uint32_t i)
{
    return taken == NULL || taken[i] != ALGO_DQN_NO_STEP;
}

// The number of rows that means are over, at least 1.
static uint32_t
steps_count(const int32_t *taken, uint32_t B)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < B; i++) {
        count += is_step(taken, i);
    }
    return OCT_MAX(count, 1u);
}

// loss->error[B] = reward + discount * the value of s' - online(s, action); the outputs are [B][A].
// Returns the mean of online(s, action).
static float
td_errors(algo_dqn_loss *loss, const algo_batch *batch, const algo_dqn_outputs *of)
{
    uint32_t A = loss->action_count;
    const int32_t *action = batch->action, *taken = of->taken;
    double sum = 0;
    for (uint32_t i = 0; i < batch->B; i++) {
        loss->error[i] = 0;
        if (!is_step(taken, i)) {
            continue;
        }
        size_t row = (size_t)i * A;
        float next = algo_target_value(&loss->bootstrap, of->choose + row, of->target + row, A,
                                       taken != NULL ? taken[i] : -1);
        float value = of->online[row + (uint32_t)action[i]];
        loss->error[i] = batch->reward[i] + batch->discount[i] * next - value;
        sum += (double)value;
    }
    return (float)(sum / steps_count(taken, batch->B));
}

static void
values_compute(algo_dqn_loss *loss, float *dy, const algo_batch *batch, const algo_dqn_outputs *of,
               float *numbers)
{
    uint32_t B = batch->B, A = loss->action_count;
    const int32_t *action = batch->action;
    numbers[ALGO_VALUE] = td_errors(loss, batch, of);
    numbers[ALGO_CUT_BELOW] = numbers[ALGO_CUT_ABOVE] = 0;
    numbers[ALGO_LOSS] =
        nn_loss_huber(loss->slope, loss->error, batch->weight, loss->huber_delta, B);
    memset(dy, 0, (size_t)B * A * sizeof(*dy));
    for (uint32_t i = 0; i < B; i++) {
        dy[(size_t)i * A + (uint32_t)action[i]] = -loss->slope[i];
    }
}

// ---- atoms

// to[B][N] = the atoms of one action per row of from[B][A][N]; action NULL: the greedy action by
// loss->mean.
static void
pick(const algo_dqn_loss *loss, float *to, const float *from, const int32_t *action, uint32_t B)
{
    size_t A = loss->action_count, N = loss->atoms;
    for (size_t i = 0; i < B; i++) {
        uint32_t a = action != NULL ? (uint32_t)action[i] : algo_target_best(loss->mean + i * A, A);
        memcpy(to + i * N, from + (i * A + a) * N, N * sizeof(*to));
    }
}

// Sets targets[B][N], the target distributions of online(a). Returns how much projecting has cut.
static algo_cut
atoms_targets(algo_dqn_loss *loss, const algo_batch *batch, const float *choose,
              const float *target)
{
    const nn_categorical_ops *ops = loss->categorical;
    uint32_t B = batch->B, A = loss->action_count, N = loss->atoms;
    ops->softmax(loss->p, loss->log_total, choose, B * A, N);
    ops->mean(loss->mean, loss->p, &loss->support, B * A);
    pick(loss, loss->logits, target, NULL, B);
    ops->softmax(loss->next, loss->log_total, loss->logits, B, N);
    ops->project(loss->targets, loss->next, batch->reward, batch->discount, &loss->support, B);
    // Both arrays are free here: mean is no longer needed, error is not needed yet.
    float *before = loss->mean, *after = loss->error;
    ops->mean(before, loss->next, &loss->support, B);
    ops->mean(after, loss->targets, &loss->support, B);
    return algo_cut_of(&loss->support, batch, before, after);
}

// Returns NaN if a reward or discount is not finite, otherwise 0: projecting cuts to the support,
// so that an infinite reward would look like a large one.
static float
not_finite(const algo_batch *batch)
{
    float zero = 0.0f;
    for (uint32_t i = 0; i < batch->B; i++) {
        zero += batch->reward[i] * 0.0f + batch->discount[i] * 0.0f;
    }
    return zero;
}

static void
atoms_compute(algo_dqn_loss *loss, float *dy, const algo_batch *batch, const algo_dqn_outputs *of,
              float *numbers)
{
    const nn_categorical_ops *ops = loss->categorical;
    uint32_t B = batch->B, N = loss->atoms;
    size_t A = loss->action_count;
    const int32_t *action = batch->action;
    const algo_cut cut = atoms_targets(loss, batch, of->choose, of->target);
    pick(loss, loss->logits, of->online, action, B);
    ops->softmax(loss->p, loss->log_total, loss->logits, B, N);
    ops->mean(loss->mean, loss->p, &loss->support, B);
    ops->cross_entropy(loss->cross_entropy, loss->dlogits, loss->targets, loss->logits, loss->p,
                       loss->log_total, batch->weight, B, N);
    ops->divergence(loss->error, loss->cross_entropy, loss->targets, B, N);
    double sum = (double)not_finite(batch), value = 0;
    memset(dy, 0, (size_t)B * A * N * sizeof(*dy));
    for (size_t i = 0; i < B; i++) {
        memcpy(dy + (i * A + (uint32_t)action[i]) * N, loss->dlogits + i * N, N * sizeof(*dy));
        sum += (double)(batch->weight[i] * loss->cross_entropy[i]);
        value += (double)loss->mean[i];
    }
    numbers[ALGO_LOSS] = (float)(sum / B);
    numbers[ALGO_VALUE] = (float)(value / B);
    numbers[ALGO_CUT_BELOW] = cut.below;
    numbers[ALGO_CUT_ABOVE] = cut.above;
}

void
algo_dqn_loss_compute(algo_dqn_loss *loss, float *dy, const algo_batch *batch,
                      const algo_dqn_outputs *of, float *numbers)
{
    if (loss->atoms > 0) {
        atoms_compute(loss, dy, batch, of, numbers);
    } else {
        values_compute(loss, dy, batch, of, numbers);
    }
    double sum = 0;
    for (uint32_t i = 0; i < batch->B; i++) {
        sum += (double)fabsf(loss->error[i]);
    }
    numbers[ALGO_TD_ABS] = (float)(sum / steps_count(of->taken, batch->B));
}
