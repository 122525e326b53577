// What octet train finds before it makes a folder: environments, and algorithms that do not suit
// them.
#include "cli/run/cli_preflight.h"
#include "common/oct_reason.h"

#include <stdio.h>
#include <unistd.h>

#include "tests/envs/env_test.h"

#define AMPLE_MS 60000

static config_experiment config;
static oct_reason reason;

static int
setup(void **state)
{
    (void)state;
    config_default(&config);
    reason.text[0] = '\0';
    return 0;
}

static void
set(const char *key, const char *value)
{
    char setting[1024], message[1024];
    (void)snprintf(setting, sizeof(setting), "%s=%s", key, value);
    assert_int_equal(config_set(&config, setting, message, sizeof(message)), OCT_OK);
}

static cli_environment environment;

static oct_err
check(uint32_t timeout_ms)
{
    OCT_TRY(cli_preflight_open(&environment, &config, timeout_ms, NULL, &reason));
    return cli_preflight_suits(&environment, &config, &reason);
}

static void
refused(const char *words)
{
    assert_int_not_equal(check(AMPLE_MS), OCT_OK);
    assert_null(strchr(reason.text, '\n'));
    T_SAYS(reason.text, words);
}

static void
test_what_can_run_is_accepted(void **state)
{
    (void)state;
    set("env.id", "CartPole-v1");
    assert_int_equal(check(AMPLE_MS), OCT_OK);
    wire_env_spec found; // for the learner
    wire_arena *arena = wire_arena_create(1 << 16);
    T_OK(wire_env_unpack(&found, arena, environment.bytes, environment.length));
    assert_string_equal(found.env_id, "CartPole-v1");
    assert_int_equal(found.obs_count, 4);
    assert_int_equal(found.action_count, 2);
    wire_arena_destroy(arena);
    set("env.options", "max_episode_steps=30");
    assert_int_equal(check(AMPLE_MS), OCT_OK);
    (void)setup(NULL);
    set("env.id", plugin_path("point"));
    assert_int_equal(check(AMPLE_MS), OCT_OK);
    (void)setup(NULL);
    set("env.id", plugin_path("bad_crash")); // in its step, which is not tried here
    assert_int_equal(check(AMPLE_MS), OCT_OK);
}

// More than a pipe takes at once.
static void
test_names_of_all_metrics_are_for_the_learner(void **state)
{
    (void)state;
    set("env.id", plugin_path("shape"));
    set("env.options", "obs=4,n=2,metrics=64");
    assert_int_equal(check(AMPLE_MS), OCT_OK);
    assert_in_range(environment.length, 4097, WIRE_ENV_BYTES_MAX);
    wire_env_spec found;
    wire_arena *arena = wire_arena_create(1 << 16);
    T_OK(wire_env_unpack(&found, arena, environment.bytes, environment.length));
    assert_int_equal(found.metric_count, 64);
    assert_string_equal(found.metric_name[0], "all steps");
    assert_int_equal(strlen(found.metric_name[63]), 63);
    wire_arena_destroy(arena);
}

static void
test_environments_that_cannot_be_opened_are_refused(void **state)
{
    (void)state;
    set("env.id", "CartPoll-v1");
    refused("env.id: no environment \"CartPoll-v1\"; did you mean CartPole-v1?");
    set("env.id", plugin_path("bad_no_symbol"));
    refused("it exports no octet_env_api_get");
    set("env.id", plugin_path("bad_create"));
    refused("env.id: the walk is closed today");
}

// The words of octet env check (test_cli_env.c has the same environments).
static void
test_environments_that_no_policy_can_be_trained_on_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *options, *says;
    } cases[] = {
        {"dtype=2", "env.id: actions of Shape-v0 are f64; policies give f32"},
        {"obs_dtype=2", "env.id: observations of Shape-v0 are f64; policies read f32, u8"},
        {"obs_dtype=4", "env.id: observations of Shape-v0 are i32"},
        {"obs=65537",
         "env.id: an observation of Shape-v0 has 65537 numbers; allowed are 1 .. 65536"},
        {"n=257", "env.id: Shape-v0 has 257 actions; allowed are 1 .. 256"},
        {"bounds=0", "env.id: Shape-v0 bounds action 0 to [-inf, inf]; a policy needs finite"},
        {"low=-3e38,high=3e38", "env.id: Shape-v0 bounds action 0 to [-3e+38, 3e+38]"},
    };
    set("env.id", plugin_path("shape"));
    set("algo.name", "sac");
    assert_int_equal(check(AMPLE_MS), OCT_OK);
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        set("env.options", cases[i].options);
        refused(cases[i].says);
        assert_int_equal(check(AMPLE_MS), OCT_EINVAL);
    }
}

static void
test_plug_ins_that_crash_or_hang_do_so_alone(void **state)
{
    (void)state;
    set("env.id", plugin_path("bad_create_crash"));
    refused("it crashed: signal 6 (Aborted)");
    assert_int_equal(check(AMPLE_MS), OCT_EINTERNAL);
    T_SAYS(reason.text, "env.id: opening ");
    set("env.id", plugin_path("bad_create_hang")); // whatever the deadline
    assert_int_not_equal(check(100), OCT_OK);
    T_SAYS(reason.text, "it did not return within 0.1 s");
}

static void
assert_timed(const char *name, const char *options, uint32_t timeout_ms, cli_timing *timing)
{
    set("env.id", plugin_path(name));
    set("env.options", options);
    T_OK(cli_preflight_open(&environment, &config, timeout_ms, timing, &reason));
}

// What goes wrong there is for octet env check, and for the run.
static void
test_a_plug_in_is_stepped_to_measure_it(void **state)
{
    (void)state;
    cli_timing timing = {0};
    assert_timed("shape", "n=2,length=0,limit=0", AMPLE_MS, &timing);
    assert_true(cli_timing_is_endless(&timing));
    assert_timed("shape", "n=2,length=7,limit=0", AMPLE_MS, &timing);
    assert_true(timing.has_ended && timing.steps == 7);
    assert_timed("shape", "n=2,abort_at=1", AMPLE_MS, &timing);
    assert_true(timing.is_known && timing.steps == 0);
    assert_timed("bad_hang", "", 2000, &timing); // in a step
    assert_true(timing.is_known && !timing.is_late);
    assert_timed("bad_reset_hang", "", 2000, &timing);
    assert_true(timing.is_late && !timing.is_known && timing.reset_s >= 2);
}

static void
test_what_a_plug_in_prints_when_it_is_measured_is_not_shown(void **state)
{
    (void)state;
    cli_timing timing = {0};
    FILE *shown = tmpfile();
    int before = dup(STDOUT_FILENO);
    assert_true(shown != NULL && before >= 0);
    (void)setvbuf(stdout, NULL, _IONBF, 0);
    (void)dup2(fileno(shown), STDOUT_FILENO);
    assert_timed("bad_prints", "", AMPLE_MS, &timing); // in each step
    (void)dup2(before, STDOUT_FILENO);
    assert_true(timing.steps > 0);
    assert_int_equal(lseek(fileno(shown), 0, SEEK_END), 0);
    (void)close(before);
    (void)fclose(shown);
}

static void
test_policies_that_are_too_large_to_be_sent_are_refused(void **state)
{
    (void)state;
    set("env.id", "CartPole-v1");
    set("network.hidden", "[65536, 65536]");
    refused("network.hidden: a policy of 4296409385 bytes in int8 exceeds the limit");
    assert_int_equal(check(AMPLE_MS), OCT_EINVAL);
}

static void
test_options_that_an_environment_does_not_take_are_refused(void **state)
{
    (void)state;
    set("env.id", "CartPole-v1");
    set("env.options", "gravity=3");
    refused("env.options: CartPole-v1 has no option \"gravity\"");
    set("env.options", "max_episode_steps=soon");
    refused("env.options: ");
    set("env.id", plugin_path("bad_none"));
    set("env.options", "level=2");
    refused("env.options: no option level");
    set("env.id", "Pole-v1"); // a part of a value is no name of an option
    set("env.options", "size=(3,v1,4)");
    refused("env.id: no environment");
}

static void
test_algorithms_and_networks_have_to_suit_the_environment(void **state)
{
    (void)state;
    set("env.id", "Pendulum-v1");
    set("algo.name", "dqn");
    refused("dqn needs discrete actions");
    set("env.id", "CartPole-v1");
    set("algo.name", "td3");
    refused("td3");
    set("algo.name", "dqn");
    set("network.conv", "[8]");
    refused("network.conv: convolutions need observations of rows x columns x channels");
}

static void
test_replay_has_to_hold_what_is_learned_from(void **state)
{
    (void)state;
    set("env.id", "CartPole-v1");
    set("algo.n_step", "10");
    set("replay.capacity", "2000");
    set("actor.envs", "200");
    refused("replay.capacity: 200 streams and windows of 10 steps need 6400 rows (blocks of 8 "
            "rows, at least 4 "
            "for each stream); the table holds 2000");
    set("replay.capacity", "6400");
    assert_int_equal(check(AMPLE_MS), OCT_OK);
}

static void
test_replay_has_to_give_what_is_learned_from(void **state)
{
    (void)state;
    set("env.id", "CartPole-v1");
    set("learner.batch_size", "65536");
    assert_int_equal(check(AMPLE_MS), OCT_OK);
    set("replay.sampler", "fifo");
    set("replay.capacity", "66000");
    refused("replay.capacity: 66000 rows, from which replay can sample at most 32000 windows at "
            "once, fewer than learner.batch_size: 65536; 133057 rows are enough");
    set("replay.capacity", "133057");
    assert_int_equal(check(AMPLE_MS), OCT_OK);
    (void)setup(NULL);
    set("env.id", "Taxi-v4");
    set("algo.name", "table");
    set("algo.sequence_steps", "16384");
    refused("algo.sequence_steps: 16384 makes windows of 16385 steps; at most 16384 are allowed");
}

static void
test_a_rollout_has_to_fit_into_a_message(void **state)
{
    (void)state;
    set("env.id", plugin_path("shape"));
    set("env.options", "obs=7056,n=2");
    set("algo.name", "ppo");
    set("algo.sequence_steps", "320");
    set("actor.count", "1");
    set("actor.envs", "8");
    set("learner.batch_size", "8");
    set("network.hidden", "[8]");
    refused("algo.sequence_steps: one message to replay cannot hold 320 steps of actor.envs: 8");
    set("algo.sequence_steps", "160");
    assert_int_equal(check(AMPLE_MS), OCT_OK);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_what_can_run_is_accepted),
        TEST(test_names_of_all_metrics_are_for_the_learner),
        TEST(test_environments_that_cannot_be_opened_are_refused),
        TEST(test_environments_that_no_policy_can_be_trained_on_are_refused),
        TEST(test_plug_ins_that_crash_or_hang_do_so_alone),
        TEST(test_a_plug_in_is_stepped_to_measure_it),
        TEST(test_what_a_plug_in_prints_when_it_is_measured_is_not_shown),
        TEST(test_policies_that_are_too_large_to_be_sent_are_refused),
        TEST(test_options_that_an_environment_does_not_take_are_refused),
        TEST(test_algorithms_and_networks_have_to_suit_the_environment),
        TEST(test_replay_has_to_hold_what_is_learned_from),
        TEST(test_replay_has_to_give_what_is_learned_from),
        TEST(test_a_rollout_has_to_fit_into_a_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
