// Plug-ins with a bad path, table, spec or behaviour are refused with a reason, and cannot harm the
// host.
#include "common/oct_reason.h"
#include "tests/envs/env_test.h"

static void
refused(const char *id, oct_err want, const char *says)
{
    oct_reason why = {""};
    env *e = NULL;
    env_request request = {.id = id, .options = "", .count = 2, .autoreset = true};
    T_ERR(env_open(&e, &request, &why), want);
    assert_null(e);
    T_SAYS(why.text, says);
    assert_null(strchr(why.text, '\n'));
}

static void
test_plugin_path_that_does_not_exist_is_not_found(void **state)
{
    (void)state;
    refused("./no_such.so", OCT_ENOTFOUND, "no such file");
    refused("no_such.so", OCT_ENOTFOUND, "no such file");
    refused("/no/such/file", OCT_ENOTFOUND, "no such file");
}

static void
test_plugin_bare_name_is_not_searched_in_the_systems_folders(void **state)
{
    (void)state;
    refused("libm.so", OCT_ENOTFOUND, "no such file");
}

static void
test_plugin_that_is_no_shared_object_is_refused(void **state)
{
    (void)state;
    refused("./meson.build", OCT_EINVAL, "cannot be loaded");
    refused("./tests", OCT_EINVAL, "cannot be loaded");
}

static void
test_plugin_table_that_is_wrong_is_refused(void **state)
{
    (void)state;
    refused(plugin_path("bad_no_symbol"), OCT_EINVAL, "octet_env_api_get");
    refused(plugin_path("bad_refuses"), OCT_EINVAL, "does not support ABI version 1");
    refused(plugin_path("bad_abi"), OCT_EINVAL, "another ABI version");
    refused(plugin_path("bad_short_table"), OCT_EINVAL, "shorter than version 1");
    refused(plugin_path("bad_no_step"), OCT_EINVAL, "no step");
}

static void
test_plugin_create_that_fails_gives_its_reason_in_one_line(void **state)
{
    (void)state;
    refused(plugin_path("bad_create"), OCT_EINVAL, "the walk is closed today");
    refused(plugin_path("bad_no_handle"), OCT_EINVAL, "gave no reason");
}

static void
test_plugin_spec_that_is_wrong_is_refused(void **state)
{
    (void)state;
    refused(plugin_path("bad_id"), OCT_EINVAL, "not printable");
    refused(plugin_path("bad_dtype"), OCT_EINVAL, "observation space has an unknown dtype");
    refused(plugin_path("bad_rank"), OCT_EINVAL, "rank above");
    refused(plugin_path("bad_empty_shape"), OCT_EINVAL, "dimension of size 0");
    refused(plugin_path("bad_huge_shape"), OCT_EINVAL, "more than 2^24");
    refused(plugin_path("bad_bounds"), OCT_EINVAL, "low bound");
    refused(plugin_path("bad_state_name"), OCT_EINVAL, "a number of its state has no name");
    refused(plugin_path("bad_metric_name"), OCT_EINVAL, "1 to 63 printable characters");
    refused(plugin_path("bad_metric_name_length"), OCT_EINVAL, "1 to 63 printable characters");
    refused(plugin_path("bad_metric_name_twice"), OCT_EINVAL, "two metrics have the same name");
    refused(plugin_path("bad_step_seconds"), OCT_EINVAL, "neither 0 nor from 1e-6 to 1e6");
    refused(plugin_path("bad_step_seconds_nan"), OCT_EINVAL, "its step_seconds");
    refused(plugin_path("bad_claims_state"), OCT_EINVAL, "OCTET_ENV_CAN_STATE");
    refused(plugin_path("bad_claims_render"), OCT_EINVAL, "OCTET_ENV_CAN_RENDER");
    refused(plugin_path("bad_claims_draws"), OCT_EINVAL, "OCTET_ENV_CAN_DRAWS");
}

static void
test_plugin_with_the_first_versions_table_opens(void **state)
{
    (void)state;
    env *e = env_opened(plugin_path("bad_old_table"), "", 2, 0, true);
    double numbers[8];
    uint32_t step;
    T_ERR(env_state_get(e, 0, numbers, &step), OCT_EINVAL);
    T_SAYS(env_error(e), "no get_state");
    env_close(e);
}

static void
test_plugin_error_in_step_is_told_by_the_host(void **state)
{
    (void)state;
    env *e = env_opened(plugin_path("bad_step_error"), "", 2, 0, true);
    struct rows r;
    rows_init(&r);
    T_OK(env_reset(e, NULL, NULL, &r.io));
    T_ERR(env_step(e, &r.io), OCT_EINTERNAL);
    T_SAYS(env_error(e), "the line is cut");
    env_close(e);
}

static const uint8_t failed = OCTET_ENV_FAILED | OCTET_ENV_TRUNCATED;
static const uint8_t anew = OCTET_ENV_FAILED | OCTET_ENV_TRUNCATED | OCTET_ENV_OBS_IS_RESET;

// Steps until environment 0 has failed; nothing that is not finite may reach the caller but what
// was not measured.
static void
fails_safely(const char *name, bool autoreset)
{
    env *e = env_opened(plugin_path(name), "", 2, 0, autoreset);
    struct rows r;
    rows_init(&r);
    r.metrics[0] = 7; // of an episode before
    T_OK(env_reset(e, NULL, NULL, &r.io));
    for (int t = 1; t <= 3; t++) {
        T_OK(env_step(e, &r.io));
        for (int i = 0; i < 2; i++) {
            assert_true(isfinite(r.reward[i]) && isfinite(r.obs[i][0]));
            assert_int_equal((r.flags[i] & OCTET_ENV_FAILED) != 0, t == 3);
        }
    }
    assert_int_equal(env_failures(e), 2);
    T_SAYS(env_failure(e), "environment 1: the ");
    T_SAYS(env_failure(e), " is not finite");
    assert_true((r.flags[0] & OCTET_ENV_TRUNCATED) != 0);
    assert_int_equal((r.flags[0] & OCTET_ENV_OBS_IS_RESET) != 0, autoreset);
    assert_float_equal(r.reward[0], 0, 0);
    assert_true(isnan(r.metrics[0]));
    // The number of steps of the episode is observed: with autoreset a new one has begun.
    assert_float_equal(r.obs[0][1], 0, 0);
    if (autoreset) {
        T_OK(env_step(e, &r.io));
        assert_float_equal(r.obs[0][1], 1, 0);
        assert_int_equal(r.flags[0], 0);
    }
    env_close(e);
}

static void
stays_failed(env *e, struct rows *r)
{
    for (int t = 0; t < 30; t++) { // the plug-in ends an episode on the way
        T_OK(env_step(e, &r->io));
        assert_int_equal(r->flags[0], failed);
        assert_true(r->reward[0] == 0 && r->reward64[0] == 0);
        assert_true(r->obs[0][0] == 0 && r->obs[0][1] == 0);
        assert_true(r->ep_return[0] == 0 && r->ep_length[0] == 0 && isnan(r->metrics[0]));
    }
    assert_int_equal(env_failures(e), 2);
    T_SAYS(env_failure(e), "environment 1: the ");
}

static void
continues(env *e, struct rows *r, float steps)
{
    T_OK(env_step(e, &r->io));
    assert_int_equal(r->flags[0], 0);
    assert_float_equal(r->obs[0][1], steps, 0);
    assert_int_equal(r->flags[1], failed);
}

// The plug-in itself would go on.
static void
test_plugin_that_the_host_failed_stays_there_without_autoreset(void **state)
{
    (void)state;
    static const char *const names[] = {"bad_reward_nan", "bad_obs_nan"};
    const uint8_t first[] = {1, 0};
    for (size_t i = 0; i < OCT_COUNTOF(names); i++) {
        env *e = env_opened(plugin_path(names[i]), "", 2, 0, false);
        struct rows r;
        rows_init(&r);
        T_OK(env_reset(e, NULL, NULL, &r.io));
        uint8_t saved[256];
        uint32_t length = sizeof(saved);
        T_OK(env_save(e, 0, saved, &length));
        for (int t = 1; t <= 3; t++) {
            T_OK(env_step(e, &r.io));
        }
        stays_failed(e, &r);
        T_OK(env_reset(e, first, NULL, &r.io));
        continues(e, &r, 1);
        continues(e, &r, 2);
        T_OK(env_step(e, &r.io));
        assert_int_equal(r.flags[0], failed);
        assert_int_equal(env_failures(e), 3);
        T_OK(env_load(e, 0, saved, length));
        continues(e, &r, 1);
        env_close(e);
    }
}

static void
test_plugin_numbers_that_are_not_finite_stop_at_the_host(void **state)
{
    (void)state;
    fails_safely("bad_reward_nan", true);
    fails_safely("bad_reward_nan", false);
    fails_safely("bad_obs_nan", true);
    fails_safely("bad_obs_nan", false);
}

// In the rows of an end is nothing of an episode before it.
static void
test_plugin_that_says_failed_has_ended_its_episode(void **state)
{
    (void)state;
    for (int autoreset = 0; autoreset <= 1; autoreset++) {
        env *e = env_opened(plugin_path("bad_failed"), "", 2, 0, autoreset != 0);
        struct rows r;
        rows_init(&r);
        r.final_obs[1][0] = r.ep_return[1] = r.metrics[1] = 7;
        r.ep_length[1] = 7;
        T_OK(env_reset(e, NULL, NULL, &r.io));
        for (int t = 1; t <= 3; t++) {
            T_OK(env_step(e, &r.io));
            assert_int_equal(r.flags[1], t < 3 ? 0 : autoreset != 0 ? anew : failed);
        }
        assert_true(r.reward[1] == 0 && r.final_obs[1][0] == 0);
        assert_true(r.ep_return[1] == 0 && r.ep_length[1] == 0 && isnan(r.metrics[1]));
        assert_int_equal(env_failures(e), 2);
        assert_string_equal(env_failure(e), "the walker fell");
        T_OK(env_step(e, &r.io));
        assert_int_equal(r.flags[1], autoreset != 0 ? 0 : failed);
        assert_int_equal(env_failures(e), 2);
        env_close(e);
    }
}

static void
test_plugin_unknown_flags_are_a_failure(void **state)
{
    (void)state;
    env *e = env_opened(plugin_path("bad_flags"), "", 1, 0, true);
    struct rows r;
    rows_init(&r);
    r.io.flags = NULL; // the host looks at its own copy
    r.io.reward = NULL;
    T_OK(env_reset(e, NULL, NULL, &r.io));
    T_OK(env_step(e, &r.io));
    assert_int_equal(env_failures(e), 1);
    assert_string_equal(env_failure(e), "environment 0: unknown flags");
    env_close(e);
}

// ---- resets that fail

// Two environments that fail in step 3. The first of them cannot be reset.
static env *
stuck_opened(const char *name, struct rows *r)
{
    env *e = env_opened(plugin_path(name), "", 2, 0, true);
    rows_init(r);
    T_OK(env_reset(e, NULL, NULL, &r->io));
    for (int t = 1; t <= 3; t++) {
        T_OK(env_step(e, &r->io));
    }
    assert_int_equal(r->flags[0], failed);
    assert_float_equal(r->obs[0][1], 0, 0);
    assert_int_equal(r->flags[1], anew);
    assert_int_equal(env_failures(e), 2);
    T_SAYS(env_failure(e), "environment 0: ");
    T_SAYS(env_failure(e), "the line is closed");
    return e;
}

// The plug-in would go on in the old episode.
static void
test_plugin_environment_that_cannot_be_reset_fails_until_it_is(void **state)
{
    (void)state;
    struct rows r;
    env *e = stuck_opened("bad_reset_fails_twice", &r);
    T_OK(env_step(e, &r.io));
    assert_int_equal(r.flags[0], failed);
    assert_float_equal(r.reward[0], 0, 0);
    assert_float_equal(r.obs[0][0], 0, 0);
    assert_float_equal(r.obs[0][1], 0, 0);
    assert_int_equal(r.flags[1], 0);
    assert_float_equal(r.obs[1][1], 1, 0);
    assert_int_equal(env_failures(e), 3);
    T_OK(env_step(e, &r.io));
    assert_int_equal(r.flags[0], anew);
    assert_true(r.obs[0][0] != 0);
    assert_float_equal(r.obs[0][1], 0, 0);
    assert_int_equal(env_failures(e), 4);
    T_OK(env_step(e, &r.io));
    assert_int_equal(r.flags[0], 0);
    assert_float_equal(r.obs[0][1], 1, 0);
    env_close(e);
}

static void
test_plugin_that_begins_an_episode_by_itself_needs_no_reset(void **state)
{
    (void)state;
    struct rows r;
    env *e = stuck_opened("bad_reset_fails", &r);
    int t = 3;
    while (r.flags[0] == failed) {
        T_OK(env_step(e, &r.io));
        t++;
    }
    assert_true(t > 4 && t <= 20);
    assert_int_equal(r.flags[0], anew); // it ends an episode that it was to leave
    assert_float_equal(r.reward[0], 0, 0);
    assert_float_equal(r.ep_return[0], 0, 0);
    assert_int_equal(r.ep_length[0], 0);
    assert_true(r.obs[0][0] != 0);
    T_OK(env_step(e, &r.io));
    assert_int_equal(r.flags[0], 0);
    assert_float_equal(r.obs[0][1], 1, 0);
    env_close(e);
}

static void
test_plugin_environment_that_is_loaded_needs_no_reset(void **state)
{
    (void)state;
    struct rows r;
    env *e = stuck_opened("bad_reset_fails", &r);
    uint8_t saved[256];
    uint32_t length = sizeof(saved);
    T_OK(env_save(e, 1, saved, &length));
    T_OK(env_load(e, 0, saved, length));
    T_OK(env_step(e, &r.io));
    assert_int_equal(r.flags[0], 0);
    assert_float_equal(r.obs[0][1], 1, 0);
    env_close(e);
}

static void
test_plugin_example_point_reaches_its_goal(void **state)
{
    (void)state;
    env *e = env_opened(plugin_path("point"), "", 1, 3, true);
    assert_string_equal(env_spec(e)->id, "Point-v0");
    struct rows r;
    rows_init(&r);
    int32_t action = 0;
    r.io.action = &action;
    r.io.action_stride = sizeof(action);
    T_OK(env_reset(e, NULL, NULL, &r.io));
    int steps = 0;
    while (r.flags[0] == 0) {
        double right = r.obs[0][2] - r.obs[0][0], up = r.obs[0][3] - r.obs[0][1];
        action = fabs(right) > fabs(up) ? (right > 0 ? 1 : 0) : (up > 0 ? 3 : 2);
        T_OK(env_step(e, &r.io));
        steps++;
    }
    assert_int_equal(r.flags[0], OCTET_ENV_TERMINATED | OCTET_ENV_OBS_IS_RESET);
    assert_int_equal(r.ep_length[0], steps);
    assert_true(steps <= 40); // 2 + 2 at most, 0.1 a step
    env_close(e);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plugin_path_that_does_not_exist_is_not_found),
        cmocka_unit_test(test_plugin_bare_name_is_not_searched_in_the_systems_folders),
        cmocka_unit_test(test_plugin_that_is_no_shared_object_is_refused),
        cmocka_unit_test(test_plugin_table_that_is_wrong_is_refused),
        cmocka_unit_test(test_plugin_create_that_fails_gives_its_reason_in_one_line),
        cmocka_unit_test(test_plugin_spec_that_is_wrong_is_refused),
        cmocka_unit_test(test_plugin_with_the_first_versions_table_opens),
        cmocka_unit_test(test_plugin_error_in_step_is_told_by_the_host),
        cmocka_unit_test(test_plugin_numbers_that_are_not_finite_stop_at_the_host),
        cmocka_unit_test(test_plugin_that_the_host_failed_stays_there_without_autoreset),
        cmocka_unit_test(test_plugin_that_says_failed_has_ended_its_episode),
        cmocka_unit_test(test_plugin_unknown_flags_are_a_failure),
        cmocka_unit_test(test_plugin_environment_that_cannot_be_reset_fails_until_it_is),
        cmocka_unit_test(test_plugin_that_begins_an_episode_by_itself_needs_no_reset),
        cmocka_unit_test(test_plugin_environment_that_is_loaded_needs_no_reset),
        cmocka_unit_test(test_plugin_example_point_reaches_its_goal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
