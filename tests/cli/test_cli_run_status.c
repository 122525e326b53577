// The status of a run on this machine: evaluations, rates, shares of waiting time, and warnings.
#include "cli/run/cli_run_status.h"
#include "tests/support/oct_test.h"

static cli_run_status
fresh(void)
{
    cli_run_status status;
    cli_run_status_init(&status, "run");
    return status;
}

static void
test_numbers_ignore_names_that_they_do_not_know(void **state)
{
    (void)state;
    cli_run_status status = fresh();
    const char *const names[] = {"learner.of_tomorrow", "replay.size", ""};
    const double values[] = {1, 42, 3};
    cli_numbers_take(&status.numbers, names, values, 3);
    assert_true(status.numbers.value[CLI_REPLAY_SIZE] == 42);
    assert_true(isnan(status.numbers.value[CLI_ENV_STEPS]));
}

static void
test_status_notes_each_evaluation_once(void **state)
{
    (void)state;
    cli_run_status status = fresh();
    double *value = status.numbers.value;
    assert_false(cli_run_status_update(&status, 0.1));
    value[CLI_EVALUATIONS] = 1;
    assert_false(cli_run_status_update(&status, 0.2)); // its return is not known
    value[CLI_EVAL_RETURN] = 10;
    assert_true(cli_run_status_update(&status, 0.3));
    assert_false(cli_run_status_update(&status, 0.4));
    value[CLI_EVALUATIONS] = 2;
    assert_true(cli_run_status_update(&status, 0.5));
    assert_int_equal(status.point_count, 2);
}

static void
test_status_keeps_a_bounded_curve_of_the_whole_run(void **state)
{
    (void)state;
    cli_run_status status = fresh();
    for (int i = 1; i <= 2000; i++) {
        status.numbers.value[CLI_EVALUATIONS] = i;
        status.numbers.value[CLI_EVAL_RETURN] = i;
        (void)cli_run_status_update(&status, i);
        assert_true(status.point_count <= CLI_RUN_STATUS_POINTS_MAX);
    }
    assert_true(status.point_return[0] == 1);
    assert_true(status.point_return[status.point_count - 1] == 2000);
    for (size_t i = 1; i < status.point_count; i++) {
        assert_true(status.point_return[i] > status.point_return[i - 1]);
    }
}

static void
test_status_warns_of_an_environment_that_does_not_step(void **state)
{
    (void)state;
    cli_run_status status = fresh();
    double *value = status.numbers.value;
    value[CLI_ENV_STEPS] = 100;
    (void)cli_run_status_update(&status, 30); // waits for an actor: nothing is expected
    (void)snprintf(status.state, sizeof(status.state), "training");
    (void)cli_run_status_update(&status, 39.5);
    assert_string_equal(status.warning, "");
    (void)cli_run_status_update(&status, 40);
    assert_string_equal(status.warning, "no environment step for 10 s, does the environment hang? "
                                        "(log/actor-0.log)");
    value[CLI_ENV_STEPS] = 101;
    (void)cli_run_status_update(&status, 40.5);
    assert_string_equal(status.warning, "");
    for (int s = 41; s < 100; s++) { // replay holds the actors back
        value[CLI_INSERT_BLOCKED_S] = s;
        (void)cli_run_status_update(&status, s);
        assert_string_equal(status.warning, "");
    }
}

// Actors still answer, but nothing comes from them.
static void
make_idle(cli_run_status *status)
{
    *status = fresh();
    (void)snprintf(status->state, sizeof(status->state), "training");
    status->numbers.value[CLI_ACTORS] = 1;
    status->numbers.value[CLI_ENV_STEPS] = 100;
    status->numbers.value[CLI_ENV_STEPS_PER_S] = 0;
    status->numbers.value[CLI_WAIT_SHARE] = 0.97;
}

static void
test_status_warns_at_a_single_look_when_no_actor_reports(void **state)
{
    (void)state;
    cli_run_status status = fresh();
    (void)snprintf(status.state, sizeof(status.state), "training");
    (void)cli_run_status_update(&status, 0);
    assert_string_equal(status.warning, ""); // not known
    status.numbers.value[CLI_ACTORS] = 0;
    (void)cli_run_status_update(&status, 0);
    assert_string_equal(status.warning, "no actor has reported for 10 s, does the environment "
                                        "hang? (log/actor-0.log)");
    status.numbers.value[CLI_ACTORS] = 1;
    (void)cli_run_status_update(&status, 0);
    assert_string_equal(status.warning, "");
    make_idle(&status);
    (void)cli_run_status_update(&status, 20);
    assert_string_equal(status.warning, "the learner waits and no environment steps, does the "
                                        "environment hang? (log/actor-0.log)");
    status.numbers.value[CLI_WAIT_SHARE] = 0.2; // it has something to learn from
    (void)cli_run_status_update(&status, 20);
    assert_string_equal(status.warning, "");
}

static void
test_status_warns_while_a_file_cannot_be_written(void **state)
{
    (void)state;
    cli_run_status status = fresh();
    status.numbers.value[CLI_UNSAVED] = 1;
    (void)cli_run_status_update(&status, 1);
    assert_string_equal(status.warning, "a file of the run folder cannot be written, is the disk "
                                        "full? (log/learner.log)");
    status.numbers.value[CLI_UNSAVED] = 0;
    (void)cli_run_status_update(&status, 2);
    assert_string_equal(status.warning, "");
}

static void
test_status_tells_who_waited_in_the_last_window(void **state)
{
    (void)state;
    cli_run_status status = fresh();
    double *value = status.numbers.value;
    value[CLI_INSERT_BLOCKED_S] = 5;
    (void)cli_run_status_update(&status, 1);
    assert_true(isnan(status.insert_wait_share)); // no window yet
    value[CLI_INSERT_BLOCKED_S] = 5.5;
    (void)cli_run_status_update(&status, 3);
    T_NEAR(status.insert_wait_share, 0.25, 1e-9, 0);
    assert_true(isnan(status.sample_wait_share));
    value[CLI_INSERT_BLOCKED_S] = 0; // replay was started again
    (void)cli_run_status_update(&status, 5);
    assert_true(isnan(status.insert_wait_share));
}

static void
test_status_measures_rates_that_the_learner_has_not(void **state)
{
    (void)state;
    cli_run_status status = fresh();
    double *value = status.numbers.value;
    (void)cli_run_status_update(&status, 0.1);
    assert_true(isnan(value[CLI_ENV_STEPS_PER_S]));
    value[CLI_ENV_STEPS] = 1000;
    value[CLI_ENV_STEPS_PER_S] = 0;
    (void)cli_run_status_update(&status, 1);
    assert_true(value[CLI_ENV_STEPS_PER_S] == 0);
    value[CLI_ENV_STEPS] = 5000;
    (void)cli_run_status_update(&status, 3);
    T_NEAR(value[CLI_ENV_STEPS_PER_S], 2000, 1e-9, 0);
    value[CLI_ENV_STEPS_PER_S] = 1500; // its own is better
    (void)cli_run_status_update(&status, 4);
    assert_true(value[CLI_ENV_STEPS_PER_S] == 1500);
    value[CLI_ENV_STEPS] = 0; // it was started again
    value[CLI_ENV_STEPS_PER_S] = 0;
    (void)cli_run_status_update(&status, 5);
    assert_true(value[CLI_ENV_STEPS_PER_S] == 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_ignore_names_that_they_do_not_know),
        cmocka_unit_test(test_status_notes_each_evaluation_once),
        cmocka_unit_test(test_status_keeps_a_bounded_curve_of_the_whole_run),
        cmocka_unit_test(test_status_warns_of_an_environment_that_does_not_step),
        cmocka_unit_test(test_status_warns_at_a_single_look_when_no_actor_reports),
        cmocka_unit_test(test_status_warns_while_a_file_cannot_be_written),
        cmocka_unit_test(test_status_tells_who_waited_in_the_last_window),
        cmocka_unit_test(test_status_measures_rates_that_the_learner_has_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
