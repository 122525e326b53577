#ifndef TESTS_POLICY_EXPORT_ROBOT_OBSERVATIONS_H
#define TESTS_POLICY_EXPORT_ROBOT_OBSERVATIONS_H

#include <stdint.h>
#include <string.h>

// The observations of these tests and a checksum of what comes of them, the same in the program
// that knows Octet and in the one that knows only an exported header. C99 for bare machines.

#ifndef ROBOT_ROWS // fewer where instructions are simulated
#define ROBOT_ROWS 10000
#endif
#define ROBOT_BLOCK_ROWS  500 // one checksum
#define ROBOT_NUMBERS_MAX 512

static inline uint32_t
robot_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

// In -1..1, a multiple of 2^-23: exact everywhere.
static inline float
robot_uniform(uint32_t *state)
{
    return (float)((int32_t)robot_random(state) - 0x800000) * 0x1p-23f;
}

// Row by row: of all magnitudes that sensors have, with rows of zeros, and a number now and then
// that is denormal, huge or the largest float.
static inline void
robot_floats(uint32_t *state, uint32_t row, uint32_t n, float *obs)
{
    static const float strange[] = {0x1p-140f, -0x1p-127f, 0x1p100f, -0x1.fffffep+127f, -0.0f};
    float amplitude = 0x1p-6f;
    for (uint32_t i = 0; i < row % 11; i++) {
        amplitude *= 2.5f;
    }
    for (uint32_t i = 0; i < n; i++) {
        obs[i] = row % 97 == 5 ? 0.0f : amplitude * robot_uniform(state);
    }
    if (row % 61 == 7) {
        obs[robot_random(state) % n] = strange[row % 5];
    }
}

// With rows of zeros, and of the largest byte.
static inline void
robot_bytes(uint32_t *state, uint32_t row, uint32_t n, uint8_t *obs)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t byte = row % 97 == 6 ? 255u : robot_random(state) >> (row % 8) & 255u;
        obs[i] = (uint8_t)(row % 97 == 5 ? 0 : byte);
    }
}

// FNV-1a over 32-bit words, lowest byte first. One NaN is as good as another.
static inline uint64_t
robot_hash(uint64_t hash, const void *words, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t word;
        memcpy(&word, (const uint8_t *)words + 4 * i, sizeof(word));
        word = (word & 0x7fffffffu) > 0x7f800000u ? 0x7fc00000u : word;
        for (uint32_t byte = 0; byte < 4; byte++) {
            hash = (hash ^ (word >> (8 * byte) & 255u)) * 0x100000001b3u;
        }
    }
    return hash;
}

#define ROBOT_HASH_START 0xcbf29ce484222325u

// The generator of a policy that is sampled, too.
#define ROBOT_SEED   20u
#define ROBOT_STREAM 3u

#endif // TESTS_POLICY_EXPORT_ROBOT_OBSERVATIONS_H
