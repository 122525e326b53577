// The registry of a process's numbers refuses rows that do not fit, and lists the rest in order.
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/oct_numbers.h"
#include "tests/support/oct_test.h"

typedef struct values {
    double steps, update_s, wait_s;
} values;

static const oct_number rows[] = {
    {.name = "steps",
     .unit = "steps",
     .help = "Steps so far.",
     .shown = OCT_SHOWN_CSV | OCT_SHOWN_STATUS,
     .kind = OCT_PROMETHEUS_COUNTER,
     .family = "octet_steps_total",
     .at = offsetof(values, steps)},
    {.name = "update_ms",
     .unit = "ms",
     .help = "Time of updates.",
     .shown = OCT_SHOWN_CSV,
     .kind = OCT_PROMETHEUS_COUNTER,
     .family = "octet_seconds_total",
     .family_help = "Time by activity.",
     .label = "activity",
     .label_value = "update",
     .factor = 1e-3,
     .at = offsetof(values, update_s)},
    {.name = "only_status",
     .unit = "",
     .help = "A number.",
     .shown = OCT_SHOWN_STATUS,
     .kind = OCT_PROMETHEUS_GAUGE,
     .at = offsetof(values, wait_s)},
    {.name = "wait_ms",
     .unit = "ms",
     .help = "Time of waiting.",
     .kind = OCT_PROMETHEUS_COUNTER,
     .family = "octet_seconds_total",
     .label = "activity",
     .label_value = "wait",
     .factor = 1e-3,
     .at = offsetof(values, wait_s)},
};

static double
doubled(const void *arg)
{
    return 2 * *(const double *)arg;
}

static oct_numbers *
numbers_of(const values *v)
{
    oct_numbers *numbers = oct_numbers_create("learner.");
    oct_numbers_add_all(numbers, rows, OCT_COUNTOF(rows), v);
    return numbers;
}

static void
expect_refused(const oct_number *row)
{
    const values v = {0};
    oct_numbers *numbers = numbers_of(&v);
    int status;
    pid_t child = fork();
    if (child == 0) {
        (void)freopen("/dev/null", "w", stderr);
        oct_numbers_add(numbers, row);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    oct_numbers_destroy(numbers);
}

static void
test_rows_that_do_not_fit_stop_the_program(void **state)
{
    (void)state;
    static const double one = 1;
    const oct_number good = {.name = "fine",
                             .unit = "",
                             .help = "Fine.",
                             .shown = OCT_SHOWN_CSV,
                             .kind = OCT_PROMETHEUS_COUNTER,
                             .arg = &one};
    oct_number bad = good;
    bad.name = "steps"; // there already
    expect_refused(&bad);
    bad = good;
    bad.name = "No Name";
    expect_refused(&bad);
    bad = good;
    bad.help = "";
    expect_refused(&bad);
    bad = good;
    bad.shown = 0; // nowhere
    expect_refused(&bad);
    bad = good;
    bad.family = "octet_seconds_total"; // which has a label
    expect_refused(&bad);
    bad.label = "activity";
    bad.label_value = "wait"; // twice
    expect_refused(&bad);
    bad.label_value = "sleep";
    bad.kind = OCT_PROMETHEUS_GAUGE; // two kinds
    expect_refused(&bad);
    oct_numbers_destroy(NULL);
}

static void
test_lists_have_what_is_shown_there_in_order(void **state)
{
    (void)state;
    values v = {.steps = 5, .update_s = 2, .wait_s = NAN};
    oct_numbers *numbers = numbers_of(&v);
    const char *names[4];
    double found[4];
    assert_int_equal(oct_numbers_list(numbers, OCT_SHOWN_CSV, names, found, 4), 2);
    assert_string_equal(names[0], "steps");
    assert_string_equal(names[1], "update_ms");
    assert_true(found[0] == 5 && found[1] == 2);
    assert_int_equal(oct_numbers_list(numbers, OCT_SHOWN_STATUS, names, found, 4), 2);
    assert_string_equal(names[0], "learner.steps");
    assert_string_equal(names[1], "learner.only_status");
    assert_true(isnan(found[1]));
    assert_int_equal(oct_numbers_list(numbers, OCT_SHOWN_CSV, names, NULL, 1), 1);
    assert_int_equal(oct_numbers_list(numbers, OCT_SHOWN_TENSORBOARD, names, found, 4), 0);
    v.steps = 6; // read when it is asked for
    assert_true(oct_numbers_find(numbers, "steps") == 6);
    assert_true(isnan(oct_numbers_find(numbers, "nothing")));
    oct_numbers_destroy(numbers);
}

// Many more than there was room for, each with a function of its own, after lists were read.
static void
test_rows_are_added_while_it_runs(void **state)
{
    (void)state;
    values v = {.steps = 5};
    oct_numbers *numbers = numbers_of(&v);
    const char *first[1], *again[1];
    (void)oct_numbers_list(numbers, OCT_SHOWN_STATUS, first, NULL, 1);
    static char name[200][8];
    for (int i = 0; i < 200; i++) {
        (void)snprintf(name[i], sizeof(name[i]), "n%d", i);
        const oct_number row = {.name = name[i],
                                .unit = "",
                                .help = "Twice the steps.",
                                .shown = OCT_SHOWN_CSV,
                                .get = doubled,
                                .arg = &v.steps};
        oct_numbers_add(numbers, &row);
    }
    assert_int_equal(oct_numbers_count(numbers), 204);
    assert_true(oct_numbers_find(numbers, "n199") == 10);
    (void)oct_numbers_list(numbers, OCT_SHOWN_STATUS, again, NULL, 1);
    assert_ptr_equal(first[0], again[0]); // names stay where they are
    oct_numbers_destroy(numbers);
}

static void
test_families_have_all_their_rows_together(void **state)
{
    (void)state;
    const values v = {.steps = 5, .update_s = 2000, .wait_s = 500};
    oct_numbers *numbers = numbers_of(&v);
    oct_prometheus *text = oct_prometheus_create();
    oct_numbers_prometheus(numbers, text);
    size_t length;
    assert_string_equal(oct_prometheus_text(text, &length),
                        "# HELP octet_steps_total Steps so far.\n"
                        "# TYPE octet_steps_total counter\n"
                        "octet_steps_total 5\n"
                        "# HELP octet_seconds_total Time by activity.\n"
                        "# TYPE octet_seconds_total counter\n"
                        "octet_seconds_total{activity=\"update\"} 2\n"
                        "octet_seconds_total{activity=\"wait\"} 0.5\n");
    oct_prometheus_destroy(text);
    oct_numbers_destroy(numbers);
}

static void
test_lines_for_the_documentation(void **state)
{
    (void)state;
    const values v = {0};
    oct_numbers *numbers = numbers_of(&v);
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    oct_numbers_print(numbers, out);
    (void)fclose(out);
    assert_non_null(strstr(text, "learner.\tsteps\tsteps\tcounter\tcsv,status\toctet_steps_total\t"
                                 "\t\tSteps so far.\t\n"));
    assert_non_null(strstr(text, "learner.\twait_ms\tms\tcounter\t\toctet_seconds_total\tactivity\t"
                                 "wait\tTime of waiting.\t\n"));
    free(text);
    oct_numbers_destroy(numbers);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_that_do_not_fit_stop_the_program),
        cmocka_unit_test(test_lists_have_what_is_shown_there_in_order),
        cmocka_unit_test(test_rows_are_added_while_it_runs),
        cmocka_unit_test(test_families_have_all_their_rows_together),
        cmocka_unit_test(test_lines_for_the_documentation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
