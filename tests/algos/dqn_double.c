// DQN's update in double precision, written from the formulas, to compare algo_dqn.c with.
#include "tests/algos/dqn_double.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"

dqn_double *
dqn_double_create(const config_experiment *config, const policy_spec *spec, const float *params)
{
    dqn_double *dqn = oct_alloc(sizeof(*dqn));
    dqn->config = *config;
    dqn->online = nn_double_create(spec, config->learner.batch_size);
    dqn->target = nn_double_create(spec, config->learner.batch_size);
    dqn->m = oct_alloc(dqn->online->param_count * sizeof(double));
    dqn->v = oct_alloc(dqn->online->param_count * sizeof(double));
    nn_double_set_params(dqn->online, params);
    nn_double_set_params(dqn->target, params);
    return dqn;
}

void
dqn_double_destroy(dqn_double *dqn)
{
    nn_double_destroy(dqn->online);
    nn_double_destroy(dqn->target);
    free(dqn->m);
    free(dqn->v);
    free(dqn);
}

// y[B] = reward + discount * Q'(s', argmax Q(s')), with Q = Q' unless double Q-learning.
static void
targets(dqn_double *dqn, const algo_batch *batch, double *y)
{
    uint32_t A = dqn->online->spec.action_count;
    const double *value = nn_double_forward(dqn->target, batch->next, batch->B);
    const double *choose =
        dqn->config.algo.double_q ? nn_double_forward(dqn->online, batch->next, batch->B) : value;
    for (size_t i = 0; i < batch->B; i++) {
        size_t best = 0;
        for (size_t a = 1; a < A; a++) {
            best = choose[i * A + a] > choose[i * A + best] ? a : best;
        }
        y[i] = (double)batch->reward[i] + (double)batch->discount[i] * value[i * A + best];
    }
}

static void
adam_step(dqn_double *dqn, double learning_rate, double scale)
{
    double beta1 = dqn->config.algo.adam_beta1, beta2 = dqn->config.algo.adam_beta2;
    double t = (double)dqn->updates;
    for (size_t i = 0; i < dqn->online->param_count; i++) {
        double g = scale * dqn->online->gradient[i];
        dqn->m[i] = beta1 * dqn->m[i] + (1 - beta1) * g;
        dqn->v[i] = beta2 * dqn->v[i] + (1 - beta2) * g * g;
        double m = dqn->m[i] / (1 - pow(beta1, t));
        double v = dqn->v[i] / (1 - pow(beta2, t));
        dqn->online->params[i] -= learning_rate * m / (sqrt(v) + dqn->config.algo.adam_epsilon);
    }
}

static double
norm_of(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += x[i] * x[i];
    }
    return sqrt(sum);
}

dqn_double_result
dqn_double_update(dqn_double *dqn, const algo_batch *batch, double learning_rate,
                  double *priorities)
{
    uint32_t B = batch->B, A = dqn->online->spec.action_count;
    double delta = dqn->config.algo.huber_delta;
    double *y = oct_alloc(B * sizeof(*y));
    double *dy = oct_alloc((size_t)B * A * sizeof(*dy));
    dqn_double_result result = {0};
    targets(dqn, batch, y);
    const double *q = nn_double_forward(dqn->online, batch->obs, B);
    for (size_t i = 0; i < B; i++) {
        size_t at = i * A + (size_t)((const int32_t *)batch->action)[i];
        double td = y[i] - q[at];
        double size = fabs(td);
        double huber = size <= delta ? td * td / 2 : delta * (size - delta / 2);
        double weight = (double)batch->weight[i] / B;
        result.loss += weight * huber;
        result.td_abs += size / B;
        result.value += q[at] / B;
        dy[at] = -weight * fmax(-delta, fmin(delta, td));
        if (priorities != NULL) {
            priorities[i] = size;
        }
    }
    nn_double_backward(dqn->online, dy, B, NULL);
    result.grad_norm = norm_of(dqn->online->gradient, dqn->online->param_count);
    double norm_max = dqn->config.algo.grad_norm_max;
    dqn->updates++;
    adam_step(dqn, learning_rate, norm_max > 0 ? fmin(1, norm_max / result.grad_norm) : 1);
    if (dqn->updates % dqn->config.algo.target_period == 0) {
        for (size_t i = 0; i < dqn->target->param_count; i++) {
            dqn->target->params[i] +=
                dqn->config.algo.target_rate * (dqn->online->params[i] - dqn->target->params[i]);
        }
    }
    free(y);
    free(dy);
    return result;
}
