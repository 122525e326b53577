// Outputs become actions as documented: ties, NaN, bounds of a box, expectations over atoms.
#include "policy/policy_net.h"

#include "tests/policy/random_policy.h"

static policy_spec
values_spec(uint32_t actions)
{
    const uint32_t widths[] = {2, actions};
    return random_spec(widths, 2, POLICY_RELU, false);
}

static void
test_ties_go_to_the_lower_index(void **state)
{
    (void)state;
    policy_spec spec = values_spec(3);
    const float y[] = {1.0f, 1.0f, 1.0f, 0.0f, 2.0f, 2.0f, -3.0f, -2.0f, -1.0f, -0.0f, 0.0f, -1.0f};
    const int32_t want[] = {0, 1, 2, 0};
    int32_t actions[4];
    policy_act(&spec, y, 4, actions);
    assert_memory_equal(actions, want, sizeof(want));
}

static void
test_nan_leaves_the_action_in_range(void **state)
{
    (void)state;
    policy_spec spec = values_spec(3);
    const float y[] = {NAN, NAN, NAN, 1.0f, NAN, 2.0f};
    int32_t actions[2];
    policy_act(&spec, y, 2, actions);
    assert_int_equal(actions[0], 0);
    assert_int_equal(actions[1], 2);
    spec.action_kind = POLICY_BOX;
    spec.head = POLICY_HEAD_TANH;
    for (uint32_t i = 0; i < 3; i++) {
        spec.action_low[i] = -2.0f;
        spec.action_high[i] = 2.0f;
    }
    float box[3];
    policy_act(&spec, y, 1, box);
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(box[i] >= -2.0f && box[i] <= 2.0f);
    }
}

static void
test_box_actions_reach_and_keep_their_bounds(void **state)
{
    (void)state;
    policy_spec spec = values_spec(3);
    spec.action_kind = POLICY_BOX;
    spec.head = POLICY_HEAD_TANH;
    const float low[] = {-2.0f, 0.1f, -3.4028234e38f}, high[] = {2.0f, 0.3f, 3.4028234e38f};
    memcpy(spec.action_low, low, sizeof(low));
    memcpy(spec.action_high, high, sizeof(high));
    const float y[] = {-50.0f, -50.0f, -50.0f, 50.0f, 50.0f, 50.0f, 0.0f, 0.5f, 0.0f};
    float actions[9];
    policy_act(&spec, y, 3, actions);
    assert_memory_equal(actions, low, sizeof(low));
    assert_memory_equal(actions + 3, high, sizeof(high));
    assert_true(actions[6] == 0.0f);
    T_NEAR(actions[7], 0.1 + (tanh(0.5) + 1.0) / 2.0 * 0.2, 0.0, 1e-6);
    assert_true(actions[8] >= low[2] && actions[8] <= high[2]);
}

// Three actions of 5 atoms on [-1, 1].
static policy_spec
atoms_spec(void)
{
    const uint32_t widths[] = {2, 15};
    policy_spec spec = random_spec(widths, 2, POLICY_RELU, false);
    spec.action_count = 3;
    spec.head = POLICY_HEAD_ATOMS;
    spec.atoms = 5;
    spec.value_min = -1.0f;
    spec.value_max = 1.0f;
    T_OK(policy_spec_check(&spec, NULL));
    return spec;
}

static void
test_atoms_choose_the_largest_expectation_not_the_largest_logit(void **state)
{
    (void)state;
    policy_spec spec = atoms_spec();
    const float y[3][15] = {
        {9, 0, 0, 0, 0, /* mean near -1 */ 0, 0, 0, 1, 1, /* above 0 */ 0, 0, 0, 0, 0},
        {0, 0, 0, 0, 0, /* equal means */ 0, 0, 0, 0, 0, 100, 0, 0, 0, 0},
        {0, 0, 0, 9, 0, /* exp overflows */ 0, 990, 0, 0, 1000, 0, 0, 0, 0, 0},
    };
    int32_t actions[3];
    policy_act(&spec, y[0], 3, actions);
    assert_int_equal(actions[0], 1);
    assert_int_equal(actions[1], 0);
    assert_int_equal(actions[2], 1);
}

static void
test_atoms_of_any_size_agree_with_double(void **state)
{
    (void)state;
    policy_spec spec = atoms_spec();
    oct_rng rng;
    oct_rng_init(&rng, 5, 1);
    for (int n = 0; n < 2000; n++) {
        float y[15];
        double mean[3] = {0}, mass;
        random_floats(y, 15, 30.0f, &rng);
        for (int a = 0; a < 3; a++) {
            mass = 0.0;
            for (int i = 0; i < 5; i++) {
                mass += exp((double)y[a * 5 + i]);
                mean[a] += exp((double)y[a * 5 + i]) * (-1.0 + 0.5 * i);
            }
            mean[a] /= mass;
        }
        int32_t action;
        policy_act(&spec, y, 1, &action);
        assert_in_range(action, 0, 2);
        for (int a = 0; a < 3; a++) {
            assert_true(mean[action] >= mean[a] - 1e-6);
        }
    }
}

static void
test_gaussian_heads_act_by_their_means(void **state)
{
    (void)state;
    policy_spec spec = values_spec(4);
    spec.action_kind = POLICY_BOX;
    spec.action_count = 2;
    spec.head = POLICY_HEAD_GAUSSIAN;
    spec.state_deviation = true;
    spec.action_low[0] = spec.action_low[1] = -2.0f;
    spec.action_high[0] = spec.action_high[1] = 4.0f;
    const float y[] = {0.5f, -1.5f, 7.0f, -7.0f}; // means, then deviations that nobody asks for
    float actions[2];
    policy_act(&spec, y, 1, actions);
    assert_true(actions[0] == 2.5f && actions[1] == -2.0f);
    spec.head = POLICY_HEAD_TANH_GAUSSIAN;
    spec.state_deviation = false;
    policy_act(&spec, y, 1, actions);
    T_NEAR((double)actions[0], 1.0 + 3.0 * tanh(0.5), 1e-6, 0.0);
    T_NEAR((double)actions[1], 1.0 + 3.0 * tanh(-1.5), 1e-6, 0.0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nan_leaves_the_action_in_range),
        cmocka_unit_test(test_ties_go_to_the_lower_index),
        cmocka_unit_test(test_box_actions_reach_and_keep_their_bounds),
        cmocka_unit_test(test_gaussian_heads_act_by_their_means),
        cmocka_unit_test(test_atoms_choose_the_largest_expectation_not_the_largest_logit),
        cmocka_unit_test(test_atoms_of_any_size_agree_with_double),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
