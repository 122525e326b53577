#ifndef PROTO_WIRE_TOKEN_H
#define PROTO_WIRE_TOKEN_H

#include "proto/wire.h"

// Session tokens: what tells the batches of a registered session from a stranger's
// (docs/internals/decisions/0016-session-tokens.md). The learner makes one for each session that it
// registers, under a key that it shares with replay alone:
//   the first 16 bytes of HMAC-SHA256(key, "octet session 1" run_id session actor_id)
// with the numbers little-endian, of 8, 8 and 4 bytes.
//
// Threads: one user of a maker at a time. Owns: a copy of the key, wiped by destroy.
// Cost: under a microsecond for a token.
typedef struct wire_token_maker wire_token_maker;

wire_token_maker *wire_token_maker_create(const uint8_t key[WIRE_TOKEN_KEY_BYTES]);
void wire_token_maker_destroy(wire_token_maker *maker); // NULL is a no-op
void wire_token_make(wire_token_maker *maker, uint64_t run_id, uint64_t session, uint32_t actor_id,
                     uint8_t out[WIRE_TOKEN_BYTES]);
// In a time that does not depend on where they differ.
bool wire_token_equal(const uint8_t a[WIRE_TOKEN_BYTES], const uint8_t b[WIRE_TOKEN_BYTES]);

// What a packed batch (or AckRequest) says about its sender, read without decoding the rest:
// neither memory nor time grow with the batch. Decoding it afterwards must give the same three
// values.
typedef struct wire_claim {
    uint32_t actor_id;
    uint64_t session;
    bool has_token; // one of the right length
    uint8_t token[WIRE_TOKEN_BYTES];
} wire_claim;

// Fields of a batch that are looked at in search of its token, which comes last of at most 19 where
// columns are packed.
#define WIRE_CLAIM_FIELDS_MAX 1024

// OCT_EPROTO: no batch, or cut off. OCT_EINVAL: of another protocol version.
OCT_CHECKED oct_err wire_claim_find(wire_claim *out, const uint8_t *bytes, size_t length);
// The same of an ack, which has no token.
OCT_CHECKED oct_err wire_ack_find(wire_claim *out, const uint8_t *bytes, size_t length);

// An actor's first message where acks come from (AckRequest): it gets those of its session, and
// nobody else's. Gives the length.
#define WIRE_ACK_REQUEST_BYTES_MAX (WIRE_FRAME_BYTES + 1 + 5 + 1 + 8 + 3 + WIRE_TOKEN_BYTES)
size_t wire_ack_request_pack(const wire_claim *claim, uint8_t out[WIRE_ACK_REQUEST_BYTES_MAX]);
// OCT_EPROTO: none, too long, of another actor than its topic says, or without a token. OCT_EINVAL:
// of another protocol version.
OCT_CHECKED oct_err wire_ack_request_unpack(wire_claim *out, const uint8_t *bytes, size_t length);

#endif // PROTO_WIRE_TOKEN_H
