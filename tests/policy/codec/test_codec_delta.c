// A change applied to its base gives the next version bit for bit; damaged or foreign changes are
// refused.
#include "common/oct_reason.h"
#include "policy/codec/codec_delta.h"

#include "common/oct_bytes.h"
#include "tests/policy/next_policy.h"
#include "tests/policy/random_policy.h"

// Two versions of a policy and what lies between them.
typedef struct pair {
    policy_image *base;
    policy_image *next;
    policy_image *got;
    codec_coder *coder;
    oct_rng rng;
    oct_reason why;
    uint8_t *bytes; // a copy of exact size, so that the sanitizer sees a read past the end
    size_t length;
} pair;

static policy_spec
box_spec(void)
{
    const uint32_t widths[] = {37, 70, 45, 3};
    policy_spec spec = random_spec(widths, 4, POLICY_ELU, true);
    spec.action_kind = POLICY_BOX;
    spec.head = POLICY_HEAD_GAUSSIAN; // with deviations of its own
    spec.normalise = true;
    for (uint32_t i = 0; i < 3; i++) {
        spec.action_low[i] = -1.0f;
        spec.action_high[i] = 2.0f;
    }
    return spec;
}

static pair
pair_of(policy_precision precision, bool per_tensor)
{
    pair p = {0};
    oct_rng_init(&p.rng, 11, (uint64_t)precision);
    policy_spec spec = box_spec();
    p.base = random_image(&spec, precision, per_tensor, &p.rng);
    T_OK(policy_image_create(&p.next, &spec, precision));
    T_OK(policy_image_create(&p.got, &spec, precision));
    p.coder = codec_coder_create(&spec, precision);
    policy_step(p.next, p.base, 10, &p.rng);
    return p;
}

static void
pair_encode(pair *p)
{
    const uint8_t *bytes;
    T_OK(codec_delta_encode(p->coder, p->base, p->next, &bytes, &p->length));
    free(p->bytes);
    p->bytes = malloc(p->length);
    memcpy(p->bytes, bytes, p->length);
}

static void
pair_mend(pair *p)
{
    uint32_t total = (uint32_t)p->length, crc;
    memcpy(p->bytes + 8, &total, 4);
    crc = oct_crc32(0, p->bytes, p->length - 4);
    memcpy(p->bytes + p->length - 4, &crc, 4);
}

// Decodes onto the base and expects the base untouched.
static oct_err
pair_decode(pair *p)
{
    size_t size = policy_encoded_size(p->base);
    uint8_t *before = malloc(size), *after = malloc(size);
    policy_encode(p->base, before);
    p->why.text[0] = '\0';
    oct_err err = codec_delta_decode(p->coder, p->got, p->base, p->bytes, p->length, &p->why);
    assert_true((err == OCT_OK) == (p->why.text[0] == '\0'));
    policy_encode(p->base, after);
    assert_memory_equal(before, after, size);
    free(before);
    free(after);
    return err;
}

static void
pair_end(pair *p)
{
    policy_image_destroy(p->base);
    policy_image_destroy(p->next);
    policy_image_destroy(p->got);
    codec_coder_destroy(p->coder);
    free(p->bytes);
}

static void
expect_same(const policy_image *got, const policy_image *want)
{
    size_t size = policy_encoded_size(want);
    assert_int_equal(policy_encoded_size(got), size);
    uint8_t *a = malloc(size), *b = malloc(size);
    policy_encode(got, a);
    policy_encode(want, b);
    assert_memory_equal(a, b, size);
    free(a);
    free(b);
}

static void
expect_refused(pair *p, oct_err want, const char *words)
{
    T_ERR(pair_decode(p), want);
    if (strstr(p->why.text, words) == NULL) {
        fail_msg("\"%s\" lacks \"%s\"", p->why.text, words);
    }
}

// ---- what is refused

static void
test_a_change_cut_at_any_byte_is_refused(void **state)
{
    (void)state;
    pair p = pair_of(POLICY_INT4, false);
    pair_encode(&p);
    uint8_t *whole = p.bytes;
    size_t length = p.length;
    for (size_t cut = 0; cut < length; cut++) {
        p.bytes = malloc(cut + (cut == 0));
        memcpy(p.bytes, whole, cut);
        p.length = cut;
        T_ERR(pair_decode(&p), OCT_EPROTO);
        if (cut >= 16) {
            pair_mend(&p);
            T_ERR(pair_decode(&p), OCT_EPROTO);
        }
        free(p.bytes);
    }
    p.bytes = whole;
    pair_end(&p);
}

static void
test_any_flipped_bit_is_refused_even_with_a_mended_checksum(void **state)
{
    (void)state;
    pair p = pair_of(POLICY_INT8, false);
    pair_encode(&p);
    policy_head_info head;
    for (size_t at = 0; at < p.length - 4; at++) {
        p.bytes[at] ^= (uint8_t)(1u << at % 8);
        assert_int_not_equal(pair_decode(&p), OCT_OK);
        pair_mend(&p);
        // Only what describes the policy, not what it does, may differ unseen.
        if (pair_decode(&p) == OCT_OK) {
            T_OK(policy_peek(&head, p.bytes, p.length, NULL));
            policy_origin origin = p.got->origin;
            p.got->origin = p.next->origin;
            expect_same(p.got, p.next);
            assert_true(origin.version == head.origin.version);
        }
        p.bytes[at] ^= (uint8_t)(1u << at % 8);
    }
    pair_mend(&p);
    T_OK(pair_decode(&p));
    pair_end(&p);
}

static void
test_another_base_is_not_found(void **state)
{
    (void)state;
    pair p = pair_of(POLICY_INT8, false);
    pair_encode(&p);
    p.base->origin.version--;
    expect_refused(&p, OCT_ENOTFOUND, "a change of version 7, but version 6 is held");
    p.base->origin.version++;
    p.base->origin.run_id++;
    expect_refused(&p, OCT_ENOTFOUND, "a change of version 7");
    p.base->origin.run_id--;
    T_OK(pair_decode(&p));
    pair_end(&p);
}

// The learner that made the base may have been another one of the same name.
static void
test_another_base_of_the_same_version_is_not_found(void **state)
{
    (void)state;
    for (int part = 0; part < 4; part++) {
        pair p = pair_of(POLICY_INT4, false);
        pair_encode(&p);
        switch (part) {
        case 0:
            p.base->codes[1][100] ^= 1;
            break;
        case 1:
            p.base->bias[0][3] += 0.25f;
            break;
        case 2:
            p.base->scales[2][1] *= 2.0f;
            break;
        default:
            p.base->multipliers[0][5] ^= 1;
            break;
        }
        expect_refused(&p, OCT_ENOTFOUND, "version 7, which is not the version that is held");
        pair_end(&p);
    }
}

static void
test_another_network_or_precision_is_refused(void **state)
{
    (void)state;
    pair p = pair_of(POLICY_INT8, true);
    pair_encode(&p);
    p.base->spec.layers[1].activation = POLICY_RELU;
    expect_refused(&p, OCT_EPROTO, "network or precision differs from");
    p.base->spec.layers[1].activation = POLICY_ELU;
    p.base->per_tensor = false;
    expect_refused(&p, OCT_EPROTO, "network or precision differs from");
    pair_end(&p);
    p = pair_of(POLICY_INT8, false);
    pair q = pair_of(POLICY_INT4, false);
    pair_encode(&p);
    q.base->origin = p.base->origin;
    T_ERR(codec_delta_decode(q.coder, q.got, q.base, p.bytes, p.length, NULL), OCT_EPROTO);
    pair_end(&p);
    pair_end(&q);
}

static void
test_a_complete_policy_is_no_change_and_a_change_not_complete(void **state)
{
    (void)state;
    pair p = pair_of(POLICY_INT8, false);
    pair_encode(&p);
    policy_image *image = NULL;
    T_ERR(policy_decode(&image, p.bytes, p.length, &p.why), OCT_EPROTO);
    assert_string_equal(p.why.text, "the policy is a change of version 7, not complete");
    assert_null(image);
    p.length = policy_encoded_size(p.next);
    free(p.bytes);
    p.bytes = malloc(p.length);
    policy_encode(p.next, p.bytes);
    expect_refused(&p, OCT_EPROTO, "complete, not a change");
    pair_end(&p);
}

static void
test_a_change_of_a_later_version_is_refused(void **state)
{
    (void)state;
    pair p = pair_of(POLICY_INT8, false);
    pair_encode(&p);
    p.bytes[12 + 8] = 7; // the version, which was 8
    pair_mend(&p);
    expect_refused(&p, OCT_EPROTO, "a change of the later version 7");
    pair_end(&p);
}

// What the sender holds is not sound: a test of the receiver.
static void
test_results_that_are_not_sound_are_refused(void **state)
{
    (void)state;
    pair p = pair_of(POLICY_INT8, false);
    p.next->codes[1][7] = -128;
    pair_encode(&p);
    expect_refused(&p, OCT_EPROTO, "codes are -128");
    pair_end(&p);
    p = pair_of(POLICY_INT8, false);
    p.next->scales[1][2] = -1.0f;
    pair_encode(&p);
    expect_refused(&p, OCT_EPROTO, "scale 2");
    pair_end(&p);
    p = pair_of(POLICY_INT8, false);
    p.next->gain[0][4] = NAN;
    pair_encode(&p);
    expect_refused(&p, OCT_EPROTO, "gain 4");
    pair_end(&p);
    p = pair_of(POLICY_INT4, false);
    p.next->multipliers[0][3] = 16;
    pair_encode(&p);
    expect_refused(&p, OCT_EPROTO, "multiplier of group 1 is 16");
    pair_end(&p);
    p = pair_of(POLICY_INT4, false);
    p.next->codes[2][3] = 8;
    pair_encode(&p);
    expect_refused(&p, OCT_EPROTO, "not in -7..7");
    pair_end(&p);
}

// ---- what is sent

static void
test_the_result_is_the_next_version_bit_for_bit(void **state)
{
    (void)state;
    pair p = pair_of(POLICY_INT8, false);
    for (int i = 0; i < 3; i++) {
        pair_encode(&p);
        T_OK(pair_decode(&p));
        expect_same(p.got, p.next);
        size_t complete = policy_encoded_size(p.next);
        assert_true(p.length < (i < 2 ? complete / 2 : complete * 3 / 4));
        pair_end(&p);
        p = i == 0 ? pair_of(POLICY_INT8, true) : pair_of(POLICY_INT4, false);
    }
    pair_end(&p);
}

static void
test_peek_tells_what_a_change_is(void **state)
{
    (void)state;
    pair p = pair_of(POLICY_INT4, false);
    pair_encode(&p);
    policy_head_info head;
    T_OK(policy_peek(&head, p.bytes, p.length, &p.why));
    assert_int_equal(head.precision, POLICY_INT4);
    assert_int_equal(head.origin.base_version, 7);
    assert_int_equal(head.origin.version, 8);
    assert_true(policy_spec_equal(&head.spec, &p.base->spec));
    p.bytes[p.length - 1] ^= 1;
    T_ERR(policy_peek(&head, p.bytes, p.length, &p.why), OCT_EPROTO);
    pair_end(&p);
}

// Every code of base against every code of next: the differences do not fit in eight bits.
static void
test_differences_of_any_size_come_through(void **state)
{
    (void)state;
    const uint32_t widths[] = {255, 255, 2};
    oct_rng rng;
    oct_rng_init(&rng, 1, 1);
    policy_spec spec = random_spec(widths, 3, POLICY_RELU, false);
    pair p = {.base = random_image(&spec, POLICY_INT8, false, &rng)};
    T_OK(policy_image_create(&p.next, &spec, POLICY_INT8));
    T_OK(policy_image_create(&p.got, &spec, POLICY_INT8));
    p.coder = codec_coder_create(&spec, POLICY_INT8);
    policy_image_copy(p.next, p.base);
    p.next->origin.version++;
    for (uint32_t j = 0; j < 255; j++) {
        for (uint32_t k = 0; k < 255; k++) {
            p.base->codes[0][j * 255 + k] = (int8_t)((int32_t)k - 127);
            p.next->codes[0][j * 255 + k] = (int8_t)((int32_t)j - 127);
        }
        p.base->scales[0][j] = j % 3 == 0 ? 0.0f : 0.01f;
        p.next->scales[0][j] = j % 5 == 0 ? 0.0f : j % 7 == 0 ? 1e-38f : 0.01f;
    }
    pair_encode(&p);
    T_OK(pair_decode(&p));
    expect_same(p.got, p.next);
    pair_end(&p);
}

// A row on a new grid costs little when its weights stayed where they were.
static void
test_codes_on_a_new_grid_are_predicted(void **state)
{
    (void)state;
    size_t lengths[2];
    for (int is_predicted = 0; is_predicted < 2; is_predicted++) {
        pair p = pair_of(POLICY_INT8, false);
        policy_image_copy(p.next, p.base);
        p.next->origin.version++;
        uint32_t rows = p.next->spec.layers[1].outputs, inputs = p.next->spec.layers[1].inputs;
        for (uint32_t j = 0; j < rows; j++) {
            p.next->scales[1][j] = p.base->scales[1][j] * (is_predicted ? 1.25f : 1.0f);
        }
        for (uint32_t k = 0; k < rows * inputs; k++) {
            p.next->codes[1][k] = (int8_t)lrintf((float)p.base->codes[1][k] * (1.0f / 1.25f));
        }
        pair_encode(&p);
        T_OK(pair_decode(&p));
        expect_same(p.got, p.next);
        lengths[is_predicted] = p.length;
        pair_end(&p);
    }
    assert_true(lengths[1] < lengths[0] / 4);
}

// On a grid that is four times finer, and on one that is finer by more than a float can say: codes
// that it does not reach are at its end, and those of 0 stay.
static void
test_codes_beyond_a_new_grid_are_predicted_at_its_end(void **state)
{
    (void)state;
    static const float grids[][2] = {{0.5f, 0.125f}, {1e30f, 1e-30f}};
    for (int c = 0; c < 4; c++) {
        bool is_int4 = c / 2 == 1;
        pair p = pair_of(is_int4 ? POLICY_INT4 : POLICY_INT8, false);
        const policy_layer *layer = &p.base->spec.layers[1];
        int limit = is_int4 ? POLICY_INT4_CODE_MAX : INT8_MAX, times = c % 2 == 0 ? 4 : limit;
        for (uint32_t j = 0; j < layer->outputs; j++) {
            p.base->scales[1][j] = grids[c % 2][0];
        }
        if (is_int4) {
            memset(p.base->multipliers[1], 3, layer->outputs * policy_int4_groups(layer->inputs));
        }
        for (uint32_t k = 0; k < policy_layer_weights(layer); k += 3) {
            p.base->codes[1][k] = 0;
        }
        policy_image_copy(p.next, p.base);
        p.next->origin.version++;
        pair_encode(&p);
        size_t unchanged = p.length;
        for (uint32_t j = 0; j < layer->outputs; j++) {
            p.next->scales[1][j] = grids[c % 2][1];
        }
        for (uint32_t k = 0; k < policy_layer_weights(layer); k++) {
            int code = p.base->codes[1][k] * times;
            p.next->codes[1][k] = (int8_t)(code > limit ? limit : code < -limit ? -limit : code);
        }
        pair_encode(&p);
        T_OK(pair_decode(&p));
        expect_same(p.got, p.next);
        assert_true(p.length < unchanged + layer->outputs * sizeof(float)); // the scales
        pair_end(&p);
    }
}

// Any finite numbers, so that no bit of them can be predicted.
static void
floats_any(float *floats, size_t count, oct_rng *rng)
{
    for (size_t i = 0; floats != NULL && i < count; i++) {
        uint32_t word = oct_rng_u32(rng) & 0xff7fffffu;
        memcpy(&floats[i], &word, sizeof(word));
    }
}

static void
test_a_change_longer_than_the_policy_is_not_made(void **state)
{
    (void)state;
    pair p = pair_of(POLICY_INT8, false);
    policy_image *other = random_image(&p.base->spec, POLICY_INT8, false, &p.rng);
    other->origin = p.next->origin;
    for (uint32_t l = 0; l < 3; l++) {
        size_t outputs = other->spec.layers[l].outputs;
        floats_any(other->bias[l], outputs, &p.rng);
        floats_any(other->scales[l], outputs, &p.rng);
        floats_any(l == 0 ? other->gain[l] : NULL, outputs, &p.rng);
        floats_any(l == 0 ? other->offset[l] : NULL, outputs, &p.rng);
    }
    floats_any(other->obs_mean, other->spec.obs_count, &p.rng);
    floats_any(other->obs_inverse_std, other->spec.obs_count, &p.rng);
    floats_any(other->deviation, other->spec.action_count, &p.rng);
    const uint8_t *bytes = NULL;
    T_ERR(codec_delta_encode(p.coder, p.base, other, &bytes, &p.length), OCT_EAGAIN);
    assert_null(bytes);
    // The coder is as good as before.
    pair_encode(&p);
    T_OK(pair_decode(&p));
    expect_same(p.got, p.next);
    policy_image_destroy(other);
    pair_end(&p);
}

static void
test_floats_have_no_changes(void **state)
{
    (void)state;
    const policy_precision precisions[] = {POLICY_FP32, POLICY_BF16, POLICY_FP16};
    for (size_t i = 0; i < OCT_COUNTOF(precisions); i++) {
        policy_spec spec = box_spec();
        pair p = {0};
        oct_rng_init(&p.rng, 1, 1);
        p.base = random_image(&spec, precisions[i], false, &p.rng);
        p.next = random_image(&spec, precisions[i], false, &p.rng);
        p.next->origin = p.base->origin;
        p.next->origin.version++;
        p.coder = codec_coder_create(&spec, precisions[i]);
        const uint8_t *bytes;
        T_ERR(codec_delta_encode(p.coder, p.base, p.next, &bytes, &p.length), OCT_EAGAIN);
        pair_end(&p);
    }
}

static void
test_an_unchanged_policy_is_little_more_than_its_header(void **state)
{
    (void)state;
    pair p = pair_of(POLICY_INT4, false);
    policy_image_copy(p.next, p.base);
    p.next->origin.version = UINT64_MAX;
    pair_encode(&p);
    T_OK(pair_decode(&p));
    expect_same(p.got, p.next);
    assert_true(p.length < 220);
    pair_end(&p);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_change_cut_at_any_byte_is_refused),
        cmocka_unit_test(test_any_flipped_bit_is_refused_even_with_a_mended_checksum),
        cmocka_unit_test(test_another_base_is_not_found),
        cmocka_unit_test(test_another_base_of_the_same_version_is_not_found),
        cmocka_unit_test(test_another_network_or_precision_is_refused),
        cmocka_unit_test(test_a_complete_policy_is_no_change_and_a_change_not_complete),
        cmocka_unit_test(test_a_change_of_a_later_version_is_refused),
        cmocka_unit_test(test_results_that_are_not_sound_are_refused),
        cmocka_unit_test(test_the_result_is_the_next_version_bit_for_bit),
        cmocka_unit_test(test_peek_tells_what_a_change_is),
        cmocka_unit_test(test_differences_of_any_size_come_through),
        cmocka_unit_test(test_codes_on_a_new_grid_are_predicted),
        cmocka_unit_test(test_codes_beyond_a_new_grid_are_predicted_at_its_end),
        cmocka_unit_test(test_a_change_longer_than_the_policy_is_not_made),
        cmocka_unit_test(test_floats_have_no_changes),
        cmocka_unit_test(test_an_unchanged_policy_is_little_more_than_its_header),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
