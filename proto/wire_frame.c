// The twelve bytes that every message begins with.
#include <string.h>

#include "common/oct_bytes.h"
#include "proto/wire.h"

static const uint8_t magic[3] = {'O', 'C', 'T'};

// Returns true for Register and Configure, the first methods of their services.
static bool
is_hello(wire_kind kind, uint16_t code)
{
    return kind == WIRE_REQUEST && (code & 0xff) == 0;
}

static bool
is_read(const wire_frame *frame)
{
    bool is_in_range =
        WIRE_PROTOCOL_READ_MIN <= frame->version && frame->version <= WIRE_PROTOCOL_READ_MAX;
    return is_in_range ||
           (frame->version == WIRE_PROTOCOL_HELLO && is_hello(frame->kind, frame->code));
}

void
wire_frame_pack(wire_kind kind, uint16_t code, uint32_t topic, uint8_t out[WIRE_FRAME_BYTES])
{
    oct_writer writer = {.base = out, .capacity = WIRE_FRAME_BYTES};
    oct_write_bytes(&writer, magic, sizeof(magic));
    oct_write_u8(&writer, (uint8_t)kind);
    oct_write_u16(&writer, is_hello(kind, code) ? WIRE_PROTOCOL_HELLO : WIRE_PROTOCOL_VERSION);
    oct_write_u16(&writer, code);
    oct_write_u32(&writer, topic);
}

static bool
kind_is_known(uint8_t kind)
{
    return kind == WIRE_BATCH || kind == WIRE_POLICY || kind == WIRE_ACK || kind == WIRE_REQUEST ||
           kind == WIRE_REPLY || kind == WIRE_GATHERED;
}

oct_err
wire_frame_unpack(wire_frame *out, const uint8_t *bytes, size_t length)
{
    if (length < WIRE_FRAME_BYTES || memcmp(bytes, magic, sizeof(magic)) != 0) {
        return OCT_EPROTO;
    }
    oct_reader reader = {.at = bytes + sizeof(magic), .left = WIRE_FRAME_BYTES - sizeof(magic)};
    uint8_t kind = oct_read_u8(&reader);
    wire_frame frame = {.kind = (wire_kind)kind};
    frame.version = oct_read_u16(&reader);
    frame.code = oct_read_u16(&reader);
    frame.topic = oct_read_u32(&reader);
    // The version is checked first: another version may have kinds that are unknown here.
    if (!is_read(&frame)) {
        *out = frame;
        return OCT_EINVAL;
    }
    if (!kind_is_known(kind)) {
        return OCT_EPROTO;
    }
    *out = frame;
    return OCT_OK;
}

void
wire_policy_topic(uint32_t topic, uint8_t out[WIRE_FRAME_BYTES])
{
    wire_frame_pack(WIRE_POLICY, 0, topic, out);
}
