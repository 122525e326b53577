#include "nn/nn_trainer.h"

#include <math.h>
#include <stdlib.h>

#include "common/oct_base.h"

static void
trainer_carve(nn_trainer *trainer, nn_carver *carver)
{
    size_t count = trainer->tape.net.param_count;
    trainer->gradient = nn_carver_floats(carver, count);
    trainer->m = nn_carver_floats(carver, count);
    trainer->v = nn_carver_floats(carver, count);
}

void
nn_trainer_init(nn_trainer *trainer, const policy_spec *spec, uint32_t rows_max,
                const nn_adam *adam)
{
    *trainer = (nn_trainer){.adam = *adam};
    nn_tape_init(&trainer->tape, spec, rows_max);
    nn_carver carver = {0};
    trainer_carve(trainer, &carver);
    trainer->block = oct_alloc(carver.used);
    carver = (nn_carver){.base = trainer->block};
    trainer_carve(trainer, &carver);
}

void
nn_trainer_fini(nn_trainer *trainer)
{
    nn_tape_fini(&trainer->tape);
    free(trainer->block);
    *trainer = (nn_trainer){0};
}

const float *
nn_trainer_forward(nn_trainer *trainer, const float *x, uint32_t rows)
{
    return nn_tape_forward(&trainer->tape, x, rows);
}

float
nn_trainer_backward(nn_trainer *trainer, float *dy, uint32_t rows, float *dx)
{
    const nn_net *net = &trainer->tape.net;
    nn_tape_backward(&trainer->tape, dy, rows, trainer->gradient, dx);
    return sqrtf(net->vec->sum_of_squares(trainer->gradient, net->param_count));
}

float
nn_clip_scale(float norm, float norm_max)
{
    return norm_max > 0.0f && norm > norm_max ? norm_max / norm : 1.0f;
}

void
nn_trainer_step(nn_trainer *trainer, float learning_rate, float scale)
{
    const nn_adam *adam = &trainer->adam;
    const nn_net *net = &trainer->tape.net;
    trainer->steps++;
    double t = (double)trainer->steps;
    double correction1 = 1.0 - pow((double)adam->beta1, t);
    double correction2 = 1.0 - pow((double)adam->beta2, t);
    nn_adam_factors factors = {
        .gradient_scale = scale,
        .beta1 = adam->beta1,
        .beta2 = adam->beta2,
        .rate = (float)((double)learning_rate / correction1),
        .second_moment_factor = (float)(1.0 / sqrt(correction2)),
        .epsilon = adam->epsilon,
    };
    net->vec->adam(net->params, trainer->m, trainer->v, trainer->gradient, net->param_count,
                   &factors);
}
