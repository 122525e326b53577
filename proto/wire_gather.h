#ifndef PROTO_WIRE_GATHER_H
#define PROTO_WIRE_GATHER_H

#include "proto/wire.h"

// Gathered frames: frames that travel through relays in one message
// (docs/internals/decisions/0044-relays.md): batches towards replay, acks back. A frame of kind
// WIRE_GATHERED holds the relay's number and the whole inner frames, which are all of one kind and
// hold no frames themselves. A relay subscribes to acks with a message that has no inner frames.
//
// Threads: one user at a time. Owns: a gatherer owns its buffer; a reader borrows the bytes.
#define WIRE_GATHERED_FRAMES_MAX 4096
// Most bytes that a message needs besides the inner frames: for each frame, and once.
#define WIRE_GATHERED_EACH_BYTES 6
#define WIRE_GATHERED_HEAD_BYTES (WIRE_FRAME_BYTES + 9)

// Collects frames for one message. Full: add returns false; the caller takes the message and adds
// the frame again.
typedef struct wire_gatherer {
    uint64_t relay;
    size_t capacity, used; // bytes, both without WIRE_GATHERED_HEAD_BYTES
    uint32_t count;
    uint8_t *bytes; // NULL: nothing is collected yet
} wire_gatherer;

// capacity: bytes for the frames and WIRE_GATHERED_EACH_BYTES for each. A longer frame never fits.
void wire_gatherer_init(wire_gatherer *gatherer, uint64_t relay, size_t capacity);
void wire_gatherer_fini(wire_gatherer *gatherer);
// Returns false if there is no room.
bool wire_gatherer_add(wire_gatherer *gatherer, const uint8_t *frame, size_t length);
// Returns the length of the message; 0: there is nothing to send.
size_t wire_gatherer_length(const wire_gatherer *gatherer);
// Writes the message, wire_gatherer_length bytes, and empties the gatherer.
void wire_gatherer_take(wire_gatherer *gatherer, uint8_t *out);
// Size and bytes of a message with a single frame of any length. With length 0 the message has no
// frame: it subscribes a relay to acks.
size_t wire_gathered_size(size_t frame_length);
void wire_gathered_pack(uint64_t relay, const uint8_t *frame, size_t length, uint8_t *out);

// Reader of a gathered message, in the order of its frames. open has checked everything except the
// contents of the frames.
typedef struct wire_gathered {
    uint64_t relay; // not 0
    uint32_t count;
    const uint8_t *at;
    size_t left;
} wire_gathered;

// Checks a message and prepares reading its frames. Errors:
//   OCT_EPROTO  the message is not gathered, is cut off or has too many frames; or a frame is of
//               another kind or protocol version
//   OCT_EINVAL  the message itself has another protocol version
OCT_CHECKED oct_err wire_gathered_open(wire_gathered *out, wire_kind kind, const uint8_t *bytes,
                                       size_t length);
// Returns false if there are no more frames.
bool wire_gathered_next(wire_gathered *gathered, const uint8_t **frame, size_t *length);
// Returns true if the message's frame says that it is gathered. It may still be malformed.
bool wire_is_gathered(const uint8_t *bytes, size_t length);

#endif // PROTO_WIRE_GATHER_H
