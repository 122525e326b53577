// REINFORCE (Williams 1992) with a learned baseline (Sutton and Barto 2018, section 13.4) over
// whole episodes, corrected by importance weights for policies that acted earlier, and in eight
// bits.
#include <stdlib.h>
#include <string.h>

#include "algos/algo_advantage.h"
#include "algos/algo_ops.h"
#include "algos/algo_pair.h"
#include "algos/algo_pg_numbers.h"
#include "algos/algo_rows.h"
#include "common/oct_base.h"

#define INIT_STREAM 0x7266u // of the seed, for the first weights

typedef struct algo_reinforce {
    algo base;
    float discount;
    float ratio_max;
    float entropy_cost;
    float value_cost;
    bool normalise_advantage;
    float grad_norm_max;
    algo_pair pair;

    // Work space of an update, for the rows that have an action.
    algo_rows rows;
    float n_mean;     // rows of a rank: what sums over rows are divided by
    float *target;    // [N], the return
    float *advantage; // [N]
    float *log_pi;    // [N]
    float *entropy;   // [N]
    float *dlog_pi;   // [N]
    float *dv;        // [N]
} algo_reinforce;

static const algo_number reinforce_numbers[ALGO_PG_NUMBERS] = {ALGO_PG_ROWS};

// ---- the networks

static oct_err
reinforce_make_spec(const oct_config *config, policy_spec *spec, algo_wants *wants, char *reason,
                    size_t reason_size)
{
    *wants = (algo_wants){
        .window = ALGO_WINDOW_SEQUENCE,
        .steps = config->algo.sequence_steps,
        .stride = 0,
        .each_once = true,
        .lag_max = config->algo.lag_max,
    };
    return algo_pair_make_spec(config, spec, reason, reason_size);
}

static void
reinforce_configure(algo_reinforce *rf, const oct_config *config)
{
    rf->base.ops = &algo_reinforce_ops;
    rf->discount = (float)config->algo.discount;
    rf->ratio_max = (float)config->algo.ratio_max;
    rf->entropy_cost = (float)config->algo.entropy_cost;
    rf->value_cost = (float)config->algo.value_cost;
    rf->normalise_advantage = config->algo.normalise_advantage;
    rf->grad_norm_max = (float)config->algo.grad_norm_max;
}

static void
reinforce_reserve(algo_reinforce *rf, size_t rows)
{
    rf->target = oct_alloc(rows * sizeof(float));
    rf->advantage = oct_alloc(rows * sizeof(float));
    rf->log_pi = oct_alloc(rows * sizeof(float));
    rf->entropy = oct_alloc(rows * sizeof(float));
    rf->dlog_pi = oct_alloc(rows * sizeof(float));
    rf->dv = oct_alloc(rows * sizeof(float));
}

static void
reinforce_randomise(algo_reinforce *rf, uint64_t seed)
{
    oct_rng rng;
    oct_rng_init(&rng, seed, INIT_STREAM);
    algo_randomise_policy(&rf->pair.policy.tape.net, &rng);
    nn_net_randomise(&rf->pair.value.tape.net, &rng);
}

static oct_err
reinforce_create(algo **out, nn_context *context, const oct_config *config, const policy_spec *spec,
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
    algo_reinforce *rf = oct_alloc(sizeof(*rf));
    rf->rows = rows;
    rf->pair = pair;
    reinforce_configure(rf, config);
    reinforce_reserve(rf, (size_t)windows * steps);
    reinforce_randomise(rf, seed);
    algo_pair_set_deviation(&rf->pair, (double)(float)config->algo.initial_deviation);
    *out = &rf->base;
    return OCT_OK;
}

static void
reinforce_destroy(algo *a)
{
    algo_reinforce *rf = (algo_reinforce *)a;
    algo_pair_fini(&rf->pair);
    algo_rows_fini(&rf->rows);
    void *blocks[] = {rf->target, rf->advantage, rf->log_pi, rf->entropy, rf->dlog_pi, rf->dv};
    for (size_t i = 0; i < OCT_COUNTOF(blocks); i++) {
        free(blocks[i]);
    }
    free(rf);
}

static void
reinforce_set_projection(algo *a, const algo_projection *projection)
{
    algo_pair_set_projection(&((algo_reinforce *)a)->pair, projection);
}

static const float *
reinforce_policy_params(const algo *a)
{
    return ((const algo_reinforce *)a)->pair.policy.tape.net.params;
}

// ---- the update

// target = the return: what came until the episode's end or the window's, then V there.
static void
update_target(algo_reinforce *rf, const float *v)
{
    for (uint32_t n = rf->rows.N; n-- > 0;) {
        uint32_t behind = rf->rows.behind[n];
        float rest = behind == ALGO_BEHIND_NOTHING ? 0.0f
                     : behind == ALGO_BEHIND_NEXT  ? rf->target[n + 1]
                                                   : v[behind];
        rf->target[n] = rf->rows.reward[n] + rf->discount * rest;
    }
}

// The gradient of the values; advantage = target - V, and the numbers of both.
static void
update_value(algo_reinforce *rf, algo_pg_sums *sums, float *numbers)
{
    uint32_t N = rf->rows.N;
    const float *v = nn_trainer_forward(&rf->pair.value, rf->rows.x, N + rf->rows.M);
    update_target(rf, v);
    for (uint32_t i = 0; i < N; i++) {
        float error = rf->target[i] - v[i];
        rf->advantage[i] = error;
        rf->dv[i] = -rf->value_cost * error / rf->n_mean;
        sums->value_loss += 0.5 * (double)error * (double)error;
    }
    algo_moments error = algo_pg_explain(rf->base.group, v, rf->target, rf->advantage, N, numbers);
    numbers[ALGO_PG_GRAD_NORM] = nn_trainer_backward(&rf->pair.value, rf->dv, N, NULL);
    if (rf->normalise_advantage) {
        algo_standardise(rf->advantage, N, error);
    }
}

// The gradient of the policy, where weights correct for who acted. Ratios and advantages are
// constants to it.
static void
update_policy(algo_reinforce *rf, algo_pg_sums *sums, float *numbers)
{
    uint32_t N = rf->rows.N;
    algo_done done = algo_rows_done(&rf->rows);
    algo_pair_forward(&rf->pair, rf->rows.x, done, N, rf->log_pi, rf->entropy);
    for (uint32_t i = 0; i < N; i++) {
        double ratio = algo_pg_add(sums, rf->log_pi[i], rf->rows.log_mu[i], rf->entropy[i]);
        rf->dlog_pi[i] = algo_pg_add_weighted(sums, (float)ratio, rf->ratio_max, rf->advantage[i],
                                              rf->log_pi[i]) /
                         rf->n_mean;
    }
    numbers[ALGO_PG_POLICY_GRAD_NORM] =
        algo_pair_backward(&rf->pair, done, N, rf->dlog_pi, -rf->entropy_cost / rf->n_mean);
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
    algo_pg_sums sums = {0};
    float now[ALGO_PG_NUMBERS];
    OCT_TRY(algo_agree(a, algo_rows_take(&rf->rows, batch)));
    double n_all = rf->rows.N;
    group_sum(a->group, &n_all, 1);
    rf->n_mean = (float)n_all / (float)group_size(a->group);
    update_value(rf, &sums, now);
    update_policy(rf, &sums, now);
    algo_pg_together(a->group, &sums);
    algo_pg_means(&sums, (uint32_t)n_all, rf->entropy_cost, rf->value_cost, now);
    if (!algo_numbers_finite(now, OCT_COUNTOF(now))) {
        return OCT_EINTERNAL;
    }
    trainer_step(rf, &rf->pair.value, learning_rate * rf->pair.value_rate_ratio,
                 now[ALGO_PG_GRAD_NORM]);
    trainer_step(rf, &rf->pair.policy, learning_rate, now[ALGO_PG_POLICY_GRAD_NORM]);
    algo_pair_changed(&rf->pair);
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
    algo_pair_save(&((const algo_reinforce *)a)->pair, writer);
}

static oct_err
reinforce_load(algo *a, oct_reader *reader)
{
    algo_pair *pair = &((algo_reinforce *)a)->pair;
    algo_pair_view view;
    OCT_TRY(algo_pair_read(&view, pair, reader));
    if (reader->left != 0) {
        return OCT_EPROTO;
    }
    algo_pair_apply(pair, &view);
    return OCT_OK;
}

const algo_ops algo_reinforce_ops = {
    .name = "reinforce",
    .numbers = reinforce_numbers,
    .number_count = ALGO_PG_NUMBERS,
    .splits = true,
    .make_spec = reinforce_make_spec,
    .create = reinforce_create,
    .destroy = reinforce_destroy,
    .update = reinforce_update,
    .set_projection = reinforce_set_projection,
    .policy_params = reinforce_policy_params,
    .save = reinforce_save,
    .load = reinforce_load,
};
