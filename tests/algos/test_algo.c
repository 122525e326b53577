// Which networks an algorithm makes for an environment and configuration, and which it refuses.
#include <stdlib.h>

#include "common/oct_reason.h"
#include "tests/algos/algo_fixture.h"
#include "tests/support/oct_test.h"

static void
test_spec_for_a_box_of_actions_is_refused_with_a_reason(void **state)
{
    (void)state;
    config_experiment config = fixture_config();
    policy_spec spec = fixture_box_env(3, 2);
    fixture_spec_refused(&config, spec, "discrete");
    fixture_spec_refused(&config, spec, "; use algo.name: d4pg, ddpg, td3 or sac"); // what can
    fixture_spec_refused(&config, spec, "Fixture-v0");
}

static void
test_spec_of_a_bad_environment_is_refused_with_a_reason(void **state)
{
    (void)state;
    config_experiment config = fixture_config();
    policy_spec spec = fixture_env(0, 2);
    oct_reason why = {""};
    T_ERR(algo_make_spec(&config, &spec, NULL, &why), OCT_EINVAL);
    assert_true(strlen(why.text) > 0);
}

static void
test_wants_windows_of_as_many_steps_as_configured(void **state)
{
    (void)state;
    config_experiment config = fixture_config();
    policy_spec spec = fixture_env(3, 2);
    algo_wants wants = {.stride = 9, .each_once = true, .lag_max = 9};
    config.algo.n_step = 7;
    T_OK(algo_make_spec(&config, &spec, &wants, NULL));
    assert_int_equal(wants.window, ALGO_WINDOW_N_STEP);
    assert_int_equal(wants.steps, 7);
    assert_true(wants.stride == 0 && !wants.each_once && wants.lag_max == 0);
}

// As they were published: five steps of DQN and D4PG (Acme), one of DDPG, TD3 and SAC.
static void
test_wants_the_steps_of_its_algorithm(void **state)
{
    (void)state;
    static const struct {
        config_algo_name name;
        uint32_t steps;
    } each[] = {{CONFIG_ALGO_DQN, 5},
                {CONFIG_ALGO_D4PG, 5},
                {CONFIG_ALGO_DDPG, 1},
                {CONFIG_ALGO_TD3, 1},
                {CONFIG_ALGO_SAC, 1}};
    config_experiment config;
    config_default(&config);
    for (size_t i = 0; i < OCT_COUNTOF(each); i++) {
        config.algo.name = each[i].name;
        policy_spec spec =
            each[i].name == CONFIG_ALGO_DQN ? fixture_env(3, 2) : fixture_box_env(3, 2);
        algo_wants wants;
        T_OK(algo_make_spec(&config, &spec, &wants, NULL));
        assert_int_equal(wants.window, ALGO_WINDOW_N_STEP);
        assert_int_equal(wants.steps, each[i].steps);
    }
}

// An update writes as many as algo_numbers says, and each has its words.
static void
test_numbers_are_named_and_as_many_as_an_update_writes(void **state)
{
    (void)state;
    static const char *const names[] = {"loss",      "td_abs",    "value",           "cut_below",
                                        "cut_above", "grad_norm", "policy_grad_norm"};
    config_experiment config = fixture_config();
    policy_spec spec;
    algo *a = fixture_algo(&spec, &config, 4, 2, 1);
    oct_rng rng;
    oct_rng_init(&rng, 5, 1);
    algo_batch batch = fixture_batch(&rng, 4, 4, 2);
    float numbers[ALGO_NUMBERS_MAX];
    for (int i = 0; i < ALGO_NUMBERS_MAX; i++) {
        numbers[i] = -77.0f;
    }
    T_OK(algo_update(a, &batch, 1e-3f, NULL, numbers));
    uint32_t count;
    const algo_number *all = algo_numbers(&config, &count);
    assert_int_equal(count, OCT_COUNTOF(names));
    for (uint32_t i = 0; i < ALGO_NUMBERS_MAX; i++) {
        assert_true((numbers[i] == -77.0f) == (i >= count));
        if (i < count) {
            assert_string_equal(all[i].name, names[i]);
            assert_true(all[i].unit != NULL && strlen(all[i].help) > 10);
        }
    }
    fixture_batch_free(&batch);
    algo_destroy(a);
}

static void
test_create_refuses_a_spec_of_another_head(void **state)
{
    (void)state;
    config_experiment config = fixture_config();
    policy_spec spec = fixture_env(3, 2);
    algo *a = NULL;
    T_OK(algo_make_spec(&config, &spec, NULL, NULL));
    spec.head = POLICY_HEAD_LOGITS;
    T_ERR(algo_create(&a, NULL, &config, &spec, 1), OCT_EINVAL);
    spec.head = POLICY_HEAD_VALUES;
    spec.layers[0].inputs = 4;
    T_ERR(algo_create(&a, NULL, &config, &spec, 1), OCT_EINVAL);
    assert_null(a);
}

static void
test_destroy_of_nothing_does_nothing(void **state)
{
    (void)state;
    algo_destroy(NULL);
}

static void
test_spec_follows_the_configuration(void **state)
{
    (void)state;
    config_experiment config = fixture_config();
    config.network.hidden = (config_ints){.count = 3, .value = {20, 30, 40}};
    config.network.activation = POLICY_ELU;
    config.network.first_layer_norm = true;
    policy_spec spec = fixture_env(5, 3);
    T_OK(algo_make_spec(&config, &spec, NULL, NULL));
    assert_int_equal(spec.head, POLICY_HEAD_VALUES);
    assert_false(spec.normalise);
    assert_int_equal(spec.layer_count, 4);
    const uint32_t outputs[] = {20, 30, 40, 3};
    const policy_activation activations[] = {POLICY_TANH, POLICY_ELU, POLICY_ELU, POLICY_LINEAR};
    for (int l = 0; l < 4; l++) {
        assert_int_equal(spec.layers[l].outputs, outputs[l]);
        assert_int_equal(spec.layers[l].activation, activations[l]);
        assert_int_equal(spec.layers[l].layer_norm, l == 0);
    }
}

// The published network of MinAtar: 16 filters of 3 x 3, 128 units.
static void
test_convolutions_come_before_the_hidden_layers(void **state)
{
    (void)state;
    config_experiment config = fixture_config();
    config.network.conv = (config_ints){.count = 1, .value = {16}};
    config.network.hidden = (config_ints){.count = 1, .value = {128}};
    policy_spec spec = fixture_env(400, 6);
    oct_reason why = {""};
    fixture_spec_refused(&config, spec, "network.conv: convolutions need observations of rows");
    spec.obs_rank = 3;
    memcpy(spec.obs_shape, (uint32_t[]){10, 10, 4}, 3 * sizeof(uint32_t));
    T_OK(algo_make_spec(&config, &spec, NULL, &why));
    assert_int_equal(spec.layer_count, 3);
    assert_int_equal(spec.layers[0].kind, POLICY_CONV);
    assert_int_equal(spec.layers[0].activation, POLICY_RELU);
    assert_int_equal(spec.layers[1].inputs, 8 * 8 * 16);
    assert_int_equal(spec.layers[1].outputs, 128);
    assert_int_equal(policy_spec_params(&spec), 16 * 37 + 128 * 1025 + 6 * 129);
}

// One batch again and again: its errors become small.
static void
test_convolutions_learn(void **state)
{
    (void)state;
    config_experiment config = fixture_config();
    config.network.conv = (config_ints){.count = 2, .value = {8, 4}};
    policy_spec spec = fixture_env(6 * 7 * 2, 3);
    spec.obs_rank = 3;
    memcpy(spec.obs_shape, (uint32_t[]){6, 7, 2}, 3 * sizeof(uint32_t));
    algo *a = fixture_create(&spec, &config, 3);
    oct_rng rng;
    oct_rng_init(&rng, 5, 0);
    algo_batch batch = fixture_batch(&rng, 16, 6 * 7 * 2, 3);
    float first[ALGO_NUMBERS_MAX] = {0}, last[ALGO_NUMBERS_MAX] = {0};
    T_OK(algo_update(a, &batch, 3e-3f, NULL, first));
    for (int i = 0; i < 60; i++) {
        T_OK(algo_update(a, &batch, 3e-3f, NULL, last));
    }
    assert_true(last[ALGO_LOSS] < 0.1f * first[ALGO_LOSS]);
    fixture_batch_free(&batch);
    algo_destroy(a);
}

static void
test_network_without_hidden_layers_is_one_linear_layer(void **state)
{
    (void)state;
    config_experiment config = fixture_config();
    config.network.hidden.count = 0;
    policy_spec spec;
    algo *a = fixture_algo(&spec, &config, 4, 2, 1);
    assert_int_equal(spec.layer_count, 1);
    oct_rng rng;
    oct_rng_init(&rng, 1, 0);
    algo_batch batch = fixture_batch(&rng, 3, 4, 2);
    float result[ALGO_NUMBERS_MAX];
    T_OK(algo_update(a, &batch, 1e-3f, NULL, result));
    fixture_batch_free(&batch);
    algo_destroy(a);
}

static void
test_first_weights_repeat_with_the_seed(void **state)
{
    (void)state;
    config_experiment config = fixture_config();
    policy_spec spec;
    algo *a = fixture_algo(&spec, &config, 4, 2, 1);
    algo *b = fixture_algo(&spec, &config, 4, 2, 1);
    algo *c = fixture_algo(&spec, &config, 4, 2, 2);
    size_t bytes = policy_spec_params(&spec) * sizeof(float);
    assert_memory_equal(algo_policy_params(a), algo_policy_params(b), bytes);
    assert_memory_not_equal(algo_policy_params(a), algo_policy_params(c), bytes);
    assert_int_equal(algo_updates(a), 0);
    algo_destroy(a);
    algo_destroy(b);
    algo_destroy(c);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spec_for_a_box_of_actions_is_refused_with_a_reason),
        cmocka_unit_test(test_spec_of_a_bad_environment_is_refused_with_a_reason),
        cmocka_unit_test(test_wants_windows_of_as_many_steps_as_configured),
        cmocka_unit_test(test_wants_the_steps_of_its_algorithm),
        cmocka_unit_test(test_numbers_are_named_and_as_many_as_an_update_writes),
        cmocka_unit_test(test_create_refuses_a_spec_of_another_head),
        cmocka_unit_test(test_destroy_of_nothing_does_nothing),
        cmocka_unit_test(test_spec_follows_the_configuration),
        cmocka_unit_test(test_convolutions_come_before_the_hidden_layers),
        cmocka_unit_test(test_convolutions_learn),
        cmocka_unit_test(test_network_without_hidden_layers_is_one_linear_layer),
        cmocka_unit_test(test_first_weights_repeat_with_the_seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
