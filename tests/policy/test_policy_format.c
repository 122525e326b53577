#include "policy/policy_format.h"

#include "common/oct_bytes.h"
#include "tests/policy/random_policy.h"

#define REASON 160

typedef struct encoded {
    uint8_t *bytes;
    size_t length;
} encoded;

static encoded
encode(const policy_image *image)
{
    encoded e = {.length = policy_encoded_size(image)};
    e.bytes = oct_alloc(e.length);
    policy_encode(image, e.bytes);
    return e;
}

// A net with everything that the format can hold: box, normalisation, layer norm.
static policy_spec
full_spec(void)
{
    const uint32_t widths[] = {5, 7, 3, 2};
    policy_spec spec = random_spec(widths, 4, POLICY_ELU, true);
    spec.action_kind = POLICY_BOX;
    spec.head = POLICY_HEAD_TANH;
    spec.normalise = true;
    for (uint32_t i = 0; i < 2; i++) {
        spec.action_low[i] = -1.0f - (float)i;
        spec.action_high[i] = 2.0f;
    }
    T_OK(policy_spec_check(&spec, NULL, 0));
    return spec;
}

static policy_spec
atoms_spec(void)
{
    const uint32_t widths[] = {4, 6, 15};
    policy_spec spec = random_spec(widths, 3, POLICY_RELU, false);
    spec.action_count = 3;
    spec.head = POLICY_HEAD_ATOMS;
    spec.atoms = 5;
    spec.value_min = -10.0f;
    spec.value_max = 10.0f;
    return spec;
}

static policy_image *
full_image(policy_precision precision, bool per_tensor)
{
    oct_rng rng;
    oct_rng_init(&rng, 3, 1);
    policy_spec spec = full_spec();
    return random_image(&spec, precision, per_tensor, &rng);
}

static void
crc_fix(encoded e)
{
    uint32_t crc = oct_crc32(0, e.bytes, e.length - 4);
    memcpy(e.bytes + e.length - 4, &crc, 4);
}

static oct_err
decode_and_drop(const uint8_t *bytes, size_t length, char reason[REASON])
{
    policy_image *image = NULL;
    reason[0] = '\0';
    oct_err err = policy_decode(&image, bytes, length, reason, REASON);
    assert_true((err == OCT_OK) == (image != NULL));
    assert_true((err == OCT_OK) == (reason[0] == '\0'));
    policy_image_destroy(image);
    return err;
}

static void
test_a_policy_cut_at_any_byte_is_refused(void **state)
{
    (void)state;
    policy_image *image = full_image(POLICY_INT8, false);
    encoded e = encode(image);
    char reason[REASON];
    for (size_t length = 0; length < e.length; length++) {
        // A copy of its exact size, so that the sanitizer sees a read past the end.
        uint8_t *cut = malloc(length + (length == 0));
        memcpy(cut, e.bytes, length);
        T_ERR(decode_and_drop(cut, length, reason), OCT_EPROTO);
        free(cut);
    }
    free(e.bytes);
    policy_image_destroy(image);
}

static void
test_a_policy_cut_with_a_true_length_and_checksum_is_refused(void **state)
{
    (void)state;
    policy_image *image = full_image(POLICY_FP32, false);
    encoded e = encode(image);
    char reason[REASON];
    for (size_t length = 16; length < e.length; length++) {
        encoded cut = {malloc(length), length};
        uint32_t total = (uint32_t)length;
        memcpy(cut.bytes, e.bytes, length);
        memcpy(cut.bytes + 8, &total, 4);
        crc_fix(cut);
        T_ERR(decode_and_drop(cut.bytes, length, reason), OCT_EPROTO);
        free(cut.bytes);
    }
    free(e.bytes);
    policy_image_destroy(image);
}

static void
test_any_flipped_bit_is_refused(void **state)
{
    (void)state;
    policy_image *image = full_image(POLICY_INT8, true);
    encoded e = encode(image);
    char reason[REASON];
    for (size_t bit = 0; bit < e.length * 8; bit++) {
        e.bytes[bit / 8] ^= (uint8_t)(1u << (bit % 8));
        assert_int_not_equal(decode_and_drop(e.bytes, e.length, reason), OCT_OK);
        e.bytes[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    }
    T_OK(decode_and_drop(e.bytes, e.length, reason));
    free(e.bytes);
    policy_image_destroy(image);
}

static void
test_a_newer_format_is_refused_by_name(void **state)
{
    (void)state;
    policy_image *image = full_image(POLICY_INT8, false);
    encoded e = encode(image);
    char reason[REASON];
    e.bytes[4] = 3;
    T_ERR(decode_and_drop(e.bytes, e.length, reason), OCT_EINVAL);
    assert_string_equal(reason, "policy format 3 is newer than this build knows (2)");
    e.bytes[4] = 0;
    T_ERR(decode_and_drop(e.bytes, e.length, reason), OCT_EPROTO);
    free(e.bytes);
    policy_image_destroy(image);
}

static void
test_the_reason_may_be_absent(void **state)
{
    (void)state;
    policy_image *image = NULL;
    T_ERR(policy_decode(&image, (const uint8_t *)"OCTO", 4, NULL, 0), OCT_EPROTO);
    T_ERR(policy_decode(&image, NULL, 0, NULL, 0), OCT_EPROTO);
    assert_null(image);
}

// Damages one tensor of a sound image; the encoder does not look, the decoder must.
static void
expect_refused(policy_image *image, const char *words)
{
    encoded e = encode(image);
    char reason[REASON];
    T_ERR(decode_and_drop(e.bytes, e.length, reason), OCT_EPROTO);
    assert_non_null(strstr(reason, words));
    free(e.bytes);
    policy_image_destroy(image);
}

static void
test_tensors_that_are_not_sound_are_refused(void **state)
{
    (void)state;
    policy_image *image = full_image(POLICY_INT8, false);
    image->codes[1][2] = -128;
    expect_refused(image, "codes are -128");
    image = full_image(POLICY_INT8, false);
    image->scales[0][6] = -1e-9f;
    expect_refused(image, "scale 6");
    image = full_image(POLICY_INT8, true);
    image->scales[2][0] = INFINITY;
    expect_refused(image, "scale 0");
    image = full_image(POLICY_INT8, false);
    image->bias[2][1] = NAN;
    expect_refused(image, "bias 1");
    image = full_image(POLICY_INT8, false);
    image->gain[0][0] = INFINITY;
    expect_refused(image, "gain 0");
    image = full_image(POLICY_INT8, false);
    image->offset[0][1] = -INFINITY;
    expect_refused(image, "offset 1");
    image = full_image(POLICY_FP32, false);
    image->weights[1][20] = NAN;
    expect_refused(image, "weight 20");
    image = full_image(POLICY_FP32, false);
    image->obs_mean[4] = NAN;
    expect_refused(image, "observation mean 4");
    image = full_image(POLICY_FP32, false);
    image->obs_inverse_std[0] = -1.0f;
    expect_refused(image, "observation inverse deviation 0");
}

static void
test_headers_that_are_not_sound_are_refused(void **state)
{
    (void)state;
    policy_image *image = full_image(POLICY_INT8, false);
    image->origin.eval_return = INFINITY;
    expect_refused(image, "evaluation return");
    image = full_image(POLICY_INT8, false);
    image->spec.action_low[1] = NAN;
    expect_refused(image, "action 1");
    image = full_image(POLICY_INT8, false);
    image->spec.head = POLICY_HEAD_VALUES;
    expect_refused(image, "head");
}

static void
test_a_spec_too_large_for_a_policy_is_refused_without_allocating(void **state)
{
    (void)state;
    const uint32_t widths[] = {65536, 65536, 256};
    policy_spec spec = random_spec(widths, 3, POLICY_RELU, false);
    policy_image *image = NULL;
    T_ERR(policy_image_create(&image, &spec, POLICY_INT8), OCT_EINVAL);
    T_ERR(policy_image_create(&image, &spec, (policy_precision)3), OCT_EINVAL);
    assert_null(image);
}

// Tensors lie one after the other in the image's block, so equal encodings mean equal images.
static void
expect_same_after_decode(policy_image *image)
{
    encoded first = encode(image);
    policy_image *decoded;
    char reason[REASON] = "";
    T_OK(policy_decode(&decoded, first.bytes, first.length, reason, REASON));
    encoded second = encode(decoded);
    assert_int_equal(first.length, second.length);
    assert_memory_equal(first.bytes, second.bytes, first.length);
    assert_true(policy_spec_equal(&image->spec, &decoded->spec));
    assert_int_equal(image->origin.version, decoded->origin.version);
    assert_string_equal(image->origin.run_name, decoded->origin.run_name);
    assert_int_equal(image->precision, decoded->precision);
    assert_int_equal(image->per_tensor, decoded->per_tensor);
    for (uint32_t l = 0; l < image->spec.layer_count; l++) {
        size_t row = image->spec.layers[l].outputs * sizeof(float);
        assert_memory_equal(image->bias[l], decoded->bias[l], row);
        if (image->precision == POLICY_INT8) {
            assert_memory_equal(image->scales[l], decoded->scales[l], row);
        }
    }
    free(first.bytes);
    free(second.bytes);
    policy_image_destroy(decoded);
    policy_image_destroy(image);
}

static void
test_what_was_encoded_is_decoded(void **state)
{
    (void)state;
    expect_same_after_decode(full_image(POLICY_INT8, false));
    expect_same_after_decode(full_image(POLICY_INT8, true));
    expect_same_after_decode(full_image(POLICY_FP32, false));
    oct_rng rng;
    oct_rng_init(&rng, 4, 1);
    policy_spec spec = atoms_spec();
    expect_same_after_decode(random_image(&spec, POLICY_INT8, false, &rng));
    policy_image *unevaluated = full_image(POLICY_INT8, false);
    unevaluated->origin.eval_return = NAN;
    unevaluated->origin.run_name[0] = '\0';
    expect_same_after_decode(unevaluated);
}

static void
test_names_of_the_longest_length_are_kept(void **state)
{
    (void)state;
    policy_image *image = full_image(POLICY_INT8, false);
    memset(image->origin.run_name, 'r', POLICY_NAME_MAX - 1);
    memset(image->spec.env_id, 'e', POLICY_NAME_MAX - 1);
    expect_same_after_decode(image);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_policy_cut_at_any_byte_is_refused),
        cmocka_unit_test(test_a_policy_cut_with_a_true_length_and_checksum_is_refused),
        cmocka_unit_test(test_any_flipped_bit_is_refused),
        cmocka_unit_test(test_a_newer_format_is_refused_by_name),
        cmocka_unit_test(test_the_reason_may_be_absent),
        cmocka_unit_test(test_tensors_that_are_not_sound_are_refused),
        cmocka_unit_test(test_headers_that_are_not_sound_are_refused),
        cmocka_unit_test(test_a_spec_too_large_for_a_policy_is_refused_without_allocating),
        cmocka_unit_test(test_what_was_encoded_is_decoded),
        cmocka_unit_test(test_names_of_the_longest_length_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
