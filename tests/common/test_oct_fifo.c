// Rows for so many windows, and windows in so many rows, are one rule read from both sides.
#include "tests/support/oct_test.h"

#include "common/oct_fifo.h"

static void
test_fifo_counts_the_longest_windows_and_one_under_way_in_each_stream(void **state)
{
    (void)state;
    oct_fifo fifo = oct_fifo_of_steps(3, 5); // a step and an end row
    assert_int_equal(oct_fifo_rows(&fifo, 10), 10 * 2 + 3 * 6);
    fifo = oct_fifo_of_sequences(3, 20, 10);
    assert_int_equal(oct_fifo_rows(&fifo, 10), 10 * 10 + 3 * 21);
    fifo = oct_fifo_of_sequences(3, 1, 4); // of a row with an action
    assert_int_equal(oct_fifo_rows(&fifo, 10), 10 * 8 + 3 * 2);
    fifo = oct_fifo_of_sequences(3, 500, 0); // episodes of 500 steps, and their end rows
    assert_int_equal(oct_fifo_rows(&fifo, 10), 10 * 501 + 3 * 501);
    fifo = oct_fifo_of_rollouts(3, 500); // none is under way
    assert_int_equal(oct_fifo_rows(&fifo, 10), 10 * 501);
}

static void
test_fifo_holds_in_its_rows_the_windows_that_they_are_for(void **state)
{
    (void)state;
    const oct_fifo fifos[] = {oct_fifo_of_steps(1, 1), oct_fifo_of_steps(16, 3),
                              oct_fifo_of_sequences(7, 20, 20), oct_fifo_of_sequences(16, 500, 0),
                              oct_fifo_of_rollouts(8, 127)};
    for (size_t i = 0; i < OCT_COUNTOF(fifos); i++) {
        for (uint64_t windows = 1; windows < 50; windows++) {
            uint64_t rows = oct_fifo_rows(&fifos[i], windows);
            assert_int_equal(oct_fifo_windows(&fifos[i], rows), windows);
            assert_int_equal(oct_fifo_windows(&fifos[i], rows - 1), windows - 1);
        }
        assert_int_equal(oct_fifo_windows(&fifos[i], 0), 0);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fifo_counts_the_longest_windows_and_one_under_way_in_each_stream),
        cmocka_unit_test(test_fifo_holds_in_its_rows_the_windows_that_they_are_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
