#ifndef POLICY_EXPORT_EXPORT_PROBE_H
#define POLICY_EXPORT_EXPORT_PROBE_H

#include <math.h>
#include <stdint.h>
#include <string.h>

// Parts of the self test of an exported header: checks that a compiler and a processor compute
// floats as written, a generator of observations, and a checksum of the results. The build divides
// this file into parts, as it does export_robot.h. export_self_test.c computes the expected
// checksum with the same functions.

// The variables are volatile so that the processor computes the result, not the compiler.
static inline int
export_keeps_denormals(void)
{
    volatile float least = 0x1p-126f, half = 0.5f;
    volatile float denormal = least * half;
    return denormal * 0x1p23f == 0x1p-104f;
}

// (1 + 2^-12)^2 is rounded down by 2^-24 before the addition, unless both are one operation.
static inline int
export_rounds_products(void)
{
    volatile float factor = 0x1.001p0f, addend = -0x1.002p0f;
    float x = factor, y = addend;
    return x * x + y == 0.0f;
}

// Returns 1 if fmaf rounds only its result: the sum of export_rounds_products is then 2^-24. (A
// library's fmaf that computes in double passes the check; its bits are nearly always right.)
static inline int
export_fmaf_is_fused(void)
{
    volatile float factor = 0x1.001p0f, addend = -0x1.002p0f;
    float x = factor;
    return fmaf(x, x, addend) == 0x1p-24f;
}

// The numbers are those of a linear congruential generator (Numerical Recipes).
static inline uint32_t
export_test_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

// Writes x[n] of row 0, 1, ...: exact numbers in -2^(row - 6) .. 2^(row - 6).
static inline void
export_test_floats(uint32_t *state, uint32_t row, uint32_t n, float *x)
{
    float unit = 0x1p-29f;
    for (uint32_t i = 0; i < row; i++) {
        unit *= 2.0f;
    }
    for (uint32_t i = 0; i < n; i++) {
        x[i] = (float)((int32_t)export_test_random(state) - 0x800000) * unit;
    }
}

// Writes x[n] of row 0, 1, ...: bytes, with fewer bits in every second row.
static inline void
export_test_bytes(uint32_t *state, uint32_t row, uint32_t n, uint8_t *x)
{
    for (uint32_t i = 0; i < n; i++) {
        x[i] = (uint8_t)(export_test_random(state) >> 16 >> (row % 2 * 4));
    }
}

// Returns the FNV-1a hash of count words of 32 bits, lowest byte first. All NaNs count as the same.
static inline uint32_t
export_test_hash(uint32_t hash, const void *words, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t word;
        memcpy(&word, (const uint8_t *)words + 4 * i, sizeof(word));
        word = (word & 0x7fffffffu) > 0x7f800000u ? 0x7fc00000u : word;
        for (uint32_t shift = 0; shift < 32; shift += 8) {
            hash = (hash ^ (word >> shift & 255u)) * 16777619u;
        }
    }
    return hash;
}

#endif // POLICY_EXPORT_EXPORT_PROBE_H
