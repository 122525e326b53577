#ifndef POLICY_EXPORT_EXPORT_PRODUCTS_H
#define POLICY_EXPORT_EXPORT_PRODUCTS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "policy/export/export_codes.h"
#include "policy/policy_half.h"

// The functions with which an exported header multiplies a layer's weights by its inputs. The build
// divides this file into parts, as it does export_robot.h.
//
// POLICY_SMLAD is defined for an Arm core with the DSP extension, whose intrinsics are in
// arm_acle.h (export_c99.c).

// Returns an output from the sum of its products, the scale of the inputs, its own scale and its
// bias.
static inline float
export_output(int32_t sum, float scale, float own, float bias)
{
    return export_multiply((float)sum, export_multiply(scale, own)) + bias;
}

// Adds the products of q[n] and the pairs of codes w[n] to sums[0], and the products of q[n] and
// only the second codes to sums[1]. At most 256 inputs: 255 * (256 * 127 + 127) * 256 < 2^31.
#ifndef POLICY_SMLAD
static inline void
export_add_pair(const int16_t *w, const int16_t *q, uint32_t n, int32_t *sums)
{
    int32_t both = sums[0], second = sums[1];
    for (; n >= 4; n -= 4, q += 4, w += 4) {
        int32_t x = q[0], pair = w[0];
        both += x * pair;
        second += x * (int8_t)pair;
        x = q[1], pair = w[1];
        both += x * pair;
        second += x * (int8_t)pair;
        x = q[2], pair = w[2];
        both += x * pair;
        second += x * (int8_t)pair;
        x = q[3], pair = w[3];
        both += x * pair;
        second += x * (int8_t)pair;
    }
    for (; n > 0; n--, q++, w++) {
        int32_t x = *q, pair = *w;
        both += x * pair;
        second += x * (int8_t)pair;
    }
    sums[0] = both;
    sums[1] = second;
}
#endif

#ifdef POLICY_SMLAD
static inline int16x2_t
export_two(const int16_t *at)
{
    int16x2_t two;
    memcpy(&two, at, sizeof(two));
    return two;
}
#endif

// Does export_add_pair for the pairs w and more. Cores with the DSP extension multiply two inputs
// by the two halves of a register at once. The halves are pairs, and SXTB16 keeps the second codes
// of both.
static inline void
export_add_pairs(const int16_t *w, const int16_t *more, const int16_t *q, uint32_t n, int32_t *sums)
{
#ifdef POLICY_SMLAD
    int32_t a = sums[0], b = sums[1], c = sums[2], d = sums[3];
    for (; n >= 8; n -= 8, q += 8, w += 8, more += 8) {
        int16x2_t x = export_two(q), u = export_two(w), v = export_two(more);
        a = __smlad(x, u, a);
        b = __smlad(x, __sxtb16(u), b);
        c = __smlad(x, v, c);
        d = __smlad(x, __sxtb16(v), d);
        x = export_two(q + 2), u = export_two(w + 2), v = export_two(more + 2);
        a = __smlad(x, u, a);
        b = __smlad(x, __sxtb16(u), b);
        c = __smlad(x, v, c);
        d = __smlad(x, __sxtb16(v), d);
        x = export_two(q + 4), u = export_two(w + 4), v = export_two(more + 4);
        a = __smlad(x, u, a);
        b = __smlad(x, __sxtb16(u), b);
        c = __smlad(x, v, c);
        d = __smlad(x, __sxtb16(v), d);
        x = export_two(q + 6), u = export_two(w + 6), v = export_two(more + 6);
        a = __smlad(x, u, a);
        b = __smlad(x, __sxtb16(u), b);
        c = __smlad(x, v, c);
        d = __smlad(x, __sxtb16(v), d);
    }
    for (; n >= 2; n -= 2, q += 2, w += 2, more += 2) {
        int16x2_t x = export_two(q), u = export_two(w), v = export_two(more);
        a = __smlad(x, u, a);
        b = __smlad(x, __sxtb16(u), b);
        c = __smlad(x, v, c);
        d = __smlad(x, __sxtb16(v), d);
    }
    if (n > 0) {
        a += *q * *w;
        b += *q * (int8_t)*w;
        c += *q * *more;
        d += *q * (int8_t)*more;
    }
    sums[0] = a, sums[1] = b, sums[2] = c, sums[3] = d;
#else
    export_add_pair(w, q, n, sums);
    export_add_pair(more, q, n, sums + 2);
#endif
}

// y[O] = W q + bias; output j has scales[j * step]. W is stored in pairs of codes: w[p][k] is 256
// times the code of output 2 p and input k, plus the code of output 2 p + 1. One sum has the
// products with both codes of a pair, the other with the second code, and their difference is 256
// times the products with the first code. If O is odd, a pair of the last output has the codes of
// inputs k and k + 1.
static inline void
export_dense_int8(const int16_t *w, const float *scales, uint32_t step, const float *bias,
                  const int16_t *q, float scale, uint32_t I, uint32_t O, float *y)
{
    for (uint32_t j = 0; j + 1 < O; j += 4) {
        const int16_t *more = j + 3 < O ? w + I : w;
        int32_t total[4] = {0, 0, 0, 0};
        for (uint32_t k = 0; k < I; k += 256) {
            int32_t sums[4] = {0, 0, 0, 0};
            export_add_pairs(w + k, more + k, q + k, I - k < 256 ? I - k : 256, sums);
            total[0] += (sums[0] - sums[1]) >> 8;
            total[1] += sums[1];
            total[2] += (sums[2] - sums[3]) >> 8;
            total[3] += sums[3];
        }
        const float *s = scales + j * step;
        y[j] = export_output(total[0], scale, s[0], bias[j]);
        y[j + 1] = export_output(total[1], scale, s[step], bias[j + 1]);
        if (more != w) {
            y[j + 2] = export_output(total[2], scale, s[2 * step], bias[j + 2]);
            y[j + 3] = export_output(total[3], scale, s[3 * step], bias[j + 3]);
        }
        w = more + I;
    }
    if (O % 2 == 1) {
        int32_t acc = 0;
        for (uint32_t k = 0; k < I; k++) {
            int32_t second = (int8_t)w[k / 2];
            acc += q[k] * (k % 2 == 0 ? (w[k / 2] - second) / 256 : second);
        }
        y[O - 1] = export_output(acc, scale, scales[(O - 1) * step], bias[O - 1]);
    }
}

// y[O] = W q + bias, with W as nibbles: a row has I codes in -7..7, stored as code + 8, two in a
// byte, the first in the low half, and a multiplier for every 32 codes. Output j has scales[j].
static inline void
export_dense_int4(const uint8_t *w, const uint8_t *multipliers, const float *scales,
                  const float *bias, const int16_t *q, float scale, uint32_t I, uint32_t O,
                  float *y)
{
    for (uint32_t j = 0; j < O; j++) {
        int32_t acc = 0;
        for (uint32_t k = 0; k < I;) {
            uint32_t end = I - k < 32 ? I : k + 32;
            int32_t sum = 0;
            for (; k + 1 < end; k += 2, w++) {
                sum += q[k] * ((*w & 15) - 8) + q[k + 1] * ((*w >> 4) - 8);
            }
            for (; k < end; k++, w++) {
                sum += q[k] * ((*w & 15) - 8);
            }
            acc += sum * *multipliers++;
        }
        y[j] = export_output(acc, scale, scales[j], bias[j]);
    }
}

// y[O] = W x + bias, W [O][I] of floats: four chains of fused multiply-adds for each output.
static inline void
export_dense_fp32(const float *w, const float *bias, const float *x, uint32_t I, uint32_t O,
                  float *y)
{
    for (uint32_t j = 0; j < O; j++) {
        float a = 0.0f, b = 0.0f, c = 0.0f, d = 0.0f;
        uint32_t k = 0;
        for (; k + 4 <= I; k += 4) {
            a = fmaf(x[k], w[k], a);
            b = fmaf(x[k + 1], w[k + 1], b);
            c = fmaf(x[k + 2], w[k + 2], c);
            d = fmaf(x[k + 3], w[k + 3], d);
        }
        a = k < I ? fmaf(x[k], w[k], a) : a;
        b = k + 1 < I ? fmaf(x[k + 1], w[k + 1], b) : b;
        c = k + 2 < I ? fmaf(x[k + 2], w[k + 2], c) : c;
        y[j] = ((a + b) + (c + d)) + bias[j];
        w += I;
    }
}

// y[O] = W x + bias, W [O][I] of bf16: four chains of fused multiply-adds for each output.
static inline void
export_dense_bf16(const uint16_t *w, const float *bias, const float *x, uint32_t I, uint32_t O,
                  float *y)
{
    for (uint32_t j = 0; j < O; j++) {
        float a = 0.0f, b = 0.0f, c = 0.0f, d = 0.0f;
        uint32_t k = 0;
        for (; k + 4 <= I; k += 4) {
            a = fmaf(x[k], policy_bf16_to_float(w[k]), a);
            b = fmaf(x[k + 1], policy_bf16_to_float(w[k + 1]), b);
            c = fmaf(x[k + 2], policy_bf16_to_float(w[k + 2]), c);
            d = fmaf(x[k + 3], policy_bf16_to_float(w[k + 3]), d);
        }
        a = k < I ? fmaf(x[k], policy_bf16_to_float(w[k]), a) : a;
        b = k + 1 < I ? fmaf(x[k + 1], policy_bf16_to_float(w[k + 1]), b) : b;
        c = k + 2 < I ? fmaf(x[k + 2], policy_bf16_to_float(w[k + 2]), c) : c;
        y[j] = ((a + b) + (c + d)) + bias[j];
        w += I;
    }
}

// y[O] = W x + bias, W [O][I] of fp16: four chains of fused multiply-adds for each output.
static inline void
export_dense_fp16(const uint16_t *w, const float *bias, const float *x, uint32_t I, uint32_t O,
                  float *y)
{
    for (uint32_t j = 0; j < O; j++) {
        float a = 0.0f, b = 0.0f, c = 0.0f, d = 0.0f;
        uint32_t k = 0;
        for (; k + 4 <= I; k += 4) {
            a = fmaf(x[k], policy_fp16_to_float(w[k]), a);
            b = fmaf(x[k + 1], policy_fp16_to_float(w[k + 1]), b);
            c = fmaf(x[k + 2], policy_fp16_to_float(w[k + 2]), c);
            d = fmaf(x[k + 3], policy_fp16_to_float(w[k + 3]), d);
        }
        a = k < I ? fmaf(x[k], policy_fp16_to_float(w[k]), a) : a;
        b = k + 1 < I ? fmaf(x[k + 1], policy_fp16_to_float(w[k + 1]), b) : b;
        c = k + 2 < I ? fmaf(x[k + 2], policy_fp16_to_float(w[k + 2]), c) : c;
        y[j] = ((a + b) + (c + d)) + bias[j];
        w += I;
    }
}

#endif // POLICY_EXPORT_EXPORT_PRODUCTS_H
