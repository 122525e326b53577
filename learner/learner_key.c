// The key that a run signs with, in its folder.
#include "learner/learner_key.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/oct_file.h"
#include "common/oct_reason.h"

static oct_err
key_read(uint8_t seed[WIRE_SIGNING_SEED_BYTES], const char *path, oct_reason *why)
{
    uint8_t *bytes;
    size_t length;
    if (oct_file_read(path, WIRE_SIGNING_SEED_BYTES, &bytes, &length) != OCT_OK) {
        return oct_fail(why, OCT_EIO, "%s: %s", path, oct_file_strerror(errno));
    }
    bool is_key = length == WIRE_SIGNING_SEED_BYTES;
    if (is_key) {
        memcpy(seed, bytes, WIRE_SIGNING_SEED_BYTES);
    } else {
        oct_reason_set(why,
                       "%s: %zu bytes are not a key; if you remove the file, a new key is made, "
                       "and actors must be restarted",
                       path, length);
    }
    explicit_bzero(bytes, length);
    free(bytes);
    return is_key ? OCT_OK : OCT_EIO;
}

static oct_err
key_make(uint8_t seed[WIRE_SIGNING_SEED_BYTES], const char *path, oct_reason *why)
{
    if (getrandom(seed, WIRE_SIGNING_SEED_BYTES, 0) != WIRE_SIGNING_SEED_BYTES ||
        oct_file_write_secret(path, seed, WIRE_SIGNING_SEED_BYTES) != OCT_OK) {
        return oct_fail(why, OCT_EIO, "%s: %s", path, oct_file_strerror(errno));
    }
    return OCT_OK;
}

oct_err
learner_key_open(wire_signer **out, const char *folder, oct_reason *why)
{
    char path[PATH_MAX];
    uint8_t seed[WIRE_SIGNING_SEED_BYTES];
    (void)snprintf(path, sizeof(path), "%s/learner.key", folder);
    oct_err err = oct_file_is_there(path) ? key_read(seed, path, why) : key_make(seed, path, why);
    if (err == OCT_OK) {
        *out = wire_signer_create(seed);
    }
    explicit_bzero(seed, sizeof(seed));
    return err;
}

void
learner_key_print(const wire_signer *signer, char out[LEARNER_KEY_TEXT_BYTES])
{
    uint8_t key[WIRE_PUBLIC_KEY_BYTES];
    wire_signer_public_key(signer, key);
    for (size_t i = 0; i < sizeof(key); i++) {
        (void)snprintf(out + 2 * i, 3, "%02x", key[i]);
    }
}
