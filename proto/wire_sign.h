#ifndef PROTO_WIRE_SIGN_H
#define PROTO_WIRE_SIGN_H

#include "proto/wire_learner.h"

// Signatures of the learner, for actors that reach it over a network that authenticates nobody
// (docs/internals/decisions/0030-signatures.md). Ed25519 (RFC 8032) over
//   "octet policy 1" run_id topic version base_version updates SHA-256(data)
//   "octet registered 2" label run_id session actor_id actor_index incarnation policy_topic
//       token SHA-256(config) SHA-256(policy_address) SHA-256(replay_address) shard, unless it is
//       0, newest_version, if it is named
// with the numbers little-endian, of 8 bytes (topic, actor_id, actor_index, incarnation,
// policy_topic and shard of 4).
//
// Threads: one user of a signer at a time; the others any. Owns: a signer its key.
// Cost: docs/internals/decisions/0030-signatures.md has it; SHA-256 of the data, and a signature of
// less than 200 bytes.
typedef struct wire_signer wire_signer;

wire_signer *wire_signer_create(const uint8_t seed[WIRE_SIGNING_SEED_BYTES]);
void wire_signer_destroy(wire_signer *signer); // NULL is a no-op
void wire_signer_public_key(const wire_signer *signer, uint8_t out[WIRE_PUBLIC_KEY_BYTES]);

// Sets what is signed: has_signature, signature and, of a registration, public_key. label: of the
// request that is answered.
void wire_sign_policy(const wire_signer *signer, wire_policy *policy);
void wire_sign_registered(const wire_signer *signer, uint64_t label, wire_registered *answer);

// Whether it bears a signature of this key. Bytes that are no key have signed nothing.
bool wire_is_signed_policy(const uint8_t key[WIRE_PUBLIC_KEY_BYTES], const wire_policy *policy);
bool wire_is_signed_registered(const uint8_t key[WIRE_PUBLIC_KEY_BYTES], uint64_t label,
                               const wire_registered *answer);

#endif // PROTO_WIRE_SIGN_H
