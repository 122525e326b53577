// Deep Q-learning as in Acme: double Q-learning (van Hasselt 2016) or plain, n-step returns that
// come ready in the batch, Huber loss with importance weights, Adam, a target network that is
// copied every target_period updates or follows by Polyak averaging.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algos/algo_ops.h"
#include "common/oct_base.h"
#include "nn/nn_loss.h"
#include "nn/nn_state.h"

#define INIT_STREAM 0x6471u // of the seed, for the first weights

typedef struct algo_dqn {
    algo base;
    uint32_t rows_max;
    uint32_t obs_count;
    uint32_t action_count;
    bool double_q;
    float huber_delta;
    float grad_norm_max;
    uint32_t target_period;
    float target_rate;
    nn_trainer online;
    nn_net target;
    algo_projection projection; // none: project is NULL
    float *online_weights;      // [params], of the projection, else NULL
    float *target_weights;      // likewise
    float *x;                   // [2 rows_max][obs_count], s above s'
    float *td;                  // [rows_max]
    float *slope;               // [rows_max]
    float *dy;                  // [rows_max][action_count]
} algo_dqn;

static oct_err
dqn_make_spec(const oct_config *config, policy_spec *spec, char *reason, size_t reason_size)
{
    if (spec->action_kind != POLICY_DISCRETE) {
        if (reason_size > 0) {
            (void)snprintf(reason, reason_size,
                           "dqn needs discrete actions; %.100s has a box of %u numbers",
                           spec->env_id, spec->action_count);
        }
        return OCT_EINVAL;
    }
    spec->head = POLICY_HEAD_VALUES;
    spec->atoms = 0;
    spec->normalise = false;
    OCT_TRY(algo_make_layers(config, spec, spec->action_count, reason, reason_size));
    return policy_spec_check(spec, reason, reason_size);
}

static oct_err
dqn_create(algo **out, const oct_config *config, const policy_spec *spec, uint64_t seed)
{
    if (policy_spec_check(spec, NULL, 0) != OCT_OK || spec->head != POLICY_HEAD_VALUES ||
        config->learner.batch_size < 1 || config->algo.target_period < 1) {
        return OCT_EINVAL;
    }
    algo_dqn *dqn = oct_alloc(sizeof(*dqn));
    size_t rows = config->learner.batch_size;
    dqn->base.ops = &algo_dqn_ops;
    dqn->rows_max = config->learner.batch_size;
    dqn->obs_count = spec->obs_count;
    dqn->action_count = spec->action_count;
    dqn->double_q = config->algo.double_q;
    dqn->huber_delta = (float)config->algo.huber_delta;
    dqn->grad_norm_max = (float)config->algo.grad_norm_max;
    dqn->target_period = config->algo.target_period;
    dqn->target_rate = (float)config->algo.target_rate;
    nn_adam adam = {
        .beta1 = (float)config->algo.adam_beta1,
        .beta2 = (float)config->algo.adam_beta2,
        .epsilon = (float)config->algo.adam_epsilon,
    };
    nn_trainer_init(&dqn->online, spec, 2 * dqn->rows_max, &adam);
    nn_net_init(&dqn->target, spec, dqn->rows_max);
    dqn->x = oct_alloc(2 * rows * dqn->obs_count * sizeof(*dqn->x));
    dqn->td = oct_alloc(rows * sizeof(*dqn->td));
    dqn->slope = oct_alloc(rows * sizeof(*dqn->slope));
    dqn->dy = oct_alloc(rows * dqn->action_count * sizeof(*dqn->dy));
    oct_rng rng;
    oct_rng_init(&rng, seed, INIT_STREAM);
    nn_net_randomise(&dqn->online.tape.net, &rng);
    nn_net_follow(&dqn->target, &dqn->online.tape.net, 1.0f);
    *out = &dqn->base;
    return OCT_OK;
}

static void
dqn_destroy(algo *a)
{
    algo_dqn *dqn = (algo_dqn *)a;
    nn_trainer_fini(&dqn->online);
    nn_net_fini(&dqn->target);
    free(dqn->online_weights);
    free(dqn->target_weights);
    free(dqn->x);
    free(dqn->td);
    free(dqn->slope);
    free(dqn->dy);
    free(dqn);
}

// After the online network's parameters have changed.
static void
online_project(algo_dqn *dqn)
{
    if (dqn->projection.project != NULL) {
        dqn->projection.project(dqn->projection.arg, dqn->online.tape.net.params,
                                dqn->online_weights);
    }
}

// After the target network's parameters have changed. The target is projected, too: what the
// bootstrap estimates is then the value of acting with weights that an actor can have. Its
// parameters follow the online network's before projection, so that Polyak averages move by less
// than a step of the grid.
static void
target_project(algo_dqn *dqn)
{
    if (dqn->projection.project != NULL) {
        dqn->projection.project(dqn->projection.arg, dqn->target.params, dqn->target_weights);
    }
}

static void
dqn_set_projection(algo *a, const algo_projection *projection)
{
    algo_dqn *dqn = (algo_dqn *)a;
    OCT_ASSERT(dqn->projection.project == NULL);
    dqn->projection = *projection;
    size_t bytes = dqn->target.param_count * sizeof(float);
    dqn->online_weights = oct_alloc(bytes);
    dqn->target_weights = oct_alloc(bytes);
    dqn->online.tape.net.weights = dqn->online_weights;
    dqn->target.weights = dqn->target_weights;
    online_project(dqn);
    target_project(dqn);
}

static bool
actions_allowed(const int32_t *action, uint32_t B, uint32_t A)
{
    bool allowed = true;
    for (uint32_t i = 0; i < B; i++) {
        allowed &= (uint32_t)action[i] < A;
    }
    return allowed;
}

// Ties, and NaN, go to the lower index.
static uint32_t
argmax(const float *q, uint32_t A)
{
    uint32_t best = 0;
    for (uint32_t a = 1; a < A; a++) {
        best = q[a] > q[best] ? a : best;
    }
    return best;
}

// td[B] = reward + discount * target(s', argmax_a choose(s', a)) - q(s, action), all [B][A].
// Returns the mean of q(s, action).
static float
td_errors(float *td, const algo_batch *batch, const float *q, const float *choose,
          const float *target, uint32_t A)
{
    const int32_t *action = batch->action;
    double sum = 0;
    for (uint32_t i = 0; i < batch->B; i++) {
        size_t row = (size_t)i * A;
        uint32_t next = argmax(choose + row, A);
        float value = q[row + (uint32_t)action[i]];
        td[i] = batch->reward[i] + batch->discount[i] * target[row + next] - value;
        sum += (double)value;
    }
    return (float)(sum / batch->B);
}

// Forward: fills td and dqn->dy, the loss' gradient at q(s, .). result lacks the gradient's norm.
static void
dqn_loss(algo_dqn *dqn, const algo_batch *batch, algo_result *result)
{
    uint32_t B = batch->B, A = dqn->action_count;
    size_t count = (size_t)B * dqn->obs_count;
    const float *target = nn_net_forward(&dqn->target, batch->next, B);
    const float *q, *choose;
    if (dqn->double_q) {
        // Both forwards in one: larger products are faster.
        memcpy(dqn->x, batch->obs, count * sizeof(*dqn->x));
        memcpy(dqn->x + count, batch->next, count * sizeof(*dqn->x));
        q = nn_trainer_forward(&dqn->online, dqn->x, 2 * B);
        choose = q + (size_t)B * A;
    } else {
        q = nn_trainer_forward(&dqn->online, batch->obs, B);
        choose = target;
    }
    result->value = td_errors(dqn->td, batch, q, choose, target, A);
    result->loss = nn_loss_huber(dqn->slope, dqn->td, batch->weight, dqn->huber_delta, B);
    const int32_t *action = batch->action;
    double sum = 0;
    memset(dqn->dy, 0, (size_t)B * A * sizeof(*dqn->dy));
    for (uint32_t i = 0; i < B; i++) {
        dqn->dy[(size_t)i * A + (uint32_t)action[i]] = -dqn->slope[i];
        sum += (double)fabsf(dqn->td[i]);
    }
    result->td_abs = (float)(sum / B);
}

static oct_err
dqn_update(algo *a, const algo_batch *batch, float learning_rate, float *priorities,
           algo_result *result)
{
    algo_dqn *dqn = (algo_dqn *)a;
    if (batch->B < 1 || batch->B > dqn->rows_max ||
        !actions_allowed(batch->action, batch->B, dqn->action_count)) {
        return OCT_EINVAL;
    }
    algo_result now;
    dqn_loss(dqn, batch, &now);
    now.grad_norm = nn_trainer_backward(&dqn->online, dqn->dy, batch->B, NULL);
    if (!isfinite(now.loss) || !isfinite(now.td_abs) || !isfinite(now.value) ||
        !isfinite(now.grad_norm)) {
        return OCT_EINTERNAL;
    }
    dqn->base.updates++;
    bool target_due = dqn->base.updates % dqn->target_period == 0;
    nn_followers followers = {
        .target = target_due ? &dqn->target : NULL,
        .rate = dqn->target_rate,
    };
    nn_trainer_step_and(&dqn->online, learning_rate,
                        nn_clip_scale(now.grad_norm, dqn->grad_norm_max), &followers);
    online_project(dqn);
    if (target_due) {
        target_project(dqn);
    }
    for (uint32_t i = 0; priorities != NULL && i < batch->B; i++) {
        priorities[i] = fabsf(dqn->td[i]);
    }
    *result = now;
    return OCT_OK;
}

static const float *
dqn_policy_params(const algo *a)
{
    return ((const algo_dqn *)a)->online.tape.net.params;
}

static void
dqn_save(const algo *a, oct_writer *writer)
{
    const algo_dqn *dqn = (const algo_dqn *)a;
    nn_trainer_save(&dqn->online, writer);
    nn_net_save(&dqn->target, writer);
}

static oct_err
dqn_load(algo *a, oct_reader *reader)
{
    algo_dqn *dqn = (algo_dqn *)a;
    nn_trainer_view online;
    nn_net_view target;
    OCT_TRY(nn_trainer_read(&online, &dqn->online, reader));
    OCT_TRY(nn_net_read(&target, &dqn->target, reader));
    if (reader->left != 0) {
        return OCT_EPROTO;
    }
    nn_trainer_apply(&dqn->online, &online);
    nn_net_apply(&dqn->target, &target);
    online_project(dqn);
    target_project(dqn);
    return OCT_OK;
}

const algo_ops algo_dqn_ops = {
    .name = "dqn",
    .make_spec = dqn_make_spec,
    .create = dqn_create,
    .destroy = dqn_destroy,
    .update = dqn_update,
    .set_projection = dqn_set_projection,
    .policy_params = dqn_policy_params,
    .save = dqn_save,
    .load = dqn_load,
};
