// `octet env check` passes sound environments, and reports exactly the rule that a bad one breaks.
#include "common/oct_reason.h"
#include "tests/envs/env_test.h"

#include "envs/env_check.h"

#define RULES_MAX 32

struct reports {
    env_check_result results[RULES_MAX];
    uint32_t count;
};

static void
reported(void *arg, const env_check_result *result)
{
    struct reports *reports = arg;
    assert_true(reports->count < RULES_MAX);
    reports->results[reports->count++] = *result;
}

static uint32_t
checked_with(const char *id, const char *options, uint32_t timeout_ms, struct reports *reports)
{
    *reports = (struct reports){0};
    env_check_request request = {.id = id, .options = options, .rule_timeout_ms = timeout_ms};
    return env_check_run(&request, reported, reports);
}

static uint32_t
checked(const char *id, uint32_t timeout_ms, struct reports *reports)
{
    return checked_with(id, "", timeout_ms, reports);
}

static const env_check_result *
verdict_of(const struct reports *reports, const char *rule)
{
    for (uint32_t k = 0; k < reports->count; k++) {
        if (strcmp(reports->results[k].rule, rule) == 0) {
            return &reports->results[k];
        }
    }
    static const env_check_result none;
    fail_msg("no rule %s", rule);
    return &none;
}

static void
test_check_names_the_rule_that_broke_and_how(void **state)
{
    (void)state;
    static const struct {
        const char *plugin, *rule, *says;
    } cases[] = {
        {"bad_no_symbol", "opens", "octet_env_api_get"},
        {"bad_abi", "opens", "ABI version"},
        {"bad_no_step", "opens", "no step"},
        {"bad_rank", "opens", "rank"},
        {"bad_create", "opens", "closed today"},
        {"bad_takes_options", "options", "no_such_option"},
        {"bad_shape", "rows", "outside the rows of obs"},
        {"bad_obs_nan", "observations", "nan"},
        {"bad_obs_range", "observations", "is 100, outside"},
        {"bad_unwritten", "determinism", "obs is not written"},
        {"bad_reward_nan", "rewards", "nan"},
        {"bad_reward_range", "rewards", "the reward is 9"},
        {"bad_flags", "flags", "unknown bits"},
        {"bad_failed", "flags", "reports a failure: the walker fell"},
        {"bad_no_reset_flag", "flags", "OBS_IS_RESET is missing"},
        {"bad_seed_ignored", "seeds", "the seed is ignored"},
        {"bad_global_random", "seeds", "two resets with seed"},
        {"bad_global_random", "determinism", "differs between two handles"},
        {"bad_seed_spread", "alone", "alone with seed + i"},
        {"bad_no_final", "final-obs", "final observation is missing"},
        {"bad_final_is_next", "final-obs", "first observation of the next episode"},
        {"bad_not_reset", "autoreset", "obs at an end"},
        {"bad_moves_on", "stays", "later"},
        {"bad_mask", "mask", "not in its mask"},
        {"bad_sum", "sums", "ep_return"},
        {"bad_length", "sums", "ep_length"},
        {"bad_metric_unwritten", "determinism", "metrics is not written"},
        {"bad_metric_infinite", "metrics", "\"distance\" is inf"},
        {"bad_prints", "quiet", "it printed \"1?resets\""},
        {"bad_writes_null", "unwanted", "crashed"},
        {"bad_no_limit", "limit", "not truncated"},
        {"bad_load_short", "save", "one byte short"},
        {"bad_load_forgets", "save", "the loaded one"},
        {"bad_takes_actions", "actions", "accepted action -1"},
        {"bad_silent_error", "actions", "last_error says nothing"},
        {"bad_step_error", "runs", "the line is cut"},
        {"bad_crash", "runs", "Aborted"},
        {"bad_exit", "runs", "ended the process"},
    };
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        struct reports reports;
        assert_true(checked(plugin_path(cases[i].plugin), 30000, &reports) > 0);
        const env_check_result *result = verdict_of(&reports, cases[i].rule);
        if (result->verdict != ENV_CHECK_FAIL || strstr(result->detail, cases[i].says) == NULL) {
            fail_msg("%s, rule %s: verdict %d, \"%s\" does not say \"%s\"", cases[i].plugin,
                     cases[i].rule, (int)result->verdict, result->detail, cases[i].says);
        }
    }
}

static void
test_check_stops_a_rule_that_hangs(void **state)
{
    (void)state;
    struct reports reports;
    assert_true(checked(plugin_path("bad_hang"), 1000, &reports) > 0);
    T_SAYS(verdict_of(&reports, "runs")->detail, "did not return within");
}

static void
test_check_tries_no_more_when_it_cannot_open_or_step(void **state)
{
    (void)state;
    struct reports reports;
    assert_int_equal(checked("CartPole-v9", 30000, &reports), 1);
    assert_int_equal(reports.count, 1);
    T_SAYS(reports.results[0].detail, "did you mean CartPole-v1");
    assert_int_equal(checked(plugin_path("bad_step_error"), 30000, &reports), 1);
    assert_int_equal(reports.count, 2);
}

static void
test_check_breaks_no_other_rule_than_the_one_broken(void **state)
{
    (void)state;
    static const char *const single[] = {
        "bad_takes_options", "bad_no_reset_flag",    "bad_no_limit",        "bad_sum",
        "bad_length",        "bad_load_short",       "bad_silent_error",    "bad_writes_null",
        "bad_prints",        "bad_metric_unwritten", "bad_metric_infinite", "bad_reward_nan",
        "bad_failed"};
    for (size_t i = 0; i < OCT_COUNTOF(single); i++) {
        struct reports reports;
        assert_int_equal(checked(plugin_path(single[i]), 30000, &reports), 1);
    }
}

static void
test_check_passes_good_environments(void **state)
{
    (void)state;
    struct reports reports;
    assert_int_equal(checked(plugin_path("bad_none"), 30000, &reports), 0);
    assert_int_equal(verdict_of(&reports, "state")->verdict, ENV_CHECK_SKIP);
    assert_int_equal(verdict_of(&reports, "save")->verdict, ENV_CHECK_PASS);
    assert_int_equal(verdict_of(&reports, "metrics")->verdict, ENV_CHECK_PASS);
    assert_int_equal(checked(plugin_path("bad_old_table"), 30000, &reports), 0);
    assert_int_equal(checked(plugin_path("point"), 30000, &reports), 0);
    assert_int_equal(verdict_of(&reports, "actions")->verdict, ENV_CHECK_PASS);
    assert_int_equal(verdict_of(&reports, "metrics")->verdict, ENV_CHECK_SKIP); // it has none
    assert_int_equal(checked("Pendulum-v1", 30000, &reports), 0);
    assert_int_equal(verdict_of(&reports, "actions")->verdict, ENV_CHECK_PASS);
    for (const char *const *id = env_ids(); *id != NULL; id++) {
        bool has_state = strncmp(*id, "MinAtar/", 8) != 0;
        if (!has_state && strstr(*id, "-v0") != NULL) {
            continue; // the same game as -v1 with more actions
        }
        assert_int_equal(checked(*id, 30000, &reports), 0);
        assert_int_equal(verdict_of(&reports, "state")->verdict,
                         has_state ? ENV_CHECK_PASS : ENV_CHECK_SKIP);
        assert_int_equal(verdict_of(&reports, "save")->verdict, ENV_CHECK_PASS);
        bool ends = strncmp(*id, "CliffWalking", 12) != 0; // has no limit, and a random walk none
        assert_int_equal(verdict_of(&reports, "final-obs")->verdict,
                         ends ? ENV_CHECK_PASS : ENV_CHECK_SKIP);
        assert_int_equal(verdict_of(&reports, "ends")->verdict,
                         ends ? ENV_CHECK_PASS : ENV_CHECK_WARN);
    }
}

// Options that leave nothing to chance, and others.
static void
test_check_passes_environments_without_chance(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"FrozenLake-v1", "success_rate=1"},
        {"FrozenLake-v1", "success_rate=0"},
        {"FrozenLake-v1", "is_slippery=0"},
        {"MinAtar/SpaceInvaders-v1", "sticky_actions=0"},
        {"MinAtar/SpaceInvaders-v1", "sticky_actions=1"},
        {"MinAtar/Breakout-v1", "sticky_actions=1"},
    };
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        struct reports reports;
        if (checked_with(cases[i][0], cases[i][1], 30000, &reports) != 0) {
            fail_msg("%s with %s: %s", cases[i][0], cases[i][1],
                     verdict_of(&reports, "seeds")->detail);
        }
    }
}

static oct_err
discrete_only(const octet_env_spec *spec, oct_reason *why)
{
    oct_reason_set(why, "a box");
    return spec->action.n > 0 ? OCT_OK : OCT_EINVAL;
}

// What training asks for is told apart from the rules of the interface.
static void
test_check_asks_what_training_asks(void **state)
{
    (void)state;
    struct reports reports;
    env_check_request request = {.id = plugin_path("shape"),
                                 .options = "n=2",
                                 .rule_timeout_ms = 30000,
                                 .trains = discrete_only};
    assert_int_equal(env_check_run(&request, reported, memset(&reports, 0, sizeof(reports))), 0);
    assert_int_equal(verdict_of(&reports, "trains")->verdict, ENV_CHECK_PASS);
    request.options = "n=0";
    assert_int_equal(env_check_run(&request, reported, memset(&reports, 0, sizeof(reports))), 0);
    assert_int_equal(verdict_of(&reports, "trains")->verdict, ENV_CHECK_UNFIT);
    assert_string_equal(verdict_of(&reports, "trains")->detail, "a box");
}

static void
test_check_warns_of_episodes_that_never_end(void **state)
{
    (void)state;
    struct reports reports;
    assert_int_equal(checked_with(plugin_path("shape"), "length=0,limit=0", 30000, &reports), 0);
    assert_int_equal(verdict_of(&reports, "ends")->verdict, ENV_CHECK_WARN);
    T_SAYS(verdict_of(&reports, "ends")->detail, "no episode ended within 600 steps");
    T_SAYS(verdict_of(&reports, "ends")->detail, "give it a limit");
    assert_int_equal(checked_with(plugin_path("shape"), "length=7,limit=0", 30000, &reports), 0);
    assert_int_equal(verdict_of(&reports, "ends")->verdict, ENV_CHECK_PASS);
    assert_int_equal(
        checked_with(plugin_path("shape"), "length=90000,limit=90000", 30000, &reports), 0);
    assert_int_equal(verdict_of(&reports, "ends")->verdict, ENV_CHECK_PASS);
}

// A box action beyond a bound does what the bound does. What it costs is the environment's affair.
static void
test_check_knows_whether_box_actions_are_clipped(void **state)
{
    (void)state;
    static const struct {
        const char *id, *options, *says; // NULL: they are
    } cases[] = {
        {"shape", "clips=1", NULL},
        {"shape", "clips=1,actions=3", NULL},
        {"shape", "clips=1,low=-3e38,high=3e38", NULL},
        {"shape", "clips=1,length=1,limit=1", NULL},
        {"shape", "clips=1,dtype=2", NULL},
        {"shape", "clips=2", "actions are not clipped: observation number 1 is "},
        {"shape", "clips=inf", "actions are not clipped: observation number 1 is "},
        {"shape", "clips=inf,length=1,limit=1", "actions are not clipped"},
        {"Pendulum-v1", "numpy=2", NULL},
        {"MountainCarContinuous-v0", "numpy=2", NULL},
        {"MountainCarContinuous-v0", "action_repeat=4", NULL},
    };
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        struct reports reports;
        bool is_plugin = strcmp(cases[i].id, "shape") == 0;
        (void)checked_with(is_plugin ? plugin_path(cases[i].id) : cases[i].id, cases[i].options,
                           30000, &reports);
        const env_check_result *result = verdict_of(&reports, "actions");
        if (result->verdict != (cases[i].says == NULL ? ENV_CHECK_PASS : ENV_CHECK_FAIL) ||
            (cases[i].says != NULL && strstr(result->detail, cases[i].says) == NULL)) {
            fail_msg("%s with %s: verdict %d, \"%s\"", cases[i].id, cases[i].options,
                     (int)result->verdict, result->detail);
        }
    }
    struct reports reports;
    (void)checked_with(plugin_path("shape"), "bounds=0", 30000, &reports);
    assert_int_equal(verdict_of(&reports, "actions")->verdict, ENV_CHECK_SKIP);
}

// An environment whose actions are repeated is one as any other.
static void
test_check_passes_action_repeat(void **state)
{
    (void)state;
    static const char *const ids[] = {"CartPole-v1", "Pendulum-v1", "MinAtar/Breakout-v1",
                                      "FrozenLake-v1"};
    struct reports reports;
    for (size_t i = 0; i < OCT_COUNTOF(ids); i++) {
        bool has_state = strncmp(ids[i], "MinAtar/", 8) != 0;
        assert_int_equal(checked_with(ids[i], "action_repeat=3", 30000, &reports), 0);
        assert_int_equal(verdict_of(&reports, "state")->verdict,
                         has_state ? ENV_CHECK_PASS : ENV_CHECK_SKIP);
        assert_int_equal(verdict_of(&reports, "save")->verdict, ENV_CHECK_PASS);
        assert_int_equal(verdict_of(&reports, "final-obs")->verdict, ENV_CHECK_PASS);
    }
    assert_int_equal(checked_with(plugin_path("point"), "action_repeat=5", 30000, &reports), 0);
    assert_int_equal(
        checked_with(plugin_path("shape"), "metrics=3,action_repeat=5", 30000, &reports), 0);
    assert_int_equal(verdict_of(&reports, "metrics")->verdict, ENV_CHECK_PASS);
    // Terminates in step 18 of 20, which is inside of the last repeated one.
    assert_int_equal(checked_with(plugin_path("shape"), "length=18,terminates=1,action_repeat=5",
                                  30000, &reports),
                     0);
    assert_int_equal(verdict_of(&reports, "limit")->verdict, ENV_CHECK_PASS);
    // A limit that does not truncate is none, with and without repeats.
    assert_int_equal(
        checked_with(plugin_path("shape"), "length=40,action_repeat=5", 30000, &reports), 1);
    assert_int_equal(verdict_of(&reports, "limit")->verdict, ENV_CHECK_FAIL);
    assert_int_equal(checked_with(plugin_path("shape"), "length=20,terminates=1", 30000, &reports),
                     1);
    assert_int_equal(verdict_of(&reports, "limit")->verdict, ENV_CHECK_FAIL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_check_names_the_rule_that_broke_and_how),
        cmocka_unit_test(test_check_stops_a_rule_that_hangs),
        cmocka_unit_test(test_check_tries_no_more_when_it_cannot_open_or_step),
        cmocka_unit_test(test_check_breaks_no_other_rule_than_the_one_broken),
        cmocka_unit_test(test_check_passes_good_environments),
        cmocka_unit_test(test_check_passes_environments_without_chance),
        cmocka_unit_test(test_check_asks_what_training_asks),
        cmocka_unit_test(test_check_warns_of_episodes_that_never_end),
        cmocka_unit_test(test_check_knows_whether_box_actions_are_clipped),
        cmocka_unit_test(test_check_passes_action_repeat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
