// Rows of metrics.csv are printed, parsed and merged so that counters, means and states stay true.
#include "common/oct_csv.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/oct_rng.h"
#include "tests/support/oct_test.h"

#define LATEST OCT_CSV_LATEST
#define HEADER "wall_s,updates,loss,return\n"

// Columns: seconds, a counter, a mean over that counter, and a number that few rows have.
static const uint32_t over[] = {LATEST, LATEST, 1, LATEST};

static char *text;

static void
print_row(void *arg, const double *values)
{
    FILE *out = arg;
    fprintf(out, "%g,%g,%g,%g\n", values[0], values[1], values[2], values[3]);
}

// Returns the rows of a file with fewer rows.
static const char *
shrunk(const char *rows, uint64_t newest, uint64_t older)
{
    oct_csv_shrink_spec spec = {
        .columns = 4, .over = over, .wall = 0, .unit_s = 1, .newest = newest, .older = older};
    FILE *in = tmpfile();
    size_t size;
    free(text);
    FILE *out = open_memstream(&text, &size);
    assert_true(fputs(rows, in) >= 0);
    T_OK(oct_csv_shrink(in, &spec, print_row, out));
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
    assert_string_equal(shrunk(HEADER, 1, 1), "");
    oct_csv_shrink_spec spec = {.columns = 4, .over = over, .unit_s = 1, .older = 1};
    FILE *empty = tmpfile();
    T_ERR(oct_csv_shrink(empty, &spec, print_row, stdout), OCT_EIO);
    (void)fclose(empty);
}

static void
test_rows_weigh_by_what_the_counter_grew(void **state)
{
    (void)state;
    assert_string_equal(shrunk(HEADER "1,10,2,\n"
                                      "2,40,6,\n",
                               0, 1),
                        "2,40,5,nan\n");
}

static void
test_rows_keep_the_last_value_that_there_is(void **state)
{
    (void)state;
    assert_string_equal(shrunk(HEADER "1,10,1,7\n"
                                      "2,20,1,8\n"
                                      "3,30,1,\n",
                               0, 1),
                        "3,30,1,8\n");
}

static void
test_rows_of_the_newest_stay(void **state)
{
    (void)state;
    assert_string_equal(shrunk(HEADER "1,1,1,1\n"
                                      "2,2,2,2\n"
                                      "3,3,3,3\n"
                                      "4,4,4,4\n",
                               2, 1),
                        "2,2,1.5,2\n3,3,3,3\n4,4,4,4\n");
}

static void
test_rows_merge_evenly_again_and_again(void **state)
{
    (void)state;
    assert_string_equal(shrunk(HEADER "1,1,1,1\n"
                                      "2,2,2,2\n"
                                      "3,3,3,3\n"
                                      "4,4,4,4\n",
                               0, 3),
                        "2,2,1.5,2\n4,4,3.5,4\n");
    assert_string_equal(shrunk(HEADER "2,2,1.5,2\n"
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
    assert_string_equal(shrunk(HEADER "5,50,1,\n"
                                      "2,20,9,\n"
                                      "3,40,3,\n",
                               0, 1),
                        "3,40,1.57143,nan\n"); // (50 * 1 + 0 * 9 + 20 * 3) / 70
    assert_string_equal(shrunk(HEADER "1,0,2,\n"
                                      "2,0,4,\n"
                                      "3,0,,\n",
                               0, 1),
                        "3,0,3,nan\n"); // nothing weighs
}

// Rows of a damaged file become few, too, and numbers that are not finite count nowhere.
static void
test_rows_of_any_length_are_merged(void **state)
{
    (void)state;
    assert_string_equal(shrunk(HEADER "1,1,1,1\n"
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
    assert_string_equal(shrunk(HEADER "1,1,1,1\n"
                                      "2,2,2\n"
                                      "2,2,2,2,2\n"
                                      "x,2,2,2\n"
                                      "\n"
                                      "3,3,3,3\n"
                                      "4,4,4", // the power went
                               4, 1),
                        "1,1,1,1\n3,3,3,3\n");
}

// ---- numbers

static double values_seen[2];

static void
values_keep(void *arg, const double *values)
{
    (void)arg;
    memcpy(values_seen, values, sizeof(values_seen));
}

// Reads a number from a row. Returns false if the row was left out.
static bool
cell_value(const char *cell, double *value)
{
    static const uint32_t latest[] = {LATEST, LATEST};
    const oct_csv_shrink_spec spec = {
        .columns = 2, .over = latest, .wall = 0, .unit_s = 1, .newest = 1, .older = 1};
    FILE *in = tmpfile();
    assert_true(fprintf(in, "wall_s,x\n1,%s\n", cell) > 0);
    values_seen[0] = 0;
    T_OK(oct_csv_shrink(in, &spec, values_keep, NULL));
    (void)fclose(in);
    *value = values_seen[1];
    return values_seen[0] == 1;
}

// Bit for bit, in all the forms in which a number can be written.
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

// The number of rows does not matter.
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
    const oct_csv_shrink_spec spec = {
        .columns = 4, .over = over, .wall = 0, .unit_s = 1, .newest = 10, .older = 10};
    T_OK(oct_csv_shrink(in, &spec, row_count, &rows));
    assert_true(rows > 10 && rows <= 20);
    assert_int_equal(bytes_read, 2 * bytes);
    (void)fclose(in);
    (void)fclose(file);
}

// ---- one line

static void
test_header_of_any_names(void **state)
{
    (void)state;
    static const char *const names[] = {"wall_s", "eval_metric_Distance_to_Goal", "a.b"};
    char header[OCT_CSV_HEADER_MAX];
    oct_csv_header(3, names, header);
    assert_string_equal(header, "wall_s,eval_metric_Distance_to_Goal,a.b\n");
}

static void
test_printed_rows_read_back(void **state)
{
    (void)state;
    const double values[] = {9007199254740991, -0.25, NAN, INFINITY, 1e-300};
    double read[OCT_COUNTOF(values)];
    size_t size;
    free(text);
    FILE *out = open_memstream(&text, &size);
    oct_csv_print(out, OCT_COUNTOF(values), values);
    (void)fclose(out);
    assert_string_equal(text, "9007199254740991,-0.25,,,1e-300\n");
    assert_true(oct_csv_parse(text, size, OCT_COUNTOF(read), read));
    assert_true(read[0] == values[0] && read[1] == values[1] && read[4] == values[4]);
    assert_true(isnan(read[2]) && isnan(read[3]));
    assert_false(oct_csv_parse(text, size, OCT_COUNTOF(read) - 1, read));
    assert_false(oct_csv_parse(text, size - 1, OCT_COUNTOF(read), read));
}

// ---- reading

static const char *
over_of(const char *name)
{
    return strcmp(name, "loss") == 0 ? "updates" : NULL;
}

// Reads what a file has now.
static void
csv_read(oct_csv *csv, FILE *file)
{
    struct stat status;
    assert_int_equal(fflush(file), 0);
    assert_int_equal(fstat(fileno(file), &status), 0);
    assert_false(oct_csv_read(csv, fileno(file), &status, UINT64_MAX));
}

// In memory as in the file: by what the counter grew, and alike where the file has no counter.
static void
test_reader_merges_as_the_learner_does(void **state)
{
    (void)state;
    static const char *const headers[] = {"wall_s,updates,loss\n", "wall_s,others,loss\n"};
    static const double wanted[] = {(10 * 2 + 30 * 6) / 40.0, (2 + 6) / 2.0};
    for (size_t i = 0; i < OCT_COUNTOF(headers); i++) {
        oct_csv csv;
        FILE *file = tmpfile();
        oct_csv_init(&csv, 16, over_of);
        fprintf(file, "%s1,10,2\n2,40,6\n", headers[i]);
        csv_read(&csv, file);
        assert_true(csv.merged == 1 && csv.rows == 2 && csv.values[2] == 2);
        for (int row = 3; row <= 17; row++) { // one more than there is room for
            fprintf(file, "%d,%d,1\n", row, 40 * row);
            csv_read(&csv, file);
        }
        assert_true(csv.merged == 2 && csv.rows == 9 && csv.rows_read == 17);
        assert_true(csv.values[0] == 2 && csv.values[1] == 40 && csv.values[2] == wanted[i]);
        assert_true(csv.values[8 * 3] == 17);
        oct_csv_fini(&csv);
        (void)fclose(file);
    }
}

// An environment's metric has capital letters, and a name of up to 63 bytes.
static void
test_reader_knows_columns_by_any_name(void **state)
{
    (void)state;
    static const char name[] =
        "eval_metric_ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz01234567890_2";
    oct_csv csv;
    FILE *file = tmpfile();
    oct_csv_init(&csv, 16, over_of);
    fprintf(file, "wall_s,%s\n1,7\n", name);
    csv_read(&csv, file);
    assert_int_equal(oct_csv_column(&csv, name), 1);
    assert_int_equal(oct_csv_column(&csv, "eval_metric_A"), -1);
    assert_true(csv.rows == 1 && csv.values[1] == 7);
    oct_csv_fini(&csv);
    (void)fclose(file);
}

static void
test_last_numbers_of_a_file(void **state)
{
    (void)state;
    static const char *const names[] = {"loss", "wall_s", "nothing"};
    double values[3];
    FILE *file = tmpfile();
    assert_int_equal(oct_csv_last(file, names, 3, values), -1);
    fputs("wall_s,loss\n", file);
    rewind(file);
    assert_int_equal(oct_csv_last(file, names, 3, values), 0);
    (void)fseek(file, 0, SEEK_END);
    for (int i = 1; i <= 20000; i++) {
        fprintf(file, i == 19999 ? "%d,5\n" : "%d,\n", i);
    }
    fputs("20001,6", file); // is being written
    rewind(file);
    int rows = oct_csv_last(file, names, 3, values);
    assert_true(rows > 1000 && rows < 20000); // only the end was read
    assert_true(values[0] == 5 && values[1] == 20000 && isnan(values[2]));
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
        cmocka_unit_test(test_rows_merge_evenly_again_and_again),
        cmocka_unit_test(test_rows_whose_counters_fell),
        cmocka_unit_test(test_rows_of_any_length_are_merged),
        cmocka_unit_test(test_rows_that_are_none_are_left_out),
        cmocka_unit_test(test_rows_have_the_numbers_that_strtod_reads),
        cmocka_unit_test(test_rows_are_read_twice),
        cmocka_unit_test(test_header_of_any_names),
        cmocka_unit_test(test_printed_rows_read_back),
        cmocka_unit_test(test_reader_merges_as_the_learner_does),
        cmocka_unit_test(test_reader_knows_columns_by_any_name),
        cmocka_unit_test(test_last_numbers_of_a_file),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(text);
    return failed;
}
