#ifndef PROTO_WIRE_TOKEN_H
#define PROTO_WIRE_TOKEN_H

#include "proto/wire.h"

// Session tokens: a token proves that a batch belongs to a registered session
// (docs/internals/decisions/0016-session-tokens.md). The learner makes a token for each session
// that it registers, with a key that only the learner and replay have:
//   the first 16 bytes of HMAC-SHA256(key, "octet session 1" run_id session actor_id)
// with the numbers little-endian, of 8, 8 and 4 bytes.
//
// Threads: one user of a maker at a time. Owns: a copy of the key, which destroy wipes.
// Cost: under a microsecond for a token.
typedef struct wire_token_maker wire_token_maker;

wire_token_maker *wire_token_maker_create(const uint8_t key[WIRE_TOKEN_KEY_BYTES]);
void wire_token_maker_destroy(wire_token_maker *maker); // NULL is a no-op
void wire_token_make(wire_token_maker *maker, uint64_t run_id, uint64_t session, uint32_t actor_id,
                     uint8_t out[WIRE_TOKEN_BYTES]);
// Compares in a time that does not depend on where the tokens differ.
bool wire_token_equal(const uint8_t a[WIRE_TOKEN_BYTES], const uint8_t b[WIRE_TOKEN_BYTES]);

// The sender that a packed batch (or AckRequest) names, read without decoding the rest: neither
// memory nor time grow with the batch. A caller that decodes the batch afterwards checks that it
// gives the same three values.
typedef struct wire_claim {
    uint32_t actor_id;
    uint64_t session;
    bool has_token; // the message has a token of the right length
    uint8_t token[WIRE_TOKEN_BYTES];
} wire_claim;

// Fields of a batch that are searched for its token, which is the last of at most 19 fields where
// columns are packed.
#define WIRE_CLAIM_FIELDS_MAX 1024

// Reads the claim of a packed batch. Errors:
//   OCT_EPROTO  the bytes are not a batch, or the batch is cut off
//   OCT_EINVAL  the batch has another protocol version
OCT_CHECKED oct_err wire_claim_find(wire_claim *out, const uint8_t *bytes, size_t length);
// Reads the claim of an ack, which has no token; errors as above.
OCT_CHECKED oct_err wire_ack_find(wire_claim *out, const uint8_t *bytes, size_t length);

// Packs an AckRequest, the first message of an actor on a connection for acks: it subscribes the
// actor to the acks of its session only. Returns the length.
#define WIRE_ACK_REQUEST_BYTES_MAX (WIRE_FRAME_BYTES + 1 + 5 + 1 + 8 + 3 + WIRE_TOKEN_BYTES)
size_t wire_ack_request_pack(const wire_claim *claim, uint8_t out[WIRE_ACK_REQUEST_BYTES_MAX]);
// Reads an AckRequest. Errors:
//   OCT_EPROTO  the bytes are not an AckRequest or too long, the topic names another actor, or
//               there is no token
//   OCT_EINVAL  the request has another protocol version
OCT_CHECKED oct_err wire_ack_request_unpack(wire_claim *out, const uint8_t *bytes, size_t length);

#endif // PROTO_WIRE_TOKEN_H
