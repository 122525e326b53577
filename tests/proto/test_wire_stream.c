// Batches, acks and policies come back unchanged; cut, foreign or inconsistent ones are refused.
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
    static const uint8_t want[] = {'O', 'C', 'T', 'A', 4, 0, 2, 1, 6, 5, 4, 3};
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
batch_accepted(const wire_batch *batch)
{
    size_t length;
    uint8_t *bytes = batch_bytes(batch, &length);
    wire_batch out;
    T_OK(wire_batch_unpack(&out, arena, bytes, length));
    wire_arena_reset(arena);
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
    generated_batch_refused(&message, "batch.count: outside 0 .. 65536");
    wire_batch_to(&message, &batch);
    message.obs_bytes = WIRE_OBS_BYTES_MAX + 1;
    generated_batch_refused(&message, "batch.obs_bytes: outside 0 .. 1048576");
    wire_batch_to(&message, &batch);
    message.extra_dim = WIRE_EXTRA_MAX + 1;
    generated_batch_refused(&message, "batch.extra_dim: outside 0 .. 64");
    // 65536 * 1 MiB wraps to 0 in 32 bits.
    wire_batch_to(&message, &batch);
    message.count = 65536;
    message.obs_bytes = 65536;
    message.obs.len = 0;
    generated_batch_refused(&message, "batch.obs: length is 0, not 4294967296");
}

static void
test_batch_refuses_columns_of_another_length(void **state)
{
    (void)state;
    wire_batch batch = wire_example_batch(8, 1);
    Octet__Batch message;
    size_t *const lengths[] = {&message.n_run_stream,  &message.n_run_first, &message.n_run_rows,
                               &message.n_run_version, &message.n_reward,    &message.flags.len,
                               &message.n_extra,       &message.obs.len,     &message.action.len};
    for (size_t i = 0; i < OCT_COUNTOF(lengths); i++) {
        for (int wrong = -1; wrong <= 1; wrong += 2) {
            wire_batch_to(&message, &batch);
            *lengths[i] += (size_t)wrong;
            wire_batch out;
            T_ERR(wire_batch_reparse(&out, arena, &message), OCT_EPROTO);
            assert_non_null(strstr(wire_arena_reason(arena), ": length is "));
            wire_arena_reset(arena);
        }
    }
    wire_batch_to(&message, &batch);
    message.obs.len++;
    generated_batch_refused(&message, "batch.obs: length is 129, not 128");
}

static void
test_batch_refuses_runs_that_are_not_its_rows(void **state)
{
    (void)state;
    wire_batch batch = wire_example_batch(8, 0);
    static const uint32_t bad[][2] = {{5, 2}, {5, 4}, {8, 1}, {UINT32_MAX, 9}};
    for (size_t i = 0; i < OCT_COUNTOF(bad); i++) {
        batch.run_rows = bad[i];
        batch_refused(&batch, "batch.run_rows: their sum is not count");
    }
    static const uint32_t none[] = {8, 0};
    batch.run_rows = none;
    batch_refused(&batch, "batch.run_rows: is 0");
    batch = wire_example_batch(8, 0);
    batch.run_count = 0;
    batch_refused(&batch, "batch.run_rows: their sum is not count");
    batch = wire_example_batch(8, 0);
    uint32_t streams[] = {WIRE_STREAMS_MAX - 1, WIRE_STREAMS_MAX - 1};
    batch.run_stream = streams;
    batch_accepted(&batch);
    streams[1]++;
    batch_refused(&batch, "batch.run_stream: outside 0 .. 65535");
    batch = wire_example_batch(8, 0);
    uint64_t first[] = {0, UINT64_MAX - 3}; // three rows
    batch.run_first = first;
    batch_accepted(&batch);
    first[1]++;
    batch_refused(&batch, "batch.run_first: too large");
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
        batch.extra = column;
        batch_refused(&batch, "batch.extra: not finite");
    }
}

static void
test_batch_refuses_flags_of_a_row_that_disagree(void **state)
{
    (void)state;
    const char *reason = "batch.flags: unknown bits, or an end row with others or a reward";
    static const uint32_t one = 1;
    static const uint64_t later = 7;
    uint8_t flag;
    float reward = 0;
    wire_batch batch = wire_example_batch(1, 0);
    batch.flags = &flag;
    batch.reward = &reward;
    batch.run_rows = &one;
    batch.run_first = &later; // in the middle of a stream anything may come first
    for (unsigned bits = 0; bits < 256; bits++) {
        bool known = (bits & ~WIRE_FLAGS) == 0;
        bool end = (bits & WIRE_END) != 0, failed = (bits & WIRE_FAILED) != 0;
        bool alone = (bits & ~(WIRE_END | WIRE_FAILED | WIRE_ROLLOUT)) == 0;
        bool edge = (bits & WIRE_ROLLOUT) != 0 && (bits & WIRE_FIRST) == 0;
        flag = (uint8_t)bits;
        reward = 0;
        if (known && (end ? alone : !failed && !edge)) {
            batch_accepted(&batch);
        } else {
            batch_refused(&batch, reason);
        }
        reward = 0.5f;
        if (known && !end && !failed && !edge) {
            batch_accepted(&batch);
        } else {
            batch_refused(&batch, reason);
        }
    }
}

// Every pair of neighbours in a run, against the rules in words.
static void
test_batch_refuses_rows_out_of_order(void **state)
{
    (void)state;
    static const uint8_t some[] = {0,
                                   WIRE_RANDOM,
                                   WIRE_FIRST,
                                   WIRE_TERMINATED,
                                   WIRE_TRUNCATED | WIRE_FIRST,
                                   WIRE_TERMINATED | WIRE_TRUNCATED,
                                   WIRE_END,
                                   WIRE_END | WIRE_FAILED,
                                   WIRE_END | WIRE_ROLLOUT,
                                   WIRE_END | WIRE_FAILED | WIRE_ROLLOUT,
                                   WIRE_FIRST | WIRE_ROLLOUT};
    static const float rewards[2];
    static const uint32_t rows = 2;
    uint64_t first = 100;
    wire_batch batch = wire_example_batch(2, 0);
    batch.run_rows = &rows;
    batch.run_first = &first;
    batch.reward = rewards;
    for (size_t i = 0; i < OCT_COUNTOF(some) * OCT_COUNTOF(some); i++) {
        uint8_t flags[] = {some[i / OCT_COUNTOF(some)], some[i % OCT_COUNTOF(some)]};
        bool over = (flags[0] & (WIRE_TERMINATED | WIRE_TRUNCATED)) != 0;
        bool closed = (flags[0] & WIRE_END) != 0;
        bool good = over     ? (flags[1] & ~WIRE_ROLLOUT) == WIRE_END
                    : closed ? (flags[1] & WIRE_FIRST) != 0
                             : flags[1] != WIRE_END && (flags[1] & WIRE_FIRST) == 0;
        batch.flags = flags;
        if (good) {
            batch_accepted(&batch);
        } else {
            batch_refused(&batch, "batch.flags: first, last and end rows do not follow each other");
        }
    }
    uint8_t flags[] = {0, 0};
    batch.flags = flags;
    batch_accepted(&batch);
    first = 0; // a stream begins with an episode
    batch_refused(&batch, "batch.flags: first, last and end rows do not follow each other");
    flags[0] = WIRE_FIRST;
    batch_accepted(&batch);
}

// What is not in one run is not compared: another stream, or the rows before were lost.
static void
test_batch_compares_no_rows_of_two_runs(void **state)
{
    (void)state;
    static const uint32_t rows[] = {1, 1};
    static const uint64_t first[] = {10, 11};
    static const uint8_t flags[] = {WIRE_TERMINATED, WIRE_FIRST};
    wire_batch batch = wire_example_batch(6, 0);
    batch.count = 2;
    batch.run_rows = rows;
    batch.run_first = first;
    batch.flags = flags;
    batch_accepted(&batch);
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
            assert_string_equal(wire_arena_reason(arena), "batch.token: length is 0, not 16");
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
            uint64_t rows = 0;
            for (uint32_t k = 0; k < out.run_count; k++) {
                rows += out.run_rows[k];
                assert_true(out.run_rows[k] > 0 && out.run_stream[k] < WIRE_STREAMS_MAX);
            }
            assert_int_equal(rows, out.count);
            for (uint32_t i = 0; i < out.count; i++) {
                assert_true(isfinite(out.reward[i]) && (out.flags[i] & ~WIRE_FLAGS) == 0);
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
test_batch_with_nothing_in_it_survives_the_wire(void **state)
{
    (void)state;
    wire_batch in = {.sequence = 1, .first_unacked = 1};
    size_t length;
    uint8_t *bytes = batch_bytes(&in, &length);
    assert_int_equal(length, WIRE_FRAME_BYTES + 4 + 19); // sequences, and the token
    wire_batch out;
    T_OK(wire_batch_unpack(&out, arena, bytes, length));
    assert_int_equal(out.count, 0);
    assert_int_equal(out.run_count, 0);
    free(bytes);
}

// The largest numbers there are, and every row a run of its own. The observations are not looked
// at.
static void
test_batch_of_as_many_rows_as_it_may_have_is_no_longer_than_allowed(void **state)
{
    (void)state;
    static const uint32_t obs_bytes[] = {1, 16, 900, 1000, 28224, 150528, WIRE_OBS_BYTES_MAX};
    static uint32_t streams[WIRE_BATCH_COUNT_MAX], rows[WIRE_BATCH_COUNT_MAX];
    static uint64_t first[WIRE_BATCH_COUNT_MAX];
    static uint32_t version[WIRE_BATCH_COUNT_MAX];
    static uint8_t bytes[WIRE_BATCH_COUNT_MAX * 4];
    for (uint32_t i = 0; i < WIRE_BATCH_COUNT_MAX; i++) {
        streams[i] = WIRE_STREAMS_MAX - 1;
        rows[i] = 1;
        first[i] = UINT64_MAX - 1;
        version[i] = UINT32_MAX;
    }
    for (size_t i = 0; i < OCT_COUNTOF(obs_bytes); i++) {
        uint32_t count = wire_batch_rows_max(obs_bytes[i], 4, 1);
        const wire_batch batch = {
            .actor_id = UINT32_MAX,
            .session = UINT64_MAX,
            .sequence = UINT64_MAX,
            .first_unacked = UINT64_MAX,
            .env_steps = UINT64_MAX,
            .run_count = count,
            .run_stream = streams,
            .run_first = first,
            .run_rows = rows,
            .run_version = version,
            .count = count,
            .obs_bytes = obs_bytes[i],
            .obs = bytes,
            .action_bytes = 4,
            .action = bytes,
            .reward = (const float *)(const void *)bytes,
            .flags = bytes,
            .extra_dim = 1,
            .extra = (const float *)(const void *)bytes,
        };
        size_t length = wire_batch_size(&batch);
        assert_true(length <= WIRE_BATCH_BYTES_MAX);
        // One row more might not fit: runs of one row have two bytes less than the longest.
        assert_true(count == WIRE_BATCH_COUNT_MAX ||
                    length + 2 * (size_t)count + obs_bytes[i] + 512 > WIRE_BATCH_BYTES_MAX);
    }
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
    wire_frame_pack(WIRE_ACK, 0, 0, bytes);
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
        wire_frame_pack(WIRE_ACK, 0, in.actor_id, topic);
        assert_memory_equal(bytes, topic, sizeof(topic));
    }
}

// The example of docs/internals/wire.md, byte for byte: the schema has not changed by accident.
static void
test_ack_bytes_are_those_of_the_document(void **state)
{
    (void)state;
    static const uint8_t want[] = {0x4f, 0x43, 0x54, 0x41, 0x04, 0x00, 0x00, 0x00, 0x07,
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
        uint8_t topic[WIRE_FRAME_BYTES]; // what who subscribes to it asks for
        wire_policy_topic(in.topic, topic);
        assert_memory_equal(bytes, topic, sizeof(topic));
        assert_int_equal(out.topic, in.topic);
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
        cmocka_unit_test_setup_teardown(test_batch_refuses_runs_that_are_not_its_rows, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(test_batch_refuses_values_that_are_no_numbers, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(test_batch_refuses_flags_of_a_row_that_disagree,
                                        arena_setup, arena_teardown),
        cmocka_unit_test_setup_teardown(test_batch_refuses_rows_out_of_order, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(test_batch_compares_no_rows_of_two_runs, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(test_batch_refuses_another_frame, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(test_batch_cut_anywhere_is_refused, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(test_batch_with_a_flipped_bit_is_refused_or_sound,
                                        arena_setup, arena_teardown),
        cmocka_unit_test_setup_teardown(test_batch_with_nothing_in_it_survives_the_wire,
                                        arena_setup, arena_teardown),
        cmocka_unit_test(test_batch_of_as_many_rows_as_it_may_have_is_no_longer_than_allowed),
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
