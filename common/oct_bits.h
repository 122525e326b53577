#ifndef COMMON_OCT_BITS_H
#define COMMON_OCT_BITS_H

#include <stdint.h>
#include <string.h>

// Converts a float to the 32 bits that represent it, and back. Threads: any.

static inline uint32_t
oct_bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

static inline float
oct_float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

#endif // COMMON_OCT_BITS_H
