// Contracts of imported policies, actions without a mapping, and the format that keeps both.
#include "common/oct_reason.h"
#include "policy/policy_contract.h"

#include <math.h>
#include <stdlib.h>

#include "policy/policy_header.h"
#include "policy/policy_math.h"
#include "policy/policy_net.h"
#include "tests/policy/random_image.h"
#include "tests/support/oct_test.h"

static policy_image *
image_make(bool is_direct)
{
    oct_rng rng;
    oct_rng_init(&rng, 3, 1);
    const uint32_t widths[] = {5, 7, 2};
    policy_spec spec = random_spec(widths, 3, POLICY_TANH, false);
    spec.action_kind = POLICY_BOX;
    spec.head = POLICY_HEAD_GAUSSIAN;
    spec.action_direct = is_direct;
    for (uint32_t i = 0; i < 2; i++) {
        spec.action_low[i] = is_direct ? -INFINITY : -1.0f;
        spec.action_high[i] = is_direct && i == 0 ? INFINITY : 1.0f;
    }
    return random_image(&spec, POLICY_FP32, false, &rng);
}

static uint8_t *
encode(const policy_image *image, size_t *length)
{
    *length = policy_encoded_size(image);
    uint8_t *bytes = oct_alloc(*length);
    policy_encode(image, bytes);
    return bytes;
}

static void
crc_fix(uint8_t *bytes, size_t length)
{
    uint32_t sum = oct_crc32(0, bytes, length - 4);
    memcpy(bytes + length - 4, &sum, 4);
}

// The file has that format, and comes back with the same bytes.
static void
expect_kept(const policy_image *image, uint8_t format)
{
    size_t length, again_length;
    oct_reason why = {""};
    policy_image *decoded;
    uint8_t *bytes = encode(image, &length);
    assert_int_equal(bytes[4], format);
    T_OK(policy_decode(&decoded, bytes, length, &why));
    assert_true(policy_spec_equal(&decoded->spec, &image->spec));
    uint8_t *again = encode(decoded, &again_length);
    assert_int_equal(again_length, length);
    assert_memory_equal(again, bytes, length);
    policy_image_destroy(decoded);
    free(bytes);
    free(again);
}

static void
test_only_what_needs_it_has_format_5(void **state)
{
    (void)state;
    policy_image *mapped = image_make(false), *direct = image_make(true);
    expect_kept(mapped, 4);
    expect_kept(direct, 5);
    assert_true(policy_contract_add(mapped, "joint_names", "hip,thigh,calf"));
    assert_true(policy_contract_add(mapped, POLICY_CONTRACT_INPUT, "obs"));
    expect_kept(mapped, 5);
    policy_image_destroy(mapped);
    policy_image_destroy(direct);
}

static void
test_entries_are_found_in_their_order(void **state)
{
    (void)state;
    policy_image *image = image_make(false);
    policy_contract_entry entry;
    size_t at = 0;
    assert_false(policy_contract_next(image, &at, &entry));
    assert_true(policy_contract_add(image, "default_joint_pos", "0.1,0.8,-1.5"));
    assert_true(policy_contract_add(image, POLICY_CONTRACT_OUTPUT, "actions"));
    assert_true(policy_contract_add(image, "empty", ""));
    assert_true(policy_contract_next(image, &at, &entry));
    assert_memory_equal(entry.key, "default_joint_pos", entry.key_length);
    assert_false(policy_contract_is_own(&entry));
    assert_true(policy_contract_next(image, &at, &entry) && policy_contract_is_own(&entry));
    assert_true(policy_contract_next(image, &at, &entry) && entry.text_length == 0);
    assert_false(policy_contract_next(image, &at, &entry));
    assert_true(policy_contract_find(image, POLICY_CONTRACT_OUTPUT, &entry));
    assert_int_equal(entry.text_length, 7);
    assert_memory_equal(entry.text, "actions", 7);
    assert_false(policy_contract_find(image, "empt", &entry));
    policy_image *copy = image_make(false);
    policy_contract_copy(copy, image);
    assert_int_equal(copy->contract_bytes, image->contract_bytes);
    policy_image_destroy(copy);
    policy_image_destroy(image);
}

static void
test_what_does_not_fit_is_not_added(void **state)
{
    (void)state;
    policy_image *image = image_make(false);
    char key[130], *text = oct_alloc(65537);
    memset(key, 'k', 128);
    key[128] = '\0';
    memset(text, 't', 65536);
    text[65536] = '\0';
    assert_false(policy_contract_add(image, key, "a"));
    assert_false(policy_contract_add(image, "", "a"));
    assert_false(policy_contract_add(image, "k", text));
    assert_false(policy_contract_add(image, "k", "\xff"));
    assert_false(policy_contract_add(image, "\xc3", "a"));
    text[65000] = '\0';
    assert_true(policy_contract_add(image, "k", text));
    assert_false(policy_contract_add(image, "k", "twice"));
    text[600] = '\0';
    assert_false(policy_contract_add(image, "l", text));
    policy_contract_set(image, NULL, 0);
    for (uint32_t i = 0; i < POLICY_CONTRACT_ENTRIES_MAX; i++) {
        (void)snprintf(key, sizeof(key), "%u", i);
        assert_true(policy_contract_add(image, key, ""));
    }
    assert_false(policy_contract_add(image, "more", ""));
    free(text);
    policy_image_destroy(image);
}

// Bytes of a contract that is not sound, in a file whose length and checksum are.
static void
test_a_contract_that_is_not_sound_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t length;
    } cases[] = {
        {"\x00\x00\x00", 3}, // no key
        {"\x01k\x05\x00"
         "abc",
         7},                      // the text is cut off
        {"\x05k", 2},             // the key is cut off
        {"\x01k\x01", 3},         // the length is cut off
        {"\x01k\x01\x00\xff", 5}, // not UTF-8
        {"\x01k\x01\x00\x00", 5}, // a zero byte
    };
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        policy_image *image = image_make(false), *decoded;
        oct_reason why = {""};
        size_t length;
        assert_false(policy_contract_check((const uint8_t *)cases[i].bytes, cases[i].length));
        policy_contract_set(image, (const uint8_t *)cases[i].bytes, (uint32_t)cases[i].length);
        uint8_t *bytes = encode(image, &length);
        T_ERR(policy_decode(&decoded, bytes, length, &why), OCT_EPROTO);
        assert_non_null(strstr(why.text, "contract"));
        free(bytes);
        policy_image_destroy(image);
    }
}

// Sizes up to each limit are read, and nothing beyond.
static void
test_a_contract_beyond_a_limit_is_refused(void **state)
{
    (void)state;
    enum { MOST = POLICY_CONTRACT_BYTES_MAX, ENTRIES = POLICY_CONTRACT_ENTRIES_MAX };
    uint8_t *bytes = oct_alloc(MOST + 4);
    for (size_t key = POLICY_CONTRACT_KEY_MAX; key <= POLICY_CONTRACT_KEY_MAX + 1; key++) {
        memset(bytes, 'k', 1 + key);
        bytes[0] = (uint8_t)key;
        memcpy(bytes + 1 + key, "\x00\x00", 2);
        assert_int_equal(policy_contract_check(bytes, key + 3), key == POLICY_CONTRACT_KEY_MAX);
    }
    for (size_t count = ENTRIES; count <= ENTRIES + 1; count++) {
        for (size_t i = 0; i < count; i++) {
            memcpy(bytes + 4 * i, "\x01k\x00\x00", 4);
        }
        assert_int_equal(policy_contract_check(bytes, 4 * count), count == ENTRIES);
    }
    for (size_t length = MOST; length <= MOST + 1; length++) { // in two entries
        size_t first = 10, second = length - first - 8;
        memset(bytes, 't', length);
        memcpy(bytes, "\x01k\x0a\x00", 4);
        memcpy(bytes + 4 + first, "\x01l", 2);
        bytes[6 + first] = (uint8_t)second;
        bytes[7 + first] = (uint8_t)(second >> 8);
        assert_int_equal(policy_contract_check(bytes, length), length == MOST);
    }
    free(bytes);
    assert_false(policy_contract_check((const uint8_t *)"\x01\xff\x00\x00", 4)); // no UTF-8
}

static void
test_only_direct_actions_may_have_infinite_bounds(void **state)
{
    (void)state;
    oct_reason why = {""};
    policy_spec spec = {0};
    policy_image *image = image_make(true);
    spec = image->spec;
    T_OK(policy_spec_check(&spec, &why));
    spec.action_low[1] = NAN;
    T_ERR(policy_spec_check(&spec, &why), OCT_EINVAL);
    spec.action_low[1] = 2.0f;
    T_ERR(policy_spec_check(&spec, &why), OCT_EINVAL);
    spec = image->spec;
    spec.action_direct = false;
    T_ERR(policy_spec_check(&spec, &why), OCT_EINVAL);
    assert_non_null(strstr(why.text, "finite"));
    spec.action_direct = true;
    spec.head = POLICY_HEAD_TANH;
    T_ERR(policy_spec_check(&spec, &why), OCT_EINVAL);
    policy_image_destroy(image);
}

static void
test_direct_actions_are_the_outputs_within_the_bounds(void **state)
{
    (void)state;
    policy_image *image = image_make(true);
    const float y[] = {1.2345678e9f, 5.0f, 1e-30f, NAN, -INFINITY, -3e-8f};
    const float want[] = {1.2345678e9f, 1.0f, 1e-30f, 0.0f, -3.402823466e38f, -3e-8f};
    float actions[6];
    policy_act(&image->spec, y, 3, actions);
    assert_memory_equal(actions, want, sizeof(want));
    assert_true(policy_direct_action(NAN, 2.0f, INFINITY) == 2.0f);
    policy_image_destroy(image);
}

// A change is of a run's policy, which has no contract.
static void
test_an_image_with_a_contract_is_not_decoded_into(void **state)
{
    (void)state;
    policy_image *image = image_make(false), *plain = image_make(false);
    oct_reason why = {""};
    size_t length, plain_length;
    assert_true(policy_contract_add(image, "k", "text"));
    uint8_t *bytes = encode(image, &length), *plain_bytes = encode(plain, &plain_length);
    T_OK(policy_decode_into(plain, plain_bytes, plain_length, &why));
    T_ERR(policy_decode_into(plain, bytes, length, &why), OCT_EPROTO);
    T_ERR(policy_decode_into(image, plain_bytes, plain_length, &why), OCT_EPROTO);
    assert_non_null(strstr(why.text, "contract"));
    bytes[28] = 1; // a change of version 1
    bytes[20] = 2;
    crc_fix(bytes, length);
    policy_head_info head;
    T_ERR(policy_peek(&head, bytes, length, &why), OCT_EPROTO);
    free(bytes);
    free(plain_bytes);
    policy_image_destroy(image);
    policy_image_destroy(plain);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_what_needs_it_has_format_5),
        cmocka_unit_test(test_entries_are_found_in_their_order),
        cmocka_unit_test(test_what_does_not_fit_is_not_added),
        cmocka_unit_test(test_a_contract_that_is_not_sound_is_refused),
        cmocka_unit_test(test_a_contract_beyond_a_limit_is_refused),
        cmocka_unit_test(test_only_direct_actions_may_have_infinite_bounds),
        cmocka_unit_test(test_direct_actions_are_the_outputs_within_the_bounds),
        cmocka_unit_test(test_an_image_with_a_contract_is_not_decoded_into),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
