#ifndef TESTS_PROTO_WIRE_BYTES_H
#define TESTS_PROTO_WIRE_BYTES_H

#include "proto/wire_convert.h"

// Every message to its payload bytes and back, past the public functions: the tests need messages
// that no sender of ours makes.

// Packs a generated message into a block of exactly its size; free() it.
uint8_t *wire_bytes_pack(size_t *length, const ProtobufCMessage *message);

// PLAIN_pack_bytes: the payload of a good message. PLAIN_unpack_bytes: unpack and check it.
// PLAIN_through: both. PLAIN_reparse: a generated message through bytes and back.
#define X(plain, generated)                                                                        \
    uint8_t *plain##_pack_bytes(size_t *length, const plain *in);                                  \
    OCT_CHECKED oct_err plain##_unpack_bytes(plain *out, wire_arena *arena, const uint8_t *bytes,  \
                                             size_t length);                                       \
    OCT_CHECKED oct_err plain##_through(plain *out, wire_arena *arena, const plain *in);           \
    OCT_CHECKED oct_err plain##_reparse(plain *out, wire_arena *arena, const generated *in);
WIRE_MESSAGES(X)
#undef X

#endif // TESTS_PROTO_WIRE_BYTES_H
