// One step of policy gradient per batch of sequences: ratios to the policies that acted, the losses
// of values and policy, and their numbers.
#include "algos/algo_sequence.h"

#include <stdlib.h>

#include "algos/algo_advantage.h"
#include "common/oct_base.h"
#include "common/oct_reason.h"

// ---- create and destroy

static void
sequence_configure(algo_sequence *s, const config_experiment *config)
{
    s->ratio_max = (float)config->algo.ratio_max;
    algo_entropy_cost_init(&s->entropy_cost, config);
    s->value_cost = (float)config->algo.value_cost;
    s->grad_norm_max = (float)config->algo.grad_norm_max;
    s->normalise_advantage = config->algo.normalise_advantage;
}

static void
sequence_reserve(algo_sequence *s, nn_context *context, size_t rows)
{
    float **columns[] = {&s->log_pi,    &s->entropy, &s->ratio,   &s->target,
                         &s->advantage, &s->error,   &s->dlog_pi, &s->dv};
    for (size_t i = 0; i < OCT_COUNTOF(columns); i++) {
        *columns[i] = nn_context_alloc(context, rows * sizeof(float));
    }
}

oct_err
algo_sequence_make_spec(const config_experiment *config, uint32_t stride, policy_spec *spec,
                        algo_wants *wants, oct_reason *why)
{
    *wants = (algo_wants){
        .window = ALGO_WINDOW_SEQUENCE,
        .steps = config->algo.sequence_steps,
        .stride = stride,
        .lag_max = config->algo.lag_max,
    };
    return algo_pair_make_spec(config, spec, why);
}

oct_err
algo_sequence_init(algo_sequence *s, nn_context *context, const config_experiment *config,
                   const policy_spec *spec)
{
    uint32_t windows = config->learner.batch_size, steps = config->algo.sequence_steps;
    *s = (algo_sequence){0};
    OCT_TRY(
        algo_rows_init(&s->rows, context, spec, windows, steps, (float)config->algo.reward_clip));
    oct_err err =
        algo_pair_init(&s->pair, context, config, spec, windows * steps, windows * (steps + 1));
    if (err != OCT_OK) {
        algo_rows_fini(&s->rows);
        return err;
    }
    sequence_configure(s, config);
    sequence_reserve(s, context, (size_t)windows * steps);
    return OCT_OK;
}

void
algo_sequence_fini(algo_sequence *s)
{
    algo_pair_fini(&s->pair);
    algo_rows_fini(&s->rows);
    void *blocks[] = {s->log_pi,    s->entropy, s->ratio,   s->target,
                      s->advantage, s->error,   s->dlog_pi, s->dv};
    for (size_t i = 0; i < OCT_COUNTOF(blocks); i++) {
        free(blocks[i]);
    }
}

void
algo_sequence_set_projection(algo *a, const algo_projection *projection)
{
    algo_pair_set_projection(&((algo_sequence *)a)->pair, projection);
}

void
algo_sequence_share(algo *a, algo_sharing *s)
{
    algo_sequence *own = (algo_sequence *)a;
    algo_share_trainer(s, &own->pair.policy);
    algo_share_trainer(s, &own->pair.value);
}

uint32_t
algo_sequence_networks(algo *a, algo_network out[ALGO_NETWORKS_MAX])
{
    return algo_pair_networks(&((algo_sequence *)a)->pair, out);
}

const float *
algo_sequence_policy_params(const algo *a)
{
    return ((const algo_sequence *)a)->pair.policy.tape.net.fetched;
}

// ---- an update

oct_err
algo_sequence_begin(algo_sequence *s, const algo_batch *batch)
{
    const algo_rows *rows = &s->rows;
    OCT_TRY(algo_agree(&s->base, algo_rows_take(&s->rows, batch)));
    double n_all = rows->N;
    group_sum(s->base.group, &n_all, 1);
    s->n_all = (uint32_t)n_all;
    s->n_mean = (float)n_all / (float)group_size(s->base.group);
    s->sums = (algo_pg_sums){0};
    algo_entropy_cost_set(&s->entropy_cost, batch->spent);
    algo_pair_forward(&s->pair, rows->x, algo_rows_done(rows), s->log_pi, s->entropy);
    for (uint32_t i = 0; i < rows->N; i++) {
        s->ratio[i] = (float)algo_pg_add(&s->sums, s->log_pi[i], rows->log_mu[i], s->entropy[i]);
    }
    return OCT_OK;
}

const float *
algo_sequence_v(algo_sequence *s)
{
    return nn_trainer_forward(&s->pair.value, s->rows.x, s->rows.N + s->rows.M);
}

void
algo_sequence_value(algo_sequence *s, const float *v, float *numbers)
{
    uint32_t N = s->rows.N;
    for (uint32_t i = 0; i < N; i++) {
        float error = s->target[i] - v[i];
        s->error[i] = error;
        s->dv[i] = -s->value_cost * error / s->n_mean;
        s->sums.value_loss += 0.5 * (double)error * (double)error;
    }
    const algo_estimates e = {.v = v, .target = s->target};
    algo_pg_explain(s->base.group, e, s->error, N, numbers);
    numbers[ALGO_PG_GRAD_NORM] = nn_trainer_backward(&s->pair.value, s->dv, N, NULL);
}

void
algo_sequence_policy(algo_sequence *s, float *numbers)
{
    uint32_t N = s->rows.N;
    if (s->normalise_advantage) {
        algo_standardise(s->base.group, s->advantage, N);
    }
    for (uint32_t i = 0; i < N; i++) {
        s->dlog_pi[i] = algo_pg_add_weighted(&s->sums, s->ratio[i], s->ratio_max, s->advantage[i],
                                             s->log_pi[i]) /
                        s->n_mean;
    }
    numbers[ALGO_PG_POLICY_GRAD_NORM] =
        algo_pair_backward(&s->pair, s->dlog_pi, -s->entropy_cost.now / s->n_mean);
}

oct_err
algo_sequence_end(algo_sequence *s, const algo_batch *batch, float *priorities, float *numbers)
{
    algo_pg_together(s->base.group, &s->sums);
    algo_pg_means(&s->sums, s->n_all, s->entropy_cost.now, s->value_cost, numbers);
    s->value_norm = numbers[ALGO_PG_GRAD_NORM];
    s->policy_norm = numbers[ALGO_PG_POLICY_GRAD_NORM];
    if (!algo_numbers_finite(numbers, ALGO_PG_NUMBERS)) {
        return OCT_EINTERNAL;
    }
    for (uint32_t b = 0; priorities != NULL && b < batch->B; b++) {
        priorities[b] = 0.0f; // each window is used once
    }
    return OCT_OK;
}

void
algo_sequence_step(algo_sequence *s, float learning_rate, float value_scale, float policy_scale)
{
    nn_trainer_step(&s->pair.value, learning_rate * s->pair.value_rate_ratio, value_scale);
    nn_trainer_step(&s->pair.policy, learning_rate, policy_scale);
    algo_pair_changed(&s->pair);
}
