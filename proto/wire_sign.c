// Signs and verifies policies and registrations (Ed25519).
#include "proto/wire_sign.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "common/oct_base.h"

#define DIGEST_BYTES   32
#define TEXT_BYTES_MAX 192

struct wire_signer {
    EVP_PKEY *key;
};

// ---- what is signed

typedef struct text {
    uint8_t bytes[TEXT_BYTES_MAX];
    size_t length;
} text;

static void
bytes_add(text *to, const void *bytes, size_t length)
{
    OCT_ASSERT(length <= sizeof(to->bytes) - to->length);
    memcpy(to->bytes + to->length, bytes, length);
    to->length += length;
}

static void
number_add(text *to, uint64_t number, int bytes)
{
    uint8_t little[8];
    for (int i = 0; i < bytes; i++) {
        little[i] = (uint8_t)(number >> (8 * i));
    }
    bytes_add(to, little, (size_t)bytes);
}

static void
digest_add(text *to, const void *bytes, size_t length)
{
    uint8_t digest[DIGEST_BYTES];
    OCT_ASSERT(EVP_Digest(bytes, length, digest, NULL, EVP_sha256(), NULL) == 1);
    bytes_add(to, digest, sizeof(digest));
}

static text
policy_text(const wire_policy *policy)
{
    static const char purpose[] = "octet policy 1";
    text out = {.length = 0};
    bytes_add(&out, purpose, sizeof(purpose) - 1);
    number_add(&out, policy->run_id, 8);
    number_add(&out, policy->topic, 4);
    number_add(&out, policy->version, 8);
    number_add(&out, policy->base_version, 8);
    number_add(&out, policy->updates, 8);
    digest_add(&out, policy->bytes, policy->length);
    return out;
}

static text
registered_text(uint64_t label, const wire_registered *answer)
{
    static const char purpose[] = "octet registered 2";
    text out = {.length = 0};
    bytes_add(&out, purpose, sizeof(purpose) - 1);
    number_add(&out, label, 8);
    number_add(&out, answer->run_id, 8);
    number_add(&out, answer->session, 8);
    number_add(&out, answer->actor_id, 4);
    number_add(&out, answer->actor_index, 4);
    number_add(&out, answer->incarnation, 4);
    number_add(&out, answer->policy_topic, 4);
    bytes_add(&out, answer->token, sizeof(answer->token));
    digest_add(&out, answer->config, strlen(answer->config));
    digest_add(&out, answer->policy_address, strlen(answer->policy_address));
    digest_add(&out, answer->replay_address, strlen(answer->replay_address));
    if (answer->shard != 0) { // releases without shards sign no shard, and always get 0
        number_add(&out, answer->shard, 4);
    }
    if (answer->names_newest) { // the text's length shows which of the two optional numbers it has
        number_add(&out, answer->newest_version, 8);
    }
    return out;
}

// ---- signing

wire_signer *
wire_signer_create(const uint8_t seed[WIRE_SIGNING_SEED_BYTES])
{
    wire_signer *signer = oct_alloc(sizeof(*signer));
    signer->key =
        EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, WIRE_SIGNING_SEED_BYTES);
    OCT_ASSERT(signer->key != NULL); // every seed is a valid key: only a broken OpenSSL fails
    return signer;
}

void
wire_signer_destroy(wire_signer *signer)
{
    if (signer != NULL) {
        EVP_PKEY_free(signer->key); // wipes the key, too
        free(signer);
    }
}

void
wire_signer_public_key(const wire_signer *signer, uint8_t out[WIRE_PUBLIC_KEY_BYTES])
{
    size_t length = WIRE_PUBLIC_KEY_BYTES;
    OCT_ASSERT(EVP_PKEY_get_raw_public_key(signer->key, out, &length) == 1 &&
               length == WIRE_PUBLIC_KEY_BYTES);
}

static void
text_sign(const wire_signer *signer, const text *what, uint8_t out[WIRE_SIGNATURE_BYTES])
{
    size_t length = WIRE_SIGNATURE_BYTES;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    OCT_ASSERT(context != NULL && EVP_DigestSignInit(context, NULL, NULL, NULL, signer->key) == 1 &&
               EVP_DigestSign(context, out, &length, what->bytes, what->length) == 1 &&
               length == WIRE_SIGNATURE_BYTES);
    EVP_MD_CTX_free(context);
}

void
wire_sign_policy(const wire_signer *signer, wire_policy *policy)
{
    text what = policy_text(policy);
    text_sign(signer, &what, policy->signature);
    policy->has_signature = true;
}

void
wire_sign_registered(const wire_signer *signer, uint64_t label, wire_registered *answer)
{
    text what = registered_text(label, answer);
    text_sign(signer, &what, answer->signature);
    wire_signer_public_key(signer, answer->public_key);
    answer->has_signature = true;
}

// ---- verifying

static bool
text_is_signed(const uint8_t key[WIRE_PUBLIC_KEY_BYTES], const text *what,
               const uint8_t signature[WIRE_SIGNATURE_BYTES])
{
    EVP_PKEY *public_key =
        EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, key, WIRE_PUBLIC_KEY_BYTES);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool is_signed =
        public_key != NULL && context != NULL &&
        EVP_DigestVerifyInit(context, NULL, NULL, NULL, public_key) == 1 &&
        EVP_DigestVerify(context, signature, WIRE_SIGNATURE_BYTES, what->bytes, what->length) == 1;
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(public_key);
    return is_signed;
}

bool
wire_is_signed_policy(const uint8_t key[WIRE_PUBLIC_KEY_BYTES], const wire_policy *policy)
{
    text what = policy_text(policy);
    return policy->has_signature && text_is_signed(key, &what, policy->signature);
}

bool
wire_is_signed_registered(const uint8_t key[WIRE_PUBLIC_KEY_BYTES], uint64_t label,
                          const wire_registered *answer)
{
    text what = registered_text(label, answer);
    return answer->has_signature && text_is_signed(key, &what, answer->signature);
}
