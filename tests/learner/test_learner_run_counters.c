// What a run's counters and sums are in Prometheus, after a resume too.
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
    learner_run_configured(run, LEARNER_LIVE, OCT_OK, &empty);
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
    learner_run_configured(run, LEARNER_LIVE, OCT_OK,
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
    learner_run_configured(run, LEARNER_LIVE, OCT_OK, &later); // replay was started again
    assert_true(metric_of(run, "octet_env_steps_total") == 130);
    run_stop(run, "interrupted");
}

int
main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_run_resumed_counts_from_zero_and_its_sums_go_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
