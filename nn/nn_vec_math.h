#ifndef NN_NN_VEC_MATH_H
#define NN_NN_VEC_MATH_H

#include <stdint.h>

#include "common/oct_bits.h"
#include "nn/nn_vec.h"

// Functions for the files that are built once per instruction set: exponentials and logarithms
// without calls and branches, which give the same bits at every vector width with FMAs.

// a b + c, rounded once. Where the instruction set has no FMA the result is rounded twice, because
// a library call per number would cost more than everything else.
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define FMA(a, b, c) __builtin_fmaf((a), (b), (c))
#else
#define FMA(a, b, c) ((a) * (b) + (c))
#endif

#define LOG2_E 1.44269504f
#define LN2    0.693147182f
// ln 2 in two parts: products of LN2_HIGH with integers below 2^15 are exact.
#define LN2_HIGH 0.693359375f
#define LN2_LOW  -2.12194440e-4f
// 1.5 * 2^23 + 127. A sum x + ROUND_TO_EXPONENT is rounded to an integer k, and its lowest bits are
// k + 127, the exponent field of 2^k.
#define ROUND_TO_EXPONENT 12583039.0f

// Returns 2^k for shifted = ROUND_TO_EXPONENT + k.
static inline float
power_of(float shifted)
{
    return oct_float_of(oct_bits_of(shifted) << 23);
}

// Returns exp(r) - 1 for |r| <= ln 2 / 2, as r + r^2 p(r). p is the minimax polynomial: its largest
// relative error, 1.4e-8, is the smallest for its degree.
static inline float
expm1_near_0(float r)
{
    // Two halves, which a CPU computes in parallel.
    float square = r * r;
    float low = FMA(r, 0.16666542f, 0.49999997f);
    float high = FMA(r, 0.00836664718f, 0.0416672044f);
    float p = FMA(square, FMA(square, 0.00138824969f, high), low);
    return FMA(square, p, r);
}

// Returns exp(x) - 1 for -87 <= x <= 0, within 1 ulp. For other x, NaN included, the result is
// unspecified, and the caller selects it away. x = k ln 2 + r with |r| <= ln 2 / 2, and the
// exponent bits give 2^k. ln 2 is one float here, since its error is small beside the 1.
static inline float
expm1_below_0(float x)
{
    float shifted = FMA(x, LOG2_E, ROUND_TO_EXPONENT);
    float r = FMA(shifted - ROUND_TO_EXPONENT, -LN2, x);
    float power = power_of(shifted);
    return FMA(power, expm1_near_0(r), power - 1.0f);
}

// Returns exp(x) for x <= 0, clamped at -87, within 1 ulp. Like expm1_below_0, but with ln 2 in two
// parts.
static inline float
exp_of(float x)
{
    x = x < -87.0f ? -87.0f : x;
    float shifted = FMA(x, LOG2_E, ROUND_TO_EXPONENT);
    float k = shifted - ROUND_TO_EXPONENT;
    float r = FMA(k, -LN2_LOW, FMA(k, -LN2_HIGH, x));
    float power = power_of(shifted);
    return FMA(power, expm1_near_0(r), power);
}

// Returns log(x) for x > 0, clamped below at the smallest normal number; within 1 ulp, or 4e-8 near
// 1. x = 2^k (1 + r), with 1 + r between sqrt(1/2) and sqrt(2). The polynomial is that of logf in
// the Cephes library (Moshier). For NaN and x <= 0 the result is a finite number; the caller has to
// restore the NaN.
static inline float
log_of(float x)
{
    const uint32_t root_half = 0x3f3504f3u;
    x = x > 1.17549435e-38f ? x : 1.17549435e-38f;
    const int32_t exponent = (int32_t)(oct_bits_of(x) - root_half) >> 23;
    const float k = (float)exponent;
    const float r = oct_float_of(oct_bits_of(x) - ((uint32_t)exponent << 23)) - 1.0f;
    float p = FMA(r, 7.0376836292e-2f, -1.1514610310e-1f);
    p = FMA(r, p, 1.1676998740e-1f);
    p = FMA(r, p, -1.2420140846e-1f);
    p = FMA(r, p, 1.4249322787e-1f);
    p = FMA(r, p, -1.6668057665e-1f);
    p = FMA(r, p, 2.0000714765e-1f);
    p = FMA(r, p, -2.4999993993e-1f);
    p = FMA(r, p, 3.3333331174e-1f);
    const float square = r * r;
    float low = FMA(square * r, p, k * LN2_LOW);
    low = FMA(square, -0.5f, low);
    return FMA(k, LN2_HIGH, r + low);
}

// Returns above / x for 1 <= x <= 2, within 1.2 ulp (2 without FMAs), faster than a division. It
// starts from the quadratic minimax approximation of 1 / x (relative error 1/99, from Chebyshev's
// T3) and takes a step of fourth order.
static inline float
divided_by_1_to_2(float above, float x)
{
    float near = FMA(x, FMA(x, 32.0f / 99.0f, -144.0f / 99.0f), 210.0f / 99.0f);
    float error = FMA(-x, near, 1.0f);
    float more = FMA(error, FMA(error, error, error), error);
    float y = above * near;
    return FMA(y, more, y);
}

#endif // NN_NN_VEC_MATH_H
