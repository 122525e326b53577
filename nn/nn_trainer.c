// A net with its gradient and Adam moments.
//
// An update has four steps:
//
// 1. nn_trainer_forward, then the algorithm computes dy, the gradient of its loss at the outputs.
// 2. nn_trainer_backward: nn_tape_backward gives the gradient by the weights; nn_reparam_back maps
//    it to the learned numbers; frozen layers get 0. In a group each rank then receives the mean of
//    its own part (reduce-scatter), and the squares of all parts are summed, so that all ranks have
//    the same norm.
// 3. The algorithm checks the norm. If it is not finite the update ends here and no
//    parameter has changed.
// 4. nn_trainer_step with the factor of nn_clip_scale: Adam, and optionally the target network's
//    average, over STEP_PARAMS parameters at a time, so that these with their moments, gradient and
//    target are read from memory once.
//
// In a group a rank steps only its own part of the layers' parameters, then receives the other
// parts (all-gather): memory traffic and work for Adam shrink with the number of ranks. The
// consequence is that moments differ between ranks until nn_trainer_share_moments collects them,
// which a checkpoint does. Log deviations of a head are few; every rank steps all of them.
//
// Frozen layers are ranges of parameters that steps skip; the target's average still covers them.
#include "nn/nn_trainer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"

// The number of parameters that, with their moments, gradient and target, fit the L1 cache.
#define STEP_PARAMS 1024

static void
trainer_carve(nn_trainer *trainer, nn_carver *carver)
{
    size_t count = trainer->tape.net.param_count;
    trainer->weight_gradient = trainer->reparam == NULL
                                   ? trainer->gradient
                                   : nn_carver_floats(carver, trainer->tape.net.weight_count);
    trainer->m = nn_carver_floats(carver, count);
    trainer->v = nn_carver_floats(carver, count);
}

// Moves what the other ranks of a group read, gradient and parameters, to a block that they can
// read.
static void
trainer_show(nn_trainer *trainer)
{
    nn_net *net = &trainer->tape.net;
    group *all = nn_context_group(net->context);
    nn_context_block(net->context, &trainer->gradients, net->param_count);
    trainer->gradient = trainer->gradients.own;
    if (all != NULL) {
        nn_context_block(net->context, &trainer->params, net->param_count);
        net->weights = net->weights == net->params ? trainer->params.own : net->weights;
        net->params = net->fetched = trainer->params.own;
    }
}

static void
trainer_init(nn_trainer *trainer, nn_context *context, const nn_shape *shape,
             const nn_reparam *reparam, const nn_adam *adam)
{
    *trainer = (nn_trainer){.adam = *adam, .reparam = reparam};
    nn_tape_init_shape(&trainer->tape, context, shape);
    trainer_show(trainer);
    nn_carver carver = {0};
    trainer_carve(trainer, &carver);
    trainer->block = nn_context_alloc(context, carver.used);
    carver = (nn_carver){.base = trainer->block};
    trainer_carve(trainer, &carver);
}

void
nn_trainer_init(nn_trainer *trainer, nn_context *context, const policy_spec *spec,
                uint32_t rows_max, const nn_adam *adam)
{
    const nn_shape shape = {spec, false, policy_spec_params(spec), rows_max};
    trainer_init(trainer, context, &shape, NULL, adam);
}

void
nn_trainer_init_residual(nn_trainer *trainer, nn_context *context, const policy_spec *spec,
                         uint32_t rows_max, const nn_adam *adam)
{
    const nn_shape shape = {spec, true, policy_spec_params(spec), rows_max};
    trainer_init(trainer, context, &shape, NULL, adam);
}

void
nn_trainer_init_reparam(nn_trainer *trainer, nn_context *context, const nn_shape *shape,
                        const nn_reparam *reparam, const nn_adam *adam)
{
    trainer_init(trainer, context, shape, reparam, adam);
}

void
nn_trainer_fini(nn_trainer *trainer)
{
    nn_tape_fini(&trainer->tape);
    group_block_free(&trainer->gradients);
    group_block_free(&trainer->params);
    free(trainer->block);
    *trainer = (nn_trainer){0};
}

// ---- frozen layers

nn_range
nn_learned_layer(const nn_net *net, const nn_reparam *reparam, uint32_t layer)
{
    const policy_offsets *at = &net->layers[layer].at;
    bool is_mapped_last = reparam != NULL && layer == net->layer_count - 1;
    return is_mapped_last ? (nn_range){reparam->last, reparam->mean_count}
                          : (nn_range){at->weight, at->end};
}

void
nn_trainer_freeze(nn_trainer *trainer, uint32_t layers)
{
    const nn_reparam *reparam = trainer->reparam;
    trainer->frozen_count = 0;
    for (uint32_t l = 0; l < trainer->tape.net.layer_count; l++) {
        if ((layers >> l & 1) == 0) {
            continue;
        }
        nn_range range = nn_learned_layer(&trainer->tape.net, reparam, l);
        trainer->frozen[trainer->frozen_count++] = range;
        if (reparam != NULL && reparam->noisy) {
            size_t means = reparam->mean_count;
            trainer->frozen[trainer->frozen_count++] =
                (nn_range){means + range.at, means + range.end};
        }
    }
}

void
nn_trainer_keep_frozen(const nn_trainer *trainer, float *direction)
{
    for (uint32_t i = 0; i < trainer->frozen_count; i++) {
        const nn_range *range = &trainer->frozen[i];
        memset(direction + range->at, 0, (range->end - range->at) * sizeof(*direction));
    }
}

// Sets is_frozen for parameter `at`, and returns the end (at most `end`) of the run of parameters
// that are frozen, or not frozen, as this one.
static size_t
frozen_as_far(const nn_trainer *trainer, size_t at, size_t end, bool *is_frozen)
{
    *is_frozen = false;
    for (uint32_t i = 0; i < trainer->frozen_count; i++) {
        const nn_range *range = &trainer->frozen[i];
        if (at >= range->at && at < range->end) {
            *is_frozen = true;
            return OCT_MIN(end, range->end);
        }
        end = range->at > at ? OCT_MIN(end, range->at) : end;
    }
    return end;
}

// ---- learners that share

static float *
moment_share(float *own, size_t count, nn_carver *carver, bool is_first)
{
    float *shared = nn_carver_floats(carver, count);
    if (shared != NULL && is_first) {
        memcpy(shared, own, count * sizeof(*own));
    }
    return shared != NULL ? shared : own;
}

void
nn_trainer_share(nn_trainer *trainer, nn_carver *carver, bool is_first)
{
    size_t count = trainer->tape.net.param_count;
    nn_net_share(&trainer->tape.net, carver, is_first);
    trainer->m = moment_share(trainer->m, count, carver, is_first);
    trainer->v = moment_share(trainer->v, count, carver, is_first);
}

// ---- gradient and step

const float *
nn_trainer_forward(nn_trainer *trainer, const float *x, uint32_t rows)
{
    return nn_tape_forward(&trainer->tape, x, rows);
}

// Returns the number of learned parameters that belong to layers; log deviations of a head follow.
static size_t
layers_end(const nn_trainer *trainer)
{
    const nn_net *net = &trainer->tape.net;
    return trainer->reparam != NULL ? net->param_count : net->layers[net->layer_count - 1].at.end;
}

// Replaces the gradient by the group's mean where this rank needs it: in its own part, and for log
// deviations. Returns the sum of squares of the mean over the layers' parameters.
static float
gradient_mean(nn_trainer *trainer)
{
    const nn_net *net = &trainer->tape.net;
    group *all = nn_context_group(net->context);
    size_t end = layers_end(trainer), deviations = net->param_count - end;
    group_range own = group_own(all, end);
    double sums[1 + POLICY_ACTIONS_MAX];
    OCT_ASSERT(deviations <= POLICY_ACTIONS_MAX);
    group_mean_own(all, trainer->gradient, end, trainer->gradients.apart);
    sums[0] = (double)net->vec->sum_of_squares(trainer->gradient + own.at, own.count);
    for (size_t i = 0; i < deviations; i++) {
        sums[1 + i] = (double)trainer->gradient[end + i];
    }
    group_sum(all, sums, 1 + deviations);
    for (size_t i = 0; i < deviations; i++) {
        trainer->gradient[end + i] = (float)(sums[1 + i] / group_size(all));
    }
    return (float)sums[0];
}

float
nn_trainer_backward(nn_trainer *trainer, float *dy, uint32_t rows, float *dx)
{
    const nn_net *net = &trainer->tape.net;
    float squares = nn_tape_backward(&trainer->tape, dy, rows, trainer->weight_gradient, dx);
    if (trainer->reparam != NULL) {
        nn_reparam_back(trainer->reparam, trainer->gradient, trainer->weight_gradient,
                        trainer->noise);
        squares = net->vec->sum_of_squares(trainer->gradient, net->param_count);
    }
    if (trainer->frozen_count > 0) {
        nn_trainer_keep_frozen(trainer, trainer->gradient);
        squares = net->vec->sum_of_squares(trainer->gradient, layers_end(trainer));
    }
    return sqrtf(nn_context_group(net->context) == NULL ? squares : gradient_mean(trainer));
}

float
nn_clip_scale(float norm, float norm_max)
{
    return norm_max > 0.0f && norm > norm_max ? norm_max / norm : 1.0f;
}

nn_adam_factors
nn_adam_next(const nn_adam *adam, uint64_t step, float learning_rate, float scale)
{
    double t = (double)step;
    double correction1 = 1.0 - pow((double)adam->beta1, t);
    double correction2 = 1.0 - pow((double)adam->beta2, t);
    return (nn_adam_factors){
        .gradient_scale = scale,
        .beta1 = adam->beta1,
        .beta2 = adam->beta2,
        .rate = (float)((double)learning_rate / correction1),
        .second_moment_factor = (float)(1.0 / sqrt(correction2)),
        .epsilon = adam->epsilon,
    };
}

void
nn_trainer_step(nn_trainer *trainer, float learning_rate, float scale)
{
    nn_trainer_step_and_polyak(trainer, learning_rate, scale, NULL, 0.0f);
}

// Steps the parameters [at, end) that are not frozen, and updates the target's.
static void
range_step(nn_trainer *trainer, size_t at, size_t end, const nn_adam_factors *factors,
           nn_net *target, float rate)
{
    const nn_net *net = &trainer->tape.net;
    const nn_vec_ops *vec = net->vec;
    for (size_t count; at < end; at += count) {
        bool is_frozen;
        count = frozen_as_far(trainer, at, OCT_MIN(end, at + STEP_PARAMS), &is_frozen) - at;
        float *params = net->params + at;
        if (!is_frozen) {
            vec->adam(params, trainer->m + at, trainer->v + at, trainer->gradient + at, count,
                      factors);
        }
        if (target != NULL && rate == 1.0f) {
            memcpy(target->params + at, params, count * sizeof(*params));
        } else if (target != NULL) {
            vec->blend(target->params + at, params, rate, count);
        }
    }
}

// Steps this rank's part of the layers' parameters and all log deviations, then shares the parts.
static void
group_step(nn_trainer *trainer, const nn_adam_factors *factors)
{
    const nn_net *net = &trainer->tape.net;
    group *all = nn_context_group(net->context);
    size_t end = layers_end(trainer);
    group_range own = group_own(all, end);
    group_keep(all, net->params, end);
    range_step(trainer, own.at, own.at + own.count, factors, NULL, 0.0f);
    range_step(trainer, end, net->param_count, factors, NULL, 0.0f);
    group_share_steps(all, net->params, end, trainer->params.apart);
    trainer->moments_apart = true;
}

void
nn_trainer_step_and_polyak(nn_trainer *trainer, float learning_rate, float scale, nn_net *target,
                           float rate)
{
    const nn_net *net = &trainer->tape.net;
    OCT_ASSERT(target == NULL || target->param_count == net->param_count);
    trainer->steps++;
    nn_adam_factors factors = nn_adam_next(&trainer->adam, trainer->steps, learning_rate, scale);
    if (nn_context_group(net->context) == NULL) {
        range_step(trainer, 0, net->param_count, &factors, target, rate);
        return;
    }
    group_step(trainer, &factors);
    if (target != NULL) {
        nn_net_polyak(target, net, rate);
    }
}

void
nn_trainer_share_gradient(nn_trainer *trainer)
{
    group_share(nn_context_group(trainer->tape.net.context), trainer->gradient, layers_end(trainer),
                0);
}

void
nn_trainer_share_moments(const nn_trainer *trainer)
{
    group *all = nn_context_group(trainer->tape.net.context);
    if (trainer->moments_apart) {
        group_share(all, trainer->m, layers_end(trainer), 0);
        group_share(all, trainer->v, layers_end(trainer), 0);
    }
}
