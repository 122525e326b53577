// D4PG, DDPG, TD3 and SAC against numpy float64, whose gradients come from the complex step:
// tools/golden_dpg.py, tools/golden_sac.py.
#include <stdlib.h>

#include "tests/algos/dpg_fixture.h"
#include "tests/algos/golden_file.h"
#include "tests/support/oct_test.h"

static const char *const net_names[] = {"policy", "critic0", "critic1"};

typedef struct trial {
    golden_file *golden;
    uint32_t obs, dim, B, steps, nets;
    config_experiment config;
    policy_spec spec;
    algo *a;
} trial;

// What both generators give.
static config_experiment
golden_config(const golden_file *g, config_algo_name name, uint32_t B)
{
    config_experiment config = dpg_fixture_config(name);
    golden_network(g, &config);
    golden_adam(g, &config);
    golden_critic(g, &config);
    config.algo.target_period = (uint32_t)golden_number(g, "target_period");
    config.algo.target_rate = golden_number(g, "target_rate");
    config.algo.policy_delay = (uint32_t)golden_number(g, "policy_delay");
    config.algo.critics = (uint32_t)golden_number(g, "critics");
    config.network.critic_residual = golden_number(g, "residual") != 0;
    config.algo.normalise_observations = golden_number(g, "normalise_observations") != 0;
    config.learner.batch_size = B;
    return config;
}

static config_experiment
dpg_golden_config(const golden_file *g, uint32_t B)
{
    config_experiment config = golden_config(g, (config_algo_name)golden_number(g, "algorithm"), B);
    config.algo.action_grad_norm_max = golden_number(g, "action_grad_norm_max");
    config.algo.pre_activation_cost = golden_number(g, "pre_activation_cost");
    config.algo.target_noise = golden_number(g, "noise");
    config.algo.target_noise_clip = golden_number(g, "noise_clip");
    config.algo.atoms = (uint32_t)golden_array(g, "atoms", 3)[0];
    config.algo.value_min = golden_array(g, "atoms", 3)[1];
    config.algo.value_max = golden_array(g, "atoms", 3)[2];
    return config;
}

static config_experiment
sac_golden_config(const golden_file *g, uint32_t B)
{
    config_experiment config = golden_config(g, CONFIG_ALGO_SAC, B);
    double temperature = golden_number(g, "temperature");
    config.algo.temperature = temperature < 0 ? NAN : temperature;
    config.algo.initial_temperature = golden_number(g, "initial");
    config.algo.target_entropy = golden_number(g, "entropy");
    return config;
}

static size_t
net_params(const trial *t, uint32_t net)
{
    policy_spec critic = dpg_fixture_critic(&t->config, &t->spec);
    return policy_spec_params(net == 0 ? &t->spec : &critic);
}

// The golden file's first weights go in the way a checkpoint does.
static void
load_first_weights(trial *t)
{
    size_t length;
    uint8_t *bytes = fixture_save(t->a, &length);
    for (uint32_t net = 0; net < t->nets; net++) {
        char name[32];
        size_t count = net_params(t, net);
        (void)snprintf(name, sizeof(name), "%s.params", net_names[net]);
        golden_put_floats(bytes + dpg_fixture_part_at(&t->config, &t->spec, net, FIXTURE_PARAMS),
                          golden_array(t->golden, name, count), count);
        if (dpg_fixture_has_part(&t->config, net, FIXTURE_TARGET)) {
            (void)snprintf(name, sizeof(name), "%s.target", net_names[net]);
            golden_put_floats(bytes +
                                  dpg_fixture_part_at(&t->config, &t->spec, net, FIXTURE_TARGET),
                              golden_array(t->golden, name, count), count);
        }
    }
    fixture_load_changed(t->a, bytes, length);
    free(bytes);
}

static trial
trial_make(const char *name, config_experiment (*config)(const golden_file *g, uint32_t B))
{
    trial t = {.golden = golden_open(name)};
    const double *shape = golden_array(t.golden, "shape", 4);
    t.obs = (uint32_t)shape[0];
    t.dim = (uint32_t)shape[1];
    t.B = (uint32_t)shape[2];
    t.steps = (uint32_t)shape[3];
    t.config = config(t.golden, t.B);
    t.nets = dpg_fixture_nets(&t.config);
    t.spec = fixture_box_env(t.obs, t.dim);
    golden_bounds(t.golden, &t.spec);
    t.a = fixture_create(&t.spec, &t.config, 1); // the seed of the generators' draws
    load_first_weights(&t);
    return t;
}

static void
expect_part(const trial *t, uint32_t step, uint32_t net, fixture_part part, const char *name,
            double tolerance, double relative)
{
    char full[32];
    size_t count;
    if (!dpg_fixture_has_part(&t->config, net, part)) {
        return;
    }
    float *got = dpg_fixture_part(t->a, &t->config, &t->spec, net, part, &count);
    (void)snprintf(full, sizeof(full), "%s.%s", net_names[net], name);
    const double *want = golden_step(t->golden, step, full, count);
    golden_near_floats(got, want, count, tolerance, relative);
    free(got);
}

static void
expect_number(const trial *t, uint32_t step, const char *name, float got)
{
    T_NEAR((double)got, golden_step(t->golden, step, name, 1)[0], 4e-6, 4e-6);
}

// What the ends of the support move; where there are no atoms, nothing is.
static void
expect_cut(const trial *t, uint32_t step, const float *result)
{
    if (t->config.algo.name != CONFIG_ALGO_D4PG) {
        assert_true(isnan(result[ALGO_CUT_BELOW]) && isnan(result[ALGO_CUT_ABOVE]));
        return;
    }
    const double *want = golden_step(t->golden, step, "cut", 2);
    T_NEAR((double)result[ALGO_CUT_BELOW], want[0], 1e-6, 4e-6);
    T_NEAR((double)result[ALGO_CUT_ABOVE], want[1], 1e-6, 4e-6);
}

// The policy that ships reads observations as they are, whatever it has learned from.
static void
expect_shipped(const trial *t, uint32_t step)
{
    const float *ships = algo_policy_params(t->a);
    size_t count = policy_spec_params(&t->spec);
    if (t->config.algo.normalise_observations) {
        golden_near_floats(ships, golden_step(t->golden, step, "ships", count), count, 2e-5, 2e-5);
    } else {
        const float *learned =
            dpg_fixture_part(t->a, &t->config, &t->spec, 0, FIXTURE_PARAMS, &count);
        assert_memory_equal(ships, learned, count * sizeof(*ships));
        free((void *)learned);
    }
}

// The numbers that SAC has beside the others', and its temperature: logarithm and moments.
static void
expect_sac(const trial *t, uint32_t step, const float *result)
{
    size_t length;
    uint8_t *bytes = fixture_save(t->a, &length);
    golden_near_floats(bytes + dpg_fixture_temperature_at() + sizeof(uint64_t),
                       golden_step(t->golden, step, "temperature", 3), 3, 4e-6, 4e-6);
    free(bytes);
    expect_number(t, step, "alpha", result[ALGO_VALUE_NUMBERS]);
    if (step % t->config.algo.policy_delay == 0) {
        expect_number(t, step, "entropy", result[ALGO_VALUE_NUMBERS + 1]);
        expect_number(t, step, "policy_value", result[ALGO_VALUE_NUMBERS + 2]);
    } else {
        assert_true(isnan(result[ALGO_VALUE_NUMBERS + 1]) && isnan(result[ALGO_VALUE_NUMBERS + 2]));
    }
}

// fp32 against float64: values and gradients within some units of 1e-7; after a net's first step
// its first moment is the clipped gradient times 1 - beta1 = 1/8, so it checks every part of the
// gradient. A gradient that is off by 1e-7 moves Adam's step by at most that / epsilon (1.2e-4) of
// the rate 2e-3 (times critic_ratio).
static void
check_case(const char *name, config_experiment (*config)(const golden_file *g, uint32_t B))
{
    trial t = trial_make(name, config);
    for (uint32_t step = 1; step <= t.steps; step++) {
        algo_batch batch = golden_step_batch(t.golden, step, t.B, t.obs, t.dim);
        float result[ALGO_NUMBERS_MAX];
        float *priorities = oct_alloc(t.B * sizeof(*priorities));
        T_OK(algo_update(t.a, &batch, (float)t.config.algo.learning_rate, priorities, result));
        golden_near_floats(priorities, golden_step(t.golden, step, "priority", t.B), t.B, 4e-6,
                           4e-6);
        expect_number(&t, step, "td_abs", result[ALGO_TD_ABS]);
        expect_number(&t, step, "loss", result[ALGO_LOSS]);
        expect_cut(&t, step, result);
        expect_number(&t, step, "value", result[ALGO_VALUE]);
        expect_number(&t, step, "grad_norm", result[ALGO_GRAD_NORM]);
        if (step % t.config.algo.policy_delay == 0) {
            expect_number(&t, step, "policy_grad_norm", result[ALGO_POLICY_GRAD_NORM]);
        } else {
            assert_true(isnan(result[ALGO_POLICY_GRAD_NORM])); // it did not learn
        }
        expect_shipped(&t, step);
        if (t.config.algo.name == CONFIG_ALGO_SAC) {
            expect_sac(&t, step, result);
        }
        for (uint32_t net = 0; net < t.nets; net++) {
            expect_part(&t, step, net, FIXTURE_FIRST_MOMENT, "m", 4e-7, 2e-5);
            expect_part(&t, step, net, FIXTURE_SECOND_MOMENT, "v", 1e-8, 4e-5);
            expect_part(&t, step, net, FIXTURE_PARAMS, "params", 6e-6, 0);
            expect_part(&t, step, net, FIXTURE_TARGET, "target", 6e-6, 0);
        }
        free(priorities);
        fixture_batch_free(&batch);
    }
    algo_destroy(t.a);
    golden_close(t.golden);
}

static void
test_d4pg_with_norm_clipping_and_target_copies_equals_numpy(void **state)
{
    (void)state;
    check_case("d4pg_elu_norm", dpg_golden_config);
}

static void
test_d4pg_with_averaging_and_a_slow_policy_equals_numpy(void **state)
{
    (void)state;
    check_case("d4pg_tanh_free", dpg_golden_config);
}

static void
test_normalised_observations_equal_numpy(void **state)
{
    (void)state;
    check_case("d4pg_normalised_elu", dpg_golden_config);
    check_case("sac_normalised_relu", sac_golden_config);
}

static void
test_a_cost_of_pre_activations_equals_numpy(void **state)
{
    (void)state;
    check_case("d4pg_pre_activation", dpg_golden_config);
}

static void
test_ddpg_with_clipping_equals_numpy(void **state)
{
    (void)state;
    check_case("ddpg_relu", dpg_golden_config);
}

static void
test_td3_with_noise_and_delay_equals_numpy(void **state)
{
    (void)state;
    check_case("td3_elu_norm", dpg_golden_config);
}

static void
test_d4pg_with_two_critics_equals_numpy(void **state)
{
    (void)state;
    check_case("d4pg_two_elu_norm", dpg_golden_config);
}

static void
test_ddpg_with_two_critics_equals_numpy(void **state)
{
    (void)state;
    check_case("ddpg_two_tanh", dpg_golden_config);
}

static void
test_d4pg_with_two_residual_critics_equals_numpy(void **state)
{
    (void)state;
    check_case("d4pg_two_residual_relu", dpg_golden_config);
}

static void
test_ddpg_with_a_residual_critic_equals_numpy(void **state)
{
    (void)state;
    check_case("ddpg_residual_elu", dpg_golden_config);
}

static void
test_td3_with_one_critic_equals_numpy(void **state)
{
    (void)state;
    check_case("td3_one_relu", dpg_golden_config);
}

static void
test_sac_with_clipping_equals_numpy(void **state)
{
    (void)state;
    check_case("sac_relu", sac_golden_config);
}

static void
test_sac_with_a_fixed_temperature_and_a_slow_policy_equals_numpy(void **state)
{
    (void)state;
    check_case("sac_tanh_fixed", sac_golden_config);
}

static void
test_sac_with_deviations_beyond_their_range_equals_numpy(void **state)
{
    (void)state;
    check_case("sac_elu_norm_clamped", sac_golden_config);
}

static void
test_sac_with_residual_critics_equals_numpy(void **state)
{
    (void)state;
    check_case("sac_residual_relu", sac_golden_config);
}

static void
test_sac_with_one_critic_equals_numpy(void **state)
{
    (void)state;
    check_case("sac_one_tanh", sac_golden_config);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_d4pg_with_norm_clipping_and_target_copies_equals_numpy),
        cmocka_unit_test(test_d4pg_with_averaging_and_a_slow_policy_equals_numpy),
        cmocka_unit_test(test_normalised_observations_equal_numpy),
        cmocka_unit_test(test_a_cost_of_pre_activations_equals_numpy),
        cmocka_unit_test(test_ddpg_with_clipping_equals_numpy),
        cmocka_unit_test(test_td3_with_noise_and_delay_equals_numpy),
        cmocka_unit_test(test_d4pg_with_two_critics_equals_numpy),
        cmocka_unit_test(test_ddpg_with_two_critics_equals_numpy),
        cmocka_unit_test(test_d4pg_with_two_residual_critics_equals_numpy),
        cmocka_unit_test(test_ddpg_with_a_residual_critic_equals_numpy),
        cmocka_unit_test(test_td3_with_one_critic_equals_numpy),
        cmocka_unit_test(test_sac_with_clipping_equals_numpy),
        cmocka_unit_test(test_sac_with_a_fixed_temperature_and_a_slow_policy_equals_numpy),
        cmocka_unit_test(test_sac_with_deviations_beyond_their_range_equals_numpy),
        cmocka_unit_test(test_sac_with_residual_critics_equals_numpy),
        cmocka_unit_test(test_sac_with_one_critic_equals_numpy),
    };
    golden_begin(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
