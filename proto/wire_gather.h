#ifndef PROTO_WIRE_GATHER_H
#define PROTO_WIRE_GATHER_H

#include "proto/wire.h"

// Frames on their way together through relays (docs/internals/decisions/0044-relays.md): batches
// towards replay, acks back. A frame of kind WIRE_GATHERED holds the relay's number and the others
// whole; these are of one kind, and none of them holds frames. Without any it is the name that a
// relay gives where acks come from.
//
// Threads: one user at a time. Owns: a gatherer its buffer; a reader borrows the bytes.
#define WIRE_GATHERED_FRAMES_MAX 4096
// Beside a frame: the most that it takes to hold it, and to hold any.
#define WIRE_GATHERED_EACH_BYTES 6
#define WIRE_GATHERED_HEAD_BYTES (WIRE_FRAME_BYTES + 9)

// Collects frames for one message. Full: add says so; take, then add again.
typedef struct wire_gatherer {
    uint64_t relay;
    size_t capacity, used; // bytes, both without the head
    uint32_t count;
    uint8_t *bytes; // NULL: nothing is collected yet
} wire_gatherer;

// capacity: of the frames and what holds them. A frame that is longer never fits.
void wire_gatherer_init(wire_gatherer *gatherer, uint64_t relay, size_t capacity);
void wire_gatherer_fini(wire_gatherer *gatherer);
// False: no room.
bool wire_gatherer_add(wire_gatherer *gatherer, const uint8_t *frame, size_t length);
// Of the message; 0: there is nothing to send.
size_t wire_gatherer_length(const wire_gatherer *gatherer);
// Writes so many bytes and begins anew.
void wire_gatherer_take(wire_gatherer *gatherer, uint8_t *out);
// The same of one frame, of whatever length; 0: a relay's name.
size_t wire_gathered_size(size_t frame_length);
void wire_gathered_pack(uint64_t relay, const uint8_t *frame, size_t length, uint8_t *out);

// Reads them in order. Everything but the insides of the frames was checked by open.
typedef struct wire_gathered {
    uint64_t relay; // not 0
    uint32_t count;
    const uint8_t *at;
    size_t left;
} wire_gathered;

// OCT_EPROTO: no such message, cut off, too many frames, or one that is not of that kind and this
// protocol version. OCT_EINVAL: the message itself is of another version.
OCT_CHECKED oct_err wire_gathered_open(wire_gathered *out, wire_kind kind, const uint8_t *bytes,
                                       size_t length);
// False: there are no more.
bool wire_gathered_next(wire_gathered *gathered, const uint8_t **frame, size_t *length);
// Whether a message says that it is one; it may still be malformed.
bool wire_is_gathered(const uint8_t *bytes, size_t length);

#endif // PROTO_WIRE_GATHER_H
