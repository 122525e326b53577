// DQN against numpy float64, whose gradients come from the complex step: tools/golden.py.
#include <stdlib.h>

#include "nn/nn_loss.h"
#include "tests/algos/algo_fixture.h"
#include "tests/algos/golden_file.h"
#include "tests/support/oct_test.h"

typedef struct trial {
    golden_file *golden;
    uint32_t obs, actions, B, steps;
    config_experiment config;
    policy_spec spec;
    algo *a;
} trial;

static config_experiment
golden_config(const golden_file *g, uint32_t B)
{
    config_experiment config = fixture_config();
    golden_network(g, &config);
    golden_adam(g, &config);
    config.algo.double_q = golden_number(g, "double_q") != 0;
    config.algo.huber_delta = golden_number(g, "huber_delta");
    config.algo.target_period = (uint32_t)golden_number(g, "target_period");
    config.algo.target_rate = golden_number(g, "target_rate");
    config.learner.batch_size = B;
    return config;
}

// What the values of next states are; only the files of SARSA's say.
static void
golden_target(config_experiment *config, const golden_file *g, const char *name)
{
    config->algo.discount = 0.875; // as tools/golden.py has it for sequences
    if (strstr(name, "sarsa") != NULL) {
        config->algo.target = (config_target_name)golden_number(g, "bootstrap");
        config->algo.target_epsilon = golden_number(g, "epsilon");
    }
}

// A sequence of two rows for each row of the batch, and a third one behind them: SARSA's. The batch
// then has the sequences' columns.
static void
batch_unroll(const trial *t, uint32_t step, algo_batch *batch)
{
    size_t obs = t->obs, rows = 2 * (size_t)t->B;
    float *seen = oct_alloc((rows + t->B) * obs * sizeof(float));
    float *reward = oct_alloc(rows * sizeof(float));
    int32_t *action = oct_alloc(rows * sizeof(int32_t));
    uint8_t *flags = oct_alloc(rows);
    for (size_t b = 0; b < t->B; b++) {
        memcpy(seen + 3 * b * obs, batch->obs + b * obs, obs * sizeof(float));
        memcpy(seen + (3 * b + 1) * obs, batch->next + b * obs, obs * sizeof(float));
        double taken = golden_step(t->golden, step, "taken", t->B)[b];
        bool ends = batch->discount[b] == 0;
        reward[2 * b] = batch->reward[b];
        reward[2 * b + 1] = 100; // of the next step: must not count
        action[2 * b] = ((const int32_t *)batch->action)[b];
        action[2 * b + 1] = taken < 0 ? 0 : (int32_t)taken;
        flags[2 * b] = ends ? ALGO_TERMINATED : taken < 0 ? ALGO_TRUNCATED : 0;
        flags[2 * b + 1] = taken < 0 ? ALGO_END : 0;
    }
    free((void *)(uintptr_t)batch->obs);
    free((void *)(uintptr_t)batch->action);
    free((void *)(uintptr_t)batch->reward);
    batch->T = 2;
    batch->obs = seen;
    batch->action = action;
    batch->reward = reward;
    batch->flags = flags;
}

// The golden file's first weights go in the way a checkpoint does.
static trial
trial_make(const char *name)
{
    trial t = {.golden = golden_open(name)};
    const double *shape = golden_array(t.golden, "shape", 4);
    t.obs = (uint32_t)shape[0];
    t.actions = (uint32_t)shape[1];
    t.B = (uint32_t)shape[2];
    t.steps = (uint32_t)shape[3];
    t.config = golden_config(t.golden, t.B);
    golden_target(&t.config, t.golden, name);
    t.a = fixture_algo(&t.spec, &t.config, t.obs, t.actions, 1);
    size_t length, count = policy_spec_params(&t.spec);
    uint8_t *bytes = fixture_save(t.a, &length);
    golden_put_floats(bytes + fixture_part_at(&t.spec, FIXTURE_PARAMS),
                      golden_array(t.golden, "params", count), count);
    golden_put_floats(bytes + fixture_part_at(&t.spec, FIXTURE_TARGET),
                      golden_array(t.golden, "target", count), count);
    fixture_load_changed(t.a, bytes, length);
    free(bytes);
    return t;
}

static void
expect_saved(const trial *t, uint32_t step, fixture_part part, const char *name, double tolerance,
             double relative)
{
    size_t length, count = policy_spec_params(&t->spec);
    uint8_t *bytes = fixture_save(t->a, &length);
    golden_near_floats(bytes + fixture_part_at(&t->spec, part),
                       golden_step(t->golden, step, name, count), count, tolerance, relative);
    free(bytes);
}

// fp32 against float64: values and gradients within some units of 1e-7; after the first step the
// first moment is the clipped gradient times 1 - beta1 = 1/8, so it checks the gradient. A gradient
// that is off by 1e-7 moves Adam's step by at most that / epsilon (1.2e-4) of the rate 2e-3.
static void
check_case(const char *name)
{
    trial t = trial_make(name);
    for (uint32_t step = 1; step <= t.steps; step++) {
        algo_batch batch = golden_step_batch(t.golden, step, t.B, t.obs, 0);
        if (t.config.algo.target == CONFIG_TARGET_SARSA) {
            batch_unroll(&t, step, &batch);
        }
        float result[ALGO_NUMBERS_MAX];
        float *priorities = oct_alloc(t.B * sizeof(*priorities));
        T_OK(algo_update(t.a, &batch, (float)t.config.algo.learning_rate, priorities, result));
        double td_abs = 0;
        for (uint32_t i = 0; i < t.B; i++) {
            double td = fabs(golden_step(t.golden, step, "td", t.B)[i]);
            T_NEAR((double)priorities[i], td, 2e-6, 2e-6);
            td_abs += td / t.B;
        }
        T_NEAR((double)result[ALGO_TD_ABS], td_abs, 2e-6, 2e-6);
        T_NEAR((double)result[ALGO_LOSS], golden_step(t.golden, step, "loss", 1)[0], 2e-6, 2e-6);
        T_NEAR((double)result[ALGO_VALUE], golden_step(t.golden, step, "value", 1)[0], 2e-6, 2e-6);
        T_NEAR((double)result[ALGO_GRAD_NORM], golden_step(t.golden, step, "grad_norm", 1)[0], 2e-6,
               2e-6);
        assert_true(isnan(result[ALGO_POLICY_GRAD_NORM])); // there is no such network
        expect_saved(&t, step, FIXTURE_FIRST_MOMENT, "m", 2e-7, 1e-5);
        expect_saved(&t, step, FIXTURE_SECOND_MOMENT, "v", 1e-8, 2e-5);
        expect_saved(&t, step, FIXTURE_PARAMS, "params", 3e-6, 0);
        expect_saved(&t, step, FIXTURE_TARGET, "target", 3e-6, 0);
        free(priorities);
        fixture_batch_free(&batch);
    }
    algo_destroy(t.a);
    golden_close(t.golden);
}

static void
test_double_q_with_target_copies_equals_numpy(void **state)
{
    (void)state;
    check_case("dqn_relu_double");
}

static void
test_plain_q_with_norm_clipping_and_averaging_equals_numpy(void **state)
{
    (void)state;
    check_case("dqn_tanh_norm_plain");
}

static void
test_double_q_with_elu_and_averaged_copies_equals_numpy(void **state)
{
    (void)state;
    check_case("dqn_elu_double");
}

static void
test_expected_sarsa_equals_numpy(void **state)
{
    (void)state;
    check_case("dqn_expected_sarsa_double");
}

static void
test_sarsa_over_sequences_equals_numpy(void **state)
{
    (void)state;
    check_case("dqn_sarsa");
}

static void
test_huber_equals_numpy(void **state)
{
    (void)state;
    golden_file *g = golden_open("huber");
    size_t count = golden_count(g, "error");
    for (size_t i = 0; i < count; i++) {
        float error = (float)golden_array(g, "error", count)[i], weight = 1, slope;
        float loss = nn_loss_huber(&slope, &error, &weight, (float)golden_number(g, "delta"), 1);
        T_NEAR((double)loss, golden_array(g, "loss", count)[i], 0, 1e-6);
        T_NEAR((double)slope, golden_array(g, "slope", count)[i], 0, 1e-6);
    }
    golden_close(g);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_huber_equals_numpy),
        cmocka_unit_test(test_double_q_with_target_copies_equals_numpy),
        cmocka_unit_test(test_plain_q_with_norm_clipping_and_averaging_equals_numpy),
        cmocka_unit_test(test_double_q_with_elu_and_averaged_copies_equals_numpy),
        cmocka_unit_test(test_expected_sarsa_equals_numpy),
        cmocka_unit_test(test_sarsa_over_sequences_equals_numpy),
    };
    golden_begin(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
