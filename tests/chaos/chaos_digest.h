#ifndef TESTS_CHAOS_CHAOS_DIGEST_H
#define TESTS_CHAOS_CHAOS_DIGEST_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

// A number of the contents of rows, one after the other: what an actor sent and what replay holds
// have the same, whatever environment they are of (FNV-1a, 64 bits).
#define CHAOS_DIGEST_NONE 0xcbf29ce484222325u // of no rows

static inline uint64_t
chaos_digest_bytes(uint64_t digest, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    for (size_t i = 0; i < size; i++) {
        digest = (digest ^ at[i]) * 0x100000001b3u;
    }
    return digest;
}

// With one more row behind those of digest.
static inline uint64_t
chaos_digest_row(uint64_t digest, const void *obs, size_t obs_bytes, const void *action,
                 size_t action_bytes, float reward, uint8_t flags)
{
    digest = chaos_digest_bytes(digest, obs, obs_bytes);
    digest = chaos_digest_bytes(digest, action, action_bytes);
    digest = chaos_digest_bytes(digest, &reward, sizeof(reward));
    return chaos_digest_bytes(digest, &flags, sizeof(flags));
}

#endif // TESTS_CHAOS_CHAOS_DIGEST_H
