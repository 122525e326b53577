// Rows, summaries and configurations of run folders, read while they grow; curves of several runs.
#include "cli/runs/cli_series.h"
#include "common/oct_reason.h"

#include <sys/stat.h>

#include "common/oct_file.h"
#include "tests/cli/cli_runs_fixture.h"

#define ROWS_MAX 16
#define HEADER   "wall_s,env_steps,loss,eval_return\n"

static oct_reason reason;

static void
put(const char *path, const char *text)
{
    T_OK(oct_file_write(path, text, strlen(text)));
}

static void
append(const char *path, const char *text)
{
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

// Opens a run with this configuration and these rows after the header.
static cli_series *
run_of(const char *folder, const char *config, const char *rows)
{
    char path[64];
    cli_series *series;
    (void)mkdir(folder, 0700);
    (void)snprintf(path, sizeof(path), "%s/config.yaml", folder);
    put(path, config);
    (void)snprintf(path, sizeof(path), "%s/metrics.csv", folder);
    put(path, HEADER);
    append(path, rows);
    T_OK(cli_series_open(&series, folder, ROWS_MAX, &reason));
    assert_false(cli_series_read(series, UINT64_MAX));
    return series;
}

static double
cell(const cli_series *series, uint32_t row, const char *name)
{
    int at = oct_csv_column(&series->metrics, name);
    assert_true(at >= 0 && row < series->metrics.rows);
    return series->metrics.values[(size_t)row * series->metrics.columns + (size_t)at];
}

static void
test_series_needs_a_run_folder(void **state)
{
    (void)state;
    cli_series *series = NULL;
    T_ERR(cli_series_open(&series, "nowhere", ROWS_MAX, &reason), OCT_EIO);
    assert_string_equal(reason.text, "cannot enter 'nowhere': No such file or directory");
    T_ERR(cli_series_open(&series, root, ROWS_MAX, &reason), OCT_EINVAL);
    assert_non_null(strstr(reason.text, "is not a run folder: it has no config.yaml"));
    assert_null(series);
}

static void
test_series_reads_rows_as_they_come(void **state)
{
    (void)state;
    cli_series *a = run_of("a", "env: {id: CartPole-v1}\nrun: {seed: 3}\n", "1,100,0.5,\n2,20");
    assert_string_equal(a->name, "a");
    assert_true(a->has_config);
    assert_int_equal(a->config.run.seed, 3);
    assert_int_equal(a->metrics.columns, 4);
    assert_int_equal(a->metrics.rows, 1); // the second is being written
    assert_true(cell(a, 0, "env_steps") == 100);
    assert_true(isnan(cell(a, 0, "eval_return")));
    uint64_t changes = a->changes;
    assert_false(cli_series_read(a, UINT64_MAX));
    assert_int_equal(a->changes, changes);
    append("a/metrics.csv", "0,0.25,9.5\nno row at all\n3,300,0.125,10\n");
    assert_false(cli_series_read(a, UINT64_MAX));
    assert_true(a->changes > changes);
    assert_int_equal(a->metrics.rows, 3);
    assert_true(cell(a, 1, "env_steps") == 200 && cell(a, 2, "eval_return") == 10);
    assert_int_equal(oct_csv_column(&a->metrics, "lo"), -1);
    assert_null(a->summary);
    put("a/summary.json", "{\"solved\": true}");
    assert_false(cli_series_read(a, UINT64_MAX));
    assert_true(json_is_true(json_object_get(a->summary, "solved")));
    // The learner merges old rows: another file replaces it.
    put("a/metrics.csv", HEADER "3,300,1,10\n");
    assert_false(cli_series_read(a, UINT64_MAX));
    assert_int_equal(a->metrics.rows, 1);
    assert_int_equal(a->metrics.rows_read, 1);
    cli_series_close(a);
}

// A run that is resumed has no summary until it ends again.
static void
test_series_forgets_a_summary_that_is_gone(void **state)
{
    (void)state;
    cli_series *series = run_of("a", "run: {seed: 7}\n", "");
    put("a/summary.json", "{\"updates\": 4}");
    assert_false(cli_series_read(series, UINT64_MAX));
    assert_non_null(series->summary);
    uint64_t changes = series->changes;
    assert_int_equal(unlink("a/summary.json"), 0);
    assert_false(cli_series_read(series, UINT64_MAX));
    assert_null(series->summary);
    assert_int_equal(series->changes, changes + 1);
    assert_false(cli_series_read(series, UINT64_MAX));
    assert_int_equal(series->changes, changes + 1);
    put("a/summary.json", "{\"updates\": 4}");
    assert_false(cli_series_read(series, UINT64_MAX));
    assert_non_null(series->summary);
    cli_series_close(series);
    assert_int_equal(unlink("a/summary.json"), 0);
}

// Counters keep their latest value, means are averaged, and no evaluation is lost beside rows that
// have none.
static void
test_series_joins_rows_that_do_not_fit(void **state)
{
    (void)state;
    cli_series *a = run_of("a", "{}\n", "");
    for (int i = 1; i <= 1000; i++) {
        char row[64];
        (void)snprintf(row, sizeof(row), i % 100 == 1 ? "%d,%d,%d,%d\n" : "%d,%d,%d,\n", i, 10 * i,
                       i, i);
        append("a/metrics.csv", row);
    }
    while (cli_series_read(a, 1)) {
    }
    assert_int_equal(a->metrics.rows_read, 1000);
    assert_int_equal(a->metrics.merged, 64);
    assert_int_equal(a->metrics.rows, 16);
    double evaluations = 0;
    for (uint32_t row = 0; row < a->metrics.rows; row++) {
        double first = 64.0 * row + 1, last = fmin(64.0 * row + 64, 1000);
        assert_true(cell(a, row, "wall_s") == last);
        assert_true(cell(a, row, "env_steps") == 10 * last);
        T_NEAR(cell(a, row, "loss"), (first + last) / 2, 1e-9, 0);
        evaluations += !isnan(cell(a, row, "eval_return"));
    }
    assert_true(evaluations == 10);
    cli_series_close(a);
}

static void
row_add(void *arg, const oct_csv *csv, const double *values)
{
    cli_series_path_add(arg, csv, values);
}

// The callback gets each row before it is merged; a file that replaces another is read from its
// beginning.
static void
test_series_tells_of_each_row(void **state)
{
    (void)state;
    cli_series *a = run_of("a", "{}\n", "");
    cli_series_path path = {.x = "env_steps", .y = "eval_return"};
    oct_csv_on_row(&a->metrics, row_add, &path);
    for (int i = 1; i <= 100; i++) {
        char row[64];
        (void)snprintf(row, sizeof(row), "%d,%d,,%d\n", i, 10 * i, i);
        append("a/metrics.csv", row);
    }
    assert_false(cli_series_read(a, UINT64_MAX));
    assert_true(a->metrics.merged > 1);
    assert_int_equal(path.count, 100);
    assert_true(path.points[41].x == 420 && path.points[41].y == 42);
    put("a/metrics.csv", HEADER "3,300,1,10\n");
    assert_false(cli_series_read(a, UINT64_MAX));
    assert_int_equal(path.count, 1);
    assert_true(path.points[0].x == 300 && path.points[0].y == 10);
    cli_series_close(a);
    assert_int_equal(path.count, 1); // closing calls nothing
    free(path.points);
}

static void
test_series_survives_any_content(void **state)
{
    (void)state;
    cli_series *a = run_of("a", "learner: {no_such_key: 1}\n", "");
    assert_false(a->has_config);
    assert_non_null(strstr(a->why, "no_such_key"));
    assert_null(strchr(a->why, '\n'));
    cli_series_close(a);
    static const char *const contents[] = {
        "", "\n", "wall_s,<script>\n1,2\n", "wall_s,,loss\n1,2,3\n", "one line",
    };
    for (size_t i = 0; i < OCT_COUNTOF(contents); i++) {
        put("a/metrics.csv", contents[i]);
        put("a/summary.json", i % 2 == 0 ? "[1]" : "{\"env\": ");
        T_OK(cli_series_open(&a, "a", ROWS_MAX, &reason));
        assert_false(cli_series_read(a, UINT64_MAX));
        assert_int_equal(a->metrics.columns, 0);
        assert_int_equal(a->metrics.rows, 0);
        assert_null(a->summary);
        assert_int_equal(cli_series_curve(a, "wall_s", "loss", NULL), 0);
        cli_series_close(a);
    }
}

// A line that is longer than any row is left out, wherever it is.
static void
test_series_passes_over_endless_lines(void **state)
{
    (void)state;
    cli_series *a = run_of("a", "{}\n", "1,100,1,\n");
    FILE *file = fopen("a/metrics.csv", "a");
    for (int i = 0; i < 600000; i++) {
        (void)fputc('7', file);
    }
    (void)fputs("\n2,200,1,\n", file);
    assert_int_equal(fclose(file), 0);
    assert_false(cli_series_read(a, UINT64_MAX));
    assert_int_equal(a->metrics.rows, 2);
    assert_true(cell(a, 1, "env_steps") == 200);
    cli_series_close(a);
}

static void
test_series_follows_no_link(void **state)
{
    (void)state;
    cli_series *a = run_of("a", "{}\n", "1,100,1,\n");
    cli_series_close(a);
    put("secret", HEADER "1,2,3,4\n");
    assert_int_equal(unlink("a/metrics.csv"), 0);
    assert_int_equal(symlink("../secret", "a/metrics.csv"), 0);
    (void)unlink("a/summary.json");
    assert_int_equal(mkfifo("a/summary.json", 0600), 0); // would block a reader that opens it
    T_OK(cli_series_open(&a, "a", ROWS_MAX, &reason));
    assert_false(cli_series_read(a, UINT64_MAX));
    assert_int_equal(a->metrics.columns, 0);
    assert_null(a->summary);
    cli_series_close(a);
    assert_int_equal(unlink("a/metrics.csv"), 0);
    assert_int_equal(unlink("a/summary.json"), 0);
    assert_int_equal(unlink("secret"), 0);
    assert_int_equal(rename("a/config.yaml", "a/other.yaml"), 0);
    assert_int_equal(symlink("other.yaml", "a/config.yaml"), 0);
    T_ERR(cli_series_open(&a, "a", ROWS_MAX, &reason), OCT_EINVAL);
    assert_false(cli_series_is_run("a"));
    assert_int_equal(rename("a/other.yaml", "a/config.yaml"), 0);
    assert_true(cli_series_is_run("a"));
    assert_false(cli_series_is_run("a/config.yaml"));
    assert_false(cli_series_is_run("nowhere"));
}

static void
test_series_curve_goes_back_with_the_run(void **state)
{
    (void)state;
    // Resumed at 150 steps: the points at 200 and 300 from before are dropped.
    cli_series *a =
        run_of("a", "{}\n", "1,100,1,10\n2,200,1,\n3,300,1,30\n4,150,1,15\n5,250,1,25\n");
    cli_series_point points[ROWS_MAX];
    assert_int_equal(cli_series_curve(a, "env_steps", "eval_return", points), 3);
    assert_true(points[1].x == 150 && points[1].y == 15 && points[2].x == 250);
    assert_true(cli_series_at(points, 3, 100) == 10);
    assert_true(cli_series_at(points, 3, 125) == 12.5);
    assert_true(cli_series_at(points, 3, 250) == 25);
    assert_true(isnan(cli_series_at(points, 3, 99)));
    assert_true(isnan(cli_series_at(points, 3, 251)));
    assert_true(isnan(cli_series_at(points, 0, 1)));
    assert_int_equal(cli_series_curve(a, "wall_s", "eval_return", points), 4);
    assert_int_equal(cli_series_curve(a, "env_steps", "no_column", points), 0);
    cli_series_close(a);
}

static void
test_series_puts_an_evaluation_where_its_policy_was_made(void **state)
{
    (void)state;
    static const char rows[] = "wall_s,env_steps,eval_return,eval_env_steps,eval_wall_s\n"
                               "1,100,20,80,0.5\n"  // a screen
                               "2,200,25,80,0.5\n"  // more of the same policy
                               "3,300,10,250,2.5\n" // the last one
                               "4,300,22,80,0.5\n"  // what ships
                               "5,150,,,\n"         // resumed there
                               "6,200,30,190,5\n";
    cli_series *a = run_of("a", "{}\n", "");
    cli_series_point points[ROWS_MAX];
    put("a/metrics.csv", rows);
    (void)cli_series_read(a, UINT64_MAX);
    assert_int_equal(cli_series_curve(a, "env_steps", "eval_return", points), 2);
    assert_true(points[0].x == 80 && points[0].y == 22);
    assert_true(points[1].x == 190 && points[1].y == 30);
    assert_int_equal(cli_series_curve(a, "wall_s", "eval_return", points), 3);
    assert_true(points[1].x == 2.5 && points[1].y == 10);
    assert_int_equal(cli_series_curve(a, "env_steps", "wall_s", points), 3); // the row's own
    assert_true(points[0].x == 100 && points[1].x == 150);
    cli_series_close(a);
}

static void
test_series_groups_seeds_of_one_configuration(void **state)
{
    (void)state;
    cli_series *runs[] = {
        run_of("a", "run: {seed: 1, name: x}\nnet: {learner: \"ipc://x.ipc\"}\n",
               "1,100,1,10\n2,300,1,30\n"),
        run_of("b", "run: {seed: 1}\nalgo: {discount: 0.9}\n", ""),
        run_of("c", "run: {seed: 2}\n", "1,100,1,20\n2,200,1,40\n"),
        run_of("d", "no_such_key: 1\n", ""),
    };
    uint32_t group[4];
    assert_int_equal(cli_series_group(runs, 4, group), 3);
    assert_int_equal(group[0], 0);
    assert_int_equal(group[1], 1);
    assert_int_equal(group[2], 0);
    assert_int_equal(group[3], 2);
    cli_series *seeds[] = {runs[0], runs[2]};
    cli_series_spread out[5];
    cli_series_range range;
    assert_int_equal(cli_series_mean(seeds, 2, "env_steps", "eval_return", 5, out, &range), 5);
    assert_true(range.least == 10 && range.greatest == 40);
    assert_true(out[0].x == 100 && out[4].x == 300);
    assert_true(out[0].mean == 15 && out[0].count == 2);
    T_NEAR(out[0].std, sqrt(50), 1e-12, 0);
    assert_true(out[2].mean == 30 && out[2].count == 2); // 20 and 40
    assert_true(out[4].mean == 30 && out[4].std == 0 && out[4].count == 1);
    assert_int_equal(cli_series_mean(&runs[1], 1, "env_steps", "eval_return", 5, out, &range), 0);
    assert_true(range.least > range.greatest);
    for (size_t i = 0; i < OCT_COUNTOF(runs); i++) {
        cli_series_close(runs[i]);
    }
}

// Two folders of one run that both lasted longest: the first is the run. The same run_id in another
// configuration, and a run without one, are copies of nothing.
static void
test_series_finds_copies(void **state)
{
    (void)state;
    static const struct {
        const char *folder, *config, *summary;
        uint32_t copy_of;
    } runs[] = {
        {"a", "run: {seed: 1}\n", "{\"run_id\": \"x\", \"learner_wall_s\": 5}", 2},
        {"b", "algo: {discount: 0.9}\n", "{\"run_id\": \"x\", \"learner_wall_s\": 9}", 1},
        {"c", "run: {seed: 1}\n", "{\"run_id\": \"x\", \"learner_wall_s\": 7}", 2},
        {"d", "run: {seed: 1}\n", "{\"run_id\": \"y\", \"learner_wall_s\": 7}", 3},
        {"e", "run: {seed: 1}\n", "{\"run_id\": \"x\", \"learner_wall_s\": 7}", 2},
        {"f", "run: {seed: 1}\n", "{}", 5},
        {"g", "run: {seed: 1}\n", "{}", 6},
    };
    cli_series *series[OCT_COUNTOF(runs)];
    uint32_t group[OCT_COUNTOF(runs)], copy_of[OCT_COUNTOF(runs)];
    for (size_t i = 0; i < OCT_COUNTOF(runs); i++) {
        char path[64];
        (void)mkdir(runs[i].folder, 0700);
        (void)snprintf(path, sizeof(path), "%s/summary.json", runs[i].folder);
        put(path, runs[i].summary);
        series[i] = run_of(runs[i].folder, runs[i].config, "");
    }
    assert_int_equal(cli_series_group(series, OCT_COUNTOF(runs), group), 2);
    cli_series_copies(series, OCT_COUNTOF(runs), group, copy_of);
    for (size_t i = 0; i < OCT_COUNTOF(runs); i++) {
        assert_int_equal(copy_of[i], runs[i].copy_of);
        cli_series_close(series[i]);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_series_needs_a_run_folder),
        cmocka_unit_test(test_series_reads_rows_as_they_come),
        cmocka_unit_test(test_series_forgets_a_summary_that_is_gone),
        cmocka_unit_test(test_series_joins_rows_that_do_not_fit),
        cmocka_unit_test(test_series_tells_of_each_row),
        cmocka_unit_test(test_series_survives_any_content),
        cmocka_unit_test(test_series_passes_over_endless_lines),
        cmocka_unit_test(test_series_follows_no_link),
        cmocka_unit_test(test_series_curve_goes_back_with_the_run),
        cmocka_unit_test(test_series_puts_an_evaluation_where_its_policy_was_made),
        cmocka_unit_test(test_series_groups_seeds_of_one_configuration),
        cmocka_unit_test(test_series_finds_copies),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
