// Packs, unpacks and checks the messages that are sent without a request: batch, ack, policy.
#include "common/oct_base.h"
#include "proto/wire_check.h"
#include "proto/wire_convert.h"

// Most bytes in a packed batch of a run (stream, first row, rows, version) and of all fields that
// are not columns.
#define RUN_BYTES      (3 + 10 + 3 + 5)
#define ENVELOPE_BYTES 256

// Memory that decoding an ack needs: its struct, and a few unknown fields of a later release.
#define ACK_ARENA_BYTES 1024

static void
framed_pack(const wire_message *message, wire_kind kind, uint32_t topic, const void *plain,
            uint8_t *out)
{
    wire_frame_pack(kind, 0, topic, out);
    wire_message_pack(message, plain, out + WIRE_FRAME_BYTES);
}

static oct_err
framed_unpack(const wire_message *message, wire_kind kind, void *out, uint32_t *topic,
              wire_arena *arena, const uint8_t *bytes, size_t length)
{
    wire_frame frame;
    oct_err err = wire_frame_unpack(&frame, bytes, length);
    if (err != OCT_OK) {
        (void)wire_arena_refuse(arena, err == OCT_EINVAL ? "another protocol version"
                                                         : "not an Octet frame");
        return err;
    }
    WIRE_REQUIRE(arena, frame.kind == kind, "another kind of message");
    WIRE_REQUIRE(arena, frame.code == 0, "frame: code is not 0");
    WIRE_REQUIRE(arena, frame.topic == 0 || kind != WIRE_BATCH, "frame: topic is not 0");
    *topic = frame.topic;
    return wire_message_unpack(message, out, arena, bytes + WIRE_FRAME_BYTES,
                               length - WIRE_FRAME_BYTES);
}

// ---- batch

static const wire_member batch_rows[] = {
    FIELDS_5(batch, actor_id, session, sequence, first_unacked, env_steps),
    LIST(batch, run_stream, run_count, WIRE_BATCH_COUNT_MAX, WHOLE(0, WIRE_STREAMS_MAX - 1)),
    COLUMN(batch, run_first, run_count, ANY),
    COLUMN(batch, run_rows, run_count, WHOLE(1, UINT32_MAX), WHY("is 0")),
    COLUMN(batch, run_version, run_count, ANY),
    VALUE(batch, count, WHOLE(0, WIRE_BATCH_COUNT_MAX)),
    VALUE(batch, obs_bytes, WHOLE(0, WIRE_OBS_BYTES_MAX)),
    BYTES(batch, obs, count, EACH(batch, obs_bytes)),
    FIELD(batch, action_bytes),
    BYTES(batch, action, count, EACH(batch, action_bytes)),
    COLUMN(batch, reward, count, FINITE_FLOAT),
    BYTES(batch, flags, count, ANY),
    VALUE(batch, extra_dim, WHOLE(0, WIRE_EXTRA_MAX)),
    COLUMN(batch, extra, count, EACH(batch, extra_dim), FINITE_FLOAT),
    ARRAY(batch, token),
};

// Checks that the runs together have count rows, and that the rows' numbers do not overflow.
static oct_err
runs_check(const wire_batch *in, wire_arena *arena)
{
    uint64_t rows = 0;
    for (size_t k = 0; k < in->run_count; k++) {
        WIRE_REQUIRE(arena, in->run_first[k] <= UINT64_MAX - in->run_rows[k],
                     "batch.run_first: too large");
        rows += in->run_rows[k];
    }
    WIRE_REQUIRE(arena, rows == in->count, "batch.run_rows: their sum is not count");
    return OCT_OK;
}

// Checks the flags of neighbouring rows. An end row follows every episode's last action, and no
// other row, unless it has WIRE_FAILED or WIRE_ROLLOUT. A first row follows every end row, and no
// other.
static bool
run_is_in_order(const uint8_t *flags, uint32_t rows)
{
    uint32_t good = 1;
    for (uint32_t i = 1; i < rows; i++) {
        uint32_t before = flags[i - 1], now = flags[i];
        uint32_t after_last = (uint32_t)((before & (WIRE_TERMINATED | WIRE_TRUNCATED)) != 0);
        uint32_t after_end = (uint32_t)((before & WIRE_END) != 0);
        uint32_t is_end = (uint32_t)((now & (WIRE_END | WIRE_FAILED)) == WIRE_END);
        uint32_t is_edge = (uint32_t)((now & WIRE_ROLLOUT) != 0);
        good &= (uint32_t)(is_end == after_last) | (is_end & is_edge);
        good &= (uint32_t)(after_end == ((now & WIRE_FIRST) != 0));
    }
    return good != 0;
}

static bool
runs_are_in_order(const wire_batch *in)
{
    const uint8_t *flags = in->flags;
    bool good = true;
    for (size_t k = 0; k < in->run_count; k++) {
        // Row 0 of a stream is the first row of the first episode.
        good = good && run_is_in_order(flags, in->run_rows[k]) &&
               (in->run_first[k] != 0 || (flags[0] & WIRE_FIRST) != 0);
        flags += in->run_rows[k];
    }
    return good;
}

static void
batch_to(void *generated, const void *plain)
{
    (void)generated;
    const wire_batch *in = plain;
    OCT_ASSERT(in->count <= WIRE_BATCH_COUNT_MAX && in->run_count <= in->count);
    OCT_ASSERT(in->obs_bytes <= WIRE_OBS_BYTES_MAX && in->extra_dim <= WIRE_EXTRA_MAX);
}

static oct_err
batch_from(void *plain, const void *generated, wire_arena *arena)
{
    (void)generated;
    const wire_batch *out = plain;
    WIRE_REQUIRE(arena, out->sequence >= 1, "batch.sequence: is 0");
    WIRE_REQUIRE(arena, out->first_unacked >= 1 && out->first_unacked <= out->sequence,
                 "batch.first_unacked: outside 1 .. sequence");
    WIRE_REQUIRE(arena, out->obs_bytes >= 1 || out->count == 0, "batch.obs_bytes: is 0");
    WIRE_REQUIRE(arena, out->action_bytes <= 4 * WIRE_ACTIONS_MAX && out->action_bytes % 4 == 0,
                 "batch.action_bytes: not a multiple of 4 within bounds");
    WIRE_REQUIRE(arena, out->action_bytes >= 4 || out->count == 0, "batch.action_bytes: is 0");
    OCT_TRY(runs_check(out, arena));
    WIRE_REQUIRE(arena, wire_check_flags(out->flags, out->reward, out->count),
                 "batch.flags: unknown bits, or an end row with others or a reward");
    WIRE_REQUIRE(arena, runs_are_in_order(out),
                 "batch.flags: first, last and end rows do not follow each other");
    return OCT_OK;
}

MESSAGE_WITH(batch, octet__batch__descriptor, batch_rows, .to = batch_to, .from = batch_from);

// The sum assumes that each row is a run of its own.
uint32_t
wire_batch_rows_max(uint32_t obs_bytes, uint32_t action_bytes, uint32_t extra_dim)
{
    uint64_t row = (uint64_t)obs_bytes + action_bytes + extra_dim * sizeof(float) + sizeof(float) +
                   1 + RUN_BYTES;
    uint64_t fit = (WIRE_BATCH_BYTES_MAX - ENVELOPE_BYTES) / row;
    return (uint32_t)OCT_MIN(fit, (uint64_t)WIRE_BATCH_COUNT_MAX);
}

size_t
wire_batch_size(const wire_batch *batch)
{
    return WIRE_FRAME_BYTES + wire_message_size(&wire_batch_message, batch);
}

void
wire_batch_pack(const wire_batch *batch, uint8_t *out)
{
    framed_pack(&wire_batch_message, WIRE_BATCH, 0, batch, out);
}

oct_err
wire_batch_unpack(wire_batch *out, wire_arena *arena, const uint8_t *bytes, size_t length)
{
    uint32_t topic = 0;
    return framed_unpack(&wire_batch_message, WIRE_BATCH, out, &topic, arena, bytes, length);
}

// ---- ack

static const wire_member ack_rows[] = {
    FIELDS_5(ack, actor_id, session, sequence, incarnation, credit),
};
MESSAGE(ack, octet__ack__descriptor, ack_rows);

size_t
wire_ack_size(const wire_ack *ack)
{
    return WIRE_FRAME_BYTES + wire_message_size(&wire_ack_message, ack);
}

void
wire_ack_pack(const wire_ack *ack, uint8_t *out)
{
    framed_pack(&wire_ack_message, WIRE_ACK, ack->actor_id, ack, out);
}

oct_err
wire_ack_unpack(wire_ack *out, const uint8_t *bytes, size_t length)
{
    _Alignas(WIRE_ARENA_ALIGNMENT) uint8_t memory[ACK_ARENA_BYTES];
    wire_arena arena;
    uint32_t topic = 0;
    wire_ack ack;
    wire_arena_init(&arena, memory, sizeof(memory));
    oct_err err = framed_unpack(&wire_ack_message, WIRE_ACK, &ack, &topic, &arena, bytes, length);
    wire_arena_fini(&arena);
    OCT_TRY(err);
    if (topic != ack.actor_id) {
        return OCT_EPROTO;
    }
    *out = ack;
    return OCT_OK;
}

// ---- policy

static const wire_member policy_rows[] = {
    FIELDS_4(policy, run_id, version, base_version, updates),
    BYTES_VIEW(policy, bytes, data),
    ARRAY_MAYBE(policy, signature, signature, has_signature),
};

static void
policy_to(void *generated, const void *plain)
{
    ((Octet__Policy *)generated)->data.len = ((const wire_policy *)plain)->length;
}

oct_err
wire_policy_check(const wire_policy *policy, wire_arena *arena)
{
    WIRE_REQUIRE(arena, policy->version >= 1, "policy.version: is 0");
    WIRE_REQUIRE(arena, policy->base_version < policy->version,
                 "policy.base_version: not below version");
    WIRE_REQUIRE(arena, policy->length >= 1, "policy.data: is empty");
    return OCT_OK;
}

static oct_err
policy_from(void *plain, const void *generated, wire_arena *arena)
{
    wire_policy *out = plain;
    out->length = ((const Octet__Policy *)generated)->data.len;
    return wire_policy_check(out, arena);
}

MESSAGE_WITH(policy, octet__policy__descriptor, policy_rows, .to = policy_to, .from = policy_from);

size_t
wire_policy_size(const wire_policy *policy)
{
    return WIRE_FRAME_BYTES + wire_message_size(&wire_policy_message, policy);
}

void
wire_policy_pack(const wire_policy *policy, uint8_t *out)
{
    framed_pack(&wire_policy_message, WIRE_POLICY, policy->topic, policy, out);
}

oct_err
wire_policy_unpack(wire_policy *out, wire_arena *arena, const uint8_t *bytes, size_t length)
{
    uint32_t topic = 0;
    OCT_TRY(framed_unpack(&wire_policy_message, WIRE_POLICY, out, &topic, arena, bytes, length));
    out->topic = topic;
    return OCT_OK;
}
