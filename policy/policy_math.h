#ifndef POLICY_POLICY_MATH_H
#define POLICY_POLICY_MATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "policy/policy_curves.h"

// The arithmetic of a policy (contract 3): fixed sequences of IEEE-754 single operations, so that
// every instruction set and every C library gives the same bits. These scalar functions are the
// specification; the kernels repeat them lane by lane.
//
// Requirements: rounding to nearest even (the default mode), denormals kept, no contraction to FMA
// (-ffp-contract=off), no -ffast-math. The functions use only + - * / sqrt, comparisons and
// conversions.
//
// Edges. Comparisons with NaN are false, and selections are written so that the SIMD min and max
// give the same result.
//   log   defined for positive normal numbers only; its error is at most 0.84 units of the last
//   place
// Those of the exponential and of the activations are in policy_curves.h.
//
// Quantisation of a row x[n] to uint8:
//   lo = min(0, min x); hi = max(0, max x); NaN is ignored
//   range = hi - lo, at most POLICY_RANGE_MAX; a row with a range below POLICY_RANGE_MIN has scale
//   0, zero point 0 and codes 0
//   scale = range / 255; inverse = 255 / range; zero point = clamp(round(-lo * inverse), 0, 255)
//   code = clamp(round(x * inverse) + zero point, 0, 255); NaN and inf give code 0
//
// Output j of a layer, where acc is the exact int32 sum of code * weight code, minus zero point *
// row sum:
//   (float)acc * (row scale * scale_j) + bias_j
//
// Layer norm of a row h[n]. A sum adds element i to lane i mod 16, in order, then adds the lanes as
// a tree: lane i and lane i + 8, then i + 4, i + 2, i + 1.
//   mean = sum h / n; variance = sum (h - mean)^2 / n; inverse = 1 / sqrt(variance + 1e-5)
//   ((h - mean) * inverse) * gain + offset

#define POLICY_RANGE_MIN  0x1p-118f // for less, 255 / range is not finite or the scale not normal
#define POLICY_RANGE_MAX  0x1.fffffep+127f
#define POLICY_NORM_EPS   1e-5f
#define POLICY_NORM_LANES 16 // layer norm sums element i into lane i mod 16

// log((1 + s) / (1 - s)) = 2 s + s^3 * polynomial(s^2), minimax on |s| <= 0.1716; relative error
// below 9e-10.
#define POLICY_LOG_C0    0x1.55557ap-1f
#define POLICY_LOG_C1    0x1.995eaap-2f
#define POLICY_LOG_C2    0x1.31e4b4p-2f
#define POLICY_SQRT_HALF 0x1.6a09e6p-1f

// Returns log(x) for a positive normal x: x = 2^n * (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), and
// s = f / (2 + f).
static inline float
policy_log(float x)
{
    uint32_t bits, half;
    float m = POLICY_SQRT_HALF;
    memcpy(&bits, &x, sizeof(bits));
    memcpy(&half, &m, sizeof(half));
    uint32_t power = (bits + (0x3f800000u - half)) >> 23;
    bits -= (power - 127u) << 23;
    memcpy(&m, &bits, sizeof(bits));
    float n = (float)((int32_t)power - 127), f = m - 1.0f;
    float s = f / (f + 2.0f), z = s * s, square = 0.5f * (f * f);
    float r = z * ((POLICY_LOG_C2 * z + POLICY_LOG_C1) * z + POLICY_LOG_C0);
    return n * POLICY_LN2_HIGH - ((square - (s * (square + r) + n * POLICY_LN2_LOW)) - f);
}

// Clamps x to [low, high]; NaN becomes low.
static inline float
policy_clamp(float x, float low, float high)
{
    x = x > low ? x : low;
    return x < high ? x : high;
}

// Maps t in [-1, 1] to [low, high]; clamps, because rounding or an overflow may leave the range.
static inline float
policy_box_action(float t, float low, float high)
{
    return policy_clamp(low + (t + 1.0f) / 2.0f * (high - low), low, high);
}

// Returns an action that is not mapped: y, clamped to [low, high], either of which may be infinite.
// The action is finite for any y; NaN counts as 0.
static inline float
policy_direct_action(float y, float low, float high)
{
    low = low > -3.402823466e38f ? low : -3.402823466e38f;
    high = high < 3.402823466e38f ? high : 3.402823466e38f;
    return policy_clamp(y == y ? y : 0.0f, low, high);
}

// The grid of a quantised row: code = round(x * inverse) + zero_point.
typedef struct policy_affine {
    float scale;
    float inverse;
    int32_t zero_point;
} policy_affine;

// Returns the grid for numbers in [lo, hi], which contains 0. The function has no compound
// literals, so that its text also compiles as C++.
static inline policy_affine
policy_affine_of(float lo, float hi)
{
    policy_affine affine = {0.0f, 0.0f, 0};
    float range = hi - lo;
    range = range < POLICY_RANGE_MAX ? range : POLICY_RANGE_MAX;
    if (range < POLICY_RANGE_MIN) {
        return affine;
    }
    affine.scale = range / 255.0f;
    affine.inverse = 255.0f / range;
    int32_t zero = policy_round(-lo * affine.inverse);
    zero = zero < 0 ? 0 : zero;
    affine.zero_point = zero > 255 ? 255 : zero;
    return affine;
}

// Returns 1 / standard deviation of n numbers; squares is the sum of their squared distances from
// their mean.
static inline float
policy_norm_inverse(float squares, uint32_t n)
{
    return 1.0f / sqrtf(squares / (float)n + POLICY_NORM_EPS);
}

#endif // POLICY_POLICY_MATH_H
