// Interquartile mean, probability of improvement and their intervals, of numbers whose answers are
// known. tests/cli/test_bootstrap.py compares them with numpy.
#include "cli/runs/cli_bootstrap.h"

#include <math.h>

#include "tests/support/oct_test.h"

#define IS(got, want) T_NEAR(got, want, 1e-12, 0)

static void
test_bootstrap_iqm_leaves_a_quarter_out_at_each_end(void **state)
{
    (void)state;
    static const double x[] = {8, 1, 1000, 3, 4, -1000, 5, 7, 6};
    IS(cli_bootstrap_iqm(x, 1).value, 8);
    IS(cli_bootstrap_iqm(x, 2).value, 4.5);
    IS(cli_bootstrap_iqm(x, 3).value, 1009.0 / 3);
    IS(cli_bootstrap_iqm(x, 4).value, 5.5);  // 3 and 8
    IS(cli_bootstrap_iqm(x, 8).value, 4.75); // 3, 4, 5, 7
    IS(cli_bootstrap_iqm(x, 9).value, 5);
}

static void
test_bootstrap_ties_count_half(void **state)
{
    (void)state;
    static const double x[] = {3, 1, 2}, y[] = {2, 2, 0, 3};
    // 3: 3.5 of 4; 2: 2 of 4; 1: 1 of 4
    IS(cli_bootstrap_improvement(x, 3, y, 4).value, 6.5 / 12);
    IS(cli_bootstrap_improvement(y, 4, x, 3).value, 5.5 / 12);
    IS(cli_bootstrap_improvement(x, 3, x, 3).value, 0.5);
}

static void
test_bootstrap_equal_numbers_have_no_interval(void **state)
{
    (void)state;
    static const double x[] = {0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1}, less[] = {0, -1};
    cli_bootstrap mean = cli_bootstrap_iqm(x, 7);
    assert_true(mean.value == 0.1 && mean.low == 0.1 && mean.high == 0.1);
    cli_bootstrap same = cli_bootstrap_improvement(x, 7, x, 3);
    assert_true(same.value == 0.5 && same.low == 0.5 && same.high == 0.5);
    cli_bootstrap better = cli_bootstrap_improvement(x, 7, less, 2);
    assert_true(better.value == 1 && better.low == 1 && better.high == 1);
}

static void
test_bootstrap_of_two_numbers_is_between_them(void **state)
{
    (void)state;
    static const double x[] = {500, 100}; // a quarter of the resamples is one of them alone
    cli_bootstrap of = cli_bootstrap_iqm(x, 2);
    assert_true(of.value == 300 && of.low == 100 && of.high == 500);
}

// All three are the largest in 1 resample of 27: more than lie above the interval of 95 %.
static void
test_bootstrap_interval_has_95_percent_of_the_resamples(void **state)
{
    (void)state;
    static const double x[] = {0, 0, 1};
    assert_int_equal(CLI_BOOTSTRAP_PERCENT, 95);
    cli_bootstrap of = cli_bootstrap_iqm(x, 3);
    assert_true(of.low == 0 && of.high == 1);
}

static void
test_bootstrap_draws_both_sides(void **state)
{
    (void)state;
    static const double sure[] = {1, 1}, unsure[] = {0, 2};
    cli_bootstrap of = cli_bootstrap_improvement(sure, 2, unsure, 2);
    assert_true(of.value == 0.5 && of.low == 0 && of.high == 1);
    of = cli_bootstrap_improvement(unsure, 2, sure, 2);
    assert_true(of.value == 0.5 && of.low == 0 && of.high == 1);
}

static void
test_bootstrap_does_not_depend_on_the_order(void **state)
{
    (void)state;
    static const double x[] = {1, 2, 4, 8, 16}, same[] = {8, 1, 16, 4, 2};
    cli_bootstrap a = cli_bootstrap_iqm(x, 5), b = cli_bootstrap_iqm(same, 5);
    assert_true(a.value == b.value && a.low == b.low && a.high == b.high);
    assert_true(a.low < a.value && a.value < a.high);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bootstrap_iqm_leaves_a_quarter_out_at_each_end),
        cmocka_unit_test(test_bootstrap_ties_count_half),
        cmocka_unit_test(test_bootstrap_equal_numbers_have_no_interval),
        cmocka_unit_test(test_bootstrap_of_two_numbers_is_between_them),
        cmocka_unit_test(test_bootstrap_interval_has_95_percent_of_the_resamples),
        cmocka_unit_test(test_bootstrap_draws_both_sides),
        cmocka_unit_test(test_bootstrap_does_not_depend_on_the_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
