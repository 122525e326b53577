// The learner's numbers: unknown before they are measured, and means over the last row.
#include <math.h>

#include "learner/learner_numbers.h"
#include "tests/support/oct_test.h"

static void
test_nothing_is_measured_in_the_beginning(void **state)
{
    (void)state;
    learner_measurements now;
    learner_measurements_init(&now);
    oct_numbers *numbers = oct_numbers_create("learner.");
    learner_numbers_add(numbers, &now);
    assert_true(isnan(oct_numbers_find(numbers, "eval_best")));
    assert_true(isnan(oct_numbers_find(numbers, "layer_error_15")));
    assert_true(oct_numbers_find(numbers, "env_steps_per_s") == 0);
    now.layer_error[15] = 3;
    now.phase[3] = 1;
    assert_true(oct_numbers_find(numbers, "layer_error_15") == 3);
    assert_true(oct_numbers_find(numbers, "phase_done") == 1);
    oct_numbers_destroy(numbers);
}

static void
test_means_are_of_the_last_row_and_leave_out_what_was_not_measured(void **state)
{
    (void)state;
    learner_means means = {0};
    oct_numbers *numbers = oct_numbers_create("learner.");
    learner_means_add(&means, numbers, &(algo_number){"entropy", "nats", "Mean entropy."});
    learner_means_add(&means, numbers, &(algo_number){"loss", "loss", "Mean loss."});
    assert_true(isnan(oct_numbers_find(numbers, "entropy")));
    learner_means_update(&means, (float[]){2, NAN});
    learner_means_update(&means, (float[]){4, NAN});
    assert_true(isnan(oct_numbers_find(numbers, "entropy"))); // the row goes on
    learner_means_end_row(&means);
    assert_true(oct_numbers_find(numbers, "entropy") == 3);
    assert_true(isnan(oct_numbers_find(numbers, "loss")));
    learner_means_update(&means, (float[]){NAN, 5});
    learner_means_end_row(&means);
    assert_true(isnan(oct_numbers_find(numbers, "entropy")));
    assert_true(oct_numbers_find(numbers, "loss") == 5);
    assert_true(learner_means_of(&means, "loss") == 5);
    assert_true(isnan(learner_means_of(&means, "entropy")));
    assert_true(isnan(learner_means_of(&means, "of_another_algorithm")));
    oct_numbers_destroy(numbers);
}

// Names are from environments: any of printable characters, and maybe alike.
static void
test_what_environments_measure_has_columns_by_plain_names(void **state)
{
    (void)state;
    static learner_eval_metrics metrics;
    static const oct_metric_names names = {
        .count = 5, .name = {"Success rate", "lap/s", "lap s", "lap_s", "lap_s_2"}};
    const oct_metric last[OCT_METRICS_MAX] = {{1, 4}, {6, 2}, {0, 0}};
    oct_numbers *numbers = oct_numbers_create("learner.");
    learner_eval_metrics_add(&metrics, numbers, &names);
    const char *found[16];
    double values[16];
    assert_int_equal(oct_numbers_list(numbers, OCT_SHOWN_CSV, found, values, 16), 5);
    static const char *const columns[] = {"eval_metric_Success_rate", "eval_metric_lap_s",
                                          "eval_metric_lap_s_2", "eval_metric_lap_s_3",
                                          "eval_metric_lap_s_2_2"};
    for (int i = 0; i < 5; i++) {
        assert_string_equal(found[i], columns[i]);
        assert_true(isnan(values[i]));
    }
    learner_eval_metrics_put(&metrics, last);
    learner_eval_metrics_end_row(&metrics, true);
    (void)oct_numbers_list(numbers, OCT_SHOWN_CSV, found, values, 16);
    assert_true(values[0] == 0.25 && values[1] == 3 && isnan(values[2]));
    learner_eval_metrics_end_row(&metrics, false); // no evaluation ended in this one
    (void)oct_numbers_list(numbers, OCT_SHOWN_TENSORBOARD, found, values, 16);
    assert_true(isnan(values[0]));
    assert_int_equal(oct_numbers_list(numbers, OCT_SHOWN_STATUS, found, values, 16), 5);
    assert_string_equal(found[0], "learner.eval_metric_Success_rate");
    assert_true(values[0] == 0.25 && values[1] == 3);
    learner_eval_metrics_put(&metrics, NULL);
    (void)oct_numbers_list(numbers, OCT_SHOWN_STATUS, found, values, 16);
    assert_true(isnan(values[0]));
    oct_numbers_destroy(numbers);
}

// The names that the dashboard has stay theirs; every other number is a sample of one family.
static void
test_an_algorithms_numbers_have_families(void **state)
{
    (void)state;
    learner_means means = {0};
    oct_numbers *numbers = oct_numbers_create("learner.");
    config_experiment config;
    config_default(&config);
    uint32_t count;
    const algo_number *algorithm = algo_numbers(&config, &count);
    for (uint32_t i = 0; i < count; i++) {
        learner_means_add(&means, numbers, &algorithm[i]);
    }
    learner_means_update(&means, (float[]){1, 2, 3, NAN, 0.5F, 4, 5});
    learner_means_end_row(&means);
    oct_prometheus *text = oct_prometheus_create();
    oct_numbers_prometheus(numbers, text);
    size_t length;
    const char *found = oct_prometheus_text(text, &length);
    assert_non_null(strstr(found, "octet_learner_gradient_norm{network=\"value\"} 4\n"
                                  "octet_learner_gradient_norm{network=\"policy\"} 5\n"));
    assert_non_null(strstr(found, "octet_learner_loss 1\n"));
    assert_non_null(strstr(found, "octet_learner_algorithm{number=\"td_abs\"} 2\n"
                                  "octet_learner_algorithm{number=\"value\"} 3\n"
                                  "octet_learner_algorithm{number=\"cut_above\"} 0.5\n"));
    oct_prometheus_destroy(text);
    oct_numbers_destroy(numbers);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_measured_in_the_beginning),
        cmocka_unit_test(test_means_are_of_the_last_row_and_leave_out_what_was_not_measured),
        cmocka_unit_test(test_what_environments_measure_has_columns_by_plain_names),
        cmocka_unit_test(test_an_algorithms_numbers_have_families),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
