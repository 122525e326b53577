#include <string.h>

#include "common/oct_base.h"
#include "proto/octet.pb-c.h"
#include "proto/wire_check.h"
#include "proto/wire_convert.h"

// The messages that are pushed and published: batch, ack, policy.

// An ack decodes into this much: its struct, and a few unknown fields of a later release.
#define ACK_ARENA_BYTES 1024

static size_t
framed_size(const ProtobufCMessage *message)
{
    return WIRE_FRAME_BYTES + protobuf_c_message_get_packed_size(message);
}

static oct_err
framed_unpack(ProtobufCMessage **out, wire_arena *arena, wire_kind kind,
              const ProtobufCMessageDescriptor *descriptor, const uint8_t *bytes, size_t length)
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
    WIRE_REQUIRE(arena, frame.topic == 0 || kind == WIRE_ACK, "frame: topic is not 0");
    ProtobufCMessage *message =
        wire_arena_unpack(arena, descriptor, bytes + WIRE_FRAME_BYTES, length - WIRE_FRAME_BYTES);
    if (message == NULL) {
        return OCT_EPROTO;
    }
    *out = message;
    return OCT_OK;
}

// ---- batch

void
wire_batch_to(Octet__Batch *out, const wire_batch *in)
{
    OCT_ASSERT(in->count <= WIRE_BATCH_COUNT_MAX && in->obs_count <= WIRE_BATCH_COUNT_MAX);
    OCT_ASSERT(in->obs_bytes <= WIRE_OBS_BYTES_MAX && in->extra_dim <= WIRE_EXTRA_MAX);
    *out = (Octet__Batch){
        PROTOBUF_C_MESSAGE_INIT(&octet__batch__descriptor),
        .actor_id = in->actor_id,
        .session = in->session,
        .sequence = in->sequence,
        .first_unacked = in->first_unacked,
        .policy_version = in->policy_version,
        .env_steps = in->env_steps,
        .obs_first = in->obs_first,
        .obs_count = in->obs_count,
        .obs_bytes = in->obs_bytes,
        .obs = WIRE_BYTES(in->obs, (size_t)in->obs_count * in->obs_bytes),
        .count = in->count,
        .action_bytes = in->action_bytes,
        .action = WIRE_BYTES(in->action, (size_t)in->count * in->action_bytes),
        .n_obs_offset = in->count,
        .obs_offset = WIRE_COLUMN(int32_t, in->obs_offset),
        .n_next_offset = in->count,
        .next_offset = WIRE_COLUMN(int32_t, in->next_offset),
        .n_reward = in->count,
        .reward = WIRE_COLUMN(float, in->reward),
        .n_discount = in->count,
        .discount = WIRE_COLUMN(float, in->discount),
        .flags = WIRE_BYTES(in->flags, in->count),
        .extra_dim = in->extra_dim,
        .n_extra = (size_t)in->count * in->extra_dim,
        .extra = WIRE_COLUMN(float, in->extra),
        .token = WIRE_BYTES(in->token, WIRE_TOKEN_BYTES),
    };
}

// Each number names an observation of this batch or an earlier one of the session.
static bool
offsets_are_valid(const int32_t *offset, uint32_t count, uint64_t obs_first, uint32_t obs_count)
{
    int64_t low = -(int64_t)OCT_MIN(obs_first, (uint64_t)INT32_MAX + 1);
    uint32_t good = 1;
    for (uint32_t i = 0; i < count; i++) {
        good &= (uint32_t)(offset[i] >= low) & (uint32_t)(offset[i] < (int64_t)obs_count);
    }
    return good != 0;
}

static bool
flags_are_valid(const uint8_t *flags, const float *discount, uint32_t count)
{
    uint32_t good = 1;
    for (uint32_t i = 0; i < count; i++) {
        good &= (uint32_t)((flags[i] & ~(WIRE_TERMINATED | WIRE_TRUNCATED)) == 0);
        good &= (uint32_t)((flags[i] & WIRE_TERMINATED) == 0) | (uint32_t)(discount[i] == 0.0f);
    }
    return good != 0;
}

static oct_err
batch_check_sizes(const Octet__Batch *in, wire_arena *arena)
{
    WIRE_REQUIRE(arena, in->sequence >= 1, "batch.sequence: is 0");
    WIRE_REQUIRE(arena, in->first_unacked >= 1 && in->first_unacked <= in->sequence,
                 "batch.first_unacked: outside 1 .. sequence");
    WIRE_REQUIRE(arena, in->obs_count <= WIRE_BATCH_COUNT_MAX, "batch.obs_count: too large");
    WIRE_REQUIRE(arena, in->count <= WIRE_BATCH_COUNT_MAX, "batch.count: too large");
    WIRE_REQUIRE(arena, in->obs_first <= UINT64_MAX - in->obs_count, "batch.obs_first: too large");
    WIRE_REQUIRE(arena, in->obs_bytes <= WIRE_OBS_BYTES_MAX, "batch.obs_bytes: too large");
    WIRE_REQUIRE(arena, in->obs_bytes >= 1 || in->obs_count == 0, "batch.obs_bytes: is 0");
    WIRE_REQUIRE(arena, in->obs.len == (uint64_t)in->obs_count * in->obs_bytes,
                 "batch.obs: length is not obs_count * obs_bytes");
    WIRE_REQUIRE(arena, in->action_bytes <= 4 * WIRE_ACTIONS_MAX && in->action_bytes % 4 == 0,
                 "batch.action_bytes: not a multiple of 4 within bounds");
    WIRE_REQUIRE(arena, in->action_bytes >= 4 || in->count == 0, "batch.action_bytes: is 0");
    WIRE_REQUIRE(arena, in->action.len == (uint64_t)in->count * in->action_bytes,
                 "batch.action: length is not count * action_bytes");
    WIRE_REQUIRE(arena, in->extra_dim <= WIRE_EXTRA_MAX, "batch.extra_dim: too large");
    WIRE_REQUIRE(arena,
                 in->n_obs_offset == in->count && in->n_next_offset == in->count &&
                     in->n_reward == in->count && in->n_discount == in->count &&
                     in->flags.len == in->count,
                 "batch: a column's length is not count");
    WIRE_REQUIRE(arena, in->n_extra == (uint64_t)in->count * in->extra_dim,
                 "batch.extra: length is not count * extra_dim");
    WIRE_REQUIRE(arena, in->token.len == WIRE_TOKEN_BYTES, "batch.token: not 16 bytes");
    return OCT_OK;
}

oct_err
wire_batch_from(wire_batch *out, const Octet__Batch *in, wire_arena *arena)
{
    OCT_TRY(batch_check_sizes(in, arena));
    WIRE_REQUIRE(arena,
                 offsets_are_valid(in->obs_offset, in->count, in->obs_first, in->obs_count) &&
                     offsets_are_valid(in->next_offset, in->count, in->obs_first, in->obs_count),
                 "batch: an offset names no observation sent so far");
    WIRE_REQUIRE(arena, wire_check_finite(in->reward, in->count), "batch.reward: not finite");
    WIRE_REQUIRE(arena, wire_check_range(in->discount, in->count, 0.0f, 1.0f),
                 "batch.discount: outside 0 .. 1");
    WIRE_REQUIRE(arena, flags_are_valid(in->flags.data, in->discount, in->count),
                 "batch.flags: unknown bits, or terminated with a discount above 0");
    WIRE_REQUIRE(arena, wire_check_finite(in->extra, in->n_extra), "batch.extra: not finite");
    *out = (wire_batch){
        .actor_id = in->actor_id,
        .session = in->session,
        .sequence = in->sequence,
        .first_unacked = in->first_unacked,
        .policy_version = in->policy_version,
        .env_steps = in->env_steps,
        .obs_first = in->obs_first,
        .obs_count = in->obs_count,
        .obs_bytes = in->obs_bytes,
        .obs = in->obs.data,
        .count = in->count,
        .action_bytes = in->action_bytes,
        .action = in->action.data,
        .obs_offset = in->obs_offset,
        .next_offset = in->next_offset,
        .reward = in->reward,
        .discount = in->discount,
        .flags = in->flags.data,
        .extra_dim = in->extra_dim,
        .extra = in->extra,
    };
    memcpy(out->token, in->token.data, WIRE_TOKEN_BYTES);
    return OCT_OK;
}

size_t
wire_batch_size(const wire_batch *batch)
{
    Octet__Batch message;
    wire_batch_to(&message, batch);
    return framed_size(&message.base);
}

void
wire_batch_pack(const wire_batch *batch, uint8_t *out)
{
    Octet__Batch message;
    wire_batch_to(&message, batch);
    wire_frame_pack(WIRE_BATCH, 0, 0, out);
    (void)protobuf_c_message_pack(&message.base, out + WIRE_FRAME_BYTES);
}

oct_err
wire_batch_unpack(wire_batch *out, wire_arena *arena, const uint8_t *bytes, size_t length)
{
    size_t mark = arena->used;
    ProtobufCMessage *message = NULL;
    OCT_TRY(framed_unpack(&message, arena, WIRE_BATCH, &octet__batch__descriptor, bytes, length));
    oct_err err = wire_batch_from(out, (const Octet__Batch *)message, arena);
    if (err != OCT_OK) {
        wire_arena_rewind(arena, mark);
    }
    return err;
}

// ---- ack

void
wire_ack_to(Octet__Ack *out, const wire_ack *in)
{
    *out = (Octet__Ack){
        PROTOBUF_C_MESSAGE_INIT(&octet__ack__descriptor),
        .actor_id = in->actor_id,
        .session = in->session,
        .sequence = in->sequence,
        .incarnation = in->incarnation,
        .credit = in->credit,
    };
}

oct_err
wire_ack_from(wire_ack *out, const Octet__Ack *in, wire_arena *arena)
{
    (void)arena;
    *out = (wire_ack){
        .actor_id = in->actor_id,
        .session = in->session,
        .sequence = in->sequence,
        .incarnation = in->incarnation,
        .credit = in->credit,
    };
    return OCT_OK;
}

size_t
wire_ack_size(const wire_ack *ack)
{
    Octet__Ack message;
    wire_ack_to(&message, ack);
    return framed_size(&message.base);
}

void
wire_ack_pack(const wire_ack *ack, uint8_t *out)
{
    Octet__Ack message;
    wire_ack_to(&message, ack);
    wire_frame_pack(WIRE_ACK, 0, ack->actor_id, out);
    (void)protobuf_c_message_pack(&message.base, out + WIRE_FRAME_BYTES);
}

static oct_err
ack_unpack(wire_ack *out, wire_arena *arena, const uint8_t *bytes, size_t length)
{
    ProtobufCMessage *message = NULL;
    OCT_TRY(framed_unpack(&message, arena, WIRE_ACK, &octet__ack__descriptor, bytes, length));
    wire_ack ack;
    OCT_TRY(wire_ack_from(&ack, (const Octet__Ack *)message, arena));
    uint8_t topic[WIRE_FRAME_BYTES];
    wire_ack_topic(ack.actor_id, topic);
    WIRE_REQUIRE(arena, memcmp(topic, bytes, sizeof(topic)) == 0, "ack: topic is another actor");
    *out = ack;
    return OCT_OK;
}

oct_err
wire_ack_unpack(wire_ack *out, const uint8_t *bytes, size_t length)
{
    _Alignas(WIRE_ARENA_ALIGNMENT) uint8_t memory[ACK_ARENA_BYTES];
    wire_arena arena;
    wire_arena_init(&arena, memory, sizeof(memory));
    oct_err err = ack_unpack(out, &arena, bytes, length);
    wire_arena_fini(&arena);
    return err;
}

// ---- policy

void
wire_policy_to(Octet__Policy *out, const wire_policy *in)
{
    *out = (Octet__Policy){
        PROTOBUF_C_MESSAGE_INIT(&octet__policy__descriptor),
        .run_id = in->run_id,
        .version = in->version,
        .base_version = in->base_version,
        .updates = in->updates,
        .data = WIRE_BYTES(in->bytes, in->length),
    };
}

oct_err
wire_policy_from(wire_policy *out, const Octet__Policy *in, wire_arena *arena)
{
    WIRE_REQUIRE(arena, in->version >= 1, "policy.version: is 0");
    WIRE_REQUIRE(arena, in->base_version < in->version, "policy.base_version: not below version");
    WIRE_REQUIRE(arena, in->data.len >= 1, "policy.data: is empty");
    *out = (wire_policy){
        .run_id = in->run_id,
        .version = in->version,
        .base_version = in->base_version,
        .updates = in->updates,
        .bytes = in->data.data,
        .length = in->data.len,
    };
    return OCT_OK;
}

size_t
wire_policy_size(const wire_policy *policy)
{
    Octet__Policy message;
    wire_policy_to(&message, policy);
    return framed_size(&message.base);
}

void
wire_policy_pack(const wire_policy *policy, uint8_t *out)
{
    Octet__Policy message;
    wire_policy_to(&message, policy);
    wire_frame_pack(WIRE_POLICY, 0, 0, out);
    (void)protobuf_c_message_pack(&message.base, out + WIRE_FRAME_BYTES);
}

oct_err
wire_policy_unpack(wire_policy *out, wire_arena *arena, const uint8_t *bytes, size_t length)
{
    size_t mark = arena->used;
    ProtobufCMessage *message = NULL;
    OCT_TRY(framed_unpack(&message, arena, WIRE_POLICY, &octet__policy__descriptor, bytes, length));
    oct_err err = wire_policy_from(out, (const Octet__Policy *)message, arena);
    if (err != OCT_OK) {
        wire_arena_rewind(arena, mark);
    }
    return err;
}
