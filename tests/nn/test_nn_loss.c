// The Huber loss, its slope and its weighted mean, and that NaN and infinity are not hidden.
#include "nn/nn_loss.h"
#include "tests/support/oct_test.h"

static void
test_huber_of_nan_is_nan(void **state)
{
    (void)state;
    float error = NAN, weight = 1, slope = 0;
    assert_true(isnan(nn_loss_huber(&slope, &error, &weight, 1, 1)));
    assert_true(isnan(slope));
}

static void
test_huber_of_infinity_is_not_finite(void **state)
{
    (void)state;
    float error = INFINITY, weight = 1, slope = 0;
    assert_false(isfinite(nn_loss_huber(&slope, &error, &weight, 1, 1)));
}

static void
test_huber_is_square_inside_and_linear_outside(void **state)
{
    (void)state;
    const float error[] = {0, 0.5f, -0.5f, 2, -2, 3, -4};
    const float loss[] = {0, 0.125f, 0.125f, 2, 2, 4, 6};
    const float want[] = {0, 0.5f, -0.5f, 2, -2, 2, -2};
    const float weight = 1;
    for (size_t i = 0; i < OCT_COUNTOF(error); i++) {
        float slope;
        float got = nn_loss_huber(&slope, &error[i], &weight, 2, 1);
        assert_true(got == loss[i]);
        assert_true(slope == want[i]);
    }
}

static void
test_huber_averages_with_weights(void **state)
{
    (void)state;
    const float error[4] = {1, -1, 3, 0};
    const float weight[4] = {1, 0.5f, 0.25f, 1};
    float slope[4];
    // (0.5 + 0.25 + 0.25 * 2.5) / 4
    assert_true(nn_loss_huber(slope, error, weight, 1, 4) == 0.34375f);
    assert_memory_equal(slope, ((float[]){0.25f, -0.125f, 0.0625f, 0}), sizeof(slope));
}

static void
test_huber_slope_is_the_derivative(void **state)
{
    (void)state;
    const float weight = 0.75f, step = 0x1p-8f;
    for (float error = -3.0f; error <= 3.0f; error += 0.3f) {
        float slope, unused, above = error + step, below = error - step;
        (void)nn_loss_huber(&slope, &error, &weight, 1, 1);
        double rise = (double)nn_loss_huber(&unused, &above, &weight, 1, 1) -
                      (double)nn_loss_huber(&unused, &below, &weight, 1, 1);
        // Within one step of the kink the difference quotient is off by half a step.
        T_NEAR((double)slope, rise / ((double)above - (double)below), 2e-3, 0);
    }
}

static void
test_slope_may_overwrite_error(void **state)
{
    (void)state;
    float error[2] = {0.5f, -5};
    const float weight[2] = {1, 1};
    assert_true(nn_loss_huber(error, error, weight, 1, 2) == (0.125f + 4.5f) / 2);
    assert_memory_equal(error, ((float[]){0.25f, -0.5f}), sizeof(error));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_huber_of_nan_is_nan),
        cmocka_unit_test(test_huber_of_infinity_is_not_finite),
        cmocka_unit_test(test_huber_is_square_inside_and_linear_outside),
        cmocka_unit_test(test_huber_averages_with_weights),
        cmocka_unit_test(test_huber_slope_is_the_derivative),
        cmocka_unit_test(test_slope_may_overwrite_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
