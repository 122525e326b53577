// Event records are byte for byte those that TensorBoard writes.
#include "proto/wire_tbevent.h"

#include "tests/support/oct_test.h"

// Written by TensorBoard 2.21.0 itself (its RecordWriter over its Event message).
static const uint8_t golden_version[] = {
    0x18, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xa3, 0x7f, 0x4b, 0x22, 0x09, 0x00,
    0x00, 0x10, 0x40, 0xfc, 0x54, 0xd9, 0x41, 0x1a, 0x0d, 0x62, 0x72, 0x61, 0x69, 0x6e,
    0x2e, 0x45, 0x76, 0x65, 0x6e, 0x74, 0x3a, 0x32, 0x33, 0x8d, 0x2f, 0xe9};
static const uint8_t golden_start[] = {
    0x0f, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x6d, 0x53, 0x2b, 0x09, 0x09, 0x00, 0x00, 0x60,
    0x40, 0xfc, 0x54, 0xd9, 0x41, 0x10, 0x03, 0x3a, 0x02, 0x08, 0x01, 0xde, 0xf3, 0xff, 0x5b};
static const uint8_t golden_scalars[] = {
    0x2e, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xc5, 0xcb, 0x57, 0xfa, 0x09, 0x00, 0x00, 0x60,
    0x40, 0xfc, 0x54, 0xd9, 0x41, 0x10, 0x03, 0x2a, 0x21, 0x0a, 0x12, 0x0a, 0x0b, 0x65, 0x76, 0x61,
    0x6c, 0x2f, 0x72, 0x65, 0x74, 0x75, 0x72, 0x6e, 0x15, 0x00, 0xc0, 0xed, 0x43, 0x0a, 0x0b, 0x0a,
    0x04, 0x6c, 0x6f, 0x73, 0x73, 0x15, 0x00, 0x00, 0x00, 0x00, 0xe3, 0x3b, 0xed, 0xed};

static const char *const tags[] = {"eval/return", "loss"};
static const float values[] = {475.5f, 0.0f};

static void
test_nothing_is_written_where_there_is_no_room(void **state)
{
    (void)state;
    uint8_t out[sizeof(golden_scalars)] = {0};
    static const uint8_t zero[sizeof(out)];
    assert_int_equal(wire_tbevent_version_pack(NULL, 0, 1.0), sizeof(golden_version));
    assert_int_equal(wire_tbevent_version_pack(out, sizeof(golden_version) - 1, 1.0),
                     sizeof(golden_version));
    assert_int_equal(
        wire_tbevent_scalars_pack(out, sizeof(out) - 1, 1700000001.5, 3, 2, tags, values),
        sizeof(golden_scalars));
    assert_memory_equal(out, zero, sizeof(out));
}

static void
test_version_record_equals_tensorboards(void **state)
{
    (void)state;
    uint8_t out[sizeof(golden_version)];
    assert_int_equal(wire_tbevent_version_pack(out, sizeof(out), 1700000000.25), sizeof(out));
    assert_memory_equal(out, golden_version, sizeof(out));
}

static void
test_start_record_equals_tensorboards(void **state)
{
    (void)state;
    uint8_t out[sizeof(golden_start)];
    assert_int_equal(wire_tbevent_start_pack(NULL, 0, 1700000001.5, 3), sizeof(out));
    assert_int_equal(wire_tbevent_start_pack(out, sizeof(out), 1700000001.5, 3), sizeof(out));
    assert_memory_equal(out, golden_start, sizeof(out));
}

static void
test_scalars_record_equals_tensorboards(void **state)
{
    (void)state;
    uint8_t out[sizeof(golden_scalars)];
    assert_int_equal(wire_tbevent_scalars_pack(out, sizeof(out), 1700000001.5, 3, 2, tags, values),
                     sizeof(out));
    assert_memory_equal(out, golden_scalars, sizeof(out));
}

static void
test_most_scalars_fit_one_record(void **state)
{
    (void)state;
    static const char *many[WIRE_TBEVENT_SCALARS_MAX];
    static float zeros[WIRE_TBEVENT_SCALARS_MAX];
    static uint8_t out[WIRE_TBEVENT_SCALARS_MAX * 16];
    for (size_t i = 0; i < WIRE_TBEVENT_SCALARS_MAX; i++) {
        many[i] = "loss";
    }
    size_t length =
        wire_tbevent_scalars_pack(out, sizeof(out), 1.0, -1, WIRE_TBEVENT_SCALARS_MAX, many, zeros);
    // 16 of frame, 9 of time, 11 of a negative step, 3 of the summary's head, 13 a scalar.
    assert_int_equal(length, 16 + 9 + 11 + 3 + 13 * WIRE_TBEVENT_SCALARS_MAX);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_written_where_there_is_no_room),
        cmocka_unit_test(test_version_record_equals_tensorboards),
        cmocka_unit_test(test_start_record_equals_tensorboards),
        cmocka_unit_test(test_scalars_record_equals_tensorboards),
        cmocka_unit_test(test_most_scalars_fit_one_record),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
