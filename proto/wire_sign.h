#ifndef PROTO_WIRE_SIGN_H
#define PROTO_WIRE_SIGN_H

#include "proto/wire_learner.h"

// Signatures of the learner, for actors that reach the learner over a network without
// authentication (docs/internals/decisions/0030-signatures.md). Ed25519 (RFC 8032) over
//   "octet policy 1" run_id topic version base_version updates SHA-256(data)
//   "octet registered 2" label run_id session actor_id actor_index incarnation policy_topic
//       token SHA-256(config) SHA-256(policy_address) SHA-256(replay_address) shard, unless it is
//       0, newest_version, if it is named
// with the numbers little-endian, of 8 bytes (topic, actor_id, actor_index, incarnation,
// policy_topic and shard of 4).
//
// Threads: one user of a signer at a time; any thread may verify. Owns: a signer owns its key.
// Cost: SHA-256 of the data, and a signature over less than 200 bytes
// (docs/internals/decisions/0030-signatures.md has times).
typedef struct wire_signer wire_signer;

wire_signer *wire_signer_create(const uint8_t seed[WIRE_SIGNING_SEED_BYTES]);
void wire_signer_destroy(wire_signer *signer); // NULL is a no-op
void wire_signer_public_key(const wire_signer *signer, uint8_t out[WIRE_PUBLIC_KEY_BYTES]);

// Signs a message: sets has_signature, signature and, of a registration, public_key. label is that
// of the request to which the message is the answer.
void wire_sign_policy(const wire_signer *signer, wire_policy *policy);
void wire_sign_registered(const wire_signer *signer, uint64_t label, wire_registered *answer);

// Returns true if the message has a signature by this key; false, too, if the bytes are not a key.
bool wire_is_signed_policy(const uint8_t key[WIRE_PUBLIC_KEY_BYTES], const wire_policy *policy);
bool wire_is_signed_registered(const uint8_t key[WIRE_PUBLIC_KEY_BYTES], uint64_t label,
                               const wire_registered *answer);

#endif // PROTO_WIRE_SIGN_H
