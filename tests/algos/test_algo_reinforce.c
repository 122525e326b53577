// REINFORCE: which rows count, what is behind the last of them, what is refused, saved and loaded.
#include <math.h>
#include <stdlib.h>

#include "common/oct_reason.h"
#include "nn/nn_net.h"
#include "tests/algos/reinforce_fixture.h"
#include "tests/support/oct_test.h"

enum { OBS = REINFORCE_OBS, DIM = REINFORCE_DIM, T = REINFORCE_STEPS, B = REINFORCE_WINDOWS };

typedef reinforce_trial trial;

static trial
trial_make(bool is_box)
{
    return reinforce_fixture_trial(reinforce_fixture_config(), is_box, 1);
}

// ---- what it asks for

static void
test_it_asks_for_whole_episodes_each_once(void **state)
{
    (void)state;
    config_experiment config = reinforce_fixture_config();
    config.algo.lag_max = 7;
    policy_spec spec = fixture_env(OBS, DIM);
    algo_wants wants;
    oct_reason why = {""};
    T_OK(algo_make_spec(&config, &spec, &wants, &why));
    assert_int_equal(wants.window, ALGO_WINDOW_SEQUENCE);
    assert_int_equal(wants.steps, T);
    assert_int_equal(wants.stride, 0);
    assert_true(wants.each_once);
    assert_int_equal(wants.lag_max, 7);
    assert_int_equal(spec.head, POLICY_HEAD_LOGITS);
}

static void
test_a_box_gets_a_gaussian_of_the_deviation_asked_for(void **state)
{
    (void)state;
    trial t = trial_make(true);
    assert_int_equal(t.spec.head, POLICY_HEAD_GAUSSIAN);
    assert_true(policy_spec_has_deviation(&t.spec));
    const float *log_std = algo_policy_params(t.a) + policy_spec_deviation(&t.spec);
    for (uint32_t i = 0; i < DIM; i++) {
        T_NEAR((double)log_std[i], log(0.5), 1e-6, 0);
    }
    algo_destroy(t.a);
}

// ---- rows without an action

static void
expect_padding_does_not_count(bool is_box)
{
    trial t = trial_make(is_box), same = trial_make(is_box);
    algo_batch batch = reinforce_fixture_batch(&t.rng, &t.spec, B, T);
    float result[ALGO_NUMBERS_MAX], other[ALGO_NUMBERS_MAX];
    uint32_t count, extra_dim = policy_spec_extra_dim(&t.spec);
    (void)algo_numbers(&t.config, &count);
    T_OK(algo_update(t.a, &batch, 1e-2f, NULL, result));
    for (size_t row = 0; row < B * T; row++) {
        if ((batch.flags[row] & ALGO_END) == 0) {
            continue;
        }
        ((float *)batch.reward)[row] = NAN;
        ((float *)batch.extra)[row * extra_dim] = NAN;
        memset((uint8_t *)batch.action + row * policy_spec_action_bytes(&t.spec), 0x7f,
               policy_spec_action_bytes(&t.spec));
        bool is_fill = row % T > 0 && (batch.flags[row - 1] & ALGO_END) != 0;
        if (is_fill) { // an end row has the last observation, those behind it nothing
            ((float *)batch.obs)[(row / T * (T + 1) + row % T) * OBS] = NAN;
        }
    }
    T_OK(algo_update(same.a, &batch, 1e-2f, NULL, other));
    assert_memory_equal(result, other, count * sizeof(*result));
    fixture_same_state(t.a, same.a);
    fixture_batch_free(&batch);
    algo_destroy(t.a);
    algo_destroy(same.a);
}

static void
test_rows_without_an_action_do_not_count(void **state)
{
    (void)state;
    expect_padding_does_not_count(false);
    expect_padding_does_not_count(true);
}

// ---- what is behind the last action

// The value's loss for one action of reward 0, discount 1, where the observation behind it is the
// one before it: 0 when the return is V(s) there, V(s)^2 / 2 when nothing is behind.
static float
loss_behind(unsigned first_flags, unsigned next_flags, float *value)
{
    config_experiment config = reinforce_fixture_config();
    config.algo.discount = 1;
    trial t = reinforce_fixture_trial(config, false, 1);
    algo_batch batch = reinforce_fixture_batch(&t.rng, &t.spec, 1, T);
    float *obs = (float *)batch.obs, result[ALGO_NUMBERS_MAX];
    uint8_t *flags = (uint8_t *)batch.flags;
    memcpy(obs + OBS, obs, OBS * sizeof(*obs));
    flags[0] = (uint8_t)(ALGO_FIRST | first_flags);
    flags[1] = (uint8_t)next_flags;
    memset(flags + 2, ALGO_END, T - 2);
    ((float *)batch.reward)[0] = 0;
    T_OK(algo_update(t.a, &batch, 0.0f, NULL, result));
    *value = fixture_number(&config, result, "value");
    fixture_batch_free(&batch);
    algo_destroy(t.a);
    return fixture_number(&config, result, "value_loss");
}

static void
test_nothing_is_behind_a_terminated_episode(void **state)
{
    (void)state;
    float value;
    float loss = loss_behind(ALGO_TERMINATED, ALGO_END, &value);
    assert_true(fabsf(value) > 1e-3f);
    T_NEAR((double)loss, (double)value * (double)value / 2, 1e-7, 1e-5);
    loss = loss_behind(ALGO_TERMINATED | ALGO_TRUNCATED, ALGO_END, &value); // termination wins
    T_NEAR((double)loss, (double)value * (double)value / 2, 1e-7, 1e-5);
}

static void
test_the_value_is_behind_a_truncated_or_failed_episode(void **state)
{
    (void)state;
    float value;
    T_NEAR((double)loss_behind(ALGO_TRUNCATED, ALGO_END, &value), 0, 1e-12, 0);
    T_NEAR((double)loss_behind(0, ALGO_END | ALGO_FAILED, &value), 0, 1e-12, 0);
}

static void
test_the_value_is_behind_a_window_that_ends_in_an_episode(void **state)
{
    (void)state;
    config_experiment config = reinforce_fixture_config();
    config.algo.discount = 1;
    config.algo.sequence_steps = 1;
    trial t = reinforce_fixture_trial(config, false, 1);
    algo_batch batch = reinforce_fixture_batch(&t.rng, &t.spec, 1, 1); // window 0 is cut
    float *obs = (float *)batch.obs, result[ALGO_NUMBERS_MAX];
    memcpy(obs + OBS, obs, OBS * sizeof(*obs));
    ((float *)batch.reward)[0] = 3;
    T_OK(algo_update(t.a, &batch, 0.0f, NULL, result));
    T_NEAR((double)fixture_number(&config, result, "value_loss"), 4.5, 1e-5,
           0); // (3 + V - V)^2 / 2
    fixture_batch_free(&batch);
    algo_destroy(t.a);
}

// ---- importance weights

static void
test_weights_are_cut_and_told(void **state)
{
    (void)state;
    trial t = trial_make(false), same = trial_make(false);
    algo_batch batch = reinforce_fixture_batch(&t.rng, &t.spec, B, T);
    float result[ALGO_NUMBERS_MAX];
    for (int i = 0; i < 2; i++) { // far above ratio_max, and farther
        for (size_t row = 0; row < B * T; row++) {
            ((float *)batch.extra)[row] = i == 0 ? -5.0f : -15.0f;
        }
        T_OK(algo_update(i == 0 ? t.a : same.a, &batch, 1e-2f, NULL, result));
        assert_true(fixture_number(&t.config, result, "ratio_clipped") == 1.0f);
        assert_true(fixture_number(&t.config, result, "ratio_mean") > 60.0f);
    }
    fixture_same_state(t.a, same.a);
    for (size_t row = 0; row < B * T; row++) {
        ((float *)batch.extra)[row] = 30.0f; // what never happens any more teaches nothing
    }
    T_OK(algo_update(t.a, &batch, 0.0f, NULL, result));
    assert_true(fixture_number(&t.config, result, "ratio_clipped") == 0.0f);
    assert_true(fixture_number(&t.config, result, "ratio_mean") < 1e-9f);
    fixture_batch_free(&batch);
    algo_destroy(t.a);
    algo_destroy(same.a);
}

// ---- learning

static void
test_it_learns_which_action_pays(void **state)
{
    (void)state;
    reinforce_fixture_learns_bandit(reinforce_fixture_config(), 5e-3f, 1500);
}

static void
test_deviations_stay_where_they_count(void **state)
{
    (void)state;
    config_experiment config = reinforce_fixture_config();
    config.algo.entropy_cost = 1000;
    trial t = reinforce_fixture_trial(config, true, 1);
    algo_batch batch = reinforce_fixture_batch(&t.rng, &t.spec, B, T);
    float result[ALGO_NUMBERS_MAX];
    T_OK(algo_update(t.a, &batch, 10.0f, NULL, result));
    const float *log_std = algo_policy_params(t.a) + policy_spec_deviation(&t.spec);
    for (uint32_t i = 0; i < DIM; i++) {
        assert_true(log_std[i] == 2.0f);
    }
    fixture_batch_free(&batch);
    algo_destroy(t.a);
}

// ---- refusals

static void
expect_refused(bool is_box, size_t column, size_t at, float bad, oct_err want)
{
    reinforce_fixture_refused(reinforce_fixture_config(), is_box, column, at, bad, want);
}

static void
test_numbers_that_are_not_finite_are_refused(void **state)
{
    (void)state;
    for (int is_box = 0; is_box < 2; is_box++) {
        expect_refused(is_box, 0, 1, NAN, OCT_EINTERNAL);
        expect_refused(is_box, 0, T * OBS, INFINITY, OCT_EINTERNAL); // behind window 0
        expect_refused(is_box, 1, 0, NAN, OCT_EINTERNAL);
        expect_refused(is_box, 2, 0, -INFINITY, OCT_EINTERNAL);
    }
    expect_refused(true, 2, 1, NAN, OCT_EINTERNAL); // the number drawn
    expect_refused(true, 3, 0, NAN, OCT_EINTERNAL);
    expect_refused(true, 3, 1, -INFINITY, OCT_EINTERNAL);
}

static void
test_actions_out_of_range_are_refused(void **state)
{
    (void)state;
    expect_refused(true, 3, 0, 2.5f, OCT_EINVAL);
    expect_refused(true, 3, 1, -2.5f, OCT_EINVAL);
    trial t = trial_make(false);
    const int32_t bad[] = {-1, DIM, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < OCT_COUNTOF(bad); i++) {
        algo_batch batch = reinforce_fixture_batch(&t.rng, &t.spec, B, T);
        ((int32_t *)batch.action)[0] = bad[i];
        fixture_update_refused(t.a, &batch, OCT_EINVAL);
        fixture_batch_free(&batch);
    }
    algo_destroy(t.a);
}

static void
test_batches_of_another_shape_are_refused(void **state)
{
    (void)state;
    trial t = trial_make(false);
    algo_batch batch = reinforce_fixture_batch(&t.rng, &t.spec, B + 1, T);
    fixture_update_refused(t.a, &batch, OCT_EINVAL);
    batch.B = 0;
    fixture_update_refused(t.a, &batch, OCT_EINVAL);
    batch.B = B;
    batch.T = T - 1;
    fixture_update_refused(t.a, &batch, OCT_EINVAL);
    batch.T = T;
    memset((uint8_t *)batch.flags, ALGO_END, B * T); // nobody acted
    fixture_update_refused(t.a, &batch, OCT_EINVAL);
    fixture_batch_free(&batch);
    algo_destroy(t.a);
}

// ---- state

static void
test_same_seed_and_batches_give_the_same_bits_across_a_checkpoint(void **state)
{
    (void)state;
    reinforce_fixture_resumes(reinforce_fixture_config());
}

static void
test_a_damaged_state_is_refused_whole(void **state)
{
    (void)state;
    trial t = trial_make(true), other = trial_make(true);
    reinforce_fixture_train(t.a, &t.rng, &t.spec, 3);
    size_t length;
    uint8_t *bytes = fixture_save(t.a, &length);
    for (size_t cut = 0; cut < length; cut += 97) {
        fixture_load_refused(other.a, bytes, cut);
    }
    for (uint32_t net = 0; net < 2; net++) {
        size_t at = reinforce_fixture_part_at(&t.config, &t.spec, net, FIXTURE_FIRST_MOMENT);
        uint8_t *copy = oct_alloc(length);
        const float bad = NAN;
        memcpy(copy, bytes, length);
        memcpy(copy + at, &bad, sizeof(bad));
        fixture_seal(copy, length);
        fixture_load_refused(other.a, copy, length);
        free(copy);
    }
    config_experiment config = reinforce_fixture_config();
    config.network.critic_hidden = (config_ints){.count = 1, .value = {5}};
    trial wide = reinforce_fixture_trial(config, true, 1);
    fixture_load_refused(wide.a, bytes, length);
    free(bytes);
    algo_destroy(t.a);
    algo_destroy(other.a);
    algo_destroy(wide.a);
}

// ---- projection

static void
test_the_policy_learns_through_its_projection(void **state)
{
    (void)state;
    reinforce_fixture_projects(reinforce_fixture_config());
}

static void
test_the_entropy_cost_falls(void **state)
{
    (void)state;
    reinforce_fixture_entropy_cost_falls(reinforce_fixture_config());
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_asks_for_whole_episodes_each_once),
        cmocka_unit_test(test_a_box_gets_a_gaussian_of_the_deviation_asked_for),
        cmocka_unit_test(test_rows_without_an_action_do_not_count),
        cmocka_unit_test(test_nothing_is_behind_a_terminated_episode),
        cmocka_unit_test(test_the_value_is_behind_a_truncated_or_failed_episode),
        cmocka_unit_test(test_the_value_is_behind_a_window_that_ends_in_an_episode),
        cmocka_unit_test(test_weights_are_cut_and_told),
        cmocka_unit_test(test_it_learns_which_action_pays),
        cmocka_unit_test(test_deviations_stay_where_they_count),
        cmocka_unit_test(test_numbers_that_are_not_finite_are_refused),
        cmocka_unit_test(test_actions_out_of_range_are_refused),
        cmocka_unit_test(test_batches_of_another_shape_are_refused),
        cmocka_unit_test(test_same_seed_and_batches_give_the_same_bits_across_a_checkpoint),
        cmocka_unit_test(test_a_damaged_state_is_refused_whole),
        cmocka_unit_test(test_the_policy_learns_through_its_projection),
        cmocka_unit_test(test_the_entropy_cost_falls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
