// Finds actor, session and token in a packed batch without decoding it, by skipping over the fields
// of the Protocol Buffers encoding; packs and reads requests for acknowledgements.
#include <string.h>

#include "common/oct_bytes.h"
#include "proto/wire_field.h"
#include "proto/wire_token.h"

enum { FIELD_ACTOR_ID = 1, FIELD_SESSION = 2, FIELD_TOKEN = 19 };
enum { FOUND_ACTOR_ID = 1, FOUND_SESSION = 2, FOUND_TOKEN = 4, FOUND_ALL = 7 };

// Stores a field that describes the sender. Returns its FOUND_ bit, or 0 for any other field.
static unsigned
claim_note(wire_claim *claim, const wire_field *found)
{
    if (found->number == FIELD_ACTOR_ID && found->type == WIRE_TYPE_VARINT) {
        claim->actor_id = (uint32_t)found->value;
        return FOUND_ACTOR_ID;
    }
    if (found->number == FIELD_SESSION && found->type == WIRE_TYPE_8_BYTES) {
        claim->session = wire_field_u64(found);
        return FOUND_SESSION;
    }
    if (found->number == FIELD_TOKEN && found->type == WIRE_TYPE_BYTES &&
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
    wire_cursor rest = {bytes + WIRE_FRAME_BYTES, length - WIRE_FRAME_BYTES};
    unsigned seen = 0;
    for (int i = 0; i < WIRE_CLAIM_FIELDS_MAX && rest.left > 0 && seen != FOUND_ALL; i++) {
        wire_field next;
        if (!wire_field_take(&rest, &next)) {
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

oct_err
wire_ack_find(wire_claim *out, const uint8_t *bytes, size_t length)
{
    uint32_t topic;
    return claim_find(out, WIRE_ACK, &topic, bytes, length);
}

// ---- requests for acks

size_t
wire_ack_request_pack(const wire_claim *claim, uint8_t out[WIRE_ACK_REQUEST_BYTES_MAX])
{
    wire_frame_pack(WIRE_ACK, 0, claim->actor_id, out);
    oct_writer writer = {.base = out + WIRE_FRAME_BYTES,
                         .capacity = WIRE_ACK_REQUEST_BYTES_MAX - WIRE_FRAME_BYTES};
    if (claim->actor_id != 0) {
        wire_tag_put(&writer, FIELD_ACTOR_ID, WIRE_TYPE_VARINT);
        wire_varint_put(&writer, claim->actor_id);
    }
    if (claim->session != 0) {
        wire_tag_put(&writer, FIELD_SESSION, WIRE_TYPE_8_BYTES);
        oct_write_u64(&writer, claim->session);
    }
    wire_tag_put(&writer, FIELD_TOKEN, WIRE_TYPE_BYTES);
    wire_varint_put(&writer, WIRE_TOKEN_BYTES);
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
