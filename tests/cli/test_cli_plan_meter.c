// What the meter of a plan makes of the status of a run: when it begins, its rates and shares.
#include "cli/plan/cli_plan_meter.h"

#include "tests/support/oct_test.h"

static net_loop *loop;
static cli_supervisor *supervisor; // of no daemons
static cli_snapshot state;
static cli_plan_meter meter;

static int
setup(void **unused)
{
    (void)unused;
    static const cli_watch_rule rule;
    static const cli_supervisor_events events;
    loop = net_loop_create();
    supervisor = cli_supervisor_create(loop, "/tmp", &cli_supervisor_backoff, &rule, &events);
    cli_snapshot_clear(&state);
    state.shards = 1;
    cli_plan_meter_init(&meter, 0);
    return 0;
}

static int
teardown(void **unused)
{
    (void)unused;
    cli_supervisor_destroy(supervisor);
    net_loop_destroy(loop);
    return 0;
}

static void
look(double wall_s, double learner_s, double env_steps, double updates)
{
    (void)snprintf(state.learner.state, sizeof(state.learner.state), "training");
    cli_snapshot_put(&state, "learner.wall_s", learner_s);
    cli_snapshot_put(&state, "learner.env_steps", env_steps);
    cli_snapshot_put(&state, "learner.updates", updates);
    cli_plan_meter_sample(&meter, wall_s, &state, supervisor);
}

static void
test_rates_are_those_after_the_first_update(void **unused)
{
    (void)unused;
    look(1, 0, 0, 0);
    look(2, 1, 5000, 0); // before the learner begins
    assert_true(isnan(cli_plan_meter_rates(&meter)->start_s));
    look(3, 2, 6000, 10);
    T_NEAR(cli_plan_meter_rates(&meter)->seconds, 0, 0, 0);
    look(4, 3, 6100, 30);
    cli_snapshot_put(&state, "learner.eval_played", 40);
    cli_snapshot_put(&state, "learner.eval_played_s", 2);
    look(5, 4, 6200, 50);
    const cli_plan_rates *rates = cli_plan_meter_rates(&meter);
    T_NEAR(rates->start_s, 2, 1e-12, 0);
    T_NEAR(rates->seconds, 2, 1e-12, 0);
    T_NEAR(rates->env_steps_per_s, 100, 1e-9, 0);
    T_NEAR(rates->updates_per_s, 20, 1e-9, 0);
    T_NEAR(rates->evaluation_s / rates->evaluation_episodes, 0.05, 1e-12, 0);
}

// 1000 steps of a slow environment took 20 s.
static void
test_first_steps_that_took_long_are_no_measure_of_the_rest(void **unused)
{
    (void)unused;
    config_experiment config;
    config_default(&config);
    config.replay.min_size = 1000;
    cli_plan_meter_from_start(&meter, &config, 1);
    look(11, 10, 500, 0);
    look(21, 20, 1000, 1);
    look(23, 22, 1100, 21);
    T_NEAR(cli_plan_meter_rates(&meter)->env_steps_per_s, 50, 1e-9, 0);
    T_NEAR(cli_plan_meter_rates(&meter)->updates_per_s, 10, 1e-9, 0);
}

static void
test_what_settles_is_left_out(void **unused)
{
    (void)unused;
    cli_plan_meter_init(&meter, 1);
    look(1, 0, 1000, 10);
    look(1.5, 0.5, 5000, 500);
    look(2.5, 1.5, 6000, 600);
    look(3.5, 2.5, 6100, 610);
    T_NEAR(cli_plan_meter_rates(&meter)->env_steps_per_s, 100, 1e-9, 0);
}

static void
test_an_answer_without_news_counts_once(void **unused)
{
    (void)unused;
    cli_snapshot_put(&state, "learner.wait_share", 1);
    look(1, 1, 1000, 10);
    cli_snapshot_put(&state, "learner.wait_share", 0);
    for (int i = 0; i < 10; i++) {
        look(1 + 0.01 * i, 1, 1000, 10);
    }
    look(2, 2, 2000, 20);
    T_NEAR(cli_plan_meter_rates(&meter)->learner_wait, 0.5, 1e-12, 0);
    T_NEAR(cli_plan_meter_rates(&meter)->env_steps_per_s, 1000, 1e-9, 0);
}

static void
test_more_looks_than_are_kept_change_no_rate(void **unused)
{
    (void)unused;
    for (int i = 0; i < 10 * CLI_PLAN_POINTS_MAX; i++) {
        look(i, i, 100.0 * i, 1 + i);
    }
    const cli_plan_rates *rates = cli_plan_meter_rates(&meter);
    T_NEAR(rates->env_steps_per_s, 100, 1e-9, 0);
    T_NEAR(rates->spread, 0, 1e-9, 0);
    assert_true(rates->seconds > 9 * CLI_PLAN_POINTS_MAX);
}

static void
test_steps_without_an_update_are_measured_from_the_first_look(void **unused)
{
    (void)unused;
    look(1, 0, 0, 0);
    look(5, 4, 200, 0);
    const cli_plan_rates *rates = cli_plan_meter_rates(&meter);
    T_NEAR(rates->env_steps_per_s, 50, 1e-9, 0);
    T_NEAR(rates->seconds, 4, 1e-9, 0);
    T_NEAR(rates->learner_wait, 1, 0, 0);
    assert_true(isnan(rates->updates_per_s));
}

// The first 1000 steps, which come before the first update, are not the learner's pace.
static void
test_a_new_run_is_measured_from_its_start(void **unused)
{
    (void)unused;
    config_experiment config;
    config_default(&config);
    config.replay.min_size = 1000;
    cli_plan_meter_from_start(&meter, &config, 10);
    look(10.5, 0.5, 2000, 100);
    const cli_plan_rates *rates = cli_plan_meter_rates(&meter);
    T_NEAR(rates->seconds, 0.5, 1e-9, 0);
    T_NEAR(rates->env_steps_per_s, 2000, 1e-9, 0);
    T_NEAR(rates->updates_per_s, 200, 1e-9, 0);
    T_NEAR(rates->start_s, 0.5, 1e-9, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_rates_are_those_after_the_first_update),
        TEST(test_first_steps_that_took_long_are_no_measure_of_the_rest),
        TEST(test_what_settles_is_left_out),
        TEST(test_an_answer_without_news_counts_once),
        TEST(test_more_looks_than_are_kept_change_no_rate),
        TEST(test_steps_without_an_update_are_measured_from_the_first_look),
        TEST(test_a_new_run_is_measured_from_its_start),
    };
    return cmocka_run_group_tests_name("cli_plan_meter", tests, NULL, NULL);
}
