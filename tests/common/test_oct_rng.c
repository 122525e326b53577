// PCG32 gives its published numbers, and the draws have the distributions that they claim.
#include "tests/support/oct_test.h"

#include "common/oct_rng.h"

// |count - n p| <= 5 sigma of the binomial: a right generator fails one such check in 1.7 million,
// and the seed is fixed.
static void
assert_binomial(uint32_t count, uint32_t n, double p)
{
    T_NEAR(count, n * p, 5 * sqrt(n * p * (1 - p)), 0);
}

// Output of pcg32-demo of the PCG paper's C library, seed 42, stream 54.
static void
test_pcg32_gives_the_published_numbers(void **state)
{
    (void)state;
    static const uint32_t want[] = {0xa15c02b7, 0x7b47f409, 0xba1d3330,
                                    0x83d2f293, 0xbfa4784b, 0xcbed606e};
    oct_rng rng;
    oct_rng_init(&rng, 42, 54);
    for (size_t i = 0; i < OCT_COUNTOF(want); i++) {
        assert_int_equal(oct_rng_u32(&rng), want[i]);
    }
}

static void
test_streams_and_seeds_differ_and_copies_agree(void **state)
{
    (void)state;
    oct_rng a, b, c, copy;
    oct_rng_init(&a, 1, 1);
    oct_rng_init(&b, 1, 2);
    oct_rng_init(&c, 2, 1);
    copy = a;
    uint64_t first = oct_rng_u64(&a);
    assert_true(first != oct_rng_u64(&b));
    assert_true(first != oct_rng_u64(&c));
    assert_true(first == oct_rng_u64(&copy));
}

static void
test_below_one_is_zero(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 7, 0);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(oct_rng_below(&rng, 1), 0);
        assert_int_equal(oct_rng_below64(&rng, 1), 0);
    }
}

static void
test_below_stays_below_awkward_bounds(void **state)
{
    (void)state;
    static const uint64_t bounds[] = {
        2, 3, 255, 0x80000000u, 0x80000001u, UINT32_MAX, 1ull << 32, (1ull << 63) + 1, UINT64_MAX};
    oct_rng rng;
    oct_rng_init(&rng, 7, 1);
    for (size_t i = 0; i < OCT_COUNTOF(bounds); i++) {
        for (int j = 0; j < 1000; j++) {
            assert_true(oct_rng_below64(&rng, bounds[i]) < bounds[i]);
            if (bounds[i] <= UINT32_MAX) {
                assert_true(oct_rng_below(&rng, (uint32_t)bounds[i]) < bounds[i]);
            }
        }
    }
}

static void
test_fill_below_gives_what_calls_of_below_give(void **state)
{
    (void)state;
    static const uint32_t bounds[] = {1, 10, 0x80000001u, 0xC0000000u};
    for (size_t i = 0; i < OCT_COUNTOF(bounds); i++) {
        uint32_t filled[100];
        oct_rng rng, other;
        oct_rng_init(&rng, 7, 4);
        other = rng;
        oct_rng_fill_below(&rng, bounds[i], OCT_COUNTOF(filled), filled);
        for (size_t k = 0; k < OCT_COUNTOF(filled); k++) {
            assert_int_equal(filled[k], oct_rng_below(&other, bounds[i]));
        }
        assert_int_equal(rng.state, other.state);
    }
}

// Without rejection the bias would show most at 3/4 of the range: by modulo the lower half would
// come twice as often, by multiplication every third value.
static void
test_below_has_no_bias_at_large_bounds(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 7, 2);
    uint32_t low32 = 0, third32 = 0, low64 = 0, n = 100000;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t value = oct_rng_below(&rng, 0xC0000000u);
        low32 += value < 0x60000000u;
        third32 += value % 3 == 0;
        low64 += oct_rng_below64(&rng, 0xC000000000000000u) < 0x6000000000000000u;
    }
    assert_binomial(low32, n, 0.5);
    assert_binomial(third32, n, 1.0 / 3);
    assert_binomial(low64, n, 0.5);
}

static void
test_below_is_uniform(void **state)
{
    (void)state;
    enum { BOUND = 10, N = 100000 };
    uint32_t counts[BOUND] = {0};
    oct_rng rng;
    oct_rng_init(&rng, 7, 3);
    for (int i = 0; i < N; i++) {
        counts[oct_rng_below(&rng, BOUND)]++;
    }
    for (int i = 0; i < BOUND; i++) {
        assert_binomial(counts[i], N, 1.0 / BOUND);
    }
}

static void
test_double_and_float_are_uniform_in_zero_to_one(void **state)
{
    (void)state;
    enum { N = 100000 };
    uint32_t d_quarter = 0, f_quarter = 0;
    oct_rng rng;
    oct_rng_init(&rng, 7, 4);
    for (int i = 0; i < N; i++) {
        double d = oct_rng_double(&rng);
        float f = oct_rng_float(&rng);
        assert_true(d >= 0 && d < 1 && f >= 0 && f < 1);
        d_quarter += d < 0.25;
        f_quarter += f < 0.25f;
    }
    assert_binomial(d_quarter, N, 0.25);
    assert_binomial(f_quarter, N, 0.25);
}

// Every bit of every output is a fair coin.
static void
test_bits_are_fair(void **state)
{
    (void)state;
    enum { N = 50000 };
    uint32_t ones[64] = {0};
    oct_rng rng;
    oct_rng_init(&rng, 7, 5);
    for (int i = 0; i < N; i++) {
        uint64_t value = oct_rng_u64(&rng);
        for (int bit = 0; bit < 64; bit++) {
            ones[bit] += (value >> bit) & 1;
        }
    }
    for (int bit = 0; bit < 64; bit++) {
        assert_binomial(ones[bit], N, 0.5);
    }
}

static void
test_normal_has_the_right_shares_and_moments(void **state)
{
    (void)state;
    enum { N = 200000 };
    uint32_t below_minus_1 = 0, above_2 = 0;
    double sum = 0, squares = 0;
    oct_rng rng;
    oct_rng_init(&rng, 7, 6);
    for (int i = 0; i < N; i++) {
        float x = oct_rng_normal(&rng);
        below_minus_1 += x < -1;
        above_2 += x > 2;
        sum += x;
        squares += (double)x * x;
    }
    assert_binomial(below_minus_1, N, 0.15865525393145707);
    assert_binomial(above_2, N, 0.022750131948179216);
    // Standard errors: 1/sqrt(N) of the mean, sqrt(2/N) of the mean square.
    T_NEAR(sum / N, 0, 5 / sqrt(N), 0);
    T_NEAR(squares / N, 1, 5 * sqrt(2.0 / N), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pcg32_gives_the_published_numbers),
        cmocka_unit_test(test_streams_and_seeds_differ_and_copies_agree),
        cmocka_unit_test(test_below_one_is_zero),
        cmocka_unit_test(test_below_stays_below_awkward_bounds),
        cmocka_unit_test(test_fill_below_gives_what_calls_of_below_give),
        cmocka_unit_test(test_below_has_no_bias_at_large_bounds),
        cmocka_unit_test(test_below_is_uniform),
        cmocka_unit_test(test_double_and_float_are_uniform_in_zero_to_one),
        cmocka_unit_test(test_bits_are_fair),
        cmocka_unit_test(test_normal_has_the_right_shares_and_moments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
