#ifndef POLICY_POLICY_HALF_H
#define POLICY_POLICY_HALF_H

#include <stdint.h>
#include <string.h>

// Conversions of 16-bit floats, which are stored as bits: bf16 is the upper half of a float, fp16
// is IEEE-754 binary16. Widening is exact. Narrowing rounds to nearest even and keeps the denormals
// of fp16. Its argument is finite; a number that is too large becomes the largest finite number,
// because a policy contains no infinity. Exported headers contain the text of these functions
// (export_parts.py), so they call no other functions.
//
// Threads: any.

static inline float
policy_bf16_to_float(uint16_t half)
{
    uint32_t bits = (uint32_t)half << 16;
    float x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

static inline uint16_t
policy_bf16_from_float(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    uint32_t rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
    // Rounding up from the largest bf16 would give infinity.
    return (uint16_t)((rounded & 0x7fffffffu) >= 0x7f800000u ? (bits >> 16 & 0x8000u) | 0x7f7fu
                                                             : rounded >> 16);
}

static inline float
policy_fp16_to_float(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    uint32_t rest = half & 0x7fffu;
    float x;
    if (rest >= 0x0400u) {
        uint32_t bits = (rest << 13) + ((uint32_t)112 << 23);
        memcpy(&x, &bits, sizeof(x));
    } else {
        x = (float)rest * 0x1p-24f;
    }
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    bits |= sign;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

static inline uint16_t
policy_fp16_from_float(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000u);
    bits &= 0x7fffffffu;
    if (bits >= 0x477ff000u) { // at least 65520, which would round to infinity
        return (uint16_t)(sign | 0x7bffu);
    }
    if (bits < 0x38800000u) { // below 2^-14: a denormal, which is a multiple of 2^-24
        float a;
        memcpy(&a, &bits, sizeof(a));
        float rounded = (a * 0x1p24f + 0x1.8p23f) - 0x1.8p23f;
        return (uint16_t)(sign | (uint16_t)rounded);
    }
    uint32_t rounded = bits - ((uint32_t)112 << 23) + 0x0fffu + (bits >> 13 & 1u);
    return (uint16_t)(sign | rounded >> 13);
}

#endif // POLICY_POLICY_HALF_H
