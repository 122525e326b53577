// SHA-256 of bytes that are added in parts.
#include "proto/wire_hash.h"

#include <stdio.h>
#include <stdlib.h>

#include <openssl/evp.h>

#include "common/oct_base.h"

struct wire_hash {
    EVP_MD_CTX *context;
};

wire_hash *
wire_hash_begin(void)
{
    wire_hash *hash = oct_alloc(sizeof(*hash));
    hash->context = EVP_MD_CTX_new();
    // This fails only with a broken installation of OpenSSL, or without memory.
    OCT_ASSERT(hash->context != NULL);
    OCT_ASSERT(EVP_DigestInit_ex(hash->context, EVP_sha256(), NULL) == 1);
    return hash;
}

void
wire_hash_add(wire_hash *hash, const void *bytes, size_t length)
{
    OCT_ASSERT(EVP_DigestUpdate(hash->context, bytes, length) == 1);
}

void
wire_hash_add_u64(wire_hash *hash, uint64_t number)
{
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++) {
        bytes[i] = (uint8_t)(number >> (8 * i));
    }
    wire_hash_add(hash, bytes, sizeof(bytes));
}

void
wire_hash_end(wire_hash *take, uint8_t out[WIRE_HASH_BYTES])
{
    OCT_ASSERT(EVP_DigestFinal_ex(take->context, out, NULL) == 1);
    EVP_MD_CTX_free(take->context);
    free(take);
}

void
wire_hash_text(const uint8_t hash[WIRE_HASH_BYTES], char out[WIRE_HASH_TEXT_BYTES])
{
    for (int i = 0; i < WIRE_HASH_BYTES; i++) {
        (void)snprintf(out + 2 * i, 3, "%02x", hash[i]);
    }
}
