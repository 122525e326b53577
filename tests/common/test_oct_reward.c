// Rewards are clipped on both sides where that is asked for, and what is no number stays none.
#include <math.h>

#include "common/oct_reward.h"
#include "tests/support/oct_test.h"

static void
test_rewards_are_clipped_on_both_sides(void **state)
{
    (void)state;
    assert_true(oct_reward_clip(3.0f, 0.5f) == 0.5f);
    assert_true(oct_reward_clip(-3.0f, 0.5f) == -0.5f);
    assert_true(oct_reward_clip(0.25f, 0.5f) == 0.25f);
    assert_true(oct_reward_clip(-INFINITY, 0.5f) == -0.5f);
    assert_true(oct_reward_clip(-3.0f, 0.0f) == -3.0f); // off
}

static void
test_what_is_no_number_stays_none(void **state)
{
    (void)state;
    assert_true(isnan(oct_reward_clip(NAN, 0.5f)));
    assert_true(isnan(oct_reward_clip(-NAN, 0.5f)));
    assert_true(isnan(oct_reward_clip(NAN, 0.0f)));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rewards_are_clipped_on_both_sides),
        cmocka_unit_test(test_what_is_no_number_stays_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
