#ifndef PROTO_WIRE_FIELD_H
#define PROTO_WIRE_FIELD_H

#include <stdbool.h>

#include "common/oct_bytes.h"

// Reads and writes single fields of a message in the Protocol Buffers encoding, without decoding
// the message: for the sender of a batch (wire_token.h) and for gathered frames (wire_gather.h).
// Private to proto/.
//
// Threads: any. Owns: nothing; a field is a view into the caller's bytes.
enum { WIRE_TYPE_VARINT = 0, WIRE_TYPE_8_BYTES = 1, WIRE_TYPE_BYTES = 2, WIRE_TYPE_4_BYTES = 5 };

typedef struct wire_cursor {
    const uint8_t *at;
    size_t left;
} wire_cursor;

typedef struct wire_field {
    uint32_t number;
    unsigned type;
    uint64_t value;       // a varint, or the length of bytes
    const uint8_t *bytes; // the content of a field that is not a varint
} wire_field;

// Reads the next field and advances rest. Returns false if the bytes are not a field, or the field
// is cut off.
bool wire_field_take(wire_cursor *rest, wire_field *out);
// Returns the number in a field of 8 bytes.
uint64_t wire_field_u64(const wire_field *field);

void wire_tag_put(oct_writer *writer, uint32_t number, uint32_t type);
void wire_varint_put(oct_writer *writer, uint32_t value);

#endif // PROTO_WIRE_FIELD_H
