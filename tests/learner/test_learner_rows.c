// Old rows are joined so that counters, means and what is of the last row stay true.
#include "learner/learner_rows.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/oct_rng.h"
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
row_count(void *arg, const double *values)
{
    (void)values;
    ++*(uint64_t *)arg;
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

// ---- what it reads

static double values_seen[2];

static void
values_keep(void *arg, const double *values)
{
    (void)arg;
    memcpy(values_seen, values, sizeof(values_seen));
}

// The value of a cell as a row gives it; false: the row was left out.
static bool
cell_value(const char *cell, double *value)
{
    static const uint32_t latest[] = {LATEST, LATEST};
    const learner_rows_spec spec = {
        .columns = 2, .over = latest, .wall = 0, .unit_s = 1, .newest = 1, .older = 1};
    FILE *in = tmpfile();
    assert_true(fprintf(in, "wall_s,x\n1,%s\n", cell) > 0);
    values_seen[0] = 0;
    T_OK(learner_rows_join(in, &spec, values_keep, NULL));
    (void)fclose(in);
    *value = values_seen[1];
    return values_seen[0] == 1;
}

// Bit for bit, in all the ways in which a number can be written.
static void
test_rows_have_the_numbers_that_strtod_reads(void **state)
{
    (void)state;
    static const char *const cells[] = {"0",
                                        "-0",
                                        "1",
                                        "-1",
                                        "007",
                                        "9007199254740992",
                                        "9007199254740993",
                                        "123456789012345678",
                                        "1234567890123456789",
                                        "99999999999999999999999",
                                        "0.1",
                                        "-0.1",
                                        "1.",
                                        ".5",
                                        "-.5",
                                        "1e5",
                                        "1e+05",
                                        "1.5e-05",
                                        "1e22",
                                        "1e23",
                                        "9007199254740991e22",
                                        "1e-22",
                                        "1e-23",
                                        "3e-310",
                                        "1.7976931348623157e308",
                                        "2.2250738585072011e-308",
                                        "0.000000000000000000000001234",
                                        "1e00005",
                                        "0x1p-3",
                                        " 1"};
    static const char *const none[] = {"-", ".", "e5", "1e", "1e+", "--1", "+-1", "1 ", "1.2.3"};
    oct_rng rng;
    double value;
    for (size_t i = 0; i < OCT_COUNTOF(cells); i++) {
        assert_true(cell_value(cells[i], &value));
        double wanted = strtod(cells[i], NULL);
        assert_memory_equal(&value, &wanted, sizeof(value));
    }
    for (size_t i = 0; i < OCT_COUNTOF(none); i++) {
        assert_false(cell_value(none[i], &value));
    }
    oct_rng_init(&rng, 1, 1);
    for (int i = 0; i < 3000; i++) {
        static const char *const forms[] = {"%.9g", "%.17g", "%.0f", "%.12e", "%.3f"};
        char cell[512];
        double number = (oct_rng_double(&rng) - 0.5) * pow(10, oct_rng_below(&rng, 50) - 25.0);
        (void)snprintf(cell, sizeof(cell), forms[i % 5], number);
        double wanted = strtod(cell, NULL);
        assert_true(cell_value(cell, &value));
        assert_memory_equal(&value, &wanted, sizeof(value));
    }
}

static ssize_t
counted_read(void *cookie, char *out, size_t size)
{
    ssize_t got = read(fileno(((FILE **)cookie)[0]), out, size);
    *((uint64_t **)cookie)[1] += got > 0 ? (uint64_t)got : 0;
    return got;
}

static int
counted_seek(void *cookie, off64_t *at, int whence)
{
    *at = lseek(fileno(((FILE **)cookie)[0]), *at, whence);
    return *at < 0 ? -1 : 0;
}

// However many rows become however few.
static void
test_rows_are_read_twice(void **state)
{
    (void)state;
    enum { ROWS = 20000 };
    uint64_t bytes_read = 0, rows = 0;
    FILE *file = tmpfile();
    fputs(HEADER, file);
    for (int i = 1; i <= ROWS; i++) {
        fprintf(file, "%d,%d,%g,\n", i, 7 * i, 1.0 / i);
    }
    assert_int_equal(fflush(file), 0);
    uint64_t bytes = (uint64_t)ftell(file);
    void *cookie[] = {file, &bytes_read};
    FILE *in = fopencookie(cookie, "r",
                           (cookie_io_functions_t){.read = counted_read, .seek = counted_seek});
    const learner_rows_spec spec = {
        .columns = 4, .over = over, .wall = 0, .unit_s = 1, .newest = 10, .older = 10};
    T_OK(learner_rows_join(in, &spec, row_count, &rows));
    assert_true(rows > 10 && rows <= 20);
    assert_int_equal(bytes_read, 2 * bytes);
    (void)fclose(in);
    (void)fclose(file);
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
        cmocka_unit_test(test_rows_have_the_numbers_that_strtod_reads),
        cmocka_unit_test(test_rows_are_read_twice),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(text);
    return failed;
}
