// D4PG, DDPG, TD3 and SAC: schedules and refusals.
#include <stdlib.h>

#include "nn/nn_gemm.h"
#include "nn/nn_net.h"
#include "tests/algos/dpg_fixture.h"
#include "tests/support/oct_test.h"

enum { OBS = 4, DIM = 3, B = 16 };

typedef fixture_trial trial;

static trial
trial_make(const config_experiment *config)
{
    oct_rng rng;
    oct_rng_init(&rng, 5, 0);
    algo_batch batch = dpg_fixture_batch(&rng, B, OBS, DIM);
    return fixture_trial_make(config, fixture_box_env(OBS, DIM), batch, 1);
}

static void
test_nan_or_infinity_in_any_column_changes_nothing(void **state)
{
    (void)state;
    const float bad[] = {NAN, INFINITY, -INFINITY, 1e25f};
    for (size_t n = 0; n < DPG_FIXTURE_METHODS; n++) {
        config_experiment config = dpg_fixture_method(n);
        config.network.first_layer_norm = n % DPG_FIXTURE_NAMES == 0;
        config.network.activation = POLICY_TANH; // which hides infinity
        trial t = trial_make(&config);
        float *columns[] = {(float *)t.batch.obs,      (float *)t.batch.next,
                            (float *)t.batch.reward,   (float *)t.batch.action,
                            (float *)t.batch.discount, (float *)t.batch.weight};
        assert_true(t.batch.discount[0] == 0.0f);
        for (size_t i = 0; i < OCT_COUNTOF(columns) * OCT_COUNTOF(bad); i++) {
            float *at = &columns[i / OCT_COUNTOF(bad)][i % 3];
            float kept = *at, value = bad[i % OCT_COUNTOF(bad)];
            bool action = i / OCT_COUNTOF(bad) == 3;
            *at = value;
            fixture_update_refused(t.a, &t.batch,
                                   action && isfinite(value) ? OCT_EINVAL : OCT_EINTERNAL);
            *at = kept;
        }
        float result[ALGO_NUMBERS_MAX];
        T_OK(algo_update(t.a, &t.batch, 1e-2f, NULL, result));
        fixture_trial_free(&t);
    }
}

// Columns whose squares are finite, but not the gradient: the update is well under way then, and
// noise has been drawn.
static void
test_overflowing_gradient_changes_nothing(void **state)
{
    (void)state;
    for (size_t n = 0; n < DPG_FIXTURE_METHODS; n++) {
        config_experiment config = dpg_fixture_method(n);
        // A loss of distributions, and norms, stay finite.
        if (config.algo.name == CONFIG_ALGO_D4PG || config.network.critic_residual) {
            continue;
        }
        config.network.activation = POLICY_RELU;
        trial t = trial_make(&config);
        ((float *)t.batch.obs)[0] = 1.8e19f;
        fixture_update_refused(t.a, &t.batch, OCT_EINTERNAL);
        fixture_trial_free(&t);
    }
}

static void
test_actions_beyond_their_bounds_are_refused(void **state)
{
    (void)state;
    float result[ALGO_NUMBERS_MAX];
    for (size_t n = 0; n < DPG_FIXTURE_METHODS; n++) {
        config_experiment config = dpg_fixture_method(n);
        trial t = trial_make(&config);
        float *action = (float *)t.batch.action;
        action[5] = 2.01f;
        fixture_update_refused(t.a, &t.batch, OCT_EINVAL);
        action[5] = -2.01f;
        fixture_update_refused(t.a, &t.batch, OCT_EINVAL);
        action[5] = 2.0000002f; // a rounding
        T_OK(algo_update(t.a, &t.batch, 1e-2f, NULL, result));
        fixture_trial_free(&t);
    }
}

static void
test_batches_of_no_or_too_many_rows_are_refused(void **state)
{
    (void)state;
    for (size_t n = 0; n < DPG_FIXTURE_METHODS; n++) {
        config_experiment config = dpg_fixture_method(n);
        trial t = trial_make(&config);
        t.batch.B = 0;
        fixture_update_refused(t.a, &t.batch, OCT_EINVAL);
        t.batch.B = B + 1;
        fixture_update_refused(t.a, &t.batch, OCT_EINVAL);
        fixture_trial_free(&t);
    }
}

static void
test_what_cannot_be_learned_is_refused_in_words(void **state)
{
    (void)state;
    config_experiment config = dpg_fixture_config(CONFIG_ALGO_D4PG);
    fixture_spec_refused(&config, fixture_env(OBS, 2), "d4pg needs actions in a box; Fixture-v0");
    fixture_spec_refused(&config, fixture_env(OBS, 2), "algo.name: dqn");
    fixture_spec_refused(&config, fixture_box_env(POLICY_WIDTH_MAX, 1), "65537 numbers");
    config.algo.value_min = config.algo.value_max;
    fixture_spec_refused(&config, fixture_box_env(OBS, DIM), "bad support");
    config = dpg_fixture_config(CONFIG_ALGO_TD3);
    fixture_spec_refused(&config, fixture_env(OBS, 2), "td3 needs actions in a box");
    config.network.conv = (config_ints){.count = 1, .value = {16}};
    fixture_spec_refused(&config, fixture_box_env(OBS, DIM), "network.conv: []");
    config = dpg_fixture_config(CONFIG_ALGO_SAC);
    fixture_spec_refused(&config, fixture_env(OBS, 2), "sac needs actions in a box");
    fixture_spec_refused(&config, fixture_box_env(POLICY_WIDTH_MAX, 1), "65537 numbers");
    config = dpg_fixture_config(CONFIG_ALGO_DDPG);
    config.network.critic_hidden = (config_ints){.count = 2, .value = {65536, 4096}};
    fixture_spec_refused(&config, fixture_box_env(OBS, DIM), "a critic has");
    config.network.critic_hidden = (config_ints){.count = 2, .value = {8, 8}};
    config.network.critic_residual = true;
    fixture_spec_refused(&config, fixture_box_env(OBS, DIM), "an odd number of equal widths");
}

// Which parts of nets change in an update.
typedef struct changes {
    bool policy, policy_target, critic, critic_target;
} changes;

static bool
part_changed(const trial *t, const uint8_t *before, uint32_t net, fixture_part part)
{
    size_t count;
    float *now = dpg_fixture_part(t->a, &t->config, &t->spec, net, part, &count);
    const uint8_t *was = before + dpg_fixture_part_at(&t->config, &t->spec, net, part);
    bool changed = memcmp(now, was, count * sizeof(*now)) != 0;
    free(now);
    return changed;
}

static changes
update_changes(trial *t)
{
    size_t length;
    float result[ALGO_NUMBERS_MAX];
    uint8_t *before = fixture_save(t->a, &length);
    T_OK(algo_update(t->a, &t->batch, 1e-2f, NULL, result));
    changes now = {
        .policy = part_changed(t, before, 0, FIXTURE_PARAMS),
        .policy_target = dpg_fixture_has_part(&t->config, 0, FIXTURE_TARGET) &&
                         part_changed(t, before, 0, FIXTURE_TARGET),
        .critic = part_changed(t, before, 1, FIXTURE_PARAMS),
        .critic_target = part_changed(t, before, 1, FIXTURE_TARGET),
    };
    if (dpg_fixture_nets(&t->config) == 3) {
        assert_int_equal(part_changed(t, before, 2, FIXTURE_PARAMS), now.critic);
        assert_int_equal(part_changed(t, before, 2, FIXTURE_TARGET), now.critic_target);
    }
    free(before);
    return now;
}

static void
expect_schedule(config_algo_name name, uint32_t delay, uint32_t period, uint32_t policy_every,
                uint32_t target_every)
{
    config_experiment config = dpg_fixture_config(name);
    config.algo.policy_delay = delay;
    config.algo.target_period = period;
    config.algo.target_rate = 0.5;
    trial t = trial_make(&config);
    for (uint64_t number = algo_updates(t.a) + 1; number <= 16; number++) {
        changes now = update_changes(&t);
        assert_true(now.critic);
        assert_int_equal(now.policy, number % policy_every == 0);
        assert_int_equal(now.policy_target, dpg_fixture_has_part(&config, 0, FIXTURE_TARGET) &&
                                                number % target_every == 0);
        assert_int_equal(now.critic_target, number % target_every == 0);
    }
    fixture_trial_free(&t);
}

static void
test_policy_and_targets_keep_to_their_schedules(void **state)
{
    (void)state;
    expect_schedule(CONFIG_ALGO_D4PG, 0, 5, 1, 5);
    expect_schedule(CONFIG_ALGO_DDPG, 0, 1, 1, 1);
    expect_schedule(CONFIG_ALGO_DDPG, 3, 1, 3, 3);
    expect_schedule(CONFIG_ALGO_TD3, 0, 1, 2, 2);
    expect_schedule(CONFIG_ALGO_TD3, 1, 4, 1, 4);
    expect_schedule(CONFIG_ALGO_TD3, 2, 3, 2, 6); // targets change where the policy does
    expect_schedule(CONFIG_ALGO_SAC, 0, 4, 1, 4);
    expect_schedule(CONFIG_ALGO_SAC, 2, 1, 2, 2);
}

// Powers of two change no bit: what is learned does not depend on the units of the actions.
static void
test_bounds_are_only_units(void **state)
{
    (void)state;
    for (size_t n = 0; n < DPG_FIXTURE_METHODS; n++) {
        config_experiment config = dpg_fixture_method(n);
        trial t = trial_make(&config), half = trial_make(&config);
        algo_destroy(half.a);
        half.spec = fixture_box_env(OBS, DIM);
        for (int i = 0; i < DIM; i++) {
            half.spec.action_low[i] /= 2;
            half.spec.action_high[i] /= 2;
        }
        for (int i = 0; i < B * DIM; i++) {
            ((float *)half.batch.action)[i] /= 2;
        }
        half.a = fixture_create(&half.spec, &config, 1);
        float result[ALGO_NUMBERS_MAX];
        for (int i = 0; i < 3; i++) {
            T_OK(algo_update(half.a, &half.batch, 1e-2f, NULL, result));
        }
        assert_memory_equal(algo_policy_params(t.a), algo_policy_params(half.a),
                            policy_spec_params(&t.spec) * sizeof(float));
        fixture_trial_free(&t);
        fixture_trial_free(&half);
    }
}

static void
test_rows_of_weight_zero_teach_critics_nothing(void **state)
{
    (void)state;
    for (size_t n = 0; n < DPG_FIXTURE_METHODS; n++) {
        config_experiment config = dpg_fixture_method(n);
        trial t = trial_make(&config);
        memset((void *)t.batch.weight, 0, B * sizeof(float));
        float result[ALGO_NUMBERS_MAX];
        float priorities[B];
        T_OK(algo_update(t.a, &t.batch, 1e-2f, priorities, result));
        assert_true(result[ALGO_LOSS] == 0.0f && result[ALGO_GRAD_NORM] == 0.0f &&
                    result[ALGO_TD_ABS] > 0.0f);
        for (int i = 0; i < B; i++) {
            assert_true(priorities[i] >= 0.0f);
        }
        fixture_trial_free(&t);
    }
}

static void
test_first_actions_are_near_the_middle_and_critics_differ(void **state)
{
    (void)state;
    config_experiment config = dpg_fixture_config(CONFIG_ALGO_D4PG);
    config.algo.critics = 2;
    policy_spec spec;
    algo *a = dpg_fixture_algo(&spec, &config, OBS, DIM, 1);
    nn_net net;
    nn_context *context = nn_context_create(NULL);
    nn_net_init(&net, context, &spec, 1);
    memcpy(net.params, algo_policy_params(a), net.param_count * sizeof(float));
    const float *y = nn_net_forward(&net, (float[OBS]){1, -1, 2, 0.5f}, 1);
    for (int i = 0; i < DIM; i++) {
        assert_true(y[i] != 0.0f && fabsf(y[i]) < 0.1f);
    }
    size_t count;
    float *first = dpg_fixture_part(a, &config, &spec, 1, FIXTURE_PARAMS, &count);
    float *second = dpg_fixture_part(a, &config, &spec, 2, FIXTURE_PARAMS, &count);
    assert_memory_not_equal(first, second, count * sizeof(float));
    free(first);
    free(second);
    nn_net_fini(&net);
    nn_context_destroy(context);
    algo_destroy(a);
}

// The mean of e^-|k| over the atoms to one side, and to both.
static void
test_untrained_distributions_are_close_to_a_return_of_0(void **state)
{
    (void)state;
    static const struct {
        double low, high, mean;
    } supports[] = {
        {-10, 10, 0}, {0, 200, 5.82}, {-200, 0, -5.82}, {5, 15, 5.29}, {-15, -5, -5.29},
    };
    oct_rng rng;
    oct_rng_init(&rng, 7, 0);
    algo_batch batch = dpg_fixture_batch(&rng, B, OBS, DIM);
    for (size_t i = 0; i < OCT_COUNTOF(supports); i++) {
        config_experiment config = dpg_fixture_config(CONFIG_ALGO_D4PG);
        config.algo.value_min = supports[i].low;
        config.algo.value_max = supports[i].high;
        policy_spec spec;
        algo *a = dpg_fixture_algo(&spec, &config, OBS, DIM, 1);
        // Biases end with the critic's parameters; none is far from 0 for the most likely atom.
        size_t count;
        float *params = dpg_fixture_part(a, &config, &spec, 1, FIXTURE_PARAMS, &count);
        float largest = params[count - 1];
        for (uint32_t j = 2; j <= config.algo.atoms; j++) {
            largest = fmaxf(largest, params[count - j]);
        }
        T_NEAR((double)largest, 0, 1e-6, 0);
        free(params);
        float result[ALGO_NUMBERS_MAX];
        T_OK(algo_update(a, &batch, 1e-3f, NULL, result));
        T_NEAR((double)result[ALGO_VALUE], supports[i].mean, 0.01, 0);
        // The value is the same everywhere, so the policy has nothing to follow yet.
        T_NEAR((double)result[ALGO_POLICY_GRAD_NORM], 0, 1e-6, 0);
        T_OK(algo_update(a, &batch, 1e-3f, NULL, result));
        assert_true(result[ALGO_POLICY_GRAD_NORM] > 1e-6f);
        algo_destroy(a);
    }
    fixture_batch_free(&batch);
}

// The last bias of the policy becomes so large that one number of each action is at an end.
static void
drive_to_an_end(trial *t)
{
    static const float bias = -100;
    size_t length, count = policy_spec_params(&t->spec);
    uint8_t *bytes = fixture_save(t->a, &length);
    size_t at = dpg_fixture_part_at(&t->config, &t->spec, 0, FIXTURE_PARAMS);
    memcpy(bytes + at + (count - 1) * sizeof(bias), &bias, sizeof(bias));
    fixture_load_changed(t->a, bytes, length);
    free(bytes);
}

static void
test_saturation_is_the_share_of_actions_at_an_end(void **state)
{
    (void)state;
    static const config_algo_name names[] = {CONFIG_ALGO_D4PG, CONFIG_ALGO_DDPG, CONFIG_ALGO_TD3};
    for (size_t i = 0; i < OCT_COUNTOF(names); i++) {
        config_experiment config = dpg_fixture_config(names[i]);
        trial t = trial_make(&config);
        float result[ALGO_NUMBERS_MAX];
        for (int end = 0; end < 2; end++) {
            int learned = 0;
            for (int k = 0; k < 2; k++) { // td3's policy learns in one of two updates
                T_OK(algo_update(t.a, &t.batch, 1e-6f, NULL, result));
                float share = fixture_number(&config, result, "saturation");
                assert_true(isnan(share) || share == (float)end / DIM);
                learned += !isnan(share);
            }
            assert_int_equal(learned, names[i] == CONFIG_ALGO_TD3 ? 1 : 2);
            drive_to_an_end(&t);
        }
        fixture_trial_free(&t);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nan_or_infinity_in_any_column_changes_nothing),
        cmocka_unit_test(test_overflowing_gradient_changes_nothing),
        cmocka_unit_test(test_actions_beyond_their_bounds_are_refused),
        cmocka_unit_test(test_batches_of_no_or_too_many_rows_are_refused),
        cmocka_unit_test(test_what_cannot_be_learned_is_refused_in_words),
        cmocka_unit_test(test_policy_and_targets_keep_to_their_schedules),
        cmocka_unit_test(test_bounds_are_only_units),
        cmocka_unit_test(test_rows_of_weight_zero_teach_critics_nothing),
        cmocka_unit_test(test_first_actions_are_near_the_middle_and_critics_differ),
        cmocka_unit_test(test_untrained_distributions_are_close_to_a_return_of_0),
        cmocka_unit_test(test_saturation_is_the_share_of_actions_at_an_end),
    };
    char warning[200];
    (void)nn_blas_init(1, warning, sizeof(warning)); // idle threads would only spin
    return cmocka_run_group_tests(tests, NULL, NULL);
}
