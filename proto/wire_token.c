// Computes and compares session tokens (HMAC-SHA-256 of run, session and actor).
#include "proto/wire_token.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "common/oct_base.h"

#define PURPOSE       "octet session 1" // another use of the key must sign other bytes
#define PURPOSE_BYTES (sizeof(PURPOSE) - 1)
#define SIGNED_BYTES  (PURPOSE_BYTES + 8 + 8 + 4)
#define DIGEST_BYTES  32

// The key is set once, so that a token costs two blocks of SHA-256 and no allocation.
struct wire_token_maker {
    EVP_MAC *mac;
    EVP_MAC_CTX *keyed;
};

wire_token_maker *
wire_token_maker_create(const uint8_t key[WIRE_TOKEN_KEY_BYTES])
{
    static char digest[] = "SHA256"; // OpenSSL's parameters are not const
    const OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_end(),
    };
    wire_token_maker *maker = oct_alloc(sizeof(*maker));
    maker->mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    maker->keyed = maker->mac != NULL ? EVP_MAC_CTX_new(maker->mac) : NULL;
    // This fails only with a broken installation of OpenSSL, or without memory.
    OCT_ASSERT(maker->keyed != NULL);
    OCT_ASSERT(EVP_MAC_init(maker->keyed, key, WIRE_TOKEN_KEY_BYTES, params) == 1);
    return maker;
}

void
wire_token_maker_destroy(wire_token_maker *maker)
{
    if (maker != NULL) {
        EVP_MAC_CTX_free(maker->keyed); // wipes the key, too
        EVP_MAC_free(maker->mac);
        free(maker);
    }
}

static uint8_t *
number_put(uint8_t *at, uint64_t number, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        *at++ = (uint8_t)(number >> (8 * i));
    }
    return at;
}

void
wire_token_make(wire_token_maker *maker, uint64_t run_id, uint64_t session, uint32_t actor_id,
                uint8_t out[WIRE_TOKEN_BYTES])
{
    uint8_t text[SIGNED_BYTES], digest[DIGEST_BYTES];
    size_t length = 0;
    memcpy(text, PURPOSE, PURPOSE_BYTES);
    uint8_t *at = number_put(text + PURPOSE_BYTES, run_id, 8);
    at = number_put(at, session, 8);
    (void)number_put(at, actor_id, 4);
    OCT_ASSERT(EVP_MAC_init(maker->keyed, NULL, 0, NULL) == 1 &&
               EVP_MAC_update(maker->keyed, text, sizeof(text)) == 1 &&
               EVP_MAC_final(maker->keyed, digest, &length, sizeof(digest)) == 1 &&
               length == sizeof(digest));
    memcpy(out, digest, WIRE_TOKEN_BYTES);
}

bool
wire_token_equal(const uint8_t a[WIRE_TOKEN_BYTES], const uint8_t b[WIRE_TOKEN_BYTES])
{
    return CRYPTO_memcmp(a, b, WIRE_TOKEN_BYTES) == 0;
}
