// What of an experiment an actor goes by.
#include "actor/actor_spec.h"
#include "common/oct_reason.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/oct_test.h"

// A walk of three numbers with one action in [-2, 2], before a test changes it.
static octet_env_spec task;
static double low[POLICY_ACTIONS_MAX + 1], high[POLICY_ACTIONS_MAX + 1];
static oct_reason reason;

static int
setup(void **state)
{
    (void)state;
    for (uint32_t i = 0; i <= POLICY_ACTIONS_MAX; i++) {
        low[i] = -2;
        high[i] = 2;
    }
    task = (octet_env_spec){
        .size = sizeof(task),
        .id = "Walk-v0",
        .obs = {.size = sizeof(octet_env_space), .dtype = OCTET_ENV_F32, .rank = 1, .shape = {3}},
        .action = {.size = sizeof(octet_env_space),
                   .dtype = OCTET_ENV_F32,
                   .rank = 1,
                   .shape = {1},
                   .low = low,
                   .high = high},
        .reward_threshold = NAN,
    };
    return 0;
}

// A spec that passes makes a policy spec that passes, too.
static void
trains(void)
{
    static actor_spec own;
    T_OK(actor_spec_init(&own, &task, &reason));
    const wire_env_spec *wire = &own.wire;
    policy_spec spec = {
        .env_id = "Walk-v0",
        .obs_dtype = wire->obs_dtype,
        .obs_count = wire->obs_count,
        .action_kind = wire->action_kind,
        .action_count = wire->action_count,
        .head = wire->action_kind == POLICY_BOX ? POLICY_HEAD_TANH : POLICY_HEAD_VALUES,
    };
    for (uint32_t i = 0; wire->action_low != NULL && i < wire->action_count; i++) {
        spec.action_low[i] = wire->action_low[i];
        spec.action_high[i] = wire->action_high[i];
    }
    T_OK(policy_spec_set_mlp(&spec, NULL, 0, POLICY_RELU, false, wire->action_count));
    if (policy_spec_check(&spec, &reason) != OCT_OK) {
        fail_msg("%s", reason.text);
    }
}

static void
refused(const char *words)
{
    static actor_spec own;
    T_ERR(actor_spec_init(&own, &task, &reason), OCT_EINVAL);
    if (strstr(reason.text, "Walk-v0 ") == NULL || strstr(reason.text, words) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", reason.text, words);
    }
}

static void
test_spec_of_what_policies_can_be_trained_on(void **state)
{
    (void)state;
    trains();
    task.obs.shape[0] = POLICY_WIDTH_MAX;
    task.action.shape[0] = POLICY_ACTIONS_MAX;
    trains();
    task.obs = (octet_env_space){.size = sizeof(task.obs), .n = POLICY_WIDTH_MAX};
    task.action.n = POLICY_ACTIONS_MAX;
    task.action.dtype = OCTET_ENV_I32; // of no meaning
    task.action.low = task.action.high = NULL;
    trains();
    (void)setup(NULL);
    task.reward_threshold = 3;
    low[0] = -1.7e38;
    high[0] = 1.7e38;
    trains();
    low[0] = 1;
    high[0] = 1 + 1e-7; // the next float
    trains();
}

static void
test_a_copy_is_as_good_as_the_environments_own(void **state)
{
    (void)state;
    static actor_spec before, after;
    double bounds[] = {0, 5, 200};
    task.obs.dtype = OCTET_ENV_U8;
    task.obs.high = bounds; // and no lower ones
    task.max_episode_steps = 9;
    task.reward_threshold = 3;
    char id[] = "Walk-v0";
    task.id = id;
    char metric[] = "laps";
    const char *const metrics[] = {metric};
    task.metric_count = 1;
    task.metric_names = metrics;
    octet_env_spec *copy = actor_spec_copy(&task);
    T_OK(actor_spec_init(&before, &task, &reason));
    memset(id, 'x', sizeof(id) - 1);
    memset(metric, 'x', sizeof(metric) - 1);
    memset(bounds, 0, sizeof(bounds));
    low[0] = high[0] = 0;
    task = (octet_env_spec){0};
    T_OK(actor_spec_init(&after, copy, &reason));
    assert_string_equal(after.wire.env_id, "Walk-v0");
    assert_int_equal(after.wire.obs_count, before.wire.obs_count);
    assert_int_equal(after.wire.obs_high, 200);
    assert_int_equal(after.wire.metric_count, 1);
    assert_string_equal(after.wire.metric_name[0], "laps");
    assert_true(copy->obs.low == NULL);
    assert_true(after.low[0] == -2 && after.high[0] == 2);
    assert_int_equal(after.wire.max_episode_steps, 9);
    assert_true(after.wire.reward_threshold == 3);
    free(copy);
}

static void
test_spec_refuses_types_that_no_policy_has(void **state)
{
    (void)state;
    task.obs.dtype = OCTET_ENV_F64;
    refused("are f64; policies read f32, u8 or discrete observations");
    task.obs.dtype = OCTET_ENV_I32;
    refused("are i32");
    task.obs.dtype = OCTET_ENV_U8;
    task.action.dtype = OCTET_ENV_F64;
    refused("are f64; policies give f32 or discrete actions");
    T_ERR(actor_spec_acts(&task, &reason), OCT_EINVAL);
}

static void
test_spec_refuses_sizes_that_no_policy_has(void **state)
{
    (void)state;
    task.obs.shape[0] = POLICY_WIDTH_MAX + 1;
    refused("has 65537 numbers; allowed are 1 .. 65536");
    T_OK(actor_spec_acts(&task, &reason));
    task.obs = (octet_env_space){.size = sizeof(task.obs), .n = POLICY_WIDTH_MAX + 1};
    refused("has 65537 values; allowed are 1 .. 65536");
    (void)setup(NULL);
    task.action.shape[0] = POLICY_ACTIONS_MAX + 1;
    refused("has 257 numbers in an action; allowed are 1 .. 256");
    task.action.n = 300;
    refused("has 300 actions; allowed are 1 .. 256");
    (void)setup(NULL);
    task.reward_threshold = INFINITY;
    refused("reward_threshold inf; allowed are a finite number and NaN (none)");
}

static void
test_spec_refuses_bounds_that_no_action_can_be_mapped_onto(void **state)
{
    (void)state;
    static const struct {
        double low, high;
        const char *words;
    } cases[] = {
        {-INFINITY, 2, "bounds action 1 to [-inf, 2]; a policy needs finite bounds"},
        {-2, INFINITY, "[-2, inf]"},
        {2, 2, "[2, 2]"},
        {2, 2 + 1e-9, "[2, 2]"}, // as floats
        {-3e38, 3e38, "[-3e+38, 3e+38]"},
        {-2, 1e39, "[-2, inf]"},
    };
    task.action.shape[0] = 2;
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        low[1] = cases[i].low;
        high[1] = cases[i].high;
        refused(cases[i].words);
    }
    task.action.low = task.action.high = NULL; // unbounded, and not [-1, 1]
    refused("bounds action 0 to [-inf, inf]");
    T_OK(actor_spec_acts(&task, &reason)); // an imported policy has its own
}

static void
test_actor_goes_by_its_own_keys(void **state)
{
    (void)state;
    assert_true(actor_goes_by("actor.envs", false));
    assert_true(actor_goes_by("env.id", false));
    assert_true(actor_goes_by("run.seed", false));
    assert_true(actor_goes_by("run.deterministic", false));
    assert_true(actor_goes_by("algo.window", false));
    assert_true(actor_goes_by("algo.sequence_steps", false)); // the length of a rollout
    assert_true(actor_goes_by("algo.rollout_lag", false));
    assert_false(actor_goes_by("algo.learning_rate", false));
    assert_false(actor_goes_by("run.env_steps", false));
    assert_false(actor_goes_by("learner.batch_size", false));
    assert_false(actor_goes_by("replay.capacity", false));
    assert_false(actor_goes_by("evaluation.episodes", false));
}

static void
test_evaluator_goes_by_its_own_keys(void **state)
{
    (void)state;
    assert_true(actor_goes_by("evaluation.envs", true));
    assert_true(actor_goes_by("env.options", true));
    assert_false(actor_goes_by("actor.envs", true));
    assert_false(actor_goes_by("algo.sequence_steps", true));
    assert_false(actor_goes_by("net.learner", true));
}

// The bound that an environment of such observations registers with; low does not matter.
static uint32_t
high_of(octet_env_dtype dtype, uint32_t n, const double *bounds)
{
    static actor_spec out;
    const octet_env_spec pictures = {
        .id = "Picture-v0",
        .obs = {.dtype = dtype, .n = n, .rank = 2, .shape = {2, 2}, .high = bounds},
        .action = {.dtype = OCTET_ENV_I32, .n = 3},
        .reward_threshold = NAN};
    T_OK(actor_spec_init(&out, &pictures, &reason));
    return out.wire.obs_high;
}

static void
test_bytes_above_1_register_their_bound(void **state)
{
    (void)state;
    static const double picture[] = {255, 255, 255, 255}, bits[] = {1, 1, 0, 1};
    static const double mixed[] = {1, 7.5, 1, 0}, wide[] = {0, 0, 0, INFINITY};
    assert_int_equal(high_of(OCTET_ENV_U8, 0, picture), 255);
    assert_int_equal(high_of(OCTET_ENV_U8, 0, bits), 0);
    assert_int_equal(high_of(OCTET_ENV_U8, 0, mixed), 8);
    assert_int_equal(high_of(OCTET_ENV_U8, 0, wide), 255);
    assert_int_equal(high_of(OCTET_ENV_U8, 0, NULL), 0);
    assert_int_equal(high_of(OCTET_ENV_F32, 0, picture), 0);
    assert_int_equal(high_of(OCTET_ENV_I32, 4, NULL), 0); // one-hot
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_spec_of_what_policies_can_be_trained_on, setup),
        cmocka_unit_test_setup(test_a_copy_is_as_good_as_the_environments_own, setup),
        cmocka_unit_test_setup(test_spec_refuses_types_that_no_policy_has, setup),
        cmocka_unit_test_setup(test_spec_refuses_sizes_that_no_policy_has, setup),
        cmocka_unit_test_setup(test_spec_refuses_bounds_that_no_action_can_be_mapped_onto, setup),
        cmocka_unit_test(test_actor_goes_by_its_own_keys),
        cmocka_unit_test(test_evaluator_goes_by_its_own_keys),
        cmocka_unit_test(test_bytes_above_1_register_their_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
