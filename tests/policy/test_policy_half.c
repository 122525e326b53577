// Conversion to and from FP16 and BF16, for all 65536 patterns of each, against their definition in
// double precision.
#include "policy/policy_half.h"

#include "common/oct_rng.h"
#include "tests/support/oct_test.h"

typedef struct format {
    const char *name;
    float (*widen)(uint16_t half);
    uint16_t (*narrow)(float x);
    int fraction_bits;
    int exponent_bias;
} format;

static const format formats[] = {
    {"bf16", policy_bf16_to_float, policy_bf16_from_float, 7, 127},
    {"fp16", policy_fp16_to_float, policy_fp16_from_float, 10, 15},
};

// The exponent of all ones is kept for infinity and NaN.
static uint16_t
largest(const format *f)
{
    return (uint16_t)(0x7fffu - (1u << f->fraction_bits));
}

static double
value(const format *f, uint16_t half)
{
    int fraction = half & ((1 << f->fraction_bits) - 1);
    int exponent = (half & 0x7fff) >> f->fraction_bits;
    double magnitude = exponent == 0 ? ldexp(fraction, 1 - f->exponent_bias - f->fraction_bits)
                                     : ldexp(fraction + (1 << f->fraction_bits),
                                             exponent - f->exponent_bias - f->fraction_bits);
    return (half & 0x8000) != 0 ? -magnitude : magnitude;
}

static void
test_widening_is_exact(void **state)
{
    (void)state;
    for (size_t i = 0; i < OCT_COUNTOF(formats); i++) {
        for (uint32_t half = 0; half <= 0xffff; half++) {
            if ((half & 0x7fff) <= largest(&formats[i])) {
                double want = value(&formats[i], (uint16_t)half);
                float got = formats[i].widen((uint16_t)half);
                assert_true((double)got == want && !signbit(got) == !signbit(want));
            }
        }
    }
}

static void
test_what_was_widened_narrows_to_the_same_bits(void **state)
{
    (void)state;
    for (size_t i = 0; i < OCT_COUNTOF(formats); i++) {
        for (uint32_t half = 0; half <= 0xffff; half++) {
            if ((half & 0x7fff) <= largest(&formats[i])) {
                assert_int_equal(formats[i].narrow(formats[i].widen((uint16_t)half)), half);
            }
        }
    }
}

// The middle of two neighbours goes to the even one, a float beside it to the nearer.
static void
test_narrowing_rounds_to_nearest_even(void **state)
{
    (void)state;
    for (size_t i = 0; i < OCT_COUNTOF(formats); i++) {
        const format *f = &formats[i];
        for (uint32_t half = 0; half < largest(f); half++) {
            double both = value(f, (uint16_t)half) + value(f, (uint16_t)(half + 1));
            float middle = (float)(both / 2.0);
            if ((double)middle * 2.0 != both) {
                continue; // the least bf16 have no float between them
            }
            assert_int_equal(f->narrow(middle), half + half % 2);
            assert_int_equal(f->narrow(-middle), 0x8000u | (half + half % 2));
            assert_int_equal(f->narrow(nextafterf(middle, 0.0f)), half);
            assert_int_equal(f->narrow(nextafterf(middle, INFINITY)), half + 1);
        }
    }
}

static void
test_what_is_too_large_becomes_the_largest(void **state)
{
    (void)state;
    for (size_t i = 0; i < OCT_COUNTOF(formats); i++) {
        const format *f = &formats[i];
        assert_int_equal(f->narrow(0x1.fffffep+127f), largest(f));
        assert_int_equal(f->narrow(-0x1.fffffep+127f), 0x8000u | largest(f));
    }
    assert_int_equal(policy_fp16_from_float(65519.996f), 0x7bff);
    assert_int_equal(policy_fp16_from_float(65520.0f), 0x7bff);
    assert_int_equal(policy_fp16_from_float(-70000.0f), 0xfbff);
}

static void
test_no_half_is_nearer_than_the_one_chosen(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 31, 1);
    for (uint32_t n = 0; n < 200000; n++) {
        const format *f = &formats[n % OCT_COUNTOF(formats)];
        uint32_t bits = oct_rng_u32(&rng);
        float x;
        memcpy(&x, &bits, sizeof(x));
        if (!(fabs((double)x) < fabs(value(f, largest(f))))) {
            continue;
        }
        uint16_t half = f->narrow(x);
        double error = fabs(value(f, half) - (double)x);
        assert_int_equal(half >> 15, bits >> 31);
        if ((half & 0x7fff) != 0) {
            assert_true(error <= fabs(value(f, (uint16_t)(half - 1)) - (double)x));
        }
        assert_true(error <= fabs(value(f, (uint16_t)(half + 1)) - (double)x));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_too_large_becomes_the_largest),
        cmocka_unit_test(test_widening_is_exact),
        cmocka_unit_test(test_what_was_widened_narrows_to_the_same_bits),
        cmocka_unit_test(test_narrowing_rounds_to_nearest_even),
        cmocka_unit_test(test_no_half_is_nearer_than_the_one_chosen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
