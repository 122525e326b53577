// Packs, unpacks and checks the messages that are pushed or published: batch, ack, policy.
#include <string.h>

#include "common/oct_base.h"
#include "proto/octet.pb-c.h"
#include "proto/wire_check.h"
#include "proto/wire_convert.h"

// Of a packed batch, at most: a run's stream, first row, rows and version; and everything but
// columns.
#define RUN_BYTES      (3 + 10 + 3 + 5)
#define ENVELOPE_BYTES 256

// An ack decodes into this much: its struct, and a few unknown fields of a later release.
#define ACK_ARENA_BYTES 1024

static size_t
framed_size(const ProtobufCMessage *message)
{
    return WIRE_FRAME_BYTES + protobuf_c_message_get_packed_size(message);
}

static oct_err
framed_unpack(ProtobufCMessage **out, uint32_t *topic, wire_arena *arena, wire_kind kind,
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
    WIRE_REQUIRE(arena, frame.topic == 0 || kind != WIRE_BATCH, "frame: topic is not 0");
    ProtobufCMessage *message =
        wire_arena_unpack(arena, descriptor, bytes + WIRE_FRAME_BYTES, length - WIRE_FRAME_BYTES);
    if (message == NULL) {
        return OCT_EPROTO;
    }
    *out = message;
    *topic = frame.topic;
    return OCT_OK;
}

// ---- batch

void
wire_batch_to(Octet__Batch *out, const wire_batch *in)
{
    OCT_ASSERT(in->count <= WIRE_BATCH_COUNT_MAX && in->run_count <= in->count);
    OCT_ASSERT(in->obs_bytes <= WIRE_OBS_BYTES_MAX && in->extra_dim <= WIRE_EXTRA_MAX);
    *out = (Octet__Batch){
        PROTOBUF_C_MESSAGE_INIT(&octet__batch__descriptor),
        .actor_id = in->actor_id,
        .session = in->session,
        .sequence = in->sequence,
        .first_unacked = in->first_unacked,
        .env_steps = in->env_steps,
        .n_run_stream = in->run_count,
        .run_stream = WIRE_COLUMN(uint32_t, in->run_stream),
        .n_run_first = in->run_count,
        .run_first = WIRE_COLUMN(uint64_t, in->run_first),
        .n_run_rows = in->run_count,
        .run_rows = WIRE_COLUMN(uint32_t, in->run_rows),
        .n_run_version = in->run_count,
        .run_version = WIRE_COLUMN(uint32_t, in->run_version),
        .count = in->count,
        .obs_bytes = in->obs_bytes,
        .obs = WIRE_BYTES(in->obs, (size_t)in->count * in->obs_bytes),
        .action_bytes = in->action_bytes,
        .action = WIRE_BYTES(in->action, (size_t)in->count * in->action_bytes),
        .n_reward = in->count,
        .reward = WIRE_COLUMN(float, in->reward),
        .flags = WIRE_BYTES(in->flags, in->count),
        .extra_dim = in->extra_dim,
        .n_extra = (size_t)in->count * in->extra_dim,
        .extra = WIRE_COLUMN(float, in->extra),
        .token = WIRE_BYTES(in->token, WIRE_TOKEN_BYTES),
    };
}

// The runs make up the rows, and each row has a number.
static oct_err
runs_check(const Octet__Batch *in, wire_arena *arena)
{
    uint64_t rows = 0;
    for (size_t k = 0; k < in->n_run_rows; k++) {
        WIRE_REQUIRE(arena, in->run_stream[k] < WIRE_STREAMS_MAX, "batch.run_stream: too large");
        WIRE_REQUIRE(arena, in->run_rows[k] >= 1, "batch.run_rows: is 0");
        WIRE_REQUIRE(arena, in->run_first[k] <= UINT64_MAX - in->run_rows[k],
                     "batch.run_first: too large");
        rows += in->run_rows[k];
    }
    WIRE_REQUIRE(arena, rows == in->count, "batch.run_rows: their sum is not count");
    return OCT_OK;
}

// What a row's flags say about the rows beside it: an end row follows an episode's last action and
// nothing but it, unless it is marked failed or the end of a rollout; a first row follows an end
// row, and nothing else does.
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
runs_are_in_order(const Octet__Batch *in)
{
    const uint8_t *flags = in->flags.data;
    bool good = true;
    for (size_t k = 0; k < in->n_run_rows; k++) {
        // Row 0 of a stream is the first of its first episode.
        good = good && run_is_in_order(flags, in->run_rows[k]) &&
               (in->run_first[k] != 0 || (flags[0] & WIRE_FIRST) != 0);
        flags += in->run_rows[k];
    }
    return good;
}

static oct_err
batch_check_sizes(const Octet__Batch *in, wire_arena *arena)
{
    WIRE_REQUIRE(arena, in->sequence >= 1, "batch.sequence: is 0");
    WIRE_REQUIRE(arena, in->first_unacked >= 1 && in->first_unacked <= in->sequence,
                 "batch.first_unacked: outside 1 .. sequence");
    WIRE_REQUIRE(arena, in->count <= WIRE_BATCH_COUNT_MAX, "batch.count: too large");
    WIRE_REQUIRE(arena,
                 in->n_run_stream == in->n_run_rows && in->n_run_first == in->n_run_rows &&
                     in->n_run_version == in->n_run_rows,
                 "batch: columns of runs differ in length");
    WIRE_REQUIRE(arena, in->obs_bytes <= WIRE_OBS_BYTES_MAX, "batch.obs_bytes: too large");
    WIRE_REQUIRE(arena, in->obs_bytes >= 1 || in->count == 0, "batch.obs_bytes: is 0");
    WIRE_REQUIRE(arena, in->obs.len == (uint64_t)in->count * in->obs_bytes,
                 "batch.obs: length is not count * obs_bytes");
    WIRE_REQUIRE(arena, in->action_bytes <= 4 * WIRE_ACTIONS_MAX && in->action_bytes % 4 == 0,
                 "batch.action_bytes: not a multiple of 4 within bounds");
    WIRE_REQUIRE(arena, in->action_bytes >= 4 || in->count == 0, "batch.action_bytes: is 0");
    WIRE_REQUIRE(arena, in->action.len == (uint64_t)in->count * in->action_bytes,
                 "batch.action: length is not count * action_bytes");
    WIRE_REQUIRE(arena, in->extra_dim <= WIRE_EXTRA_MAX, "batch.extra_dim: too large");
    WIRE_REQUIRE(arena, in->n_reward == in->count && in->flags.len == in->count,
                 "batch: a column's length is not count");
    WIRE_REQUIRE(arena, in->n_extra == (uint64_t)in->count * in->extra_dim,
                 "batch.extra: length is not count * extra_dim");
    WIRE_REQUIRE(arena, in->token.len == WIRE_TOKEN_BYTES, "batch.token: not 16 bytes");
    return runs_check(in, arena);
}

oct_err
wire_batch_from(wire_batch *out, const Octet__Batch *in, wire_arena *arena)
{
    OCT_TRY(batch_check_sizes(in, arena));
    WIRE_REQUIRE(arena, wire_check_finite(in->reward, in->count), "batch.reward: not finite");
    WIRE_REQUIRE(arena, wire_check_flags(in->flags.data, in->reward, in->count),
                 "batch.flags: unknown bits, or an end row with others or a reward");
    WIRE_REQUIRE(arena, runs_are_in_order(in),
                 "batch.flags: first, last and end rows do not follow each other");
    WIRE_REQUIRE(arena, wire_check_finite(in->extra, in->n_extra), "batch.extra: not finite");
    *out = (wire_batch){
        .actor_id = in->actor_id,
        .session = in->session,
        .sequence = in->sequence,
        .first_unacked = in->first_unacked,
        .env_steps = in->env_steps,
        .run_count = (uint32_t)in->n_run_rows,
        .run_stream = in->run_stream,
        .run_first = in->run_first,
        .run_rows = in->run_rows,
        .run_version = in->run_version,
        .count = in->count,
        .obs_bytes = in->obs_bytes,
        .obs = in->obs.data,
        .action_bytes = in->action_bytes,
        .action = in->action.data,
        .reward = in->reward,
        .flags = in->flags.data,
        .extra_dim = in->extra_dim,
        .extra = in->extra,
    };
    memcpy(out->token, in->token.data, WIRE_TOKEN_BYTES);
    return OCT_OK;
}

// Each row may be a run of its own.
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
    uint32_t topic = 0;
    OCT_TRY(framed_unpack(&message, &topic, arena, WIRE_BATCH, &octet__batch__descriptor, bytes,
                          length));
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
    uint32_t topic = 0;
    OCT_TRY(
        framed_unpack(&message, &topic, arena, WIRE_ACK, &octet__ack__descriptor, bytes, length));
    wire_ack ack;
    OCT_TRY(wire_ack_from(&ack, (const Octet__Ack *)message, arena));
    WIRE_REQUIRE(arena, topic == ack.actor_id, "ack: topic is another actor");
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
        .signature = WIRE_BYTES(in->signature, in->has_signature ? WIRE_SIGNATURE_BYTES : 0),
    };
}

oct_err
wire_policy_from(wire_policy *out, const Octet__Policy *in, wire_arena *arena)
{
    WIRE_REQUIRE(arena, in->version >= 1, "policy.version: is 0");
    WIRE_REQUIRE(arena, in->base_version < in->version, "policy.base_version: not below version");
    WIRE_REQUIRE(arena, in->data.len >= 1, "policy.data: is empty");
    bool has_signature = in->signature.len > 0;
    WIRE_REQUIRE(arena, in->signature.len == (has_signature ? WIRE_SIGNATURE_BYTES : 0),
                 "policy.signature: neither 64 bytes nor none");
    *out = (wire_policy){
        .run_id = in->run_id,
        .version = in->version,
        .base_version = in->base_version,
        .updates = in->updates,
        .bytes = in->data.data,
        .length = in->data.len,
        .has_signature = has_signature,
    };
    if (has_signature) {
        memcpy(out->signature, in->signature.data, WIRE_SIGNATURE_BYTES);
    }
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
    wire_frame_pack(WIRE_POLICY, 0, policy->topic, out);
    (void)protobuf_c_message_pack(&message.base, out + WIRE_FRAME_BYTES);
}

oct_err
wire_policy_unpack(wire_policy *out, wire_arena *arena, const uint8_t *bytes, size_t length)
{
    size_t mark = arena->used;
    ProtobufCMessage *message = NULL;
    uint32_t topic = 0;
    OCT_TRY(framed_unpack(&message, &topic, arena, WIRE_POLICY, &octet__policy__descriptor, bytes,
                          length));
    oct_err err = wire_policy_from(out, (const Octet__Policy *)message, arena);
    if (err != OCT_OK) {
        wire_arena_rewind(arena, mark);
        return err;
    }
    out->topic = topic;
    return OCT_OK;
}
