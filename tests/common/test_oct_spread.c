// Mean, spread, and differences of pairs.
#include "tests/support/oct_test.h"

#include "common/oct_spread.h"

static void
test_spread_of_one_number_is_that_number(void **state)
{
    (void)state;
    oct_spread spread = oct_spread_of((const float[]){-3}, 1);
    T_NEAR(spread.mean, -3, 0, 0);
    T_NEAR(spread.std, 0, 0, 0);
    T_NEAR(spread.min, -3, 0, 0);
    T_NEAR(spread.max, -3, 0, 0);
}

static void
test_spread_divides_by_one_less_than_the_count(void **state)
{
    (void)state;
    // numpy: std([2, 4, 4, 4, 5, 5, 7, 9], ddof=1) = 2.138089935299395
    oct_spread spread = oct_spread_of((const float[]){2, 4, 4, 4, 5, 5, 7, 9}, 8);
    T_NEAR(spread.mean, 5, 0, 0);
    T_NEAR(spread.std, 2.138089935299395, 1e-12, 0);
    T_NEAR(spread.min, 2, 0, 0);
    T_NEAR(spread.max, 9, 0, 0);
}

static void
test_spread_keeps_small_differences_of_large_numbers(void **state)
{
    (void)state;
    oct_spread spread = oct_spread_of((const float[]){1e6f, 1e6f + 1, 1e6f + 2}, 3);
    T_NEAR(spread.std, 1, 1e-9, 0);
    T_NEAR(oct_spread_mean_u32((const uint32_t[]){UINT32_MAX, UINT32_MAX}, 2), UINT32_MAX, 0, 0);
}

static void
test_paired_difference_is_of_each_case(void **state)
{
    (void)state;
    // Differences 1, 2, 3: mean 2, deviation 1. Spread of the cases themselves is no part of it.
    oct_paired d =
        oct_paired_of((const float[]){11, 1002, -97}, (const float[]){10, 1000, -100}, 3);
    T_NEAR(d.mean, 2, 0, 0);
    T_NEAR(d.error, 0.5773502691896258, 1e-12, 0);
    d = oct_paired_of((const float[]){-1}, (const float[]){2}, 1);
    T_NEAR(d.mean, -3, 0, 0);
    T_NEAR(d.error, 0, 0, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spread_of_one_number_is_that_number),
        cmocka_unit_test(test_spread_divides_by_one_less_than_the_count),
        cmocka_unit_test(test_spread_keeps_small_differences_of_large_numbers),
        cmocka_unit_test(test_paired_difference_is_of_each_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
