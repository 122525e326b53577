// Frames that travel together come out as they went in, and nothing else is taken for them.
#include "proto/wire_gather.h"

#include <stdlib.h>

#include "tests/support/oct_test.h"

#define RELAY UINT64_C(0x1122334455667788)

static size_t
frame_make(uint8_t *out, wire_kind kind, uint32_t topic, size_t payload)
{
    wire_frame_pack(kind, 0, topic, out);
    memset(out + WIRE_FRAME_BYTES, (int)topic, payload);
    return WIRE_FRAME_BYTES + payload;
}

// Three batches of 0, 200 and 40 bytes beyond their frames.
static size_t
message_make(uint8_t out[512])
{
    static const size_t payloads[] = {0, 200, 40};
    uint8_t frame[256];
    wire_gatherer gatherer;
    wire_gatherer_init(&gatherer, RELAY, 480);
    for (uint32_t i = 0; i < 3; i++) {
        size_t length = frame_make(frame, WIRE_BATCH, i, payloads[i]);
        assert_true(wire_gatherer_add(&gatherer, frame, length));
    }
    size_t length = wire_gatherer_length(&gatherer);
    assert_true(length <= 512);
    wire_gatherer_take(&gatherer, out);
    assert_int_equal(wire_gatherer_length(&gatherer), 0);
    wire_gatherer_fini(&gatherer);
    return length;
}

static void
test_gathered_bytes_are_those_of_the_document(void **state)
{
    (void)state;
    static const uint8_t want[] = {
        0x4f, 0x43, 0x54, 0x47, 4,    0,    0,    0,    0,    0,    0,    0,    // frame
        0x09, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,                   // 1 relay
        0x12, 0x24,                                                             // 2 frame
        0x4f, 0x43, 0x54, 0x41, 4,    0,    0,    0,    7,    0,    0,    0,    // its frame
        0x08, 7,    0x11, 0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe, 0x18, // its payload
        40,   0x21, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0x28, 9};
    const wire_ack ack = {.actor_id = 7,
                          .session = 0xfedcba9876543210,
                          .sequence = 40,
                          .incarnation = 0x1122334455667788,
                          .credit = 9};
    uint8_t frame[64], bytes[sizeof(want)];
    size_t length = wire_ack_size(&ack), got_length;
    const uint8_t *got;
    wire_gathered gathered;
    wire_ack out;
    assert_true(length <= sizeof(frame));
    wire_ack_pack(&ack, frame);
    assert_int_equal(wire_gathered_size(length), sizeof(want));
    wire_gathered_pack(RELAY, frame, length, bytes);
    assert_memory_equal(bytes, want, sizeof(want));
    T_OK(wire_gathered_open(&gathered, WIRE_ACK, bytes, sizeof(bytes)));
    assert_true(wire_gathered_next(&gathered, &got, &got_length));
    T_OK(wire_ack_unpack(&out, got, got_length)); // whoever gets it takes it
    assert_int_equal(out.actor_id, 7);
}

static void
test_gathered_frames_come_out_in_order_and_whole(void **state)
{
    (void)state;
    uint8_t bytes[512], frame[256];
    static const size_t payloads[] = {0, 200, 40};
    size_t length = message_make(bytes), got_length;
    const uint8_t *got;
    wire_gathered gathered;
    assert_true(wire_is_gathered(bytes, length));
    T_OK(wire_gathered_open(&gathered, WIRE_BATCH, bytes, length));
    assert_true(gathered.relay == RELAY);
    assert_int_equal(gathered.count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        size_t want = frame_make(frame, WIRE_BATCH, i, payloads[i]);
        assert_true(wire_gathered_next(&gathered, &got, &got_length));
        assert_int_equal(got_length, want);
        assert_memory_equal(got, frame, want);
    }
    assert_false(wire_gathered_next(&gathered, &got, &got_length));
}

static void
test_gathered_cut_anywhere_is_refused(void **state)
{
    (void)state;
    uint8_t bytes[512];
    size_t length = message_make(bytes);
    wire_gathered gathered;
    for (size_t cut = 0; cut < length; cut++) {
        uint8_t *exact = malloc(cut + 1); // a read past the end is seen by a sanitizer
        assert_non_null(exact);
        memcpy(exact, bytes, cut);
        bool is_whole = wire_gathered_open(&gathered, WIRE_BATCH, exact, cut) == OCT_OK;
        // Between two frames it is another message, with fewer of them.
        assert_true(!is_whole || gathered.count < 3);
        assert_true(!is_whole || cut == WIRE_GATHERED_HEAD_BYTES || cut == 35 || cut == 250);
        free(exact);
    }
}

static void
test_gathered_of_the_wrong_kind_number_or_version_is_refused(void **state)
{
    (void)state;
    uint8_t bytes[512], policy[WIRE_FRAME_BYTES];
    size_t length = message_make(bytes);
    wire_gathered gathered;
    T_ERR(wire_gathered_open(&gathered, WIRE_ACK, bytes, length), OCT_EPROTO);
    bytes[4] ^= 1;
    T_ERR(wire_gathered_open(&gathered, WIRE_BATCH, bytes, length), OCT_EINVAL);
    bytes[4] ^= 1;
    bytes[3] = 'B';
    T_ERR(wire_gathered_open(&gathered, WIRE_BATCH, bytes, length), OCT_EPROTO);
    // In itself: frames that hold frames end there.
    wire_frame_pack(WIRE_GATHERED, 0, 0, policy);
    wire_gathered_pack(RELAY, policy, sizeof(policy), bytes);
    length = wire_gathered_size(sizeof(policy));
    T_ERR(wire_gathered_open(&gathered, WIRE_BATCH, bytes, length), OCT_EPROTO);
    wire_gathered_pack(0, NULL, 0, bytes); // no relay has it
    T_ERR(wire_gathered_open(&gathered, WIRE_ACK, bytes, wire_gathered_size(0)), OCT_EPROTO);
    wire_gathered_pack(RELAY, NULL, 0, bytes);
    T_OK(wire_gathered_open(&gathered, WIRE_ACK, bytes, wire_gathered_size(0)));
    assert_int_equal(gathered.count, 0);
}

static void
test_gatherer_takes_what_fits_and_no_more(void **state)
{
    (void)state;
    uint8_t frame[64];
    size_t length = frame_make(frame, WIRE_ACK, 1, 8), each = length + 2; // a tag, a length
    wire_gatherer gatherer;
    wire_gatherer_init(&gatherer, RELAY, 3 * each - 1);
    assert_true(wire_gatherer_add(&gatherer, frame, length));
    assert_true(wire_gatherer_add(&gatherer, frame, length));
    assert_false(wire_gatherer_add(&gatherer, frame, length));
    assert_int_equal(wire_gatherer_length(&gatherer), WIRE_GATHERED_HEAD_BYTES + 2 * each);
    wire_gatherer_fini(&gatherer);
    wire_gatherer_init(&gatherer, RELAY, (size_t)1 << 20);
    for (uint32_t i = 0; i < WIRE_GATHERED_FRAMES_MAX; i++) {
        assert_true(wire_gatherer_add(&gatherer, frame, length));
    }
    assert_false(wire_gatherer_add(&gatherer, frame, length));
    size_t bytes = wire_gatherer_length(&gatherer);
    uint8_t *message = malloc(bytes + 64);
    assert_non_null(message);
    wire_gatherer_take(&gatherer, message);
    wire_gathered gathered;
    T_OK(wire_gathered_open(&gathered, WIRE_ACK, message, bytes));
    // One more than there may be.
    memcpy(message + bytes, message + WIRE_GATHERED_HEAD_BYTES, each);
    T_ERR(wire_gathered_open(&gathered, WIRE_ACK, message, bytes + each), OCT_EPROTO);
    free(message);
    wire_gatherer_fini(&gatherer);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gathered_cut_anywhere_is_refused),
        cmocka_unit_test(test_gathered_of_the_wrong_kind_number_or_version_is_refused),
        cmocka_unit_test(test_gatherer_takes_what_fits_and_no_more),
        cmocka_unit_test(test_gathered_bytes_are_those_of_the_document),
        cmocka_unit_test(test_gathered_frames_come_out_in_order_and_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
