// Every message to its payload bytes and back, past the public functions.
#include "tests/proto/wire_bytes.h"

#include <stdlib.h>

#include "common/oct_base.h"
#include "proto/octet.pb-c.h"

uint8_t *
wire_bytes_pack(size_t *length, const ProtobufCMessage *message)
{
    *length = protobuf_c_message_get_packed_size(message);
    uint8_t *bytes = malloc(*length + (*length == 0));
    OCT_ASSERT(bytes != NULL);
    (void)protobuf_c_message_pack(message, bytes);
    return bytes;
}

// _to sets the descriptor, also for a zeroed struct.
#define X(plain, generated)                                                                        \
    uint8_t *plain##_pack_bytes(size_t *length, const plain *in)                                   \
    {                                                                                              \
        generated message;                                                                         \
        plain##_to(&message, in);                                                                  \
        return wire_bytes_pack(length, &message.base);                                             \
    }                                                                                              \
    oct_err plain##_unpack_bytes(plain *out, wire_arena *arena, const uint8_t *bytes,              \
                                 size_t length)                                                    \
    {                                                                                              \
        generated shape;                                                                           \
        plain##_to(&shape, &(plain){0});                                                           \
        const ProtobufCMessage *message =                                                          \
            wire_arena_unpack(arena, shape.base.descriptor, bytes, length);                        \
        return message == NULL ? OCT_EPROTO                                                        \
                               : plain##_from(out, (const generated *)message, arena);             \
    }                                                                                              \
    oct_err plain##_through(plain *out, wire_arena *arena, const plain *in)                        \
    {                                                                                              \
        generated message;                                                                         \
        plain##_to(&message, in);                                                                  \
        return plain##_reparse(out, arena, &message);                                              \
    }                                                                                              \
    oct_err plain##_reparse(plain *out, wire_arena *arena, const generated *in)                    \
    {                                                                                              \
        size_t length;                                                                             \
        uint8_t *bytes = wire_bytes_pack(&length, &in->base);                                      \
        oct_err err = plain##_unpack_bytes(out, arena, bytes, length);                             \
        free(bytes);                                                                               \
        return err;                                                                                \
    }
WIRE_MESSAGES(X)
#undef X
