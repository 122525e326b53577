// Small experiments and batches for the tests of methods of policy gradient.
#include "tests/algos/reinforce_fixture.h"

#include <math.h>
#include <stdlib.h>

#include "nn/nn_net.h"
#include "tests/support/oct_test.h"

config_experiment
reinforce_fixture_config(void)
{
    config_experiment config = fixture_config();
    config.network.activation = POLICY_TANH;
    config.algo.name = CONFIG_ALGO_REINFORCE;
    config.algo.critic_learning_rate = config.algo.learning_rate;
    config.algo.critic_learning_rate_is_same = true;
    config.algo.sequence_steps = REINFORCE_STEPS;
    config.algo.normalise_advantage = true;
    config.algo.ratio_max = 2;
    config.algo.entropy_cost = 0.01;
    config.algo.value_cost = 0.5;
    config.algo.initial_deviation = 0.5;
    config.learner.batch_size = REINFORCE_WINDOWS;
    return config;
}

config_experiment
reinforce_fixture_rollouts(config_algo_name name)
{
    config_experiment config = reinforce_fixture_config();
    config.algo.name = name;
    config.algo.sequence_steps = 3;
    config.algo.gae_lambda = 0.95;
    config.algo.epochs = 3;
    config.algo.minibatches = 2;
    config.algo.clip = 0.2;
    config.algo.scale_rewards = true;
    if (name == CONFIG_ALGO_TRPO) {
        config.algo.kl_max = 0.01;
        config.algo.cg_iterations = 10;
        config.algo.cg_damping = 0.1;
        config.algo.line_search_steps = 10;
        config.algo.line_search_shrink = 0.5;
    }
    assert_int_equal(config_rollout_rows(3) - 1, REINFORCE_STEPS);
    return config;
}

config_experiment
reinforce_fixture_method(config_algo_name name)
{
    config_experiment config = reinforce_fixture_config();
    config.algo.name = name;
    config.algo.kl_max = 0.5;
    if (config_has_rollouts(&config)) {
        config = reinforce_fixture_rollouts(name);
    }
    config.algo.gae_lambda = 0.95;
    config.algo.trace_max = 1;
    config.algo.minibatches = 1;
    return config;
}

algo *
reinforce_fixture_algo(policy_spec *spec, const config_experiment *config, bool is_box,
                       uint32_t obs_count, uint32_t dim, uint64_t seed)
{
    *spec = is_box ? fixture_box_env(obs_count, dim) : fixture_env(obs_count, dim);
    return fixture_create(spec, config, seed);
}

static uint8_t
flags_of(uint32_t b, uint32_t t, uint32_t T)
{
    uint32_t kind = b % 4, last = kind == 0 ? T : T - 1 - b % 2; // rows with an action
    if (t >= last) {
        return (uint8_t)(ALGO_END | (kind == 3 && t == last ? ALGO_FAILED : 0));
    }
    unsigned ends = kind == 1 ? ALGO_TERMINATED : kind == 2 ? ALGO_TRUNCATED : 0;
    return (uint8_t)((t == 0 ? ALGO_FIRST : 0) | (t + 1 == last ? ends : 0));
}

static void
fill_row(oct_rng *rng, const policy_spec *spec, void *actions, float *extra, size_t row)
{
    uint32_t dim = spec->action_count, extra_dim = policy_spec_extra_dim(spec);
    extra += row * extra_dim;
    extra[0] = -2.0f + oct_rng_float(rng);
    if (spec->action_kind == POLICY_DISCRETE) {
        ((int32_t *)actions)[row] = (int32_t)oct_rng_below(rng, dim);
        return;
    }
    for (uint32_t i = 0; i < dim; i++) {
        float drawn = -1.5f + 3.0f * oct_rng_float(rng);
        extra[1 + i] = drawn;
        ((float *)actions)[row * dim + i] = 2.0f * OCT_MAX(-1.0f, OCT_MIN(drawn, 1.0f));
    }
}

algo_batch
reinforce_fixture_batch(oct_rng *rng, const policy_spec *spec, uint32_t B, uint32_t T)
{
    size_t rows = (size_t)B * T, obs_count = spec->obs_count;
    float *obs = oct_alloc((size_t)B * (T + 1) * obs_count * sizeof(float));
    float *reward = oct_alloc(rows * sizeof(float));
    float *extra = oct_alloc(rows * policy_spec_extra_dim(spec) * sizeof(float));
    uint8_t *flags = oct_alloc(rows);
    void *action = oct_alloc(rows * policy_spec_action_bytes(spec));
    for (size_t i = 0; i < (size_t)B * (T + 1) * obs_count; i++) {
        obs[i] = -1.0f + 2.0f * oct_rng_float(rng);
    }
    for (size_t row = 0; row < rows; row++) {
        flags[row] = flags_of((uint32_t)(row / T), (uint32_t)(row % T), T);
        if ((flags[row] & ALGO_END) == 0) {
            reward[row] = -2.0f + 4.0f * oct_rng_float(rng);
            fill_row(rng, spec, action, extra, row);
        }
    }
    return (algo_batch){
        .B = B,
        .T = T,
        .obs = obs,
        .action = action,
        .reward = reward,
        .flags = flags,
        .version = oct_alloc(rows * sizeof(uint32_t)),
        .extra = extra,
        .weight = oct_alloc(B * sizeof(float)),
    };
}

reinforce_trial
reinforce_fixture_trial(config_experiment config, bool is_box, uint64_t seed)
{
    reinforce_trial t = {.config = config};
    t.a = reinforce_fixture_algo(&t.spec, &config, is_box, REINFORCE_OBS, REINFORCE_DIM, seed);
    oct_rng_init(&t.rng, 3, 0);
    return t;
}

void
reinforce_fixture_train(algo *a, oct_rng *rng, const policy_spec *spec, int updates)
{
    for (int i = 0; i < updates; i++) {
        algo_batch batch = reinforce_fixture_batch(rng, spec, REINFORCE_WINDOWS, REINFORCE_STEPS);
        float numbers[ALGO_NUMBERS_MAX];
        T_OK(algo_update(a, &batch, 1e-2f, NULL, numbers));
        fixture_batch_free(&batch);
    }
}

void
reinforce_fixture_refused(config_experiment config, bool is_box, size_t column, size_t at,
                          float bad, oct_err want)
{
    reinforce_trial t = reinforce_fixture_trial(config, is_box, 1);
    reinforce_fixture_train(t.a, &t.rng, &t.spec, 2);
    algo_batch batch = reinforce_fixture_batch(&t.rng, &t.spec, REINFORCE_WINDOWS, REINFORCE_STEPS);
    const float *columns[] = {batch.obs, batch.reward, batch.extra, batch.action};
    ((float *)columns[column])[at] = bad;
    fixture_update_refused(t.a, &batch, want);
    fixture_batch_free(&batch);
    algo_destroy(t.a);
}

static void
fill_bandit(algo_batch *batch, oct_rng *rng)
{
    for (uint32_t b = 0; b < batch->B; b++) {
        uint32_t row = b * batch->T;
        const float *obs = batch->obs + (size_t)b * (batch->T + 1) * REINFORCE_OBS;
        int32_t choice = (int32_t)oct_rng_below(rng, 2);
        ((int32_t *)batch->action)[row] = choice;
        ((float *)batch->reward)[row] = choice == (obs[1] > obs[0]) ? 1.0f : 0.0f;
        ((float *)batch->extra)[row] = logf(0.5f);
        memset((uint8_t *)batch->flags + row, ALGO_END, batch->T);
        ((uint8_t *)batch->flags)[row] = ALGO_FIRST | ALGO_TERMINATED;
    }
}

void
reinforce_fixture_learns_bandit(config_experiment config, float learning_rate, int updates)
{
    reinforce_trial t = reinforce_fixture_trial(config, false, 1);
    float numbers[ALGO_NUMBERS_MAX];
    for (int i = 0; i < updates; i++) {
        algo_batch batch =
            reinforce_fixture_batch(&t.rng, &t.spec, REINFORCE_WINDOWS, REINFORCE_STEPS);
        fill_bandit(&batch, &t.rng);
        T_OK(algo_update(t.a, &batch, learning_rate, NULL, numbers));
        fixture_batch_free(&batch);
    }
    nn_context *context = nn_context_create(NULL);
    nn_net net;
    nn_net_init(&net, context, &t.spec, 1);
    memcpy(net.params, algo_policy_params(t.a), net.param_count * sizeof(*net.params));
    int right = 0;
    for (int i = 0; i < 200; i++) {
        float obs[REINFORCE_OBS];
        for (int k = 0; k < REINFORCE_OBS; k++) {
            obs[k] = 2.0f * oct_rng_float(&t.rng) - 1.0f;
        }
        const float *y = nn_net_forward(&net, obs, 1);
        right += (y[1] > y[0]) == (obs[1] > obs[0]);
    }
    assert_true(right > 180);
    nn_net_fini(&net);
    nn_context_destroy(context);
    algo_destroy(t.a);
}

// ---- what holds for all of them

void
reinforce_fixture_refuses(config_experiment config)
{
    for (int is_box = 0; is_box < 2; is_box++) {
        reinforce_fixture_refused(config, is_box, 0, 1, NAN, OCT_EINTERNAL);
        reinforce_fixture_refused(config, is_box, 1, 0, INFINITY, OCT_EINTERNAL);
        reinforce_fixture_refused(config, is_box, 2, 0, NAN, OCT_EINTERNAL);
    }
    reinforce_fixture_refused(config, true, 3, 0, 2.5f, OCT_EINVAL);
    reinforce_trial t = reinforce_fixture_trial(config, false, 1);
    algo_batch batch = reinforce_fixture_batch(&t.rng, &t.spec, REINFORCE_WINDOWS, REINFORCE_STEPS);
    ((int32_t *)batch.action)[0] = REINFORCE_DIM;
    fixture_update_refused(t.a, &batch, OCT_EINVAL);
    batch.T = REINFORCE_STEPS - 1;
    fixture_update_refused(t.a, &batch, OCT_EINVAL);
    fixture_batch_free(&batch);
    algo_destroy(t.a);
}

void
reinforce_fixture_undoes(config_experiment config)
{
    for (int is_box = 0; is_box < 2; is_box++) {
        reinforce_trial t = reinforce_fixture_trial(config, is_box, 1);
        reinforce_trial same = reinforce_fixture_trial(config, is_box, 1);
        reinforce_fixture_train(t.a, &t.rng, &t.spec, 2);
        reinforce_fixture_train(same.a, &same.rng, &same.spec, 2);
        algo_batch batch =
            reinforce_fixture_batch(&t.rng, &t.spec, REINFORCE_WINDOWS, REINFORCE_STEPS);
        float result[ALGO_NUMBERS_MAX] = {7.0f};
        T_ERR(algo_update(t.a, &batch, INFINITY, NULL, result), OCT_EINTERNAL);
        assert_true(result[0] == 7.0f);
        fixture_same_state(t.a, same.a);
        T_OK(algo_update(t.a, &batch, 1e-2f, NULL, result));
        T_OK(algo_update(same.a, &batch, 1e-2f, NULL, result));
        fixture_same_state(t.a, same.a);
        fixture_batch_free(&batch);
        algo_destroy(t.a);
        algo_destroy(same.a);
    }
}

void
reinforce_fixture_resumes(config_experiment config)
{
    for (int is_box = 0; is_box < 2; is_box++) {
        reinforce_trial t = reinforce_fixture_trial(config, is_box, 1);
        reinforce_trial same = reinforce_fixture_trial(config, is_box, 1);
        reinforce_trial other = reinforce_fixture_trial(config, is_box, 2);
        assert_memory_not_equal(algo_policy_params(t.a), algo_policy_params(other.a), 64);
        reinforce_fixture_train(t.a, &t.rng, &t.spec, 5);
        reinforce_fixture_train(same.a, &same.rng, &same.spec, 5);
        fixture_same_state(t.a, same.a);
        size_t length;
        uint8_t *bytes = fixture_save(t.a, &length);
        oct_reader reader = {.at = bytes, .left = length};
        T_OK(algo_load(other.a, &reader));
        assert_int_equal(algo_updates(other.a), 5);
        reinforce_fixture_train(t.a, &t.rng, &t.spec, 4);
        reinforce_fixture_train(other.a, &same.rng, &other.spec, 4);
        fixture_same_state(t.a, other.a);
        free(bytes);
        algo_destroy(t.a);
        algo_destroy(same.a);
        algo_destroy(other.a);
    }
}

void
reinforce_fixture_refuses_states(config_experiment config, config_algo_name other)
{
    reinforce_trial t = reinforce_fixture_trial(config, true, 1);
    reinforce_trial same = reinforce_fixture_trial(config, true, 1);
    config.algo.name = other;
    reinforce_trial another = reinforce_fixture_trial(config, true, 1);
    reinforce_fixture_train(t.a, &t.rng, &t.spec, 3);
    size_t length;
    uint8_t *bytes = fixture_save(t.a, &length), *copy = oct_alloc(length);
    for (size_t cut = 0; cut < length; cut += 97) {
        fixture_load_refused(same.a, bytes, cut);
    }
    fixture_load_refused(another.a, bytes, length);
    const double bad[] = {NAN, -1.0}; // the sum of squares, before the checksum
    for (size_t i = 0; i < OCT_COUNTOF(bad); i++) {
        memcpy(copy, bytes, length);
        memcpy(copy + length - 4 - sizeof(double), &bad[i], sizeof(double));
        fixture_seal(copy, length);
        fixture_load_refused(same.a, copy, length);
    }
    free(copy);
    free(bytes);
    algo_destroy(t.a);
    algo_destroy(same.a);
    algo_destroy(another.a);
}

static void
copy_project(void *arg, const float *params, float *out)
{
    memcpy(out, params, *(const size_t *)arg * sizeof(*params));
}

void
reinforce_fixture_projects(config_experiment config)
{
    for (int is_box = 0; is_box < 2; is_box++) {
        reinforce_trial plain = reinforce_fixture_trial(config, is_box, 1);
        reinforce_trial same = reinforce_fixture_trial(config, is_box, 1);
        reinforce_trial twice = reinforce_fixture_trial(config, is_box, 1);
        size_t count = policy_spec_params(&plain.spec);
        algo_set_projection(same.a, &(algo_projection){.arg = &count, .project = copy_project});
        algo_set_projection(twice.a,
                            &(algo_projection){.arg = &count, .project = fixture_double_weights});
        float result[2][ALGO_NUMBERS_MAX];
        algo_batch batch =
            reinforce_fixture_batch(&plain.rng, &plain.spec, REINFORCE_WINDOWS, REINFORCE_STEPS);
        T_OK(algo_update(plain.a, &batch, 1e-2f, NULL, result[0]));
        T_OK(algo_update(same.a, &batch, 1e-2f, NULL, result[1]));
        fixture_same_state(plain.a, same.a);
        T_OK(algo_update(twice.a, &batch, 1e-2f, NULL, result[1]));
        assert_true(fixture_number(&config, result[0], "policy_grad_norm") !=
                    fixture_number(&config, result[1], "policy_grad_norm"));
        assert_true(fixture_number(&config, result[0], "value") ==
                    fixture_number(&config, result[1], "value"));
        fixture_batch_free(&batch);
        algo_destroy(plain.a);
        algo_destroy(same.a);
        algo_destroy(twice.a);
    }
}

void
reinforce_fixture_entropy_cost_falls(config_experiment config)
{
    config.algo.entropy_cost = 0.75;
    config.algo.entropy_cost_final = 0.25;
    for (int is_box = 0; is_box < 2; is_box++) {
        float result[2][ALGO_NUMBERS_MAX];
        reinforce_trial falling = reinforce_fixture_trial(config, is_box, 1);
        config_experiment constant = config;
        constant.algo.entropy_cost = constant.algo.entropy_cost_final = 0.5;
        reinforce_trial halfway = reinforce_fixture_trial(constant, is_box, 1);
        algo_batch batch = reinforce_fixture_batch(&falling.rng, &falling.spec, REINFORCE_WINDOWS,
                                                   REINFORCE_STEPS);
        batch.spent = 0.5f;
        T_OK(algo_update(falling.a, &batch, 1e-2f, NULL, result[0]));
        T_OK(algo_update(halfway.a, &batch, 1e-2f, NULL, result[1]));
        fixture_same_state(falling.a, halfway.a);
        assert_true(fixture_number(&config, result[0], "loss") ==
                    fixture_number(&config, result[1], "loss"));
        fixture_batch_free(&batch);
        algo_destroy(falling.a);
        algo_destroy(halfway.a);
    }
}

policy_spec
reinforce_fixture_value(const config_experiment *config, const policy_spec *policy)
{
    const config_ints *hidden = config->network.critic_hidden.count > 0
                                    ? &config->network.critic_hidden
                                    : &config->network.hidden;
    policy_spec spec = fixture_env(policy->obs_count, 1);
    spec.head = POLICY_HEAD_VALUES;
    T_OK(policy_spec_set_mlp(&spec, hidden->value, hidden->count, POLICY_TANH,
                             config->network.first_layer_norm, 1));
    return spec;
}

size_t
reinforce_fixture_part_at(const config_experiment *config, const policy_spec *policy, uint32_t net,
                          fixture_part part)
{
    assert_true(part < FIXTURE_TARGET);
    if (net == 0) {
        return fixture_part_at(policy, part);
    }
    // A saved trainer: shape, params, steps, two moments.
    policy_spec value = reinforce_fixture_value(config, policy);
    size_t trainer =
        4 + (size_t)policy->layer_count * 10 + 8 + 3 * policy_spec_params(policy) * sizeof(float);
    return trainer + fixture_part_at(&value, part);
}
