// The public functions of include/octet/policy.h: loading, refusing, acting and sampling.
#include "include/octet/policy.h"

#include "common/oct_file.h"
#include "policy/codec/codec_delta.h"
#include "policy/policy_contract.h"
#include "tests/policy/random_policy.h"

#include <unistd.h>

static policy_image *
small_image(policy_precision precision, bool is_box)
{
    const uint32_t widths[] = {3, 20, 2};
    policy_spec spec = random_spec(widths, 3, POLICY_TANH, false);
    if (is_box) {
        spec.action_kind = POLICY_BOX;
        spec.head = POLICY_HEAD_TANH;
        for (uint32_t i = 0; i < 2; i++) {
            spec.action_low[i] = -1.0f;
            spec.action_high[i] = 3.0f;
        }
    }
    oct_rng rng;
    oct_rng_init(&rng, 31, 1);
    return random_image(&spec, precision, false, &rng);
}

static octet_policy *
load(policy_image *image)
{
    size_t length = policy_encoded_size(image);
    uint8_t *bytes = oct_alloc(length);
    policy_encode(image, bytes);
    octet_policy *policy = NULL;
    char error[200] = "";
    assert_int_equal(octet_policy_load_bytes(&policy, bytes, length, error, sizeof(error)), 0);
    assert_string_equal(error, "");
    free(bytes);
    policy_image_destroy(image);
    return policy;
}

static void
test_files_that_are_no_policies_are_refused_with_their_name(void **state)
{
    (void)state;
    octet_policy *policy = NULL;
    char error[200] = "", path[] = "/tmp/test_policy_public_XXXXXX";
    assert_int_equal(octet_policy_load(&policy, "/nowhere/policy.oct", error, sizeof(error)),
                     OCTET_POLICY_ENOTFOUND);
    assert_string_equal(error, "/nowhere/policy.oct: No such file or directory");
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, "OCTPx", 5) == 5 && close(fd) == 0);
    assert_int_equal(octet_policy_load(&policy, path, error, sizeof(error)), OCTET_POLICY_EDAMAGED);
    assert_non_null(strstr(error, path));
    assert_int_equal(octet_policy_load(&policy, path, NULL, 0), OCTET_POLICY_EDAMAGED);
    assert_int_equal(octet_policy_load_bytes(&policy, "", 0, error, sizeof(error)),
                     OCTET_POLICY_EDAMAGED);
    assert_null(policy);
    unlink(path);
    octet_policy_free(NULL);
}

static void
test_an_observation_that_is_not_finite_is_refused(void **state)
{
    (void)state;
    octet_policy *policy = load(small_image(POLICY_INT8, false));
    const float bad[][3] = {{NAN, 0, 0}, {0, INFINITY, 0}, {0, 0, -INFINITY}};
    for (size_t i = 0; i < 3; i++) {
        int32_t action = 77;
        assert_int_equal(octet_policy_act(policy, bad[i], &action), OCTET_POLICY_EINVAL);
        assert_int_equal(action, 77);
    }
    octet_policy_free(policy);
}

static void
test_an_unknown_isa_is_refused(void **state)
{
    (void)state;
    policy_image *image = small_image(POLICY_INT8, false);
    size_t length = policy_encoded_size(image);
    uint8_t *bytes = oct_alloc(length);
    policy_encode(image, bytes);
    octet_policy *policy = NULL;
    char error[200];
    setenv("OCTET_ISA", "mmx", 1);
    assert_int_equal(octet_policy_load_bytes(&policy, bytes, length, error, sizeof(error)),
                     OCTET_POLICY_EINVAL);
    unsetenv("OCTET_ISA");
    assert_non_null(strstr(error, "OCTET_ISA is 'mmx'; allowed here are "));
    free(bytes);
    policy_image_destroy(image);
}

static void
test_info_says_what_was_loaded_also_to_older_callers(void **state)
{
    (void)state;
    octet_policy *policy = load(small_image(POLICY_INT8, true));
    octet_policy_info info = {.size = sizeof(info)};
    assert_int_equal(octet_policy_get_info(policy, &info), OCTET_POLICY_OK);
    assert_string_equal(info.env_id, "Test-v0");
    assert_string_equal(info.run_name, "cartpole-1");
    assert_true(info.version == 7 && info.updates == 1234 && info.env_steps == 98765);
    assert_true(info.precision == OCTET_POLICY_INT8 && info.obs_dtype == OCTET_POLICY_F32);
    assert_true(info.obs_count == 3 && info.obs_bytes == 12 && info.output_count == 2);
    assert_true(info.action_kind == OCTET_POLICY_BOX && info.action_count == 2);
    assert_int_equal(info.action_bytes, 8);
    assert_non_null(info.isa);
    assert_true(info.action_low[1] < info.action_high[1]);
    assert_int_equal(info.obs_height + info.obs_width + info.obs_channels, 0);
    octet_policy_info older = {.size = offsetof(octet_policy_info, run_id), .version = 99};
    assert_int_equal(octet_policy_get_info(policy, &older), OCTET_POLICY_OK);
    assert_string_equal(older.env_id, "Test-v0");
    assert_true(older.version == 99);
    older.size = 0;
    assert_int_equal(octet_policy_get_info(policy, &older), OCTET_POLICY_EINVAL);
    octet_policy_free(policy);
}

static void
test_it_acts_as_the_network_inside(void **state)
{
    (void)state;
    const float obs[3] = {0.3f, -1.0f, 0.7f};
    float outputs[2], box[2];
    int32_t action = -1;
    octet_policy *discrete = load(small_image(POLICY_INT8, false));
    assert_int_equal(octet_policy_outputs(discrete, obs, outputs), OCTET_POLICY_OK);
    assert_int_equal(octet_policy_act(discrete, obs, &action), OCTET_POLICY_OK);
    assert_int_equal(action, outputs[1] > outputs[0]);
    octet_policy_free(discrete);
    octet_policy *continuous = load(small_image(POLICY_FP32, true));
    assert_int_equal(octet_policy_outputs(continuous, obs, outputs), OCTET_POLICY_OK);
    assert_int_equal(octet_policy_act(continuous, obs, box), OCTET_POLICY_OK);
    for (int i = 0; i < 2; i++) {
        T_NEAR(box[i], -1.0 + (tanh((double)outputs[i]) + 1.0) / 2.0 * 4.0, 1e-6, 0.0);
    }
    octet_policy_free(continuous);
}

// Keys and texts end where they end in the file; the last one is empty.
static void
test_metadata_is_that_of_the_file_in_its_order(void **state)
{
    (void)state;
    static const char *const entries[][2] = {
        {"joint_names", "hip,thigh,calf"}, {"octet.input", "obs"}, {"k", ""}};
    policy_image *image = small_image(POLICY_INT8, false);
    octet_policy *plain = load(small_image(POLICY_INT8, false));
    for (size_t i = 0; i < OCT_COUNTOF(entries); i++) {
        assert_true(policy_contract_add(image, entries[i][0], entries[i][1]));
    }
    octet_policy *policy = load(image);
    octet_policy_info info = {.size = sizeof(info)};
    assert_int_equal(octet_policy_get_info(policy, &info), OCTET_POLICY_OK);
    assert_int_equal(info.metadata_count, OCT_COUNTOF(entries));
    for (size_t i = 0; i < OCT_COUNTOF(entries); i++) {
        assert_string_equal(info.metadata_keys[i], entries[i][0]);
        assert_string_equal(info.metadata_texts[i], entries[i][1]);
    }
    assert_int_equal(octet_policy_get_info(plain, &info), OCTET_POLICY_OK);
    assert_int_equal(info.metadata_count, 0);
    octet_policy_free(policy);
    octet_policy_free(plain);
}

// Rows beyond one tile of the batch, in every precision.
static void
test_a_batch_acts_as_its_rows_one_by_one(void **state)
{
    (void)state;
    enum { ROWS = 131 };
    const policy_precision precisions[] = {POLICY_FP32, POLICY_INT8, POLICY_BF16, POLICY_FP16,
                                           POLICY_INT4};
    static float obs[ROWS][3], outputs[ROWS][2], box[ROWS][2];
    oct_rng rng;
    oct_rng_init(&rng, 37, 1);
    random_floats(&obs[0][0], (size_t)ROWS * 3, 2.0f, &rng);
    for (size_t p = 0; p < OCT_COUNTOF(precisions); p++) {
        octet_policy *policy = load(small_image(precisions[p], true));
        octet_policy_info info = {.size = sizeof(info)};
        assert_int_equal(octet_policy_get_info(policy, &info), OCTET_POLICY_OK);
        assert_int_equal(info.precision, precisions[p]);
        assert_int_equal(octet_policy_outputs_batch(policy, obs, ROWS, &outputs[0][0]), 0);
        assert_int_equal(octet_policy_act_batch(policy, obs, ROWS, box), 0);
        for (size_t row = 0; row < ROWS; row++) {
            float y[2], action[2];
            assert_int_equal(octet_policy_outputs(policy, obs[row], y), OCTET_POLICY_OK);
            assert_int_equal(octet_policy_act(policy, obs[row], action), OCTET_POLICY_OK);
            assert_memory_equal(y, outputs[row], sizeof(y));
            assert_memory_equal(action, box[row], sizeof(action));
        }
        octet_policy_free(policy);
    }
}

static void
test_a_batch_with_one_bad_number_is_refused_whole(void **state)
{
    (void)state;
    octet_policy *policy = load(small_image(POLICY_INT8, false));
    static float obs[70][3];
    int32_t actions[70];
    memset(actions, 0x55, sizeof(actions));
    obs[69][2] = NAN;
    assert_int_equal(octet_policy_act_batch(policy, obs, 70, actions), OCTET_POLICY_EINVAL);
    assert_int_equal(octet_policy_outputs_batch(policy, obs, 70, (float *)actions),
                     OCTET_POLICY_EINVAL);
    for (size_t i = 0; i < 70; i++) {
        assert_int_equal(actions[i], 0x55555555);
    }
    assert_int_equal(octet_policy_act_batch(policy, obs, 69, actions), OCTET_POLICY_OK);
    assert_int_equal(octet_policy_act_batch(policy, obs, 0, actions), OCTET_POLICY_OK);
    assert_in_range(actions[68], 0, 1);
    assert_int_equal(actions[69], 0x55555555);
    octet_policy_free(policy);
}

// What goes over the wire between complete policies is no file.
static void
test_a_change_of_a_policy_is_refused_by_name(void **state)
{
    (void)state;
    policy_image *base = small_image(POLICY_INT8, false), *next = small_image(POLICY_INT8, false);
    next->origin.version = base->origin.version + 1;
    next->codes[0][0] ^= 1;
    codec_coder *coder = codec_coder_create(&base->spec, POLICY_INT8);
    const uint8_t *bytes;
    size_t length;
    T_OK(codec_delta_encode(coder, base, next, &bytes, &length));
    octet_policy *policy = NULL;
    char error[200] = "";
    assert_int_equal(octet_policy_load_bytes(&policy, bytes, length, error, sizeof(error)),
                     OCTET_POLICY_EDAMAGED);
    assert_string_equal(error, "the policy is a change of version 7, not complete");
    assert_null(policy);
    codec_coder_destroy(coder);
    policy_image_destroy(base);
    policy_image_destroy(next);
}

static void
test_a_file_is_loaded_as_its_bytes(void **state)
{
    (void)state;
    char path[] = "/tmp/test_policy_public_XXXXXX";
    close(mkstemp(path));
    policy_image *image = small_image(POLICY_INT8, false);
    size_t length = policy_encoded_size(image);
    uint8_t *bytes = oct_alloc(length);
    policy_encode(image, bytes);
    T_OK(oct_file_write(path, bytes, length));
    octet_policy *policy;
    assert_int_equal(octet_policy_load(&policy, path, NULL, 0), OCTET_POLICY_OK);
    octet_policy_free(policy);
    free(bytes);
    policy_image_destroy(image);
    unlink(path);
}

static void
test_it_samples_as_the_network_inside(void **state)
{
    (void)state;
    policy_image *image = small_image(POLICY_INT8, true);
    image->spec.head = POLICY_HEAD_GAUSSIAN;
    oct_rng source;
    oct_rng_init(&source, 32, 1);
    policy_image *full = random_image(&image->spec, POLICY_INT8, false, &source);
    policy_image_destroy(image);
    float deviation[2];
    memcpy(deviation, full->deviation, sizeof(deviation));
    policy_spec spec = full->spec;
    octet_policy *policy = load(full);
    octet_policy_rng rng;
    policy_rng own;
    octet_policy_seed(&rng, 5, 6);
    policy_rng_init(&own, 5, 6);
    for (int n = 0; n < 50; n++) {
        const float obs[3] = {0.1f * (float)n, -1.0f, 0.5f};
        float y[2], want[2], extra[3], got[2], log_prob;
        assert_int_equal(octet_policy_outputs(policy, obs, y), 0);
        policy_sample(&spec, deviation, y, 1, &own, want, extra);
        assert_int_equal(octet_policy_sample(policy, obs, &rng, got, &log_prob), 0);
        assert_memory_equal(got, want, sizeof(got));
        assert_true(log_prob == extra[0]);
        assert_true(rng.state == own.state && rng.stream == own.stream);
    }
    const float bad[3] = {0.0f, NAN, 0.0f}, good[3] = {0};
    float action[2] = {7.0f, 7.0f};
    assert_int_equal(octet_policy_sample(policy, bad, &rng, action, NULL), OCTET_POLICY_EINVAL);
    assert_true(action[0] == 7.0f && rng.state == own.state);
    assert_int_equal(octet_policy_sample(policy, good, &rng, action, NULL), 0);
    octet_policy_free(policy);
    policy = load(small_image(POLICY_INT8, true)); // tanh: no distribution
    assert_int_equal(octet_policy_sample(policy, good, &rng, action, NULL), OCTET_POLICY_EINVAL);
    octet_policy_free(policy);
}

// Rows beyond one tile of the batch, with and without log-probabilities.
static void
test_a_batch_samples_as_its_rows_one_by_one(void **state)
{
    (void)state;
    enum { ROWS = 131 };
    static float obs[ROWS][3], log_probs[ROWS];
    static int32_t actions[ROWS];
    static octet_policy_rng rngs[ROWS];
    oct_rng rng;
    oct_rng_init(&rng, 41, 1);
    random_floats(&obs[0][0], (size_t)ROWS * 3, 2.0f, &rng);
    policy_image *image = small_image(POLICY_INT8, false);
    image->spec.head = POLICY_HEAD_LOGITS;
    octet_policy *policy = load(image);
    for (uint32_t row = 0; row < ROWS; row++) {
        octet_policy_seed(&rngs[row], 9, row);
    }
    assert_int_equal(octet_policy_sample_batch(policy, obs, ROWS, rngs, actions, log_probs), 0);
    int ones = 0;
    for (uint32_t row = 0; row < ROWS; row++) {
        octet_policy_rng one;
        int32_t action;
        float log_prob;
        octet_policy_seed(&one, 9, row);
        assert_int_equal(octet_policy_sample(policy, obs[row], &one, &action, &log_prob), 0);
        assert_true(action == actions[row] && log_prob == log_probs[row]);
        assert_memory_equal(&one, &rngs[row], sizeof(one));
        ones += action;
    }
    assert_true(ones > 0 && ones < ROWS);
    obs[ROWS - 1][2] = NAN;
    actions[0] = 7;
    assert_int_equal(octet_policy_sample_batch(policy, obs, ROWS, rngs, actions, NULL),
                     OCTET_POLICY_EINVAL);
    assert_int_equal(actions[0], 7);
    octet_policy_free(policy);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files_that_are_no_policies_are_refused_with_their_name),
        cmocka_unit_test(test_an_observation_that_is_not_finite_is_refused),
        cmocka_unit_test(test_an_unknown_isa_is_refused),
        cmocka_unit_test(test_info_says_what_was_loaded_also_to_older_callers),
        cmocka_unit_test(test_it_acts_as_the_network_inside),
        cmocka_unit_test(test_a_batch_acts_as_its_rows_one_by_one),
        cmocka_unit_test(test_a_batch_with_one_bad_number_is_refused_whole),
        cmocka_unit_test(test_a_change_of_a_policy_is_refused_by_name),
        cmocka_unit_test(test_a_file_is_loaded_as_its_bytes),
        cmocka_unit_test(test_it_samples_as_the_network_inside),
        cmocka_unit_test(test_a_batch_samples_as_its_rows_one_by_one),
        cmocka_unit_test(test_metadata_is_that_of_the_file_in_its_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
