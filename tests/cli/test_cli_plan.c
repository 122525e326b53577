// What a plan makes of measured numbers: the limit, ranges, times, memory, disk, its sentences.
#include "cli/plan/cli_plan.h"

#include "cli/plan/cli_plan_goals.h"
#include "cli/plan/cli_plan_print.h"
#include "config/config_text.h"
#include "tests/support/oct_test.h"

static config_experiment config;
static cli_plan_rates rates;
static cli_plan_needs needs;
static cli_plan_input input;

// Two seconds of DQN on four cores, of which two are idle: 1000 env steps/s, 200 updates/s.
static int
setup(void **state)
{
    (void)state;
    config_default(&config);
    config.run.env_steps = 101000;
    config.replay.min_size = 1000;
    config.learner.metrics_s = 1;
    rates = (cli_plan_rates){.seconds = 2,
                             .start_s = 0.5,
                             .env_steps = 2000,
                             .updates = 400,
                             .env_steps_per_s = 1000,
                             .updates_per_s = 200,
                             .spread = 0,
                             .learner_wait = 0.5,
                             .actor_wait = 0,
                             .env_share = 0.75,
                             .learner = {0.5, 30000},
                             .replay = {0.25, 10000},
                             .actors = {1, 20000},
                             .evaluator = {0.25, 5000},
                             .others_cores = 0};
    needs = (cli_plan_needs){.learners = 1,
                             .shards = 1,
                             .actors = 1,
                             .learner = 40000,
                             .replay = 1000,
                             .table = 500000,
                             .actor = 100,
                             .disk_table = 70000,
                             .disk_checkpoints = 3000,
                             .disk_metrics = 20000 * 100};
    input = (cli_plan_input){.config = &config,
                             .rates = &rates,
                             .needs = &needs,
                             .cores = 4,
                             .memory_available = 1000000000,
                             .disk_available = 1000000000};
    return 0;
}

static cli_plan_limit
limit_with(double learner_wait, double actor_wait)
{
    rates.learner_wait = learner_wait;
    rates.actor_wait = actor_wait;
    return cli_plan_limit_of(&config, &rates, input.cores);
}

// ---- the limit

static void
test_the_side_that_never_waits_is_the_limit(void **state)
{
    (void)state;
    assert_int_equal(limit_with(0.01, 0.9), CLI_PLAN_LEARNER);
    assert_int_equal(limit_with(0.9, 0.01), CLI_PLAN_ACTORS);
    assert_int_equal(limit_with(0.01, 0.01), CLI_PLAN_BALANCED);
    assert_int_equal(limit_with(0.5, 0.5), CLI_PLAN_EXCHANGE);
    assert_int_equal(limit_with(CLI_PLAN_WAITS, 0), CLI_PLAN_ACTORS);
}

// The run keeps two cores busy.
static void
test_busy_cores_are_the_limit_of_both_sides(void **state)
{
    (void)state;
    input.cores = 2;
    assert_int_equal(limit_with(0.9, 0.01), CLI_PLAN_CORES);
    assert_int_equal(limit_with(0.5, 0.5), CLI_PLAN_CORES);
    assert_int_equal(limit_with(0.01, 0.01), CLI_PLAN_CORES);
    // A learner that has work all the time, and half of a core.
    assert_int_equal(limit_with(0.01, 0.9), CLI_PLAN_CORES);
    rates.learner.cores = 0.95;
    rates.actors.cores = 0.55;
    assert_int_equal(limit_with(0.01, 0.9), CLI_PLAN_LEARNER);
}

static void
test_cores_that_others_use_are_not_idle(void **state)
{
    (void)state;
    assert_int_equal(limit_with(0.9, 0.01), CLI_PLAN_ACTORS);
    rates.others_cores = 2;
    assert_int_equal(limit_with(0.9, 0.01), CLI_PLAN_CORES);
    rates.learner.cores = NAN; // nothing is known of any
    rates.others_cores = NAN;
    assert_int_equal(limit_with(0.9, 0.01), CLI_PLAN_ACTORS);
}

static void
test_rollouts_of_the_newest_policy_take_turns(void **state)
{
    (void)state;
    config.algo.name = CONFIG_ALGO_PPO;
    assert_int_equal(limit_with(0.5, 0), CLI_PLAN_TURNS);
    assert_int_equal(limit_with(0.02, 0), CLI_PLAN_LEARNER);
    assert_int_equal(limit_with(0.98, 0), CLI_PLAN_ACTORS);
    config.algo.rollout_lag = 1;
    assert_int_equal(limit_with(0.5, 0), CLI_PLAN_ACTORS);
    config.algo.name = CONFIG_ALGO_DQN;
    config.run.deterministic = true;
    assert_int_equal(limit_with(0.5, 0), CLI_PLAN_TURNS);
}

static void
test_a_run_from_a_data_set_has_no_actors_to_wait_for(void **state)
{
    (void)state;
    (void)snprintf(config.replay.data, sizeof(config.replay.data), "steps.oct");
    config.replay.data_share = 1;
    assert_true(config_is_offline(&config));
    assert_int_equal(limit_with(0.01, NAN), CLI_PLAN_LEARNER);
    assert_int_equal(limit_with(0.5, NAN), CLI_PLAN_EXCHANGE);
}

static void
test_nothing_that_was_measured_is_no_limit(void **state)
{
    (void)state;
    assert_int_equal(limit_with(NAN, NAN), CLI_PLAN_UNKNOWN);
    rates.seconds = 0;
    assert_int_equal(limit_with(0.01, 0.9), CLI_PLAN_UNKNOWN);
}

// ---- ranges and times

static void
test_a_range_narrows_with_time_and_widens_with_noise(void **state)
{
    (void)state;
    double usual = cli_plan_width(&rates, 4);
    T_NEAR(usual, 0.15, 1e-12, 0);
    rates.seconds = 20;
    assert_true(cli_plan_width(&rates, 4) < usual);
    rates.seconds = 2;
    rates.spread = 0.05;
    T_NEAR(cli_plan_width(&rates, 4), usual + 0.1, 1e-12, 0);
    rates.others_cores = 1; // of four
    T_NEAR(cli_plan_width(&rates, 4), usual + 0.1 + 0.25, 1e-12, 0);
    rates.others_cores = 100;
    assert_true(cli_plan_width(&rates, 4) < 1);
    rates.others_cores = NAN;
    rates.spread = NAN;
    T_NEAR(cli_plan_width(&rates, 4), usual, 1e-12, 0);
}

// The first 1000 steps come at the actors' own rate, 2000 a second, and the rest at 1000.
static void
test_time_has_the_start_the_first_steps_and_the_rest(void **state)
{
    (void)state;
    cli_plan plan;
    rates.actor_wait = 0.5;
    cli_plan_make(&plan, &input);
    T_NEAR(plan.actors_max, 2000, 1e-9, 0);
    T_NEAR(plan.learner_max, 400, 1e-9, 0);
    T_NEAR(plan.time_s.mid, 0.5 + 0.5 + 100, 1e-9, 0);
    T_NEAR(plan.time_s.low, 1 + 85, 1e-9, 0);
    T_NEAR(plan.time_s.high, 1 + 115, 1e-9, 0);
    assert_string_equal(plan.ends_by, "run.env_steps");
    input.env_steps_done = 51000; // of a run that continues
    cli_plan_make(&plan, &input);
    T_NEAR(plan.time_s.mid, 0.5 + 50, 1e-9, 0);
}

static void
test_the_first_budget_that_is_spent_ends_the_run(void **state)
{
    (void)state;
    cli_plan plan;
    config.run.updates = 2000; // ten seconds
    cli_plan_make(&plan, &input);
    assert_string_equal(plan.ends_by, "run.updates");
    T_NEAR(plan.time_s.mid, 10.5, 1e-9, 0);
    config.run.updates = 2000000;
    cli_plan_make(&plan, &input);
    assert_string_equal(plan.ends_by, "run.env_steps");
    config.run.wall_s = 60;
    cli_plan_make(&plan, &input);
    assert_string_equal(plan.ends_by, "run.wall_s");
    T_NEAR(plan.time_s.high, 60, 0, 0);
}

// The evaluator played 40 episodes in 1 s of 4 s, so it is busy for a quarter of the run.
static void
test_the_final_evaluation_is_as_fast_as_those_before(void **state)
{
    (void)state;
    cli_plan plan;
    cli_plan_make(&plan, &input);
    assert_true(isnan(plan.final_s.low) && isnan(plan.final_s.high));
    config.evaluation.episodes = 100;
    config.evaluation.final_share = 0.1;
    rates.watched_s = 4;
    rates.evaluation_episodes = 40;
    rates.evaluation_s = 1;
    cli_plan_make(&plan, &input);
    T_NEAR(plan.final_s.low, 2 * 100 / 40.0, 1e-9, 0);
    T_NEAR(plan.final_s.high, 5 + 0.1 * plan.time_s.high / 4, 1e-9, 0);
}

static void
test_an_environment_without_a_step_has_a_lower_bound_alone(void **state)
{
    (void)state;
    cli_plan plan;
    char text[64];
    rates = (cli_plan_rates){.watched_s = 5,
                             .start_s = NAN,
                             .env_steps_per_s = NAN,
                             .updates_per_s = NAN,
                             .learner_wait = NAN,
                             .actor_wait = NAN,
                             .learner = {NAN, 0}};
    config.actor.count = 2;
    config.actor.envs = 8;
    cli_plan_make(&plan, &input);
    T_NEAR(plan.time_s.low, 101000.0 * 5 / 16, 1e-6, 0);
    assert_true(isnan(plan.time_s.mid) && isnan(plan.time_s.high));
    cli_plan_time_text(text, sizeof(text), &plan.time_s);
    assert_string_equal(text, "more than 8.8 h");
}

static void
test_an_environment_too_slow_for_an_update_has_a_wide_range(void **state)
{
    (void)state;
    cli_plan plan;
    rates.start_s = NAN;
    rates.updates_per_s = NAN;
    rates.learner_wait = 1;
    cli_plan_make(&plan, &input);
    assert_int_equal(plan.limit, CLI_PLAN_ACTORS);
    assert_true(plan.time_s.high > 1.5 * plan.time_s.mid);
    assert_true(isfinite(plan.time_s.high));
}

static void
test_times_have_the_unit_of_their_size(void **state)
{
    (void)state;
    static const struct {
        cli_plan_range range;
        const char *text;
    } cases[] = {
        {{0.3, 0.4, 0.52}, "0.30 to 0.52 s"},
        {{2, 2.5, 3}, "2.0 to 3.0 s"},
        {{20, 25, 30}, "20 to 30 s"},
        {{90, 120, 150}, "1.5 to 2.5 min"},
        {{3000, 3600, 4200}, "50 to 70 min"},
        {{7200, 9000, 10800}, "2.0 to 3.0 h"},
        {{86400, 200000, 259200}, "1.0 to 3.0 days"},
        {{20.1, 20.2, 20.3}, "20 s"},
        {{NAN, NAN, NAN}, "-"},
    };
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        char text[64];
        cli_plan_time_text(text, sizeof(text), &cases[i].range);
        assert_string_equal(text, cases[i].text);
    }
}

// ---- memory and disk

static void
test_memory_is_what_is_held_or_reserved_if_that_is_more(void **state)
{
    (void)state;
    cli_plan plan;
    cli_plan_make(&plan, &input);
    assert_int_equal(plan.memory_learner, 40000); // it holds 30000
    assert_int_equal(plan.memory_replay, 501000);
    assert_int_equal(plan.memory_actors, 20000); // it reserves 100
    assert_int_equal(plan.memory_total, 40000 + 501000 + 20000 + 5000);
    assert_true(plan.memory_fits);
    needs.table_in_file = true;
    cli_plan_make(&plan, &input);
    assert_int_equal(plan.memory_replay, 10000);
    assert_int_equal(plan.memory_total, 40000 + 10000 + 20000 + 5000);
}

// As the daemons refuse what would take more than 90 % of the memory.
static void
test_a_run_that_takes_nearly_all_memory_does_not_fit(void **state)
{
    (void)state;
    cli_plan plan;
    char text[CLI_PLAN_SENTENCE_BYTES];
    const cli_plan_shown shown = {.plan = &plan, .input = &input, .folder = "."};
    input.memory_available = 600000;
    cli_plan_make(&plan, &input);
    assert_false(plan.memory_fits);
    assert_true(plan.disk_fits);
    cli_plan_sentence(text, sizeof(text), &shown);
    assert_string_equal(text, "not measured, because the run does not fit");
    input.memory_available = 640000;
    cli_plan_make(&plan, &input);
    assert_true(plan.memory_fits);
}

static void
test_disk_has_as_many_rows_of_metrics_as_the_run_makes(void **state)
{
    (void)state;
    cli_plan plan;
    config.learner.metrics_rows = 20000;
    cli_plan_make(&plan, &input);
    double rows = plan.time_s.high; // one a second, 100 bytes each
    T_NEAR((double)plan.disk_total, 73000 + rows * 100, 1, 0);
    config.learner.metrics_s = 1e-4;
    cli_plan_make(&plan, &input);
    assert_int_equal(plan.disk_total, 73000 + 2000000);
    input.disk_available = plan.disk_total - 1;
    cli_plan_make(&plan, &input);
    assert_false(plan.disk_fits);
}

// ---- goals

static void
test_goals_are_found_by_the_name_of_their_preset(void **state)
{
    (void)state;
    static const char text[] = "# comment\npreset,runs,low,median,high\ncartpole,3,10,20,40\n"
                               "dmc/a,1,5,5,5\nbad,0,1,2,3\nworse,2,3,2,5\nlong,1,1,1,1,1\ncut,1,2";
    cli_plan_goal goal = {0};
    assert_true(cli_plan_goals_parse(&goal, text, "cartpole"));
    assert_int_equal(goal.runs, 3);
    T_NEAR(goal.steps.low, 10, 0, 0);
    T_NEAR(goal.steps.mid, 20, 0, 0);
    T_NEAR(goal.steps.high, 40, 0, 0);
    assert_true(cli_plan_goals_parse(&goal, text, "dmc/a"));
    static const char *const none[] = {"cart", "cartpole,3", "bad", "worse", "long", "cut", ""};
    for (size_t i = 0; i < OCT_COUNTOF(none); i++) {
        assert_false(cli_plan_goals_parse(&goal, text, none[i]));
    }
}

static void
test_the_time_of_a_goal_spans_steps_and_rates(void **state)
{
    (void)state;
    cli_plan plan;
    const cli_plan_goal goal = {.goal_return = 475, .runs = 3, .steps = {11000, 21000, 51000}};
    cli_plan_make(&plan, &input);
    cli_plan_set_goal(&plan, &input, &goal);
    T_NEAR(plan.goal.time_s.low, 1.5 + 10 * 0.85, 1e-9, 0);
    T_NEAR(plan.goal.time_s.mid, 1.5 + 20, 1e-9, 0);
    T_NEAR(plan.goal.time_s.high, 1.5 + 50 * 1.15, 1e-9, 0);
}

// ---- sentences

static void
sentence_has(const char *wanted)
{
    cli_plan plan;
    char text[CLI_PLAN_SENTENCE_BYTES];
    const cli_plan_shown shown = {.plan = &plan, .input = &input, .folder = "."};
    cli_plan_make(&plan, &input);
    cli_plan_sentence(text, sizeof(text), &shown);
    if (strstr(text, wanted) == NULL) {
        fail_msg("'%s' has no '%s'", text, wanted);
    }
}

static void
test_the_sentence_names_the_limit_and_what_to_change(void **state)
{
    (void)state;
    sentence_has("the actors are the limit: 1.0 k env steps/s, 75 % of their work in the "
                 "environment; up to 2 actors would help (--actors)");
    input.cores = 2.3; // not enough for another actor
    sentence_has("; larger actor.envs may help");
    input.cores = 4;
    rates.learner_wait = 0;
    rates.actor_wait = 0.9;
    sentence_has("the learner is the limit: 200 updates/s; more actors will not help");
    sentence_has("or a replay.samples_per_insert below 8");
    rates.learner_wait = 0.9;
    sentence_has("learner.batches_per_request");
    input.cores = 2;
    sentence_has(
        "the 2 cores of this machine are the limit; more actors or learners will not help");
    rates.others_cores = 1.5;
    sentence_has("of which other programs use 1.5");
    config.algo.name = CONFIG_ALGO_PPO;
    sentence_has("algo.rollout_lag");
    config.algo.name = CONFIG_ALGO_DQN;
    config.run.deterministic = true;
    sentence_has("without run.deterministic");
    rates.seconds = 0;
    sentence_has("measure longer with --seconds");
}

static void
test_the_line_of_a_run_that_begins(void **state)
{
    (void)state;
    cli_plan plan;
    char text[256];
    const cli_plan_shown shown = {.plan = &plan, .input = &input, .folder = "."};
    rates.learner_wait = 0;
    rates.actor_wait = 0.9;
    cli_plan_make(&plan, &input);
    cli_plan_line(text, sizeof(text), &shown);
    assert_string_equal(
        text, "plan       101 k env steps in 86 to 116 s · limit: learner · memory 553 KiB");
}

static double
steps_of(const cli_plan_point *point)
{
    return point->env_steps;
}

static void
test_the_spread_is_that_of_four_parts(void **state)
{
    (void)state;
    cli_plan_point even[9], uneven[9];
    for (uint32_t i = 0; i < 9; i++) {
        even[i] = (cli_plan_point){.s = i, .env_steps = 100.0 * i};
        // Rates of the parts: 100, 100, 100, 200; their mean 125, their deviation 50.
        uneven[i] =
            (cli_plan_point){.s = i, .env_steps = 100.0 * i + (i > 6 ? 100.0 * (i - 6) : 0)};
    }
    T_NEAR(cli_plan_spread(even, 9, steps_of), 0, 1e-12, 0);
    T_NEAR(cli_plan_spread(uneven, 9, steps_of), 50.0 / 2 / 125, 1e-12, 0);
    assert_true(isnan(cli_plan_spread(even, 8, steps_of)));
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_side_that_never_waits_is_the_limit),
        TEST(test_busy_cores_are_the_limit_of_both_sides),
        TEST(test_cores_that_others_use_are_not_idle),
        TEST(test_rollouts_of_the_newest_policy_take_turns),
        TEST(test_a_run_from_a_data_set_has_no_actors_to_wait_for),
        TEST(test_nothing_that_was_measured_is_no_limit),
        TEST(test_a_range_narrows_with_time_and_widens_with_noise),
        TEST(test_time_has_the_start_the_first_steps_and_the_rest),
        TEST(test_the_first_budget_that_is_spent_ends_the_run),
        TEST(test_the_final_evaluation_is_as_fast_as_those_before),
        TEST(test_an_environment_without_a_step_has_a_lower_bound_alone),
        TEST(test_an_environment_too_slow_for_an_update_has_a_wide_range),
        TEST(test_times_have_the_unit_of_their_size),
        TEST(test_memory_is_what_is_held_or_reserved_if_that_is_more),
        TEST(test_a_run_that_takes_nearly_all_memory_does_not_fit),
        TEST(test_disk_has_as_many_rows_of_metrics_as_the_run_makes),
        TEST(test_goals_are_found_by_the_name_of_their_preset),
        TEST(test_the_time_of_a_goal_spans_steps_and_rates),
        TEST(test_the_sentence_names_the_limit_and_what_to_change),
        TEST(test_the_line_of_a_run_that_begins),
        TEST(test_the_spread_is_that_of_four_parts),
    };
    return cmocka_run_group_tests_name("cli_plan", tests, NULL, NULL);
}
