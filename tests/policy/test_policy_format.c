// Policies as bytes: every cut, flipped or unsound policy is refused, all others come back
// unchanged.
#include "common/oct_reason.h"
#include "policy/policy_format.h"

#include <float.h>

#include "common/oct_bytes.h"
#include "policy/policy_header.h"
#include "proto/wire.h"
#include "tests/policy/random_policy.h"

// The largest policy has room in a message, with its frame and the fields around it.
_Static_assert(POLICY_BYTES_MAX + 256 <= WIRE_MESSAGE_BYTES_MAX, "a policy has to fit a message");

static const policy_precision precisions[] = {POLICY_FP32, POLICY_INT8, POLICY_BF16, POLICY_FP16,
                                              POLICY_INT4};

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
    T_OK(policy_spec_check(&spec, NULL));
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

static policy_spec
gaussian_spec(policy_head head, bool state_deviation)
{
    const bool is_double = head == POLICY_HEAD_TANH_GAUSSIAN || state_deviation;
    const uint32_t box_widths[] = {5, 7, is_double ? 4 : 2};
    policy_spec spec = random_spec(box_widths, 3, POLICY_TANH, false);
    spec.action_kind = POLICY_BOX;
    spec.action_count = 2;
    spec.action_high[0] = 1.0f;
    spec.action_high[1] = 2.0f;
    spec.head = head;
    spec.state_deviation = state_deviation;
    return spec;
}

static void
crc_fix(encoded e)
{
    uint32_t crc = oct_crc32(0, e.bytes, e.length - 4);
    memcpy(e.bytes + e.length - 4, &crc, 4);
}

static oct_err
decode_and_drop(const uint8_t *bytes, size_t length, oct_reason *why)
{
    policy_image *image = NULL;
    why->text[0] = '\0';
    oct_err err = policy_decode(&image, bytes, length, why);
    assert_true((err == OCT_OK) == (image != NULL));
    assert_true((err == OCT_OK) == (why->text[0] == '\0'));
    policy_image_destroy(image);
    return err;
}

static void
expect_cuts_refused(policy_precision precision)
{
    policy_image *image = full_image(precision, false);
    encoded e = encode(image);
    oct_reason why;
    for (size_t length = 0; length < e.length; length++) {
        // A copy of its exact size, so that the sanitizer sees a read past the end.
        encoded cut = {malloc(length + (length == 0)), length};
        uint32_t total = (uint32_t)length;
        memcpy(cut.bytes, e.bytes, length);
        T_ERR(decode_and_drop(cut.bytes, length, &why), OCT_EPROTO);
        if (length >= 16) { // with a true length and checksum
            memcpy(cut.bytes + 8, &total, 4);
            crc_fix(cut);
            T_ERR(decode_and_drop(cut.bytes, length, &why), OCT_EPROTO);
        }
        free(cut.bytes);
    }
    free(e.bytes);
    policy_image_destroy(image);
}

static void
test_a_policy_cut_at_any_byte_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < OCT_COUNTOF(precisions); i++) {
        expect_cuts_refused(precisions[i]);
    }
}

static void
expect_flips_refused(policy_image *image)
{
    encoded e = encode(image);
    oct_reason why;
    for (size_t bit = 0; bit < e.length * 8; bit++) {
        e.bytes[bit / 8] ^= (uint8_t)(1u << (bit % 8));
        assert_int_not_equal(decode_and_drop(e.bytes, e.length, &why), OCT_OK);
        e.bytes[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    }
    T_OK(decode_and_drop(e.bytes, e.length, &why));
    free(e.bytes);
    policy_image_destroy(image);
}

static void
test_any_flipped_bit_is_refused(void **state)
{
    (void)state;
    expect_flips_refused(full_image(POLICY_INT8, true));
    expect_flips_refused(full_image(POLICY_INT4, false));
    expect_flips_refused(full_image(POLICY_FP16, false));
}

static void
test_a_newer_format_is_refused_by_name(void **state)
{
    (void)state;
    policy_image *image = full_image(POLICY_INT8, false);
    encoded e = encode(image);
    oct_reason why;
    e.bytes[4] = 8;
    T_ERR(decode_and_drop(e.bytes, e.length, &why), OCT_EINVAL);
    assert_string_equal(why.text, "policy format 8 is newer than this build knows (7)");
    e.bytes[4] = 0;
    T_ERR(decode_and_drop(e.bytes, e.length, &why), OCT_EPROTO);
    free(e.bytes);
    policy_image_destroy(image);
}

// Each precision has one format version: the oldest that knows it.
static void
test_another_format_version_than_the_precisions_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < OCT_COUNTOF(precisions); i++) {
        policy_image *image = full_image(precisions[i], false);
        encoded e = encode(image);
        oct_reason why;
        bool is_first = precisions[i] == POLICY_FP32 || precisions[i] == POLICY_INT8;
        assert_int_equal(e.bytes[4], is_first ? 1 : 2);
        e.bytes[4] ^= 3;
        crc_fix(e);
        T_ERR(decode_and_drop(e.bytes, e.length, &why), OCT_EPROTO);
        assert_non_null(strstr(why.text, is_first ? "it says format 2" : "it says format 1"));
        free(e.bytes);
        policy_image_destroy(image);
    }
}

// A file has the oldest version that knows its activations, and an older one is refused.
static void
test_an_activation_has_the_format_version_of_its_row(void **state)
{
    (void)state;
#define VERSION_OF(ENUM, name, version) [POLICY_##ENUM] = (version),
    static const uint8_t versions[] = {POLICY_ACTIVATIONS(VERSION_OF)};
#undef VERSION_OF
    for (int a = 0; a < POLICY_ACTIVATION_COUNT; a++) {
        policy_image *image = full_image(POLICY_INT8, false);
        image->spec.layers[0].activation = (policy_activation)a;
        encoded e = encode(image);
        assert_int_equal(e.bytes[4], versions[a]);
        oct_reason why;
        policy_image *again = NULL;
        T_OK(policy_decode(&again, e.bytes, e.length, &why));
        assert_int_equal(again->spec.layers[0].activation, a);
        policy_image_destroy(again);
        if (versions[a] > 1) {
            e.bytes[4]--;
            crc_fix(e);
            T_ERR(decode_and_drop(e.bytes, e.length, &why), OCT_EPROTO);
        }
        free(e.bytes);
        policy_image_destroy(image);
    }
}

static void
test_big_endian_bytes_are_refused_by_name(void **state)
{
    (void)state;
    policy_image *image = full_image(POLICY_INT8, false);
    encoded e = encode(image);
    oct_reason why;
    for (size_t at = 4; at < 12; at += 4) { // format version and total length
        uint32_t word;
        memcpy(&word, e.bytes + at, 4);
        word = __builtin_bswap32(word);
        memcpy(e.bytes + at, &word, 4);
    }
    T_ERR(decode_and_drop(e.bytes, e.length, &why), OCT_EPROTO);
    assert_non_null(strstr(why.text, "big-endian"));
    free(e.bytes);
    policy_image_destroy(image);
}

// The first format had the field, but no changes.
static void
test_a_base_version_in_the_first_format_is_refused(void **state)
{
    (void)state;
    policy_image *image = full_image(POLICY_INT8, false);
    encoded e = encode(image);
    oct_reason why;
    e.bytes[28] = 3; // base version, after run id and version
    crc_fix(e);
    T_ERR(decode_and_drop(e.bytes, e.length, &why), OCT_EPROTO);
    assert_non_null(strstr(why.text, "it says format 1, but a change in int8"));
    e.bytes[4] = 2;
    crc_fix(e);
    T_ERR(decode_and_drop(e.bytes, e.length, &why), OCT_EPROTO);
    assert_string_equal(why.text, "the policy is a change of version 3, not complete");
    free(e.bytes);
    policy_image_destroy(image);
}

static void
test_the_reason_may_be_absent(void **state)
{
    (void)state;
    policy_image *image = NULL;
    T_ERR(policy_decode(&image, (const uint8_t *)"OCTO", 4, NULL), OCT_EPROTO);
    T_ERR(policy_decode(&image, NULL, 0, NULL), OCT_EPROTO);
    assert_null(image);
}

// Damages one tensor of a sound image; the encoder does not look, the decoder must.
static void
expect_refused(policy_image *image, const char *words)
{
    encoded e = encode(image);
    oct_reason why;
    T_ERR(decode_and_drop(e.bytes, e.length, &why), OCT_EPROTO);
    assert_non_null(strstr(why.text, words));
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
    image = full_image(POLICY_BF16, false);
    image->halves[1][20] = 0x7f80; // infinity
    expect_refused(image, "a weight is not finite");
    image = full_image(POLICY_BF16, false);
    image->halves[2][1] = 0xffc1; // NaN
    expect_refused(image, "a weight is not finite");
    image = full_image(POLICY_FP16, false);
    image->halves[0][0] = 0xfc00;
    expect_refused(image, "a weight is not finite");
    image = full_image(POLICY_INT4, false);
    image->codes[1][9] = -8;
    expect_refused(image, "row 1 has a code that is not in -7..7");
    image = full_image(POLICY_INT4, false);
    image->multipliers[2][1] = 0;
    expect_refused(image, "row 1: the multiplier of group 0 is 0");
    image = full_image(POLICY_INT4, false);
    image->scales[1][2] = NAN;
    expect_refused(image, "scale 2");
    image = full_image(POLICY_FP32, false);
    image->obs_mean[4] = NAN;
    expect_refused(image, "observation mean 4");
    image = full_image(POLICY_FP32, false);
    image->obs_inverse_std[0] = -1.0f;
    expect_refused(image, "observation inverse deviation 0");
}

// A row of odd length ends with four bits of zero: accepted bytes encode to themselves.
static void
test_what_fills_up_a_row_of_nibbles_has_to_be_zero(void **state)
{
    (void)state;
    const uint32_t widths[] = {33, 1};
    oct_rng rng;
    oct_rng_init(&rng, 2, 1);
    policy_spec spec = random_spec(widths, 2, POLICY_RELU, false);
    policy_image *image = random_image(&spec, POLICY_INT4, false, &rng);
    encoded e = encode(image);
    oct_reason why;
    // From the end: CRC, bias, 17 bytes of codes, 1 of the multipliers of 2 groups.
    uint8_t *last = e.bytes + e.length - 9;
    assert_int_equal(last[0], image->codes[0][32] & 15);
    assert_int_equal(last[-16], (image->codes[0][0] & 15) | (image->codes[0][1] & 15) << 4);
    assert_int_equal(last[-17], image->multipliers[0][0] | image->multipliers[0][1] << 4);
    last[0] |= 0x10;
    crc_fix(e);
    T_ERR(decode_and_drop(e.bytes, e.length, &why), OCT_EPROTO);
    assert_string_equal(why.text, "row 0 of the codes does not end with zero");
    free(e.bytes);
    policy_image_destroy(image);
}

static void
test_deviations_stand_last_as_floats_and_must_be_finite(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 12, 1);
    policy_spec spec = gaussian_spec(POLICY_HEAD_GAUSSIAN, false);
    for (size_t i = 0; i < OCT_COUNTOF(precisions); i++) {
        policy_image *image = random_image(&spec, precisions[i], false, &rng), *decoded;
        encoded e = encode(image);
        oct_reason why;
        assert_int_equal(e.bytes[4], 4); // the format
        assert_memory_equal(e.bytes + e.length - 12, image->deviation, 8);
        T_OK(policy_decode(&decoded, e.bytes, e.length, &why));
        assert_memory_equal(decoded->deviation, image->deviation, 8);
        policy_image_destroy(decoded);
        const float nan = NAN;
        memcpy(e.bytes + e.length - 8, &nan, 4);
        crc_fix(e);
        T_ERR(decode_and_drop(e.bytes, e.length, &why), OCT_EPROTO);
        assert_non_null(strstr(why.text, "log deviation 1 is "));
        free(e.bytes);
        policy_image_destroy(image);
    }
}

static void
test_zero_codes_may_have_no_multiplier(void **state)
{
    (void)state;
    policy_image *image = full_image(POLICY_INT4, false);
    image->multipliers[1][2] = 0;
    memset(image->codes[1] + 2 * 7, 0, 7);
    encoded e = encode(image);
    oct_reason why;
    T_OK(decode_and_drop(e.bytes, e.length, &why));
    free(e.bytes);
    policy_image_destroy(image);
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
    image->spec.action_low[1] = -FLT_MAX; // each is finite, but not the range that tanh goes over
    image->spec.action_high[1] = FLT_MAX;
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
    for (size_t i = 0; i < OCT_COUNTOF(precisions); i++) {
        T_ERR(policy_image_create(&image, &spec, precisions[i]), OCT_EINVAL);
    }
    spec = full_spec();
    T_ERR(policy_image_create(&image, &spec, (policy_precision)0), OCT_EINVAL);
    T_ERR(policy_image_create(&image, &spec, (policy_precision)6), OCT_EINVAL);
    assert_null(image);
}

// Layers of 2^32 weights and more in a message of a few hundred bytes, sums that wrap in 32 bits.
static void
test_sizes_that_are_not_there_are_refused_without_allocating(void **state)
{
    (void)state;
    for (size_t i = 0; i < OCT_COUNTOF(precisions); i++) {
        policy_image *image = full_image(precisions[i], false);
        encoded e = encode(image);
        oct_writer writer = {.base = e.bytes, .capacity = e.length};
        image->spec.layers[0].outputs = POLICY_WIDTH_MAX;
        image->spec.layers[1].inputs = POLICY_WIDTH_MAX;
        image->spec.layers[1].outputs = POLICY_WIDTH_MAX;
        image->spec.layers[2].inputs = POLICY_WIDTH_MAX;
        policy_header_write(&writer, image, 0, (uint32_t)e.length);
        crc_fix(e);
        oct_reason why;
        T_ERR(decode_and_drop(e.bytes, e.length, &why), OCT_EPROTO);
        assert_non_null(strstr(why.text, "its layers need "));
        assert_true(strtoull(strstr(why.text, "need ") + 5, NULL, 10) > UINT64_C(1) << 31);
        free(e.bytes);
        policy_image_destroy(image);
    }
}

// Tensors lie one after the other in the image's block, so equal encodings mean equal images.
static void
expect_same_after_decode(policy_image *image)
{
    encoded first = encode(image);
    policy_image *decoded;
    oct_reason why = {""};
    T_OK(policy_decode(&decoded, first.bytes, first.length, &why));
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
        size_t count = (size_t)image->spec.layers[l].inputs * image->spec.layers[l].outputs;
        if (policy_is_integer(image->precision)) {
            assert_memory_equal(image->scales[l], decoded->scales[l], row);
            assert_memory_equal(image->codes[l], decoded->codes[l], count);
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
    expect_same_after_decode(full_image(POLICY_INT8, true));
    for (size_t i = 0; i < OCT_COUNTOF(precisions); i++) {
        expect_same_after_decode(full_image(precisions[i], false));
    }
    oct_rng rng;
    oct_rng_init(&rng, 4, 1);
    policy_spec spec = atoms_spec();
    expect_same_after_decode(random_image(&spec, POLICY_INT8, false, &rng));
    for (size_t i = 0; i < OCT_COUNTOF(precisions); i++) {
        spec = gaussian_spec(POLICY_HEAD_GAUSSIAN, false);
        expect_same_after_decode(random_image(&spec, precisions[i], false, &rng));
        spec = gaussian_spec(POLICY_HEAD_GAUSSIAN, true);
        expect_same_after_decode(random_image(&spec, precisions[i], false, &rng));
        spec = gaussian_spec(POLICY_HEAD_TANH_GAUSSIAN, false);
        expect_same_after_decode(random_image(&spec, precisions[i], false, &rng));
    }
    policy_image *unevaluated = full_image(POLICY_INT8, false);
    unevaluated->origin.eval_return = NAN;
    unevaluated->origin.run_name[0] = '\0';
    expect_same_after_decode(unevaluated);
}

// The step from atom to atom would be infinite, and no action the best.
static void
test_a_support_too_wide_for_a_float_is_refused(void **state)
{
    (void)state;
    policy_spec spec = atoms_spec();
    oct_reason why;
    spec.value_min = -2e38f;
    spec.value_max = 1e38f;
    T_OK(policy_spec_check(&spec, &why));
    spec.value_max = 2e38f;
    T_ERR(policy_spec_check(&spec, &why), OCT_EINVAL);
    assert_string_equal(why.text, "bad support of 5 atoms");
}

// Rows around the ends of groups and of bytes.
static void
test_rows_of_any_length_come_back(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 8, 1);
    for (size_t i = 0; i < OCT_COUNTOF(precisions); i++) {
        for (uint32_t width = 1; width < 100; width += width < 40 ? 1 : 19) {
            const uint32_t widths[] = {width, 3, 2};
            policy_spec spec = random_spec(widths, 3, POLICY_RELU, false);
            expect_same_after_decode(random_image(&spec, precisions[i], false, &rng));
        }
    }
}

static void
test_an_image_can_be_decoded_into_again(void **state)
{
    (void)state;
    oct_reason why = {""};
    for (size_t i = 0; i < OCT_COUNTOF(precisions); i++) {
        policy_image *image = full_image(precisions[i], false), *other = NULL;
        policy_image *into = full_image(precisions[(i + 1) % OCT_COUNTOF(precisions)], false);
        encoded e = encode(image);
        T_ERR(policy_decode_into(into, e.bytes, e.length, &why), OCT_EPROTO);
        assert_string_equal(why.text, "the policy's network or precision differs from its base's");
        T_OK(policy_image_create(&other, &image->spec, precisions[i]));
        T_OK(policy_decode_into(other, e.bytes, e.length, NULL));
        encoded again = encode(other);
        assert_int_equal(again.length, e.length);
        assert_memory_equal(again.bytes, e.bytes, e.length);
        other->spec.layers[0].activation = POLICY_LINEAR;
        T_ERR(policy_decode_into(other, e.bytes, e.length, NULL), OCT_EPROTO);
        free(e.bytes);
        free(again.bytes);
        policy_image_destroy(image);
        policy_image_destroy(other);
        policy_image_destroy(into);
    }
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
        cmocka_unit_test(test_any_flipped_bit_is_refused),
        cmocka_unit_test(test_a_newer_format_is_refused_by_name),
        cmocka_unit_test(test_another_format_version_than_the_precisions_is_refused),
        cmocka_unit_test(test_an_activation_has_the_format_version_of_its_row),
        cmocka_unit_test(test_big_endian_bytes_are_refused_by_name),
        cmocka_unit_test(test_a_base_version_in_the_first_format_is_refused),
        cmocka_unit_test(test_the_reason_may_be_absent),
        cmocka_unit_test(test_tensors_that_are_not_sound_are_refused),
        cmocka_unit_test(test_what_fills_up_a_row_of_nibbles_has_to_be_zero),
        cmocka_unit_test(test_deviations_stand_last_as_floats_and_must_be_finite),
        cmocka_unit_test(test_zero_codes_may_have_no_multiplier),
        cmocka_unit_test(test_headers_that_are_not_sound_are_refused),
        cmocka_unit_test(test_a_spec_too_large_for_a_policy_is_refused_without_allocating),
        cmocka_unit_test(test_sizes_that_are_not_there_are_refused_without_allocating),
        cmocka_unit_test(test_what_was_encoded_is_decoded),
        cmocka_unit_test(test_a_support_too_wide_for_a_float_is_refused),
        cmocka_unit_test(test_rows_of_any_length_come_back),
        cmocka_unit_test(test_an_image_can_be_decoded_into_again),
        cmocka_unit_test(test_names_of_the_longest_length_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
