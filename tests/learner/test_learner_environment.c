// The run's environment in words, compared with an actor's, and in its file.
#include <math.h>

#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "learner/learner_environment.h"
#include "proto/wire_env.h"
#include "tests/learner/run_folder.h"
#include "tests/support/oct_test.h"

#define FOLDER "test_learner_environment.run"
#define FILE_  FOLDER "/environment.oct"

static oct_reason reason;
static const uint32_t map[] = {10, 10, 4};
static const float low[] = {-1, -2}, high[] = {1, 2.5f};

static wire_env_spec
flat(void)
{
    return (wire_env_spec){.env_id = "Flat-v0",
                           .obs_dtype = POLICY_F32,
                           .obs_count = 4,
                           .action_kind = POLICY_DISCRETE,
                           .action_count = 2,
                           .reward_threshold = NAN};
}

static wire_env_spec
board(void)
{
    return (wire_env_spec){.env_id = "Board-v1",
                           .obs_dtype = POLICY_U8,
                           .obs_count = 400,
                           .obs_rank = 3,
                           .obs_shape = map,
                           .action_kind = POLICY_BOX,
                           .action_count = 2,
                           .action_low = low,
                           .action_high = high,
                           .reward_threshold = NAN};
}

static oct_err
compared(const wire_env_spec *run, const wire_env_spec *actor)
{
    policy_spec one, two;
    learner_environment_of(&one, run);
    learner_environment_of(&two, actor);
    reason.text[0] = '\0';
    return learner_environment_alike(&one, &two, &reason);
}

static void
test_environment_that_differs_is_told_in_words(void **state)
{
    (void)state;
    wire_env_spec one = flat(), two = board();
    T_OK(compared(&one, &one));
    T_OK(compared(&two, &two));
    T_ERR(compared(&one, &two), OCT_EINVAL);
    assert_string_equal(
        reason.text, "this run trains on Flat-v0: observations 4 float32, actions 2 discrete; this "
                     "actor has Board-v1: observations 10 x 10 x 4 uint8, actions 2 numbers");
}

static void
test_environment_of_pictures_says_how_large_bytes_are(void **state)
{
    (void)state;
    wire_env_spec run = board(), actor = board();
    run.obs_high = 255;
    T_OK(compared(&run, &run));
    T_ERR(compared(&run, &actor), OCT_EINVAL);
    assert_non_null(
        strstr(reason.text, "10 x 10 x 4 uint8 up to 255, actions 2 numbers; this actor"));
    assert_non_null(strstr(reason.text, "10 x 10 x 4 uint8, actions 2 numbers"));
    actor.obs_high = 100;
    T_ERR(compared(&run, &actor), OCT_EINVAL);
    assert_non_null(strstr(reason.text, "uint8 up to 100"));
}

static void
test_environment_is_alike_in_every_part(void **state)
{
    (void)state;
    static const uint32_t other_map[] = {10, 4, 10}, same[] = {10, 10, 4};
    static const float lower[] = {-1, -3};
    wire_env_spec run = board(), actor = board();
    actor.obs_shape = other_map;
    T_ERR(compared(&run, &actor), OCT_EINVAL);
    assert_non_null(strstr(reason.text, "10 x 4 x 10"));
    actor = board();
    actor.obs_rank = 0; // not told
    T_ERR(compared(&run, &actor), OCT_EINVAL);
    actor = board();
    actor.obs_dtype = POLICY_F32;
    T_ERR(compared(&run, &actor), OCT_EINVAL);
    actor = board();
    actor.action_count = 1;
    T_ERR(compared(&run, &actor), OCT_EINVAL);
    actor = board();
    actor.action_low = lower;
    T_ERR(compared(&run, &actor), OCT_EINVAL);
    assert_string_equal(reason.text,
                        "in this run, action 1 is in [-2, 2.5]; in this actor, it is in [-3, 2.5]");
    actor = board();
    actor.obs_shape = same;
    actor.env_id = "./lib/board.so"; // where it lies on that host
    T_OK(compared(&run, &actor));
}

static void
test_environment_lies_in_a_file(void **state)
{
    (void)state;
    folder_begin(FOLDER);
    wire_env_spec pictures = board();
    pictures.obs_high = 200;
    static const char *const names[] = {"laps"};
    pictures.metric_count = 1;
    pictures.metric_name = names;
    const wire_env_spec specs[] = {flat(), board(), pictures};
    for (size_t i = 0; i < OCT_COUNTOF(specs); i++) {
        policy_spec before, after;
        learner_environment_of(&before, &specs[i]);
        T_OK(folder_write_env(FILE_, &specs[i]));
        oct_metric_names metrics;
        T_OK(learner_environment_read(FILE_, &after, &metrics, &reason));
        T_OK(learner_environment_alike(&before, &after, &reason));
        assert_string_equal(before.env_id, after.env_id);
        assert_int_equal(metrics.count, specs[i].metric_count);
        assert_true(metrics.count == 0 || strcmp(metrics.name[0], "laps") == 0);
    }
    folder_end(FOLDER);
}

static void
test_environment_file_that_is_none_is_refused(void **state)
{
    (void)state;
    folder_begin(FOLDER);
    policy_spec spec;
    T_ERR(learner_environment_read(FILE_, &spec, NULL, &reason), OCT_ENOTFOUND);
    assert_non_null(strstr(reason.text, "environment.oct: No such file"));
    T_OK(oct_file_write(FILE_, "nonsense", 8));
    T_ERR(learner_environment_read(FILE_, &spec, NULL, &reason), OCT_EPROTO);
    wire_env_spec bad = flat();
    bad.action_count = 0;
    T_OK(folder_write_env(FILE_, &bad));
    T_ERR(learner_environment_read(FILE_, &spec, NULL, &reason), OCT_EPROTO);
    assert_non_null(strstr(reason.text, "register.action_count: outside 1 .. 256"));
    folder_end(FOLDER);
}

// A run is resumed by a later release, whose messages are others.
static void
test_environment_file_of_another_protocol_version(void **state)
{
    (void)state;
    folder_begin(FOLDER);
    const wire_env_spec spec = board();
    policy_spec before, after;
    learner_environment_of(&before, &spec);
    T_OK(folder_write_env(FILE_, &spec));
    uint8_t *bytes;
    size_t length;
    T_OK(oct_file_read(FILE_, WIRE_ENV_BYTES_MAX, &bytes, &length));
    assert_int_equal(bytes[4], WIRE_PROTOCOL_VERSION);
    bytes[4]--;
    T_OK(oct_file_write(FILE_, bytes, length));
    T_OK(learner_environment_read(FILE_, &after, NULL, &reason));
    T_OK(learner_environment_alike(&before, &after, &reason));
    free(bytes);
    folder_end(FOLDER);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_environment_that_differs_is_told_in_words),
        cmocka_unit_test(test_environment_of_pictures_says_how_large_bytes_are),
        cmocka_unit_test(test_environment_is_alike_in_every_part),
        cmocka_unit_test(test_environment_lies_in_a_file),
        cmocka_unit_test(test_environment_file_that_is_none_is_refused),
        cmocka_unit_test(test_environment_file_of_another_protocol_version),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
