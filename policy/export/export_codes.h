#ifndef POLICY_EXPORT_EXPORT_CODES_H
#define POLICY_EXPORT_EXPORT_CODES_H

#include <stdint.h>
#include <string.h>

#include "policy/policy_math.h"

// The functions with which an exported header quantises a row of floats, with the bits of
// policy_affine_of and policy_round (policy_math.h). The build divides this file into parts, as it
// does export_robot.h.
//
// POLICY_SOFT_FLOAT is defined for a RISC-V that multiplies integers and has no floats
// (export_c99.c).

// Returns the largest of x[n] and 0, without NaN. Floats that are not negative have the order of
// their bits as integers, and NaN comes after them.
static inline float
export_highest(const float *x, uint32_t n)
{
    int32_t most = 0;
    for (uint32_t i = 0; i < n; i++) {
        int32_t bits;
        memcpy(&bits, x + i, sizeof(bits));
        most = bits > most ? bits : most;
    }
    float highest = 0.0f;
    for (uint32_t i = 0; i < n && most > 0x7f800000; i++) {
        highest = x[i] > highest ? x[i] : highest;
    }
    if (most <= 0x7f800000) {
        memcpy(&highest, &most, sizeof(highest));
    }
    return highest;
}

// Returns the smallest of x[n] and 0, without NaN. Negative floats have the order of their bits
// without the sign.
static inline float
export_lowest(const float *x, uint32_t n)
{
    uint32_t most = 0x80000000u;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, x + i, sizeof(bits));
        most = bits > most ? bits : most;
    }
    float lowest = 0.0f;
    for (uint32_t i = 0; i < n && most > 0xff800000u; i++) {
        lowest = x[i] < lowest ? x[i] : lowest;
    }
    if (most <= 0xff800000u) {
        memcpy(&lowest, &most, sizeof(lowest));
    }
    return lowest;
}

// Returns a * b of normal numbers on a RISC-V without floats, in a third of the instructions of
// the compiler's library, which handles all numbers. The product of 64 bits is rounded to nearest
// even.
#ifdef POLICY_SOFT_FLOAT
static float
export_soft_multiply(float a, float b)
{
    uint32_t x, y;
    memcpy(&x, &a, sizeof(x));
    memcpy(&y, &b, sizeof(y));
    uint32_t sign = (x ^ y) & 0x80000000u;
    uint32_t x_power = x >> 23 & 255, y_power = y >> 23 & 255, power = x_power + y_power - 127;
    if (x_power - 1 >= 254 || y_power - 1 >= 254 || power - 1 >= 253) {
        return a * b;
    }
    uint64_t product = (uint64_t)(x << 8 | 0x80000000u) * (y << 8 | 0x80000000u);
    uint32_t high = (uint32_t)(product >> 32), low = (uint32_t)product;
    if (high < 0x80000000u) {
        high = high << 1 | low >> 31;
        low <<= 1;
        power--;
    }
    high |= low != 0;
    // 24 bits of high remain; the first of these is the bit that power lacks.
    x = (power << 23) + (high >> 8) + ((high & 255) + (high >> 8 & 1) > 128);
    x |= sign;
    memcpy(&a, &x, sizeof(a));
    return a;
}
#endif

static inline float
export_multiply(float a, float b)
{
#ifdef POLICY_SOFT_FLOAT
    return export_soft_multiply(a, b);
#else
    return a * b;
#endif
}

// Writes q[n], the codes of x[n] minus their zero point, in -255..255, where x[n] has the range lo
// to hi. Returns the scale. The unit in the last place of the sum is 1, so its bits count up with
// the rounded product (policy_round); a code above 511 comes from a number below lo, NaN or
// infinity.
static inline float
export_codes(const float *x, uint32_t n, float lo, float hi, int16_t *q)
{
    policy_affine affine = policy_affine_of(lo, hi);
    uint32_t zero = (uint32_t)affine.zero_point;
    int32_t least = lo < 0.0f ? INT32_MIN : 0;
    for (uint32_t i = 0; i < n; i++) {
        int32_t bits;
        memcpy(&bits, x + i, sizeof(bits));
        uint32_t code = zero;
        if (bits > least) {
            float sum = export_multiply(x[i], affine.inverse) + 0x1.8p23f;
            memcpy(&code, &sum, sizeof(code));
            code -= 0x4b400000u - zero;
            if (code > 255) {
                code = code > 511 ? 0 : 255;
            }
        }
        q[i] = (int16_t)(code - zero);
    }
    return affine.scale;
}

static inline float
export_quantize(const float *x, uint32_t n, int16_t *q)
{
    return export_codes(x, n, export_lowest(x, n), export_highest(x, n), q);
}

// Writes the codes of relu(x[n]): numbers that are not above 0 have code 0.
static inline float
export_quantize_relu(const float *x, uint32_t n, int16_t *q)
{
    return export_codes(x, n, 0.0f, export_highest(x, n), q);
}

#endif // POLICY_EXPORT_EXPORT_CODES_H
