// Finds actor, session and token in a packed batch without decoding it, by stepping over the fields
// of the Protocol Buffers encoding; packs and reads what asks for acknowledgements.
#include <string.h>

#include "common/oct_bytes.h"
#include "proto/wire_token.h"

enum { FIELD_ACTOR_ID = 1, FIELD_SESSION = 2, FIELD_TOKEN = 19 };
enum { TYPE_VARINT = 0, TYPE_8_BYTES = 1, TYPE_BYTES = 2, TYPE_4_BYTES = 5 };
enum { FOUND_ACTOR_ID = 1, FOUND_SESSION = 2, FOUND_TOKEN = 4, FOUND_ALL = 7 };

typedef struct cursor {
    const uint8_t *at;
    size_t left;
} cursor;

typedef struct field {
    uint32_t number;
    unsigned type;
    uint64_t value;       // a varint, or the length of bytes
    const uint8_t *bytes; // of the other types
} field;

static bool
varint_take(cursor *rest, uint64_t *out)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70 && rest->left > 0; shift += 7) {
        uint8_t byte = *rest->at++;
        rest->left--;
        value |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
        if ((byte & 0x80) == 0) {
            *out = value;
            return true;
        }
    }
    return false;
}

static bool
field_take(cursor *rest, field *out)
{
    uint64_t tag, skip = 0;
    if (!varint_take(rest, &tag) || tag > UINT32_MAX) {
        return false;
    }
    *out = (field){.number = (uint32_t)(tag >> 3), .type = (unsigned)(tag & 7)};
    if (out->number == 0) {
        return false;
    }
    if (out->type == TYPE_VARINT || out->type == TYPE_BYTES) {
        if (!varint_take(rest, &out->value)) {
            return false;
        }
        skip = out->type == TYPE_BYTES ? out->value : 0;
    } else if (out->type == TYPE_8_BYTES || out->type == TYPE_4_BYTES) {
        skip = out->type == TYPE_8_BYTES ? 8 : 4;
    } else {
        return false;
    }
    if (skip > rest->left) {
        return false;
    }
    out->bytes = rest->at;
    rest->at += skip;
    rest->left -= skip;
    return true;
}

// The bit of what this field is, 0 for one that says nothing about the sender.
static unsigned
claim_note(wire_claim *claim, const field *found)
{
    if (found->number == FIELD_ACTOR_ID && found->type == TYPE_VARINT) {
        claim->actor_id = (uint32_t)found->value;
        return FOUND_ACTOR_ID;
    }
    if (found->number == FIELD_SESSION && found->type == TYPE_8_BYTES) {
        claim->session = 0;
        for (int i = 0; i < 8; i++) {
            claim->session |= (uint64_t)found->bytes[i] << (8 * i);
        }
        return FOUND_SESSION;
    }
    if (found->number == FIELD_TOKEN && found->type == TYPE_BYTES &&
        found->value == WIRE_TOKEN_BYTES) {
        memcpy(claim->token, found->bytes, WIRE_TOKEN_BYTES);
        claim->has_token = true;
        return FOUND_TOKEN;
    }
    return 0;
}

static oct_err
claim_find(wire_claim *out, wire_kind kind, uint32_t *topic, const uint8_t *bytes, size_t length)
{
    wire_frame frame;
    OCT_TRY(wire_frame_unpack(&frame, bytes, length));
    if (frame.kind != kind) {
        return OCT_EPROTO;
    }
    *topic = frame.topic;
    wire_claim claim = {.actor_id = 0};
    cursor rest = {bytes + WIRE_FRAME_BYTES, length - WIRE_FRAME_BYTES};
    unsigned seen = 0;
    for (int i = 0; i < WIRE_CLAIM_FIELDS_MAX && rest.left > 0 && seen != FOUND_ALL; i++) {
        field next;
        if (!field_take(&rest, &next)) {
            return OCT_EPROTO;
        }
        seen |= claim_note(&claim, &next);
    }
    *out = claim;
    return OCT_OK;
}

oct_err
wire_claim_find(wire_claim *out, const uint8_t *bytes, size_t length)
{
    uint32_t topic;
    return claim_find(out, WIRE_BATCH, &topic, bytes, length);
}

// ---- what asks for acks

static void
varint_put(oct_writer *writer, uint32_t value)
{
    for (; value > 0x7f; value >>= 7) {
        oct_write_u8(writer, (uint8_t)(value | 0x80));
    }
    oct_write_u8(writer, (uint8_t)value);
}

static void
tag_put(oct_writer *writer, uint32_t number, uint32_t type)
{
    varint_put(writer, number << 3 | type);
}

size_t
wire_ack_request_pack(const wire_claim *claim, uint8_t out[WIRE_ACK_REQUEST_BYTES_MAX])
{
    wire_frame_pack(WIRE_ACK, 0, claim->actor_id, out);
    oct_writer writer = {.base = out + WIRE_FRAME_BYTES,
                         .capacity = WIRE_ACK_REQUEST_BYTES_MAX - WIRE_FRAME_BYTES};
    if (claim->actor_id != 0) {
        tag_put(&writer, FIELD_ACTOR_ID, TYPE_VARINT);
        varint_put(&writer, claim->actor_id);
    }
    if (claim->session != 0) {
        tag_put(&writer, FIELD_SESSION, TYPE_8_BYTES);
        oct_write_u64(&writer, claim->session);
    }
    tag_put(&writer, FIELD_TOKEN, TYPE_BYTES);
    varint_put(&writer, WIRE_TOKEN_BYTES);
    oct_write_bytes(&writer, claim->token, WIRE_TOKEN_BYTES);
    return WIRE_FRAME_BYTES + writer.used;
}

oct_err
wire_ack_request_unpack(wire_claim *out, const uint8_t *bytes, size_t length)
{
    wire_claim claim;
    uint32_t topic = 0;
    OCT_TRY(claim_find(&claim, WIRE_ACK, &topic, bytes, length));
    if (length > WIRE_ACK_REQUEST_BYTES_MAX || claim.actor_id != topic || !claim.has_token) {
        return OCT_EPROTO;
    }
    *out = claim;
    return OCT_OK;
}
