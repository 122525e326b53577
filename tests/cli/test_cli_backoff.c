// When a daemon that died is started again, and after how many deaths the supervisor gives up.
#include "cli/run/cli_backoff.h"
#include "tests/support/oct_test.h"

#define MS 1000000ull
#define S  1000000000ull

static const cli_backoff_rule rule = {
    .first_ms = 100, .last_ms = 1000, .restarts_max = 3, .window_s = 60};

static void
test_backoff_ends_after_too_many_deaths_in_the_window(void **state)
{
    (void)state;
    cli_backoff backoff = {0};
    uint32_t delay_ms = 0;
    for (uint64_t i = 0; i < 3; i++) {
        assert_true(cli_backoff_next(&backoff, &rule, S + i * S, 0, &delay_ms));
    }
    assert_false(cli_backoff_next(&backoff, &rule, S + 59 * S, 0, &delay_ms));
}

static void
test_backoff_forgets_deaths_that_left_the_window(void **state)
{
    (void)state;
    cli_backoff backoff = {0};
    uint32_t delay_ms = 0;
    for (uint64_t i = 0; i < 3; i++) {
        assert_true(cli_backoff_next(&backoff, &rule, S + i * S, 0, &delay_ms));
    }
    assert_true(cli_backoff_next(&backoff, &rule, S + 60 * S, 0, &delay_ms));
    // The death at 2 s is still inside.
    assert_false(cli_backoff_next(&backoff, &rule, S + 60 * S + 1, 0, &delay_ms));
}

static void
test_backoff_doubles_up_to_the_last(void **state)
{
    (void)state;
    static const uint32_t want_ms[] = {100, 200, 400, 800, 1000, 1000};
    cli_backoff_rule patient = rule;
    patient.restarts_max = 10;
    cli_backoff backoff = {0};
    for (size_t i = 0; i < OCT_COUNTOF(want_ms); i++) {
        uint32_t delay_ms = 0;
        assert_true(cli_backoff_next(&backoff, &patient, S + i * S, 10 * MS, &delay_ms));
        assert_int_equal(delay_ms, want_ms[i]);
    }
}

static void
test_backoff_begins_again_after_a_long_life(void **state)
{
    (void)state;
    cli_backoff backoff = {0};
    uint32_t delay_ms = 0;
    assert_true(cli_backoff_next(&backoff, &rule, 1 * S, 0, &delay_ms));
    assert_true(cli_backoff_next(&backoff, &rule, 2 * S, 1000 * MS, &delay_ms));
    assert_int_equal(delay_ms, 200);
    assert_true(cli_backoff_next(&backoff, &rule, 9 * S, 1001 * MS, &delay_ms));
    assert_int_equal(delay_ms, 100);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_backoff_ends_after_too_many_deaths_in_the_window),
        cmocka_unit_test(test_backoff_forgets_deaths_that_left_the_window),
        cmocka_unit_test(test_backoff_doubles_up_to_the_last),
        cmocka_unit_test(test_backoff_begins_again_after_a_long_life),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
