#include <stdlib.h>

#include "proto/octet.pb-c.h"
#include "tests/proto/wire_bytes.h"
#include "tests/proto/wire_examples.h"
#include "tests/support/oct_test.h"

static wire_arena *arena;

static int
arena_setup(void **state)
{
    (void)state;
    arena = wire_arena_create(64u << 20);
    return 0;
}

static int
arena_teardown(void **state)
{
    (void)state;
    wire_arena_destroy(arena);
    return 0;
}

// ---- frame

static void
test_frame_refuses_garbage(void **state)
{
    (void)state;
    uint8_t bytes[WIRE_FRAME_BYTES];
    wire_frame out;
    wire_frame_pack(WIRE_BATCH, 0, 0, bytes);
    for (size_t length = 0; length < WIRE_FRAME_BYTES; length++) {
        T_ERR(wire_frame_unpack(&out, bytes, length), OCT_EPROTO);
    }
    for (size_t at = 0; at < 3; at++) {
        bytes[at] ^= 1;
        T_ERR(wire_frame_unpack(&out, bytes, sizeof(bytes)), OCT_EPROTO);
        bytes[at] ^= 1;
    }
    bytes[3] = 'X';
    T_ERR(wire_frame_unpack(&out, bytes, sizeof(bytes)), OCT_EPROTO);
}

static void
test_frame_of_another_version_tells_which(void **state)
{
    (void)state;
    uint8_t bytes[WIRE_FRAME_BYTES];
    wire_frame_pack(WIRE_REQUEST, 3, 4, bytes);
    bytes[4] = 0x34;
    bytes[5] = 0x12;
    bytes[3] = 'X'; // another version may have other kinds
    wire_frame out = {0};
    T_ERR(wire_frame_unpack(&out, bytes, sizeof(bytes)), OCT_EINVAL);
    assert_int_equal(out.version, 0x1234);
}

static void
test_frame_layout_is_fixed(void **state)
{
    (void)state;
    uint8_t bytes[WIRE_FRAME_BYTES];
    wire_frame_pack(WIRE_ACK, 0x0102, 0x03040506u, bytes);
    static const uint8_t want[] = {'O', 'C', 'T', 'A', 2, 0, 2, 1, 6, 5, 4, 3};
    assert_memory_equal(bytes, want, sizeof(want));
    wire_frame out;
    T_OK(wire_frame_unpack(&out, bytes, sizeof(bytes)));
    assert_int_equal(out.kind, WIRE_ACK);
    assert_int_equal(out.version, WIRE_PROTOCOL_VERSION);
    assert_int_equal(out.code, 0x0102);
    assert_int_equal(out.topic, 0x03040506u);
}

// ---- batch

static uint8_t *
batch_bytes(const wire_batch *batch, size_t *length)
{
    *length = wire_batch_size(batch);
    uint8_t *bytes = malloc(*length);
    assert_non_null(bytes);
    wire_batch_pack(batch, bytes);
    return bytes;
}

static void
batch_refused(const wire_batch *batch, const char *reason)
{
    size_t length;
    uint8_t *bytes = batch_bytes(batch, &length);
    wire_batch out;
    T_ERR(wire_batch_unpack(&out, arena, bytes, length), OCT_EPROTO);
    assert_string_equal(wire_arena_reason(arena), reason);
    assert_int_equal(arena->used, 0);
    free(bytes);
}

static void
generated_batch_refused(const Octet__Batch *message, const char *reason)
{
    wire_batch out;
    T_ERR(wire_batch_reparse(&out, arena, message), OCT_EPROTO);
    assert_string_equal(wire_arena_reason(arena), reason);
    wire_arena_reset(arena);
}

static void
test_batch_refuses_bad_numbers(void **state)
{
    (void)state;
    wire_batch batch = wire_example_batch(8, 1);
    batch.sequence = 0;
    batch_refused(&batch, "batch.sequence: is 0");
    batch = wire_example_batch(8, 1);
    batch.first_unacked = 0;
    batch_refused(&batch, "batch.first_unacked: outside 1 .. sequence");
    batch.first_unacked = batch.sequence + 1;
    batch_refused(&batch, "batch.first_unacked: outside 1 .. sequence");
    batch = wire_example_batch(8, 1);
    batch.obs_first = UINT64_MAX - batch.obs_count + 1;
    batch_refused(&batch, "batch.obs_first: too large");
    batch = wire_example_batch(8, 1);
    batch.obs_bytes = 0;
    batch_refused(&batch, "batch.obs_bytes: is 0");
    batch = wire_example_batch(8, 1);
    batch.action_bytes = 0;
    batch_refused(&batch, "batch.action_bytes: is 0");
    batch.action_bytes = 6;
    batch_refused(&batch, "batch.action_bytes: not a multiple of 4 within bounds");
    batch.action_bytes = 4 * WIRE_ACTIONS_MAX + 4;
    batch_refused(&batch, "batch.action_bytes: not a multiple of 4 within bounds");
}

static void
test_batch_refuses_counts_over_the_bounds(void **state)
{
    (void)state;
    wire_batch batch = wire_example_batch(8, 1);
    Octet__Batch message;
    wire_batch_to(&message, &batch);
    message.count = WIRE_BATCH_COUNT_MAX + 1;
    generated_batch_refused(&message, "batch.count: too large");
    wire_batch_to(&message, &batch);
    message.obs_count = WIRE_BATCH_COUNT_MAX + 1;
    generated_batch_refused(&message, "batch.obs_count: too large");
    wire_batch_to(&message, &batch);
    message.obs_bytes = WIRE_OBS_BYTES_MAX + 1;
    generated_batch_refused(&message, "batch.obs_bytes: too large");
    wire_batch_to(&message, &batch);
    message.extra_dim = WIRE_EXTRA_MAX + 1;
    generated_batch_refused(&message, "batch.extra_dim: too large");
    // 65536 * 1 MiB wraps to 0 in 32 bits.
    wire_batch_to(&message, &batch);
    message.obs_count = 65536;
    message.obs_bytes = 65536;
    message.obs.len = 0;
    generated_batch_refused(&message, "batch.obs: length is not obs_count * obs_bytes");
}

static void
test_batch_refuses_columns_of_another_length(void **state)
{
    (void)state;
    wire_batch batch = wire_example_batch(8, 1);
    for (int wrong = -1; wrong <= 1; wrong += 2) {
        size_t n = (size_t)(8 + wrong);
        Octet__Batch message;
        size_t *const lengths[] = {&message.n_obs_offset, &message.n_next_offset, &message.n_reward,
                                   &message.n_discount, &message.flags.len};
        for (size_t i = 0; i < OCT_COUNTOF(lengths); i++) {
            wire_batch_to(&message, &batch);
            *lengths[i] = n;
            generated_batch_refused(&message, "batch: a column's length is not count");
        }
        wire_batch_to(&message, &batch);
        message.n_extra = n;
        generated_batch_refused(&message, "batch.extra: length is not count * extra_dim");
        wire_batch_to(&message, &batch);
        message.obs.len += (size_t)wrong;
        generated_batch_refused(&message, "batch.obs: length is not obs_count * obs_bytes");
        wire_batch_to(&message, &batch);
        message.action.len += (size_t)wrong;
        generated_batch_refused(&message, "batch.action: length is not count * action_bytes");
    }
}

static void
test_batch_refuses_offsets_that_name_no_observation(void **state)
{
    (void)state;
    const char *reason = "batch: an offset names no observation sent so far";
    wire_batch batch = wire_example_batch(8, 0); // 5 observations from 1000 on
    static const int32_t bad[] = {5, INT32_MAX, -1001, INT32_MIN};
    for (size_t i = 0; i < OCT_COUNTOF(bad); i++) {
        int32_t offsets[8] = {0, 4, -1000, -1, 0, 0, 0, 0};
        batch.obs_offset = offsets;
        batch.next_offset = wire_example_batch(8, 0).next_offset;
        size_t length;
        uint8_t *bytes = batch_bytes(&batch, &length);
        wire_batch out;
        T_OK(wire_batch_unpack(&out, arena, bytes, length));
        wire_arena_reset(arena);
        free(bytes);
        offsets[7 - i] = bad[i];
        batch_refused(&batch, reason);
        batch.obs_offset = batch.next_offset;
        batch.next_offset = offsets;
        batch_refused(&batch, reason);
    }
    // The first batch of a session has nothing before it; a late one reaches any earlier number.
    batch = wire_example_batch(1, 0);
    const int32_t low = -1;
    batch.obs_offset = &low;
    batch.obs_first = 0;
    batch_refused(&batch, reason);
    const int32_t lowest = INT32_MIN;
    batch.obs_offset = &lowest;
    batch.obs_first = (uint64_t)1 << 40;
    size_t length;
    uint8_t *bytes = batch_bytes(&batch, &length);
    wire_batch out;
    T_OK(wire_batch_unpack(&out, arena, bytes, length));
    free(bytes);
}

static void
test_batch_refuses_values_that_are_no_numbers(void **state)
{
    (void)state;
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < OCT_COUNTOF(bad); i++) {
        float column[8] = {0};
        column[i] = bad[i];
        wire_batch batch = wire_example_batch(8, 1);
        batch.reward = column;
        batch_refused(&batch, "batch.reward: not finite");
        batch = wire_example_batch(8, 1);
        batch.discount = column;
        batch_refused(&batch, "batch.discount: outside 0 .. 1");
        batch = wire_example_batch(8, 1);
        batch.extra = column;
        batch_refused(&batch, "batch.extra: not finite");
    }
    float discount[1] = {-0.01f};
    wire_batch batch = wire_example_batch(1, 0);
    batch.discount = discount;
    batch_refused(&batch, "batch.discount: outside 0 .. 1");
    discount[0] = 1.01f;
    batch_refused(&batch, "batch.discount: outside 0 .. 1");
}

static void
test_batch_refuses_flags_it_does_not_know_or_that_disagree(void **state)
{
    (void)state;
    const char *reason = "batch.flags: unknown bits, or terminated with a discount above 0";
    float discount = 0.99f;
    uint8_t flag;
    wire_batch batch = wire_example_batch(1, 0);
    batch.flags = &flag;
    batch.discount = &discount;
    for (unsigned bit = 4; bit < 256; bit <<= 1) {
        flag = (uint8_t)bit;
        batch_refused(&batch, reason);
    }
    flag = WIRE_TERMINATED;
    batch_refused(&batch, reason);
    discount = 0.0f;
    size_t length;
    uint8_t *bytes = batch_bytes(&batch, &length);
    wire_batch out;
    T_OK(wire_batch_unpack(&out, arena, bytes, length));
    free(bytes);
}

static void
test_batch_refuses_another_frame(void **state)
{
    (void)state;
    wire_batch batch = wire_example_batch(2, 0);
    size_t length;
    uint8_t *bytes = batch_bytes(&batch, &length);
    wire_batch out;
    bytes[3] = 'P';
    T_ERR(wire_batch_unpack(&out, arena, bytes, length), OCT_EPROTO);
    assert_string_equal(wire_arena_reason(arena), "another kind of message");
    bytes[3] = 'B';
    bytes[6] = 1;
    T_ERR(wire_batch_unpack(&out, arena, bytes, length), OCT_EPROTO);
    assert_string_equal(wire_arena_reason(arena), "frame: code is not 0");
    bytes[6] = 0;
    bytes[8] = 1;
    T_ERR(wire_batch_unpack(&out, arena, bytes, length), OCT_EPROTO);
    assert_string_equal(wire_arena_reason(arena), "frame: topic is not 0");
    bytes[8] = 0;
    bytes[4] = 9;
    T_ERR(wire_batch_unpack(&out, arena, bytes, length), OCT_EINVAL);
    assert_string_equal(wire_arena_reason(arena), "another protocol version");
    free(bytes);
}

// Cut at every byte. Protobuf has no end mark, so a cut between two fields leaves a message with
// fewer fields; but the token comes last, and without it there is no batch.
static void
test_batch_cut_anywhere_is_refused(void **state)
{
    (void)state;
    wire_batch batch = wire_example_batch(3, 2);
    size_t whole;
    uint8_t *bytes = batch_bytes(&batch, &whole);
    for (size_t length = 0; length < whole; length++) {
        uint8_t *cut = malloc(length + 1);
        assert_non_null(cut);
        memcpy(cut, bytes, length);
        wire_batch out;
        T_ERR(wire_batch_unpack(&out, arena, cut, length), OCT_EPROTO);
        if (length == whole - 3 - WIRE_TOKEN_BYTES) {
            assert_string_equal(wire_arena_reason(arena), "batch.token: not 16 bytes");
        }
        wire_arena_reset(arena);
        free(cut);
    }
    free(bytes);
}

// Any one bit flipped: refused, or a batch that still keeps every promise.
static void
test_batch_with_a_flipped_bit_is_refused_or_sound(void **state)
{
    (void)state;
    wire_batch batch = wire_example_batch(5, 1);
    size_t length;
    uint8_t *bytes = batch_bytes(&batch, &length);
    size_t refused = 0;
    for (size_t bit = 0; bit < 8 * length; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1u << (bit % 8));
        wire_batch out;
        if (wire_batch_unpack(&out, arena, bytes, length) == OCT_OK) {
            assert_true(out.sequence >= out.first_unacked);
            for (uint32_t i = 0; i < out.count; i++) {
                assert_true(isfinite(out.reward[i]) && out.discount[i] <= 1.0f);
                assert_true(out.next_offset[i] < (int32_t)out.obs_count);
            }
        } else {
            refused++;
        }
        wire_arena_reset(arena);
        bytes[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    }
    assert_true(refused > 8 * WIRE_FRAME_BYTES);
    free(bytes);
}

static void
test_batch_survives_the_wire(void **state)
{
    (void)state;
    static const uint32_t counts[] = {0, 1, 2, 63, 64, 1000, WIRE_BATCH_COUNT_MAX};
    for (size_t i = 0; i < OCT_COUNTOF(counts); i++) {
        uint32_t extra_dim = (uint32_t)i % 3;
        uint32_t n = counts[i];
        wire_batch in = wire_example_batch(n, extra_dim);
        size_t length;
        uint8_t *bytes = batch_bytes(&in, &length);
        wire_batch out;
        T_OK(wire_batch_unpack(&out, arena, bytes, length));
        assert_int_equal(out.actor_id, in.actor_id);
        assert_int_equal(out.session, in.session);
        assert_int_equal(out.sequence, in.sequence);
        assert_int_equal(out.first_unacked, in.first_unacked);
        assert_int_equal(out.policy_version, in.policy_version);
        assert_int_equal(out.env_steps, in.env_steps);
        assert_int_equal(out.obs_first, in.obs_first);
        assert_int_equal(out.obs_count, in.obs_count);
        assert_int_equal(out.obs_bytes, in.obs_bytes);
        assert_int_equal(out.count, n);
        assert_int_equal(out.action_bytes, in.action_bytes);
        assert_int_equal(out.extra_dim, extra_dim);
        assert_memory_equal(out.token, in.token, WIRE_TOKEN_BYTES);
        assert_memory_equal(out.obs, in.obs, (size_t)in.obs_count * in.obs_bytes);
        if (n != 0) {
            assert_memory_equal(out.action, in.action, (size_t)n * in.action_bytes);
            assert_memory_equal(out.obs_offset, in.obs_offset, n * sizeof(int32_t));
            assert_memory_equal(out.next_offset, in.next_offset, n * sizeof(int32_t));
            assert_memory_equal(out.reward, in.reward, n * sizeof(float));
            assert_memory_equal(out.discount, in.discount, n * sizeof(float));
            assert_memory_equal(out.flags, in.flags, n);
        }
        if (n * extra_dim != 0) {
            assert_memory_equal(out.extra, in.extra, (size_t)n * extra_dim * sizeof(float));
        }
        wire_arena_reset(arena);
        free(bytes);
    }
}

static void
test_batch_with_nothing_in_it_survives_the_wire(void **state)
{
    (void)state;
    wire_batch in = {.sequence = 1, .first_unacked = 1};
    size_t length;
    uint8_t *bytes = batch_bytes(&in, &length);
    assert_int_equal(length, WIRE_FRAME_BYTES + 4 + 19); // and the token
    wire_batch out;
    T_OK(wire_batch_unpack(&out, arena, bytes, length));
    assert_int_equal(out.count, 0);
    assert_int_equal(out.obs_count, 0);
    free(bytes);
}

static void
test_batch_with_unknown_fields_is_read(void **state)
{
    (void)state;
    wire_batch in = {.sequence = 1, .first_unacked = 1};
    uint8_t bytes[WIRE_FRAME_BYTES + 23 + 4] = {0};
    wire_batch_pack(&in, bytes);
    // Field 100, two bytes.
    const uint8_t unknown[] = {0xa2, 0x06, 1, 7};
    memcpy(bytes + WIRE_FRAME_BYTES + 23, unknown, sizeof(unknown));
    wire_batch out;
    T_OK(wire_batch_unpack(&out, arena, bytes, sizeof(bytes)));
    assert_int_equal(out.sequence, 1);
}

// ---- ack

static void
test_ack_refuses_another_topic(void **state)
{
    (void)state;
    wire_ack in = wire_example_ack(), out;
    uint8_t bytes[128];
    size_t length = wire_ack_size(&in);
    assert_true(length < sizeof(bytes));
    wire_ack_pack(&in, bytes);
    bytes[8] ^= 1;
    T_ERR(wire_ack_unpack(&out, bytes, length), OCT_EPROTO);
    bytes[8] ^= 1;
    bytes[3] = 'B';
    T_ERR(wire_ack_unpack(&out, bytes, length), OCT_EPROTO);
    bytes[3] = 'A';
    for (size_t cut = 0; cut < WIRE_FRAME_BYTES; cut++) {
        T_ERR(wire_ack_unpack(&out, bytes, cut), OCT_EPROTO);
    }
}

static void
test_ack_with_much_unknown_is_refused(void **state)
{
    (void)state;
    uint8_t bytes[WIRE_FRAME_BYTES + 4 + 2000] = {0};
    wire_ack_topic(0, bytes);
    const uint8_t head[] = {0xa2, 0x06, 0xd0, 0x0f}; // field 100, 2000 bytes
    memcpy(bytes + WIRE_FRAME_BYTES, head, sizeof(head));
    wire_ack out;
    T_ERR(wire_ack_unpack(&out, bytes, sizeof(bytes)), OCT_EPROTO);
}

static void
test_ack_survives_the_wire_and_begins_with_its_topic(void **state)
{
    (void)state;
    static const uint32_t actors[] = {0, 1, 255, 256, UINT32_MAX};
    for (size_t i = 0; i < OCT_COUNTOF(actors); i++) {
        wire_ack in = wire_example_ack(), out;
        in.actor_id = actors[i];
        in.sequence = i == 0 ? 0 : UINT64_MAX;
        uint8_t bytes[128], topic[WIRE_FRAME_BYTES];
        wire_ack_pack(&in, bytes);
        T_OK(wire_ack_unpack(&out, bytes, wire_ack_size(&in)));
        assert_int_equal(out.actor_id, in.actor_id);
        assert_int_equal(out.session, in.session);
        assert_int_equal(out.sequence, in.sequence);
        assert_int_equal(out.incarnation, in.incarnation);
        assert_int_equal(out.credit, in.credit);
        wire_ack_topic(in.actor_id, topic);
        assert_memory_equal(bytes, topic, sizeof(topic));
    }
}

// The example of docs/wire.md, byte for byte: the schema has not changed by accident.
static void
test_ack_bytes_are_those_of_the_document(void **state)
{
    (void)state;
    static const uint8_t want[] = {0x4f, 0x43, 0x54, 0x41, 0x02, 0x00, 0x00, 0x00, 0x07,
                                   0x00, 0x00, 0x00, 0x08, 0x07, 0x11, 0x10, 0x32, 0x54,
                                   0x76, 0x98, 0xba, 0xdc, 0xfe, 0x18, 0x28, 0x21, 0x88,
                                   0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0x28, 0x09};
    wire_ack in = wire_example_ack();
    uint8_t bytes[128];
    assert_int_equal(wire_ack_size(&in), sizeof(want));
    wire_ack_pack(&in, bytes);
    assert_memory_equal(bytes, want, sizeof(want));
}

// ---- policy

static void
policy_refused(const wire_policy *policy, const char *reason)
{
    uint8_t bytes[256];
    assert_true(wire_policy_size(policy) <= sizeof(bytes));
    wire_policy_pack(policy, bytes);
    wire_policy out;
    T_ERR(wire_policy_unpack(&out, arena, bytes, wire_policy_size(policy)), OCT_EPROTO);
    assert_string_equal(wire_arena_reason(arena), reason);
    assert_int_equal(arena->used, 0);
}

static void
test_policy_refuses_what_no_learner_publishes(void **state)
{
    (void)state;
    wire_policy policy = wire_example_policy(100);
    policy.version = 0;
    policy_refused(&policy, "policy.version: is 0");
    policy = wire_example_policy(100);
    policy.base_version = policy.version;
    policy_refused(&policy, "policy.base_version: not below version");
    policy = wire_example_policy(0);
    policy_refused(&policy, "policy.data: is empty");
}

static void
test_policy_survives_the_wire(void **state)
{
    (void)state;
    static const size_t lengths[] = {1, 127, 128, 100000, 1000000};
    for (size_t i = 0; i < OCT_COUNTOF(lengths); i++) {
        wire_policy in = wire_example_policy(lengths[i]), out;
        size_t length = wire_policy_size(&in);
        uint8_t *bytes = malloc(length);
        assert_non_null(bytes);
        wire_policy_pack(&in, bytes);
        T_OK(wire_policy_unpack(&out, arena, bytes, length));
        assert_int_equal(out.run_id, in.run_id);
        assert_int_equal(out.version, in.version);
        assert_int_equal(out.base_version, in.base_version);
        assert_int_equal(out.updates, in.updates);
        assert_int_equal(out.length, in.length);
        assert_memory_equal(out.bytes, in.bytes, in.length);
        T_ERR(wire_policy_unpack(&out, arena, bytes, length - 1), OCT_EPROTO);
        wire_arena_reset(arena);
        free(bytes);
    }
}

static void
test_message_longer_than_any_may_be_is_refused(void **state)
{
    (void)state;
    // One byte more than the bound, all of it a policy's data; calloc'd pages are not touched.
    size_t length = WIRE_FRAME_BYTES + (size_t)WIRE_MESSAGE_BYTES_MAX + 1;
    uint8_t *bytes = calloc(1, length);
    assert_non_null(bytes);
    wire_frame_pack(WIRE_POLICY, 0, 0, bytes);
    wire_policy out;
    T_ERR(wire_policy_unpack(&out, arena, bytes, length), OCT_EPROTO);
    assert_string_equal(wire_arena_reason(arena), "longer than a message may be");
    free(bytes);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_frame_refuses_garbage, arena_setup, arena_teardown),
        cmocka_unit_test_setup_teardown(test_frame_of_another_version_tells_which, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(test_frame_layout_is_fixed, arena_setup, arena_teardown),
        cmocka_unit_test_setup_teardown(test_batch_refuses_bad_numbers, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(test_batch_refuses_counts_over_the_bounds, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(test_batch_refuses_columns_of_another_length, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(test_batch_refuses_offsets_that_name_no_observation,
                                        arena_setup, arena_teardown),
        cmocka_unit_test_setup_teardown(test_batch_refuses_values_that_are_no_numbers, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(test_batch_refuses_flags_it_does_not_know_or_that_disagree,
                                        arena_setup, arena_teardown),
        cmocka_unit_test_setup_teardown(test_batch_refuses_another_frame, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(test_batch_cut_anywhere_is_refused, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(test_batch_with_a_flipped_bit_is_refused_or_sound,
                                        arena_setup, arena_teardown),
        cmocka_unit_test_setup_teardown(test_batch_survives_the_wire, arena_setup, arena_teardown),
        cmocka_unit_test_setup_teardown(test_batch_with_nothing_in_it_survives_the_wire,
                                        arena_setup, arena_teardown),
        cmocka_unit_test_setup_teardown(test_batch_with_unknown_fields_is_read, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(test_ack_refuses_another_topic, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(test_ack_with_much_unknown_is_refused, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(test_ack_survives_the_wire_and_begins_with_its_topic,
                                        arena_setup, arena_teardown),
        cmocka_unit_test_setup_teardown(test_ack_bytes_are_those_of_the_document, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(test_policy_refuses_what_no_learner_publishes, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(test_policy_survives_the_wire, arena_setup, arena_teardown),
        cmocka_unit_test_setup_teardown(test_message_longer_than_any_may_be_is_refused, arena_setup,
                                        arena_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
