#ifndef PROTO_WIRE_ARENA_H
#define PROTO_WIRE_ARENA_H

#include <protobuf-c/protobuf-c.h>

#include "proto/wire.h"

// The memory that protobuf-c decodes into, inside proto/ only (wire.h has the public part). It
// consists of zeroed blocks with 16-byte alignment, each after a header that keeps the block's
// size. The size gives a decoded string its true length; the guard beside it reveals a write past
// the end of the block before.
//
// Threads: one at a time. Owns: its block of memory. Full: an allocation that does not fit returns
// NULL, and the unpack fails.
#define WIRE_ARENA_ALIGNMENT 16
#define WIRE_REASON_MAX      160

struct wire_arena {
    uint8_t *base;
    size_t capacity;
    size_t used;
    size_t dirty; // bytes at this offset and above were never allocated and are still zero
    const char *reason;
    char text[WIRE_REASON_MAX]; // holds reason if reason names a field
    ProtobufCAllocator allocator;
};

// Makes an arena of the caller's 16-byte aligned memory, for messages without columns. The caller
// runs fini before it uses that memory for something else.
void wire_arena_init(wire_arena *arena, void *memory, size_t capacity);
void wire_arena_fini(wire_arena *arena);
void *wire_arena_alloc(wire_arena *arena, size_t bytes);
// Frees everything that was allocated since used was mark.
void wire_arena_rewind(wire_arena *arena, size_t mark);

// Unpacks length bytes. Returns NULL, sets the reason and keeps no memory if the bytes are not such
// a message or do not fit.
ProtobufCMessage *wire_arena_unpack(wire_arena *arena, const ProtobufCMessageDescriptor *descriptor,
                                    const uint8_t *bytes, size_t length);

// Returns the bytes that text had on the wire; text is a string field that this arena unpacked.
size_t wire_arena_text_length(const wire_arena *arena, const char *text);

// Stores why a message is refused (a literal, or the arena's text) and returns OCT_EPROTO.
oct_err wire_arena_refuse(wire_arena *arena, const char *reason);

// Returns from a decoder with OCT_EPROTO if condition, which a value must meet, is false.
#define WIRE_REQUIRE(arena, condition, reason)                                                     \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            return wire_arena_refuse((arena), (reason));                                           \
        }                                                                                          \
    } while (0)

#endif // PROTO_WIRE_ARENA_H
