// A run's counters and sums in Prometheus, also after a resume, and its rates in metrics.csv.
#define FOLDER "test_learner_run_counters.run"
#include "tests/learner/run_fixture.h"

// A sample of /metrics.
static double
metric_of(learner_run *run, const char *name)
{
    char line[128];
    size_t length;
    oct_prometheus *page = oct_prometheus_create();
    learner_run_prometheus(run, page);
    (void)snprintf(line, sizeof(line), "\n%s ", name);
    const char *at = strstr(oct_prometheus_text(page, &length), line);
    if (at == NULL) {
        fail_msg("no metric is called %s", name);
    }
    double value = strtod(at + strlen(line), NULL);
    oct_prometheus_destroy(page);
    return value;
}

// To Prometheus a counter that is smaller than before has begun anew, and all of it is new: it is
// of the process, so what a resumed run has in all is told by gauges.
static void
test_run_resumed_counts_from_zero_and_its_sums_go_on(void **state)
{
    (void)state;
    config.learner.checkpoint_s = 3600;
    learner_run *run = run_joined(false);
    const wire_configured empty = {.incarnation = 9, .table = 77};
    learner_run_configured(run, 0, OCT_OK, &empty);
    steps = 500;
    run_train(run, 2);
    (void)run_published(run);
    run_evaluated(run, actor_begin(run, 51, WIRE_ROLE_EVALUATOR), 2, 3);
    double updates = metric_of(run, "octet_run_updates");
    assert_true(updates > 0);
    assert_true(metric_of(run, "octet_learner_updates_total") == updates);
    assert_true(metric_of(run, "octet_env_steps_total") == 500);
    assert_true(metric_of(run, "octet_evaluations_total") == 1);
    run_stop(run, "interrupted");
    run = run_joined(true);
    assert_true(metric_of(run, "octet_run_env_steps") == 500);
    const wire_configured ahead = {.incarnation = 9, .table = 77, .steps = 820};
    learner_run_configured(run, 0, OCT_OK,
                           &ahead); // what it took while nobody was there
    assert_true(metric_of(run, "octet_run_env_steps") == 820);
    assert_true(metric_of(run, "octet_run_updates") == updates);
    assert_true(metric_of(run, "octet_run_evaluations") == 1);
    assert_true(metric_of(run, "octet_env_steps_total") == 0);
    assert_true(metric_of(run, "octet_learner_updates_total") == 0);
    assert_true(metric_of(run, "octet_evaluations_total") == 0);
    double wall_s = metric_of(run, "octet_learner_wall_seconds_total");
    assert_true(metric_of(run, "octet_run_wall_seconds") > wall_s);
    steps = 900;
    run_train(run, 1);
    assert_true(metric_of(run, "octet_run_env_steps") == 900);
    assert_true(metric_of(run, "octet_env_steps_total") == 80);
    assert_true(metric_of(run, "octet_run_updates") ==
                updates + metric_of(run, "octet_learner_updates_total"));
    assert_true(metric_of(run, "octet_learner_updates_total") > 0);
    const wire_configured later = {.incarnation = 10, .table = 77, .steps = 950};
    learner_run_configured(run, 0, OCT_OK, &later); // replay was started again
    assert_true(metric_of(run, "octet_env_steps_total") == 130);
    run_stop(run, "interrupted");
}

// The cells of a column of metrics.csv, from the last row to the first; NAN for an empty cell.
static uint32_t
column_read(const char *name, double *cells, uint32_t cells_max)
{
    char *text = folder_read(FOLDER, "metrics.csv"), *rest = text;
    uint32_t column = 0, count = 0;
    char *line = strsep(&rest, "\n");
    for (const char *head; (head = strsep(&line, ",")) != NULL && strcmp(head, name) != 0;) {
        column++;
    }
    while ((line = strsep(&rest, "\n")) != NULL && line[0] != '\0' && count < cells_max) {
        const char *cell = "";
        for (uint32_t i = 0; i <= column; i++) {
            cell = strsep(&line, ",");
        }
        memmove(cells + 1, cells, count++ * sizeof(*cells));
        cells[0] = cell[0] != '\0' ? strtod(cell, NULL) : NAN;
    }
    free(text);
    return count;
}

static void
test_rates_are_of_the_time_of_training(void **state)
{
    (void)state;
    static const char *const rates[] = {"env_steps_per_s", "updates_per_s", "wait_share",
                                        "publish_core_share"};
    double cells[8];
    config.run.env_steps = 1000;
    learner_run *run = run_joined(false);
    learner_actor *evaluator = actor_begin(run, 6, WIRE_ROLE_EVALUATOR);
    run_stepped(run, 1000);
    (void)run_published(run);
    learner_run_tick(run);
    assert_int_equal(learner_run_phase(run), LEARNER_FINAL);
    run_evaluated(run, evaluator, 4, 44);
    run_evaluated(run, evaluator, 4, 33);
    assert_int_equal(learner_run_phase(run), LEARNER_DONE);
    run_stop(run, "");
    assert_int_equal(column_read("eval_return", cells, 8), 3);
    assert_true(isnan(cells[0]) && cells[1] == 33 && cells[2] == 44);
    for (size_t i = 0; i < OCT_COUNTOF(rates); i++) {
        assert_int_equal(column_read(rates[i], cells, 8), 3);
        assert_true(isnan(cells[0]) && isnan(cells[1]) && cells[2] >= 0);
    }
}

int
main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_run_resumed_counts_from_zero_and_its_sums_go_on),
        T(test_rates_are_of_the_time_of_training),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
