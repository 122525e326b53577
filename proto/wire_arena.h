#ifndef PROTO_WIRE_ARENA_H
#define PROTO_WIRE_ARENA_H

#include <protobuf-c/protobuf-c.h>

#include "proto/wire.h"

// The memory that protobuf-c decodes into, inside proto/ only (wire.h has the public part): blocks
// of 16-byte alignment, zeroed, each behind a header that keeps its size. The size gives a decoded
// string its true length; the guard beside it shows a foreign write past a block's end.
//
// Threads: one at a time. Owns: its block of memory. Full: an allocation that does not fit gives
// NULL, and the unpack fails.
struct wire_arena {
    uint8_t *base;
    size_t capacity;
    size_t used;
    size_t dirty; // bytes from here on were never given out and are still zero
    const char *reason;
    ProtobufCAllocator allocator;
};

#define WIRE_ARENA_ALIGNMENT 16

// An arena over the caller's 16-byte aligned memory: for messages without columns. fini before that
// memory has another use.
void wire_arena_init(wire_arena *arena, void *memory, size_t capacity);
void wire_arena_fini(wire_arena *arena);
void *wire_arena_alloc(wire_arena *arena, size_t bytes);
// Gives back everything that was allocated since used was mark.
void wire_arena_rewind(wire_arena *arena, size_t mark);

// Unpacks length bytes. NULL, with the reason set and no memory kept, when they are no such
// message or do not fit.
ProtobufCMessage *wire_arena_unpack(wire_arena *arena, const ProtobufCMessageDescriptor *descriptor,
                                    const uint8_t *bytes, size_t length);

// Bytes that text had on the wire, for a string field that this arena unpacked.
size_t wire_arena_text_length(const wire_arena *arena, const char *text);

// Notes why a message is refused (a literal), and gives OCT_EPROTO.
oct_err wire_arena_refuse(wire_arena *arena, const char *reason);

// What this release speaks, of messages that say so.
#define WIRE_SPEAKS_TO                                                                             \
    .version = WIRE_PROTOCOL_VERSION, .read_min = WIRE_PROTOCOL_READ_MIN,                          \
    .read_max = WIRE_PROTOCOL_READ_MAX, .release_name = WIRE_STRING(OCTET_VERSION)

// Leaves a decoder that meets a value it must not pass on.
#define WIRE_REQUIRE(arena, condition, reason)                                                     \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            return wire_arena_refuse((arena), (reason));                                           \
        }                                                                                          \
    } while (0)

#endif // PROTO_WIRE_ARENA_H
