// DQN learns a small problem, equals the double-precision update, and ignores batches with NaN or
// infinity.
#include <stdlib.h>

#include "algos/algo_target.h"
#include "config/config_table.h"
#include "tests/algos/algo_fixture.h"
#include "tests/algos/dqn_double.h"
#include "tests/support/oct_test.h"

static void
learn_corridor(bool double_q, double target_rate, uint32_t target_period)
{
    config_experiment config = fixture_config();
    config.network.hidden = (config_ints){.count = 1, .value = {32}};
    config.algo.double_q = double_q;
    config.algo.target_rate = target_rate;
    config.algo.target_period = target_period;
    policy_spec spec;
    algo *a = fixture_algo(&spec, &config, CORRIDOR, 2, 1);
    fixture_corridor c;
    algo_batch batch = fixture_corridor_batch(&c);
    float td[CORRIDOR_ROWS];
    float result[ALGO_NUMBERS_MAX];
    for (int i = 0; i < 1500; i++) {
        T_OK(algo_update(a, &batch, 3e-3f, td, result));
    }
    // Every TD error is near 0, so the values solve Bellman's equation; only the best ones do.
    for (int i = 0; i < CORRIDOR_ROWS; i++) {
        T_NEAR(td[i], 0, 0.02, 0);
    }
    // The mean over all state-action pairs: going right from cell s is worth d^(5 - s), going left
    // first moves to the cell below.
    double mean = 0;
    for (int cell = 0; cell < CORRIDOR; cell++) {
        double right = pow((double)CORRIDOR_DISCOUNT, CORRIDOR - 1 - cell);
        double below = pow((double)CORRIDOR_DISCOUNT, CORRIDOR - 1 - OCT_MAX(cell - 1, 0));
        mean += (right + (double)CORRIDOR_DISCOUNT * below) / CORRIDOR_ROWS;
    }
    T_NEAR(result[ALGO_VALUE], mean, 0.02, 0);
    algo_destroy(a);
}

static void
test_dqn_learns_the_values_of_a_corridor(void **state)
{
    (void)state;
    learn_corridor(true, 1.0, 20);
}

static void
test_plain_q_with_polyak_learns_the_values_of_a_corridor(void **state)
{
    (void)state;
    learn_corridor(false, 0.05, 1);
}

enum { OBS = 4, ACTIONS = 3, B = 16 };

typedef fixture_trial trial;

static trial
trial_make(const config_experiment *config)
{
    oct_rng rng;
    oct_rng_init(&rng, 5, 0);
    algo_batch batch = fixture_batch(&rng, B, OBS, ACTIONS);
    return fixture_trial_make(config, fixture_env(OBS, ACTIONS), batch, 1);
}

static void
test_actions_out_of_range_are_refused(void **state)
{
    (void)state;
    const int32_t bad[] = {ACTIONS, -1, INT32_MIN, INT32_MAX};
    config_experiment config = fixture_config();
    trial t = trial_make(&config);
    int32_t *action = (int32_t *)t.batch.action;
    for (size_t i = 0; i < OCT_COUNTOF(bad); i++) {
        int32_t kept = action[i * 5];
        action[i * 5] = bad[i];
        fixture_update_refused(t.a, &t.batch, OCT_EINVAL);
        action[i * 5] = kept;
    }
    fixture_trial_free(&t);
}

static void
test_batches_of_no_or_too_many_rows_are_refused(void **state)
{
    (void)state;
    config_experiment config = fixture_config();
    trial t = trial_make(&config);
    t.batch.B = 0;
    fixture_update_refused(t.a, &t.batch, OCT_EINVAL);
    t.batch.B = B + 1;
    fixture_update_refused(t.a, &t.batch, OCT_EINVAL);
    fixture_trial_free(&t);
}

static void
refuse_in_every_column(const config_experiment *config, float bad)
{
    trial t = trial_make(config);
    fixture_columns_refused(&t, bad);
    float result[ALGO_NUMBERS_MAX];
    T_OK(algo_update(t.a, &t.batch, 1e-2f, NULL, result));
    fixture_trial_free(&t);
}

static void
test_nan_or_infinity_in_any_column_changes_nothing(void **state)
{
    (void)state;
    config_experiment config = fixture_config();
    for (int double_q = 0; double_q < 2; double_q++) {
        for (int norm = 0; norm < 2; norm++) {
            config.algo.double_q = double_q;
            config.network.first_layer_norm = norm;
            refuse_in_every_column(&config, NAN);
        }
    }
    config.network.first_layer_norm = false;
    for (int activation = POLICY_RELU; activation < POLICY_ACTIVATION_COUNT; activation++) {
        config.network.activation = (policy_activation)activation; // tanh of infinity is 1
        refuse_in_every_column(&config, INFINITY);
        refuse_in_every_column(&config, -INFINITY);
    }
}

// A terminal row's next observation is not looked at by the target, but NaN there is still a fault.
static void
test_nan_behind_a_terminal_row_changes_nothing(void **state)
{
    (void)state;
    config_experiment config = fixture_config();
    trial t = trial_make(&config);
    assert_true(t.batch.discount[0] == 0.0f);
    ((float *)t.batch.next)[0] = NAN;
    fixture_update_refused(t.a, &t.batch, OCT_EINTERNAL);
    fixture_trial_free(&t);
}

// Finite values, finite loss (Huber's is linear out there), but a gradient beyond fp32.
static void
test_overflowing_gradient_changes_nothing(void **state)
{
    (void)state;
    config_experiment config = fixture_config();
    trial t = trial_make(&config);
    ((float *)t.batch.obs)[0] = 1e25f;
    fixture_update_refused(t.a, &t.batch, OCT_EINTERNAL);
    fixture_trial_free(&t);
}

static void
test_terminal_rows_do_not_bootstrap(void **state)
{
    (void)state;
    config_experiment config = fixture_config();
    trial t = trial_make(&config), u = trial_make(&config);
    for (int i = 0; i < B; i++) {
        ((float *)t.batch.discount)[i] = 0.0f;
        ((float *)u.batch.discount)[i] = 0.0f;
    }
    for (int i = 0; i < B * OBS; i++) {
        ((float *)u.batch.next)[i] += 3.0f;
    }
    float first[ALGO_NUMBERS_MAX] = {0}, second[ALGO_NUMBERS_MAX] = {0};
    T_OK(algo_update(t.a, &t.batch, 1e-2f, NULL, first));
    T_OK(algo_update(u.a, &u.batch, 1e-2f, NULL, second));
    assert_memory_equal(&first, &second, sizeof(first));
    fixture_trial_free(&t);
    fixture_trial_free(&u);
}

static void
test_rows_of_weight_zero_teach_nothing(void **state)
{
    (void)state;
    config_experiment config = fixture_config();
    trial t = trial_make(&config);
    float result[ALGO_NUMBERS_MAX];
    for (int i = 0; i < B; i++) {
        ((float *)t.batch.weight)[i] = 0.0f;
    }
    T_OK(algo_update(t.a, &t.batch, 1e-2f, NULL, result));
    assert_true(result[ALGO_LOSS] == 0.0f && result[ALGO_GRAD_NORM] == 0.0f &&
                result[ALGO_TD_ABS] > 0.0f);
    fixture_trial_free(&t);
}

// In fp32, too, what decays least still decays.
static void
test_weights_stay_finite_at_the_bounds_of_adam(void **state)
{
    (void)state;
    config_experiment config = fixture_config();
    config.algo.adam_beta1 = config_key_find("algo.adam_beta1")->max;
    config.algo.adam_beta2 = config_key_find("algo.adam_beta2")->max;
    trial t = trial_make(&config);
    assert_true(algo_all_finite(algo_policy_params(t.a), policy_spec_params(&t.spec)));
    fixture_trial_free(&t);
}

// SARSA's windows begin at every row, also at the one behind an episode's last action.
static void
test_sarsa_learns_nothing_where_no_action_was_taken(void **state)
{
    (void)state;
    config_experiment config = fixture_config();
    config.algo.target = CONFIG_TARGET_SARSA;
    policy_spec spec;
    algo *a = fixture_algo(&spec, &config, OBS, ACTIONS, 1);
    algo *alone = fixture_algo(&spec, &config, OBS, ACTIONS, 1);
    const float obs[3 * 3 * OBS] = {1, 2, 3, 4, [3 * OBS] = 4, 3, 2, 1, [6 * OBS] = 2, 2, 2, 2};
    const float reward[6] = {1, 1}, weight[3] = {1, 1, 1};
    const int32_t action[6] = {0};
    const uint8_t flags[6] = {0, 0, ALGO_END, ALGO_FIRST, ALGO_END | ALGO_FAILED, ALGO_FIRST};
    algo_batch batch = {.B = 3,
                        .T = 2,
                        .obs = obs,
                        .action = action,
                        .reward = reward,
                        .flags = flags,
                        .weight = weight};
    float td[3], first[1], got[ALGO_NUMBERS_MAX], want[ALGO_NUMBERS_MAX];
    T_OK(algo_update(a, &batch, 1e-3f, td, got));
    assert_true(td[0] > 0 && td[1] == 0 && td[2] == 0);
    batch.B = 1;
    T_OK(algo_update(alone, &batch, 1e-3f, first, want));
    T_NEAR((double)td[0], (double)first[0], 1e-6, 0);
    T_NEAR((double)got[ALGO_TD_ABS], (double)want[ALGO_TD_ABS], 1e-6, 0);
    T_NEAR((double)got[ALGO_VALUE], (double)want[ALGO_VALUE], 1e-6, 0);
    batch.B = 2; // and where there is no other window
    batch.obs += 3 * OBS;
    batch.flags += 2;
    T_OK(algo_update(a, &batch, 1e-3f, td, got));
    assert_true(td[0] == 0 && td[1] == 0 && got[ALGO_TD_ABS] == 0 && got[ALGO_GRAD_NORM] == 0);
    algo_destroy(alone);
    algo_destroy(a);
}

// One action, after which an episode is cut: three steps of it are as one, whatever comes behind.
static void
test_sarsa_bootstraps_from_where_an_episode_was_cut(void **state)
{
    (void)state;
    enum { STEPS = 3, T = STEPS + 1 };
    config_experiment config = fixture_config();
    config.algo.target = CONFIG_TARGET_SARSA;
    config.algo.target_epsilon = 0.25;
    policy_spec spec;
    algo *one = fixture_algo(&spec, &config, OBS, ACTIONS, 1);
    config.algo.n_step = STEPS;
    algo *many = fixture_algo(&spec, &config, OBS, ACTIONS, 1);
    const float obs[(T + 1) * OBS] = {1, 2, 3, 4, -4, 3, -2, 1, 9, 9, 9, 9, -7, 7, 5, 6, 2};
    const float reward[T] = {1, 0, 50, 60}, weight[1] = {1};
    const int32_t action[T] = {1, 0, 2, 1};
    const uint8_t flags[T] = {ALGO_TRUNCATED, ALGO_END, ALGO_FIRST};
    algo_batch batch = {.B = 1,
                        .T = T,
                        .obs = obs,
                        .action = action,
                        .reward = reward,
                        .flags = flags,
                        .weight = weight};
    float td[2], got[ALGO_NUMBERS_MAX] = {0}, want[ALGO_NUMBERS_MAX] = {0};
    T_OK(algo_update(many, &batch, 1e-3f, &td[0], got));
    batch.T = 2;
    T_OK(algo_update(one, &batch, 1e-3f, &td[1], want));
    assert_memory_equal(&td[0], &td[1], sizeof(td[0]));
    assert_memory_equal(got, want, sizeof(want));
    fixture_same_state(many, one);
    algo_destroy(many);
    algo_destroy(one);
}

// As the policy acts: of equal actions the first.
static void
test_ties_bootstrap_from_the_first_of_the_best(void **state)
{
    (void)state;
    const algo_target target = {.kind = CONFIG_TARGET_Q_LEARNING};
    const float choose[4] = {1, 3, 3, 2}, value[4] = {10, 20, 30, 40};
    assert_int_equal(algo_target_best(choose, 4), 1);
    T_NEAR((double)algo_target_value(&target, choose, value, 4, -1), 20, 0, 0);
}

static void
test_same_seed_and_batches_give_the_same_bits(void **state)
{
    (void)state;
    config_experiment config = fixture_config();
    trial t = trial_make(&config), u = trial_make(&config);
    for (int i = 0; i < 50; i++) {
        float first[B], second[B];
        float one[ALGO_NUMBERS_MAX] = {0}, two[ALGO_NUMBERS_MAX] = {0};
        T_OK(algo_update(t.a, &t.batch, 1e-2f, first, one));
        T_OK(algo_update(u.a, &u.batch, 1e-2f, second, two));
        assert_memory_equal(first, second, sizeof(first));
        assert_memory_equal(&one, &two, sizeof(one));
    }
    fixture_same_state(t.a, u.a);
    assert_int_equal(algo_updates(t.a), 53);
    fixture_trial_free(&t);
    fixture_trial_free(&u);
}

// Against DQN in double: 3 updates from the same weights. adam_epsilon 1e-4 keeps a step smooth
// where a gradient is near 0, so that rounding of 1e-8 there moves it by 1e-4 of the rate.
static void
check_against_double(config_experiment config, uint32_t obs, uint32_t actions, uint32_t rows)
{
    oct_rng rng;
    oct_rng_init(&rng, (uint64_t)obs * 1000 + rows, actions);
    config.algo.adam_epsilon = 1e-4;
    policy_spec spec;
    algo *a = fixture_algo(&spec, &config, obs, actions, 9);
    dqn_double *want = dqn_double_create(&config, &spec, algo_policy_params(a));
    for (int step = 0; step < 3; step++) {
        float got_td[B];
        double want_td[B];
        float got[ALGO_NUMBERS_MAX];
        algo_batch batch = fixture_batch(&rng, rows, obs, actions);
        T_OK(algo_update(a, &batch, 1e-3f, got_td, got));
        dqn_double_result result = dqn_double_update(want, &batch, 1e-3, want_td);
        T_NEAR((double)got[ALGO_LOSS], result.loss, 1e-5, 1e-5);
        T_NEAR((double)got[ALGO_TD_ABS], result.td_abs, 1e-5, 1e-5);
        T_NEAR((double)got[ALGO_VALUE], result.value, 1e-5, 1e-5);
        T_NEAR((double)got[ALGO_GRAD_NORM], result.grad_norm, 1e-5, 1e-5);
        for (uint32_t i = 0; i < rows; i++) {
            T_NEAR((double)got_td[i], want_td[i], 1e-5, 1e-5);
        }
        for (size_t i = 0; i < want->online->param_count; i++) {
            T_NEAR((double)algo_policy_params(a)[i], want->online->params[i], 5e-6, 0);
        }
        fixture_batch_free(&batch);
    }
    dqn_double_destroy(want);
    algo_destroy(a);
}

static void
test_updates_equal_double_precision_at_awkward_sizes(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {1, 2, 3, 7, 15, 16};
    for (int a = 0; a < POLICY_ACTIVATION_COUNT; a++) {
        const int i = a % 6;
        config_experiment config = fixture_config();
        config.network.hidden =
            (config_ints){.count = 2, .value = {2 * sizes[i] + 1, sizes[(i + 2) % 6]}};
        config.network.activation = (policy_activation)a;
        config.network.first_layer_norm = i % 2 == 1;
        config.algo.double_q = i % 2 == 0;
        config.algo.target_period = 2;
        config.algo.target_rate = i % 3 == 0 ? 0.25 : 1;
        config.algo.grad_norm_max = i < 3 ? 0.1 : 0;
        check_against_double(config, sizes[(i + 3) % 6], sizes[(i + 1) % 6], sizes[i]);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_actions_out_of_range_are_refused),
        cmocka_unit_test(test_batches_of_no_or_too_many_rows_are_refused),
        cmocka_unit_test(test_nan_or_infinity_in_any_column_changes_nothing),
        cmocka_unit_test(test_nan_behind_a_terminal_row_changes_nothing),
        cmocka_unit_test(test_overflowing_gradient_changes_nothing),
        cmocka_unit_test(test_terminal_rows_do_not_bootstrap),
        cmocka_unit_test(test_rows_of_weight_zero_teach_nothing),
        cmocka_unit_test(test_weights_stay_finite_at_the_bounds_of_adam),
        cmocka_unit_test(test_sarsa_learns_nothing_where_no_action_was_taken),
        cmocka_unit_test(test_sarsa_bootstraps_from_where_an_episode_was_cut),
        cmocka_unit_test(test_ties_bootstrap_from_the_first_of_the_best),
        cmocka_unit_test(test_same_seed_and_batches_give_the_same_bits),
        cmocka_unit_test(test_updates_equal_double_precision_at_awkward_sizes),
        cmocka_unit_test(test_dqn_learns_the_values_of_a_corridor),
        cmocka_unit_test(test_plain_q_with_polyak_learns_the_values_of_a_corridor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
