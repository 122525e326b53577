// V-trace, the off-policy actor-critic of IMPALA (Espeholt et al. 2018): sequences of policies that
// are a little older than the one that learns, and in eight bits, each once; actors never wait.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/algo_advantage.h"
#include "algos/algo_ops.h"
#include "algos/algo_pair.h"
#include "algos/algo_pg_numbers.h"
#include "common/oct_base.h"

#define INIT_STREAM 0x7674u // of the seed, for the first weights

// Lengths of the rows of the first weights.
#define GAIN        1.41421356f
#define POLICY_GAIN 0.01f // all actions begin about as likely as each other
#define VALUE_GAIN  1.0f

typedef struct algo_vtrace {
    algo base;
    algo_vtrace_rule rule;
    float entropy_cost, value_cost;
    float grad_norm_max;
    bool normalise_advantage;
    bool scale_rewards;
    algo_pair pair;
    algo_reward_scale scale;

    // Work space of an update, for the rows that have an action.
    algo_rows rows;
    float n_mean;     // rows of a rank: what sums over rows are divided by
    float *reward;    // [N]
    float *log_pi;    // [N]
    float *entropy;   // [N]
    float *ratio;     // [N], pi / mu
    float *target;    // [N]
    float *advantage; // [N]
    float *error;     // [N], target - V
    float *dlog_pi;   // [N]
    float *dv;        // [N]
} algo_vtrace;

static const algo_number vtrace_numbers[ALGO_PG_NUMBERS] = {ALGO_PG_ROWS};

// A stride of T rows: every row with an action is in one window, and each window has the
// observation behind its last row, which the next one begins with.
static oct_err
vtrace_make_spec(const oct_config *config, policy_spec *spec, algo_wants *wants, char *reason,
                 size_t reason_size)
{
    *wants = (algo_wants){
        .window = ALGO_WINDOW_SEQUENCE,
        .steps = config->algo.sequence_steps,
        .stride = config->algo.sequence_steps,
        .each_once = true,
        .lag_max = config->algo.lag_max,
    };
    return algo_pair_make_spec(config, spec, reason, reason_size);
}

// ---- life

static void
vtrace_configure(algo_vtrace *vt, const oct_config *config)
{
    vt->base.ops = &algo_vtrace_ops;
    vt->rule = (algo_vtrace_rule){
        .discount = (float)config->algo.discount,
        .lambda = (float)config->algo.gae_lambda,
        .ratio_max = (float)config->algo.ratio_max,
        .trace_max = (float)config->algo.trace_max,
    };
    vt->entropy_cost = (float)config->algo.entropy_cost;
    vt->value_cost = (float)config->algo.value_cost;
    vt->grad_norm_max = (float)config->algo.grad_norm_max;
    vt->normalise_advantage = config->algo.normalise_advantage;
    vt->scale_rewards = config->algo.scale_rewards;
}

static void
vtrace_reserve(algo_vtrace *vt, size_t rows)
{
    float **columns[] = {&vt->reward,    &vt->log_pi, &vt->entropy, &vt->ratio, &vt->target,
                         &vt->advantage, &vt->error,  &vt->dlog_pi, &vt->dv};
    for (size_t i = 0; i < OCT_COUNTOF(columns); i++) {
        *columns[i] = oct_alloc(rows * sizeof(float));
    }
}

static void
vtrace_randomise(algo_vtrace *vt, uint64_t seed, double deviation)
{
    oct_rng rng;
    oct_rng_init(&rng, seed, INIT_STREAM);
    nn_net_orthogonalise(&vt->pair.policy.tape.net, &rng, GAIN, POLICY_GAIN);
    nn_net_orthogonalise(&vt->pair.value.tape.net, &rng, GAIN, VALUE_GAIN);
    algo_pair_set_deviation(&vt->pair, deviation);
}

static oct_err
vtrace_create(algo **out, nn_context *context, const oct_config *config, const policy_spec *spec,
              uint64_t seed)
{
    uint32_t windows = config->learner.batch_size, steps = config->algo.sequence_steps;
    algo_rows rows;
    algo_pair pair;
    OCT_TRY(algo_rows_init(&rows, spec, windows, steps, (float)config->algo.reward_clip));
    oct_err err =
        algo_pair_init(&pair, context, config, spec, windows * steps, windows * (steps + 1));
    if (err != OCT_OK) {
        algo_rows_fini(&rows);
        return err;
    }
    algo_vtrace *vt = oct_alloc(sizeof(*vt));
    vt->rows = rows;
    vt->pair = pair;
    vtrace_configure(vt, config);
    vtrace_reserve(vt, (size_t)windows * steps);
    vtrace_randomise(vt, seed, config->algo.initial_deviation);
    *out = &vt->base;
    return OCT_OK;
}

static void
vtrace_destroy(algo *a)
{
    algo_vtrace *vt = (algo_vtrace *)a;
    algo_pair_fini(&vt->pair);
    algo_rows_fini(&vt->rows);
    void *blocks[] = {vt->reward,    vt->log_pi, vt->entropy, vt->ratio, vt->target,
                      vt->advantage, vt->error,  vt->dlog_pi, vt->dv};
    for (size_t i = 0; i < OCT_COUNTOF(blocks); i++) {
        free(blocks[i]);
    }
    free(vt);
}

static void
vtrace_set_projection(algo *a, const algo_projection *projection)
{
    algo_pair_set_projection(&((algo_vtrace *)a)->pair, projection);
}

static const float *
vtrace_policy_params(const algo *a)
{
    return ((const algo_vtrace *)a)->pair.policy.tape.net.params;
}

// ---- the update

// pi / mu of each row, and what the two tell about each other.
static void
update_ratios(algo_vtrace *vt, algo_pg_sums *sums)
{
    const algo_rows *rows = &vt->rows;
    algo_pair_forward(&vt->pair, rows->x, algo_rows_done(rows), rows->N, vt->log_pi, vt->entropy);
    for (uint32_t i = 0; i < rows->N; i++) {
        vt->ratio[i] = (float)algo_pg_add(sums, vt->log_pi[i], rows->log_mu[i], vt->entropy[i]);
    }
}

// The targets, the gradient of the values towards them, and the numbers of both.
static void
update_value(algo_vtrace *vt, algo_pg_sums *sums, float *numbers)
{
    const algo_rows *rows = &vt->rows;
    const float *reward = rows->reward;
    if (vt->scale_rewards) {
        algo_reward_scale_apply(&vt->scale, vt->base.group, rows, vt->rule.discount, vt->reward);
        reward = vt->reward;
    }
    const float *v = nn_trainer_forward(&vt->pair.value, rows->x, rows->N + rows->M);
    algo_vtrace_targets(rows, &vt->rule, reward, v, vt->ratio, vt->advantage, vt->target);
    for (uint32_t i = 0; i < rows->N; i++) {
        float error = vt->target[i] - v[i];
        vt->error[i] = error;
        vt->dv[i] = -vt->value_cost * error / vt->n_mean;
        sums->value_loss += 0.5 * (double)error * (double)error;
    }
    (void)algo_pg_explain(vt->base.group, v, vt->target, vt->error, rows->N, numbers);
    numbers[ALGO_PG_GRAD_NORM] = nn_trainer_backward(&vt->pair.value, vt->dv, rows->N, NULL);
}

static void
update_policy(algo_vtrace *vt, algo_pg_sums *sums, float *numbers)
{
    uint32_t N = vt->rows.N;
    if (vt->normalise_advantage) {
        algo_moments own = algo_moments_of(vt->advantage, N);
        algo_standardise(vt->advantage, N, algo_moments_together(vt->base.group, own, N));
    }
    for (uint32_t i = 0; i < N; i++) {
        vt->dlog_pi[i] = algo_pg_add_weighted(sums, vt->ratio[i], vt->rule.ratio_max,
                                              vt->advantage[i], vt->log_pi[i]) /
                         vt->n_mean;
    }
    numbers[ALGO_PG_POLICY_GRAD_NORM] = algo_pair_backward(
        &vt->pair, algo_rows_done(&vt->rows), N, vt->dlog_pi, -vt->entropy_cost / vt->n_mean);
}

static oct_err
vtrace_update(algo *a, const algo_batch *batch, float learning_rate, float *priorities,
              float *numbers)
{
    algo_vtrace *vt = (algo_vtrace *)a;
    algo_pg_sums sums = {0};
    float now[ALGO_PG_NUMBERS];
    OCT_TRY(algo_agree(a, algo_rows_take(&vt->rows, batch)));
    double n_all = vt->rows.N;
    group_sum(a->group, &n_all, 1);
    vt->n_mean = (float)n_all / (float)group_size(a->group);
    const algo_reward_scale scale = vt->scale;
    update_ratios(vt, &sums);
    update_value(vt, &sums, now);
    update_policy(vt, &sums, now);
    algo_pg_together(a->group, &sums);
    algo_pg_means(&sums, (uint32_t)n_all, vt->entropy_cost, vt->value_cost, now);
    if (!algo_numbers_finite(now, OCT_COUNTOF(now))) {
        vt->scale = scale;
        return OCT_EINTERNAL;
    }
    double both = hypot((double)now[ALGO_PG_POLICY_GRAD_NORM], (double)now[ALGO_PG_GRAD_NORM]);
    float clip = nn_clip_scale((float)both, vt->grad_norm_max);
    nn_trainer_step(&vt->pair.policy, learning_rate, clip);
    nn_trainer_step(&vt->pair.value, learning_rate * vt->pair.value_rate_ratio, clip);
    algo_pair_changed(&vt->pair);
    vt->base.updates++;
    for (uint32_t b = 0; priorities != NULL && b < batch->B; b++) {
        priorities[b] = 0.0f; // each window comes once
    }
    memcpy(numbers, now, sizeof(now));
    return OCT_OK;
}

// ---- state

static void
vtrace_save(const algo *a, oct_writer *writer)
{
    const algo_vtrace *vt = (const algo_vtrace *)a;
    algo_pair_save(&vt->pair, writer);
    algo_reward_scale_save(&vt->scale, writer);
}

static oct_err
vtrace_load(algo *a, oct_reader *reader)
{
    algo_vtrace *vt = (algo_vtrace *)a;
    algo_pair_view view;
    algo_reward_scale scale;
    OCT_TRY(algo_pair_read(&view, &vt->pair, reader));
    OCT_TRY(algo_reward_scale_read(&scale, reader));
    if (reader->left != 0) {
        return OCT_EPROTO;
    }
    algo_pair_apply(&vt->pair, &view);
    vt->scale = scale;
    return OCT_OK;
}

const algo_ops algo_vtrace_ops = {
    .name = "vtrace",
    .numbers = vtrace_numbers,
    .number_count = ALGO_PG_NUMBERS,
    .splits = true,
    .make_spec = vtrace_make_spec,
    .create = vtrace_create,
    .destroy = vtrace_destroy,
    .update = vtrace_update,
    .set_projection = vtrace_set_projection,
    .policy_params = vtrace_policy_params,
    .save = vtrace_save,
    .load = vtrace_load,
};
