// Session tokens equal an independent HMAC, and claims are read from batches of any form.
#include "proto/wire_token.h"

#include <stdlib.h>

#include "tests/proto/wire_examples.h"
#include "tests/support/oct_test.h"

#define RUN     0x1122334455667788u
#define SESSION 0xfedcba9876543210u
#define ACTOR   7

static const uint8_t key[WIRE_TOKEN_KEY_BYTES] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                                  11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                                                  22, 23, 24, 25, 26, 27, 28, 29, 30, 31};

static uint8_t *
batch_bytes(size_t *length, const wire_batch *batch)
{
    *length = wire_batch_size(batch);
    uint8_t *bytes = malloc(*length);
    assert_non_null(bytes);
    wire_batch_pack(batch, bytes);
    return bytes;
}

// ---- tokens

// What Python's hmac makes of the same numbers, twice: a maker has no memory of the last one.
static void
test_token_is_the_hmac_that_others_compute(void **state)
{
    (void)state;
    static const uint8_t want[] = {0x2d, 0x90, 0x72, 0xdc, 0x09, 0xf5, 0x11, 0x65,
                                   0x1b, 0x4a, 0x1c, 0x6b, 0x26, 0x6b, 0x48, 0x38};
    static const uint8_t want_zero[] = {0x41, 0xc6, 0x57, 0xeb, 0x79, 0x9e, 0xca, 0x3e,
                                        0xd2, 0xcb, 0xb1, 0x24, 0xd0, 0x92, 0xd1, 0x96};
    static const uint8_t zero[WIRE_TOKEN_KEY_BYTES];
    uint8_t got[WIRE_TOKEN_BYTES];
    wire_token_maker *maker = wire_token_maker_create(key);
    for (int i = 0; i < 2; i++) {
        wire_token_make(maker, RUN, SESSION, ACTOR, got);
        assert_memory_equal(got, want, sizeof(want));
    }
    wire_token_maker_destroy(maker);
    maker = wire_token_maker_create(zero);
    wire_token_make(maker, 0, 0, 0, got);
    assert_memory_equal(got, want_zero, sizeof(want_zero));
    wire_token_maker_destroy(maker);
    wire_token_maker_destroy(NULL);
}

static void
test_token_of_another_run_session_actor_or_key_differs(void **state)
{
    (void)state;
    uint8_t right[WIRE_TOKEN_BYTES], other[WIRE_TOKEN_BYTES], other_key[WIRE_TOKEN_KEY_BYTES];
    wire_token_maker *maker = wire_token_maker_create(key);
    wire_token_make(maker, RUN, SESSION, ACTOR, right);
    for (unsigned bit = 0; bit < 64; bit++) {
        wire_token_make(maker, RUN ^ 1ull << bit, SESSION, ACTOR, other);
        assert_false(wire_token_equal(right, other));
        wire_token_make(maker, RUN, SESSION ^ 1ull << bit, ACTOR, other);
        assert_false(wire_token_equal(right, other));
        wire_token_make(maker, RUN, SESSION, ACTOR ^ 1u << bit % 32, other);
        assert_false(wire_token_equal(right, other));
    }
    wire_token_maker_destroy(maker);
    memcpy(other_key, key, sizeof(key));
    other_key[WIRE_TOKEN_KEY_BYTES - 1] ^= 1;
    maker = wire_token_maker_create(other_key);
    wire_token_make(maker, RUN, SESSION, ACTOR, other);
    assert_false(wire_token_equal(right, other));
    wire_token_maker_destroy(maker);
}

static void
test_token_is_compared_to_its_last_bit(void **state)
{
    (void)state;
    uint8_t a[WIRE_TOKEN_BYTES] = {0}, b[WIRE_TOKEN_BYTES] = {0};
    assert_true(wire_token_equal(a, b));
    for (unsigned bit = 0; bit < 8 * WIRE_TOKEN_BYTES; bit++) {
        b[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_false(wire_token_equal(a, b));
        b[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

// ---- claims

static void
test_claim_refuses_what_is_no_batch(void **state)
{
    (void)state;
    wire_claim claim;
    wire_batch batch = wire_example_batch(2, 0);
    size_t length;
    uint8_t *bytes = batch_bytes(&length, &batch);
    T_ERR(wire_claim_find(&claim, bytes, WIRE_FRAME_BYTES - 1), OCT_EPROTO);
    bytes[4] ^= 0x40;
    T_ERR(wire_claim_find(&claim, bytes, length), OCT_EINVAL);
    bytes[4] ^= 0x40;
    bytes[3] = WIRE_POLICY;
    T_ERR(wire_claim_find(&claim, bytes, length), OCT_EPROTO);
    bytes[3] = WIRE_BATCH;
    T_OK(wire_claim_find(&claim, bytes, length));
    static const uint8_t bad[][12] = {
        {0x00},          // field 0
        {0x0b},          // a group
        {0x52, 0x7f, 1}, // longer than what is there
        {0x52, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}, // 2^64 - 1 bytes
        {0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01},
        {0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0x00}, // a field number of 36 bits
    };
    for (size_t i = 0; i < OCT_COUNTOF(bad); i++) {
        memcpy(bytes + WIRE_FRAME_BYTES, bad[i], sizeof(bad[i]));
        T_ERR(wire_claim_find(&claim, bytes, WIRE_FRAME_BYTES + sizeof(bad[i])), OCT_EPROTO);
    }
    free(bytes);
}

// The token comes last: a batch that was cut has none, or is no batch.
static void
test_claim_of_a_cut_batch_has_no_token(void **state)
{
    (void)state;
    wire_batch batch = wire_example_batch(3, 2);
    size_t whole;
    uint8_t *bytes = batch_bytes(&whole, &batch);
    for (size_t length = 0; length < whole; length++) {
        uint8_t *cut = malloc(length + 1); // for the address sanitizer
        assert_non_null(cut);
        memcpy(cut, bytes, length);
        wire_claim claim = {.has_token = true};
        assert_true(wire_claim_find(&claim, cut, length) != OCT_OK || !claim.has_token);
        free(cut);
    }
    free(bytes);
}

static void
test_claim_is_what_the_batch_says(void **state)
{
    (void)state;
    static const uint32_t counts[] = {0, 1, 64, WIRE_BATCH_COUNT_MAX};
    for (size_t i = 0; i < OCT_COUNTOF(counts); i++) {
        wire_batch batch = wire_example_batch(counts[i], 2);
        size_t length;
        uint8_t *bytes = batch_bytes(&length, &batch);
        wire_claim claim;
        T_OK(wire_claim_find(&claim, bytes, length));
        assert_int_equal(claim.actor_id, batch.actor_id);
        assert_int_equal(claim.session, batch.session);
        assert_true(claim.has_token);
        assert_memory_equal(claim.token, batch.token, WIRE_TOKEN_BYTES);
        free(bytes);
    }
}

static void
test_claim_with_a_token_of_another_length_has_none(void **state)
{
    (void)state;
    uint8_t bytes[WIRE_FRAME_BYTES + 3 + 17] = {0};
    wire_claim claim;
    for (uint8_t length = 0; length <= 17; length++) {
        const uint8_t head[] = {0x9a, 0x01, length}; // field 19, bytes
        wire_frame_pack(WIRE_BATCH, 0, 0, bytes);
        memcpy(bytes + WIRE_FRAME_BYTES, head, sizeof(head));
        T_OK(wire_claim_find(&claim, bytes, WIRE_FRAME_BYTES + sizeof(head) + length));
        assert_int_equal(claim.has_token, length == WIRE_TOKEN_BYTES);
        assert_int_equal(claim.session, 0);
    }
}

// A stranger cannot make the search long.
static void
test_claim_is_searched_for_so_far_and_no_further(void **state)
{
    (void)state;
    static uint8_t bytes[WIRE_FRAME_BYTES + 2 * WIRE_CLAIM_FIELDS_MAX + 3 + WIRE_TOKEN_BYTES];
    const uint8_t head[] = {0x9a, 0x01, WIRE_TOKEN_BYTES};
    for (size_t before = WIRE_CLAIM_FIELDS_MAX - 1; before <= WIRE_CLAIM_FIELDS_MAX; before++) {
        wire_frame_pack(WIRE_BATCH, 0, 0, bytes);
        for (size_t i = 0; i < before; i++) {
            bytes[WIRE_FRAME_BYTES + 2 * i] = 0x18; // sequence
            bytes[WIRE_FRAME_BYTES + 2 * i + 1] = 1;
        }
        memcpy(bytes + WIRE_FRAME_BYTES + 2 * before, head, sizeof(head));
        wire_claim claim;
        T_OK(wire_claim_find(&claim, bytes,
                             WIRE_FRAME_BYTES + 2 * before + sizeof(head) + WIRE_TOKEN_BYTES));
        assert_int_equal(claim.has_token, before < WIRE_CLAIM_FIELDS_MAX);
    }
}

// The example of docs/internals/wire.md, byte for byte.
static void
test_ack_request_bytes_are_those_of_the_document(void **state)
{
    (void)state;
    static const uint8_t want[] = {0x4f, 0x43, 0x54, 0x41, 0x04, 0x00, 0x00, 0x00, 0x07, 0x00, 0x00,
                                   0x00, 0x08, 0x07, 0x11, 0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc,
                                   0xfe, 0x9a, 0x01, 0x10, 0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06,
                                   0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f};
    wire_claim claim = {.actor_id = 7, .session = 0xfedcba9876543210};
    for (int i = 0; i < WIRE_TOKEN_BYTES; i++) {
        claim.token[i] = (uint8_t)i;
    }
    uint8_t bytes[WIRE_ACK_REQUEST_BYTES_MAX];
    assert_int_equal(wire_ack_request_pack(&claim, bytes), sizeof(want));
    assert_memory_equal(bytes, want, sizeof(want));
}

static void
test_ack_request_survives_the_wire(void **state)
{
    (void)state;
    static const uint32_t actors[] = {0, 1, 127, 128, 16384, UINT32_MAX};
    for (size_t i = 0; i < OCT_COUNTOF(actors); i++) {
        wire_claim in = {.actor_id = actors[i], .session = i == 0 ? 0 : UINT64_MAX, .token = {1}};
        wire_claim out;
        uint8_t bytes[WIRE_ACK_REQUEST_BYTES_MAX];
        size_t length = wire_ack_request_pack(&in, bytes);
        assert_true(length <= sizeof(bytes));
        T_OK(wire_ack_request_unpack(&out, bytes, length));
        assert_int_equal(out.actor_id, in.actor_id);
        assert_int_equal(out.session, in.session);
        assert_memory_equal(out.token, in.token, WIRE_TOKEN_BYTES);
    }
}

static void
test_ack_request_of_another_topic_or_without_a_token_is_refused(void **state)
{
    (void)state;
    wire_claim claim = {.actor_id = 7, .session = 9}, out;
    uint8_t bytes[WIRE_ACK_REQUEST_BYTES_MAX + 1] = {0};
    size_t length = wire_ack_request_pack(&claim, bytes);
    for (size_t cut = 0; cut < length; cut++) {
        T_ERR(wire_ack_request_unpack(&out, bytes, cut), OCT_EPROTO);
    }
    bytes[8] ^= 1; // the topic
    T_ERR(wire_ack_request_unpack(&out, bytes, length), OCT_EPROTO);
    bytes[8] ^= 1;
    bytes[4] ^= 1; // the version
    T_ERR(wire_ack_request_unpack(&out, bytes, length), OCT_EINVAL);
    bytes[4] ^= 1;
    bytes[3] = 'B';
    T_ERR(wire_ack_request_unpack(&out, bytes, length), OCT_EPROTO);
    bytes[3] = 'A';
    T_OK(wire_ack_request_unpack(&out, bytes, length));
    T_ERR(wire_ack_request_unpack(&out, bytes, sizeof(bytes)), OCT_EPROTO); // too long
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_claim_refuses_what_is_no_batch),
        cmocka_unit_test(test_claim_of_a_cut_batch_has_no_token),
        cmocka_unit_test(test_claim_with_a_token_of_another_length_has_none),
        cmocka_unit_test(test_claim_is_searched_for_so_far_and_no_further),
        cmocka_unit_test(test_ack_request_bytes_are_those_of_the_document),
        cmocka_unit_test(test_ack_request_survives_the_wire),
        cmocka_unit_test(test_ack_request_of_another_topic_or_without_a_token_is_refused),
        cmocka_unit_test(test_claim_is_what_the_batch_says),
        cmocka_unit_test(test_token_of_another_run_session_actor_or_key_differs),
        cmocka_unit_test(test_token_is_compared_to_its_last_bit),
        cmocka_unit_test(test_token_is_the_hmac_that_others_compute),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
