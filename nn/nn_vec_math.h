#ifndef NN_NN_VEC_MATH_H
#define NN_NN_VEC_MATH_H

#include <stdint.h>
#include <string.h>

#include "nn/nn_vec.h"

// What the files that are built once per instruction set share: exponentials and sums without
// calls and branches, that give the same bits at every vector width.

// ln 2 in two parts: products of the first with integers below 2^15 are exact.
#define LN2_HIGH       0.693359375f
#define LN2_LOW        -2.12194440e-4f
#define LOG2_E         1.44269504f
#define ROUND_TO_UNITS 12582912.0f // 1.5 * 2^23: adding it leaves no fraction bits

static inline uint32_t
bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

static inline float
float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

// exp(r) - 1 for |r| <= ln 2 / 2: r + r^2 p(r), where p is the polynomial of the smallest largest
// relative error (1.4e-8).
static inline float
expm1_near_0(float r)
{
    // In two halves, which a CPU computes side by side.
    float square = r * r;
    float low = 0.16666542f * r + 0.49999997f;
    float high = 0.00836664718f * r + 0.0416672044f;
    float p = low + square * (high + square * 0.00138824969f);
    return r + square * p;
}

// exp(x) - 1 for -87 <= x <= 0, within 1 ulp. x = k ln 2 + r, where r is at most half of ln 2; 2^k
// by the exponent. Any number for other x, NaN included: the caller chooses.
static inline float
expm1_below_0(float x)
{
    float shifted = x * LOG2_E + ROUND_TO_UNITS;
    float k = shifted - ROUND_TO_UNITS;
    float r = (x - k * LN2_HIGH) - k * LN2_LOW;
    float em1 = expm1_near_0(r);
    float power = float_of((bits_of(shifted) - bits_of(ROUND_TO_UNITS) + 127) << 23);
    return power * em1 + (power - 1.0f);
}

// exp(x) for x <= 0, clamped at -87; within 1 ulp. As expm1_of.
static inline float
exp_of(float x)
{
    x = x < -87.0f ? -87.0f : x;
    float shifted = x * LOG2_E + ROUND_TO_UNITS;
    float k = shifted - ROUND_TO_UNITS;
    float r = (x - k * LN2_HIGH) - k * LN2_LOW;
    float power = float_of((bits_of(shifted) - bits_of(ROUND_TO_UNITS) + 127) << 23);
    return power + power * expm1_near_0(r);
}

// Pairwise, so that the order is the same for every vector width: the upper half is added to the
// lower one until one number is left.
typedef float nn_lanes8 __attribute__((vector_size(32)));
typedef float nn_lanes4 __attribute__((vector_size(16)));

static inline float
lanes_total(const float lanes[NN_VEC_LANES])
{
    nn_lanes8 low8, high8;
    nn_lanes4 low4, high4;
    memcpy(&low8, lanes, sizeof(low8));
    memcpy(&high8, lanes + 8, sizeof(high8));
    low8 += high8;
    memcpy(&low4, &low8, sizeof(low4));
    memcpy(&high4, (const char *)&low8 + sizeof(low4), sizeof(high4));
    low4 += high4;
    return (low4[0] + low4[2]) + (low4[1] + low4[3]);
}

// total = the sum over i < n of expression(i), in NN_VEC_LANES partial sums.
#define LANES_SUM(total, n, expression)                                                            \
    do {                                                                                           \
        float lanes[NN_VEC_LANES] = {0};                                                           \
        size_t whole_ = (n) - (n) % NN_VEC_LANES;                                                  \
        for (size_t base_ = 0; base_ < whole_; base_ += NN_VEC_LANES) {                            \
            for (size_t lane_ = 0; lane_ < NN_VEC_LANES; lane_++) {                                \
                lanes[lane_] += expression(base_ + lane_);                                         \
            }                                                                                      \
        }                                                                                          \
        for (size_t i_ = whole_; i_ < (n); i_++) {                                                 \
            lanes[i_ - whole_] += expression(i_);                                                  \
        }                                                                                          \
        (total) = lanes_total(lanes);                                                              \
    } while (0)

#endif // NN_NN_VEC_MATH_H
