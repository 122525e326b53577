// Errors of exp, elu, tanh and log in units of the last place, rounding, and quantisation ranges.
#include "policy/policy_math.h"

#include <assert.h>

#include "policy/policy_activate.h"
#include "policy/policy_spec.h"
#include "tests/policy/exact_activation.h"

#include "tests/support/oct_test.h"

// Every 997th float (a prime: all exponents, changing mantissas), both signs, NaN and inf left out.
#define STRIDE 997

static double
ulps(double got, double want)
{
    int exponent;
    (void)frexp(want, &exponent);
    return fabs(got - want) / fmax(ldexp(1.0, exponent - 24), 0x1p-149);
}

typedef float function(float x);
typedef double exact_function(double x);

static double
worst_ulps(function *f, exact_function *exact, float low, float high)
{
    double worst = 0.0;
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += STRIDE) {
        uint32_t word = (uint32_t)bits;
        float x;
        memcpy(&x, &word, sizeof(x));
        if (x >= low && x <= high) {
            worst = fmax(worst, ulps((double)f(x), exact((double)x)));
        }
    }
    return worst;
}

static void
test_exp_is_within_2_ulp(void **state)
{
    (void)state;
    assert_true(worst_ulps(policy_exp, exp, POLICY_EXP_MIN, POLICY_EXP_MAX) < 2.0);
}

static void
test_expm1_is_within_2_ulp(void **state)
{
    (void)state;
    assert_true(worst_ulps(policy_expm1, expm1, POLICY_EXP_MIN, POLICY_EXP_MAX) < 2.0);
}

// The greatest error of each activation between -87 and the largest float, and between `least` and
// that float where its tail is a difference.
static void
test_activations_are_within_their_documented_errors(void **state)
{
    (void)state;
    static const struct {
        float least;
        double ulps;
    } bounds[] = {
        [POLICY_LINEAR] = {-0x1.fffffep+127f, 0},
        [POLICY_RELU] = {-0x1.fffffep+127f, 0},
        [POLICY_TANH] = {-0x1.fffffep+127f, 3},
        [POLICY_ELU] = {-0x1.fffffep+127f, 2},
        [POLICY_SILU] = {-80, 4},
        [POLICY_GELU] = {-13, 8},
        [POLICY_GELU_TANH] = {-8, 128},
        [POLICY_SIGMOID] = {-87, 4},
        [POLICY_SOFTPLUS] = {-87, 4},
        [POLICY_MISH] = {-80, 5},
        [POLICY_LEAKY_RELU] = {-0x1.fffffep+127f, 1},
        [POLICY_RELU6] = {-0x1.fffffep+127f, 0},
        [POLICY_HARD_SWISH] = {-2, 4},
    };
    static_assert(OCT_COUNTOF(bounds) == POLICY_ACTIVATION_COUNT, "every activation has a bound");
    for (int a = 0; a < POLICY_ACTIVATION_COUNT; a++) {
        double worst = 0;
        for (uint64_t bits = 0; bits <= UINT32_MAX; bits += STRIDE) {
            uint32_t word = (uint32_t)bits;
            float x;
            memcpy(&x, &word, sizeof(x));
            if (x >= bounds[a].least && x <= 0x1.fffffep+127f) {
                double got = (double)policy_activate((policy_activation)a, x);
                worst = fmax(worst, ulps(got, exact_activation((policy_activation)a, (double)x)));
            }
        }
        print_message("%s: %.2f ulp\n", policy_activation_name((policy_activation)a), worst);
        assert_true(worst <= bounds[a].ulps);
    }
}

static void
test_log_is_within_1_ulp(void **state)
{
    (void)state;
    assert_true(worst_ulps(policy_log, log, 0x1p-126f, 0x1.fffffep+127f) < 1.0);
    assert_true(policy_log(1.0f) == 0.0f);
    double worst = 0.0; // every float around 1, where the exponent changes
    for (float x = 0.6f; x < 1.5f; x = nextafterf(x, 2.0f)) {
        worst = fmax(worst, ulps((double)policy_log(x), log((double)x)));
    }
    assert_true(worst < 1.0);
}

static void
test_tanh_is_odd_and_inside_its_bounds(void **state)
{
    (void)state;
    for (uint64_t bits = 0; bits < 0x7f800000u; bits += STRIDE) {
        uint32_t word = (uint32_t)bits;
        float x;
        memcpy(&x, &word, sizeof(x));
        float y = policy_tanh(x);
        assert_true(y >= 0.0f && y <= 1.0f && policy_tanh(-x) == -y);
    }
    assert_true(policy_tanh(9.02f) == 1.0f);
    assert_true(policy_tanh(INFINITY) == 1.0f && policy_tanh(-INFINITY) == -1.0f);
    assert_true(policy_tanh(0.0f) == 0.0f && !signbit(policy_tanh(0.0f)));
    assert_true(signbit(policy_tanh(-0.0f)));
}

static void
test_nan_and_signed_zero_go_as_documented(void **state)
{
    (void)state;
    for (int a = 0; a < POLICY_ACTIVATION_COUNT; a++) {
        float of_nan = policy_activate((policy_activation)a, NAN);
        assert_true(a == POLICY_RELU || a == POLICY_RELU6 ? of_nan == 0.0f : isnan(of_nan));
        float of_infinity = policy_activate((policy_activation)a, INFINITY);
        assert_false(isnan(of_infinity));
        assert_false(isnan(policy_activate((policy_activation)a, -INFINITY)));
    }
    assert_true(isnan(policy_exp(NAN)));
    assert_true(!signbit(policy_relu(-0.0f)));
    assert_false(signbit(policy_elu(-0.0f)));
    assert_true(policy_elu(-17.4f) == -1.0f && policy_elu(-INFINITY) == -1.0f);
    assert_true(policy_exp(-INFINITY) > 0.0f && isfinite(policy_exp(INFINITY)));
}

static void
test_round_goes_to_even_and_marks_what_does_not_fit(void **state)
{
    (void)state;
    const float in[] = {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -2.5f, 0.49999997f, 254.5f, 255.49998f};
    const int32_t want[] = {0, 2, 2, 0, -2, -2, 0, 254, 255};
    for (size_t i = 0; i < OCT_COUNTOF(in); i++) {
        assert_int_equal(policy_round(in[i]), want[i]);
    }
    assert_int_equal(policy_round(NAN), INT32_MIN);
    assert_int_equal(policy_round(INFINITY), INT32_MIN);
    assert_int_equal(policy_round(-0x1p22f), INT32_MIN);
}

static void
test_the_grid_of_a_row_holds_zero_and_both_ends(void **state)
{
    (void)state;
    for (int i = -400; i <= 400; i++) {
        float hi = ldexpf(1.0f + (float)(i & 7) / 8.0f, i / 4);
        float lo = -hi * (float)(i & 31) / 16.0f;
        policy_affine affine = policy_affine_of(lo, hi);
        assert_in_range(affine.zero_point, 0, 255);
        int32_t low = policy_round(lo * affine.inverse) + affine.zero_point;
        int32_t high = policy_round(hi * affine.inverse) + affine.zero_point;
        // One code may be lost where both ends and zero lie between two codes.
        assert_in_range(low + 1, 0, 2);
        assert_in_range(high, 254, 256);
        T_NEAR(affine.scale * 255.0, (double)hi - (double)lo, 0.0, 1e-6);
    }
}

static void
test_ranges_that_have_no_grid_count_as_zero_or_are_cut(void **state)
{
    (void)state;
    policy_affine affine = policy_affine_of(0.0f, 0x1.fffffep-119f);
    assert_true(affine.scale == 0.0f && affine.inverse == 0.0f && affine.zero_point == 0);
    affine = policy_affine_of(0.0f, POLICY_RANGE_MIN);
    assert_true(isnormal(affine.scale) && isfinite(affine.inverse));
    affine = policy_affine_of(-POLICY_RANGE_MAX, POLICY_RANGE_MAX);
    assert_true(isfinite(affine.scale) && affine.inverse > 0.0f);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nan_and_signed_zero_go_as_documented),
        cmocka_unit_test(test_round_goes_to_even_and_marks_what_does_not_fit),
        cmocka_unit_test(test_ranges_that_have_no_grid_count_as_zero_or_are_cut),
        cmocka_unit_test(test_the_grid_of_a_row_holds_zero_and_both_ends),
        cmocka_unit_test(test_log_is_within_1_ulp),
        cmocka_unit_test(test_tanh_is_odd_and_inside_its_bounds),
        cmocka_unit_test(test_exp_is_within_2_ulp),
        cmocka_unit_test(test_expm1_is_within_2_ulp),
        cmocka_unit_test(test_activations_are_within_their_documented_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
