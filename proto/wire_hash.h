#ifndef PROTO_WIRE_HASH_H
#define PROTO_WIRE_HASH_H

#include <stddef.h>
#include <stdint.h>

// SHA-256 of bytes that are added in parts, computed by libcrypto. Equal hashes show that two runs
// are the same.
//
// Threads: one user at a time. Owns: its state, which end frees.
#define WIRE_HASH_BYTES      32
#define WIRE_HASH_TEXT_BYTES (2 * WIRE_HASH_BYTES + 1) // in hexadecimal, with the ending zero

typedef struct wire_hash wire_hash;

wire_hash *wire_hash_begin(void);
void wire_hash_add(wire_hash *hash, const void *bytes, size_t length);
// Adds eight bytes, least significant first.
void wire_hash_add_u64(wire_hash *hash, uint64_t number);
void wire_hash_end(wire_hash *take, uint8_t out[WIRE_HASH_BYTES]);

void wire_hash_text(const uint8_t hash[WIRE_HASH_BYTES], char out[WIRE_HASH_TEXT_BYTES]);

#endif // PROTO_WIRE_HASH_H
