// How many environments a process steps, from how long a reset and a step take.
#include "cli/run/cli_timing.h"
#include "common/oct_reason.h"

#include "common/oct_base.h"
#include "envs/env.h"
#include "tests/support/oct_test.h"

static config_experiment config;

// The clock: its n-th reading is n squared microseconds, so that a later step takes longer.
static uint64_t readings;

uint64_t __wrap_oct_clock_ns(void); // NOLINT: the linker's name

uint64_t
__wrap_oct_clock_ns(void) // NOLINT
{
    readings++;
    return readings * readings * 1000;
}

static cli_timing
timing_of(double reset_s, double step_s)
{
    return (cli_timing){
        .is_known = true, .reset_s = reset_s, .step_s = step_s, .steps = 20, .has_ended = true};
}

static void
set(const char *assignment)
{
    char message[512];
    T_OK(config_set(&config, assignment, message, sizeof(message)));
}

static void
experiment(const char *algorithm)
{
    config_default(&config);
    set("env.id=gym:CartPole-v1");
    set(algorithm);
}

static void
assert_chosen(uint32_t actors, uint32_t envs, uint32_t evaluated)
{
    assert_int_equal(config.actor.count, actors);
    assert_int_equal(config.actor.envs, envs);
    assert_int_equal(config.evaluation.envs, evaluated);
}

static void
test_timing_of_fast_environments_changes_nothing(void **state)
{
    (void)state;
    const cli_timing fast = timing_of(0.05, 0.01), unknown = {.is_known = false};
    experiment("algo.name=dqn");
    assert_false(cli_timing_choose(&fast, &config));
    assert_false(cli_timing_choose(&unknown, &config));
    assert_chosen(1, 16, 50);
}

static void
test_timing_spreads_slow_environments(void **state)
{
    (void)state;
    const cli_timing slow = timing_of(2, 0.001), steps = timing_of(0.1, 0.4),
                     late = {.is_late = true, .reset_s = 60};
    experiment("algo.name=dqn");
    assert_true(cli_timing_choose(&slow, &config));
    assert_chosen(8, 2, 2);
    assert_false(cli_timing_choose(&slow, &config)); // it is so already
    experiment("algo.name=dqn");
    assert_true(cli_timing_choose(&steps, &config));
    assert_chosen(2, 10, 10);
    experiment("algo.name=dqn");
    assert_true(cli_timing_choose(&late, &config));
    assert_chosen(8, 1, 1);
}

static void
test_timing_leaves_what_was_set(void **state)
{
    (void)state;
    const cli_timing slow = timing_of(2, 0.001);
    experiment("algo.name=dqn");
    set("actor.envs=16");
    set("evaluation.envs=50");
    assert_false(cli_timing_choose(&slow, &config));
    assert_chosen(1, 16, 50);
    experiment("algo.name=dqn");
    set("actor.count=1");
    assert_true(cli_timing_choose(&slow, &config));
    assert_chosen(1, 2, 2);
    experiment("algo.name=dqn");
    set("run.deterministic=true"); // which must not depend on a clock
    assert_false(cli_timing_choose(&slow, &config));
    assert_chosen(1, 16, 50);
}

// Rollouts: a batch has one of each environment, unless somebody has set more than there would be.
static void
test_timing_of_rollouts(void **state)
{
    (void)state;
    const cli_timing slow = timing_of(9, 0.001);
    experiment("algo.name=ppo");
    assert_true(cli_timing_choose(&slow, &config));
    assert_chosen(8, 1, 1);
    assert_int_equal(config.learner.batch_size, 8);
    experiment("algo.name=ppo");
    set("learner.batch_size=16");
    assert_false(cli_timing_choose(&slow, &config));
    assert_chosen(1, 16, 50);
}

static void
test_timing_measures_an_environment(void **state)
{
    (void)state;
    oct_reason why;
    env *e;
    cli_timing timing;
    const env_request request = {
        .id = "CartPole-v1", .options = "", .count = 1, .seed = 1, .autoreset = true};
    T_OK(env_open(&e, &request, &why));
    readings = 0;
    cli_timing_measure(e, &timing);
    env_close(e);
    assert_true(timing.is_known && !timing.is_late);
    assert_int_equal(timing.limit, 500);
    assert_true(timing.has_ended); // random actions let the pole fall soon
    assert_in_range(timing.steps, 5, 100);
    // The last step is the longest: it began an episode, too, and is not among the other steps.
    T_NEAR(timing.reset_s, 1e-6 * (5 + 6 * timing.steps), 0, 1e-12);
    T_NEAR(timing.step_s, 1e-6 * (5 + 3 * timing.steps), 0, 1e-12);
    assert_false(cli_timing_is_endless(&timing));
    timing.limit = 0;
    assert_false(cli_timing_is_endless(&timing));
    timing.has_ended = false;
    assert_true(cli_timing_is_endless(&timing));
    timing.limit = 500;
    assert_false(cli_timing_is_endless(&timing));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timing_of_fast_environments_changes_nothing),
        cmocka_unit_test(test_timing_spreads_slow_environments),
        cmocka_unit_test(test_timing_leaves_what_was_set),
        cmocka_unit_test(test_timing_of_rollouts),
        cmocka_unit_test(test_timing_measures_an_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
