// Skips over the fields of the Protocol Buffers encoding; writes their tags.
#include "proto/wire_field.h"

static bool
varint_take(wire_cursor *rest, uint64_t *out)
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

bool
wire_field_take(wire_cursor *rest, wire_field *out)
{
    uint64_t tag, skip = 0;
    if (!varint_take(rest, &tag) || tag > UINT32_MAX) {
        return false;
    }
    *out = (wire_field){.number = (uint32_t)(tag >> 3), .type = (unsigned)(tag & 7)};
    if (out->number == 0) {
        return false;
    }
    if (out->type == WIRE_TYPE_VARINT || out->type == WIRE_TYPE_BYTES) {
        if (!varint_take(rest, &out->value)) {
            return false;
        }
        skip = out->type == WIRE_TYPE_BYTES ? out->value : 0;
    } else if (out->type == WIRE_TYPE_8_BYTES || out->type == WIRE_TYPE_4_BYTES) {
        skip = out->type == WIRE_TYPE_8_BYTES ? 8 : 4;
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

uint64_t
wire_field_u64(const wire_field *field)
{
    oct_reader reader = {.at = field->bytes, .left = sizeof(uint64_t)};
    return oct_read_u64(&reader);
}

void
wire_varint_put(oct_writer *writer, uint32_t value)
{
    for (; value > 0x7f; value >>= 7) {
        oct_write_u8(writer, (uint8_t)(value | 0x80));
    }
    oct_write_u8(writer, (uint8_t)value);
}

void
wire_tag_put(oct_writer *writer, uint32_t number, uint32_t type)
{
    wire_varint_put(writer, number << 3 | type);
}
