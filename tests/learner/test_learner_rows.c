// Old rows are joined so that counters, means and what is of the last row stay true.
#include "learner/learner_rows.h"

#include <stdlib.h>

#include "tests/support/oct_test.h"

#define LATEST LEARNER_ROWS_LATEST
#define HEADER "wall_s,updates,loss,return\n"

// Columns: seconds, a counter, a mean over it, and a number that is there now and then.
static const uint32_t over[] = {LATEST, LATEST, 1, LATEST};

static char *text;

static void
print_row(void *arg, const double *values)
{
    FILE *out = arg;
    fprintf(out, "%g,%g,%g,%g\n", values[0], values[1], values[2], values[3]);
}

// What the rows of a file become.
static const char *
join(const char *rows, uint64_t newest, uint64_t older)
{
    learner_rows_spec spec = {
        .columns = 4, .over = over, .wall = 0, .unit_s = 1, .newest = newest, .older = older};
    FILE *in = tmpfile();
    size_t size;
    free(text);
    FILE *out = open_memstream(&text, &size);
    assert_true(fputs(rows, in) >= 0);
    T_OK(learner_rows_join(in, &spec, print_row, out));
    (void)fclose(out);
    (void)fclose(in);
    return text;
}

static void
test_rows_of_nothing(void **state)
{
    (void)state;
    assert_string_equal(join(HEADER, 1, 1), "");
    learner_rows_spec spec = {.columns = 4, .over = over, .unit_s = 1, .older = 1};
    FILE *empty = tmpfile();
    T_ERR(learner_rows_join(empty, &spec, print_row, stdout), OCT_EIO);
    (void)fclose(empty);
}

static void
test_rows_weigh_by_what_the_counter_grew(void **state)
{
    (void)state;
    assert_string_equal(join(HEADER "1,10,2,\n"
                                    "2,40,6,\n",
                             0, 1),
                        "2,40,5,nan\n");
}

static void
test_rows_keep_the_last_value_that_there_is(void **state)
{
    (void)state;
    assert_string_equal(join(HEADER "1,10,1,7\n"
                                    "2,20,1,8\n"
                                    "3,30,1,\n",
                             0, 1),
                        "3,30,1,8\n");
}

static void
test_rows_of_the_newest_stay(void **state)
{
    (void)state;
    assert_string_equal(join(HEADER "1,1,1,1\n"
                                    "2,2,2,2\n"
                                    "3,3,3,3\n"
                                    "4,4,4,4\n",
                             2, 1),
                        "2,2,1.5,2\n3,3,3,3\n4,4,4,4\n");
}

static void
test_rows_join_evenly_again_and_again(void **state)
{
    (void)state;
    assert_string_equal(join(HEADER "1,1,1,1\n"
                                    "2,2,2,2\n"
                                    "3,3,3,3\n"
                                    "4,4,4,4\n",
                             0, 3),
                        "2,2,1.5,2\n4,4,3.5,4\n");
    assert_string_equal(join(HEADER "2,2,1.5,2\n"
                                    "4,4,3.5,4\n"
                                    "5,5,5,5\n"
                                    "6,6,6,6\n"
                                    "7,7,7,7\n"
                                    "8,8,8,8\n",
                             0, 2),
                        "4,4,2.5,4\n8,8,6.5,8\n");
}

// A run that was resumed from an earlier point: the counters fell.
static void
test_rows_whose_counters_fell(void **state)
{
    (void)state;
    assert_string_equal(join(HEADER "5,50,1,\n"
                                    "2,20,9,\n"
                                    "3,40,3,\n",
                             0, 1),
                        "3,40,1.57143,nan\n"); // (50 * 1 + 0 * 9 + 20 * 3) / 70
    assert_string_equal(join(HEADER "1,0,2,\n"
                                    "2,0,4,\n"
                                    "3,0,,\n",
                             0, 1),
                        "3,0,3,nan\n"); // nothing weighs
}

// A damaged file: they still become few, and a number that is none counts nowhere.
static void
test_rows_of_any_length_are_joined(void **state)
{
    (void)state;
    assert_string_equal(join(HEADER "1,1,1,1\n"
                                    "1e307,2,2,2\n"
                                    "1e308,3,3,3\n"
                                    "-1e308,4,4,4\n"
                                    "1.7e308,5,inf,nan\n"
                                    "1e999,6,6,6\n",
                             0, 1),
                        "1.7e+308,6,3.2,6\n"); // (1 + 2 + 3 + 4 + 6) / 5
}

static void
test_rows_that_are_none_are_left_out(void **state)
{
    (void)state;
    assert_string_equal(join(HEADER "1,1,1,1\n"
                                    "2,2,2\n"
                                    "2,2,2,2,2\n"
                                    "x,2,2,2\n"
                                    "\n"
                                    "3,3,3,3\n"
                                    "4,4,4", // the power went
                             4, 1),
                        "1,1,1,1\n3,3,3,3\n");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_of_nothing),
        cmocka_unit_test(test_rows_weigh_by_what_the_counter_grew),
        cmocka_unit_test(test_rows_keep_the_last_value_that_there_is),
        cmocka_unit_test(test_rows_of_the_newest_stay),
        cmocka_unit_test(test_rows_join_evenly_again_and_again),
        cmocka_unit_test(test_rows_whose_counters_fell),
        cmocka_unit_test(test_rows_of_any_length_are_joined),
        cmocka_unit_test(test_rows_that_are_none_are_left_out),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(text);
    return failed;
}
