#ifndef EXPORT_EXPORT_ROBOT_H
#define EXPORT_EXPORT_ROBOT_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "policy/policy_draw.h"
#include "policy/policy_half.h"
#include "policy/policy_math.h"

// What an exported header computes with: C99, no allocation, no state. The build cuts this file,
// policy_math.h, policy_draw.h and policy_half.h into their functions (export_parts.py);
// export_c99.c writes those that a policy needs into its header, under the name of the policy. So
// this is the source that runs on the robot, and it is compiled and checked here like any other.
//
// Bits (contract 3): integer sums are exact in any order. Codes are kept less their zero point, so
// that no sum of the weights has to be subtracted afterwards; it is the same integer.
// Each function stands alone between empty lines; a comment above it goes with it.

static inline int
export_is_finite(const float *x, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!(x[i] - x[i] == 0.0f)) {
            return 0;
        }
    }
    return 1;
}

static inline void
export_normalise(const float *mean, const float *inverse, uint32_t n, float *x)
{
    for (uint32_t i = 0; i < n; i++) {
        x[i] = (x[i] - mean[i]) * inverse[i];
    }
}

// The largest of x[n] and 0; NaN is passed over. Floats that are not negative are in the order of
// their bits as integers, and NaN is behind them all.
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

// The same downwards: negative floats are in the order of their bits without a sign.
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

// q[n] = codes of x[n], whose range is lo to hi, less their zero point, in -255..255; gives their
// scale. The sum has ulp 1, so its bits count up with the rounded product (policy_round); a code
// beyond 511 comes of a number below lo, NaN or infinity.
static inline float
export_codes(const float *x, uint32_t n, float lo, float hi, int16_t *q)
{
    policy_affine affine = policy_affine_of(lo, hi);
    uint32_t zero = (uint32_t)affine.zero_point;
    int32_t floor = lo < 0.0f ? INT32_MIN : 0;
    for (uint32_t i = 0; i < n; i++) {
        int32_t bits;
        memcpy(&bits, x + i, sizeof(bits));
        uint32_t code = zero;
        if (bits > floor) {
            float sum = x[i] * affine.inverse + 0x1.8p23f;
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

// The codes of relu(x[n]): what is not above 0 has code 0.
static inline float
export_quantize_relu(const float *x, uint32_t n, int16_t *q)
{
    return export_codes(x, n, 0.0f, export_highest(x, n), q);
}

// sums[0] += the products of q[n] and the pairs of codes w[n], sums[1] += those of q and the second
// codes alone. At most 256 inputs: 255 * (256 * 127 + 127) * 256 < 2^31.
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
        both += *q * *w;
        second += *q * (int8_t)*w;
    }
    sums[0] = both;
    sums[1] = second;
}

#ifdef POLICY_SMLAD
static inline int16x2_t
export_two(const int16_t *at)
{
    int16x2_t two;
    memcpy(&two, at, sizeof(two));
    return two;
}
#endif

// export_add_pair for the pairs w and more. Cores with the DSP extension multiply two inputs by two
// halves of a register at once: halves are pairs, and SXTB16 leaves the second codes of both.
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
    sums[0] = a, sums[1] = b, sums[2] = c, sums[3] = d;
#endif
    if (n > 0) {
        export_add_pair(w, q, n, sums);
        export_add_pair(more, q, n, sums + 2);
    }
}

// y[O] = W q + bias; output j has scales[j * step]. W is in pairs of codes: w[p][k] is 256 times
// that of output 2 p and input k, plus that of output 2 p + 1. So two sums have the products with
// both codes of a pair and with the second, and their difference is 256 times those with the first.
// When O is odd, a pair of the last output has the codes of inputs k and k + 1.
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
        y[j] = (float)total[0] * (scale * s[0]) + bias[j];
        y[j + 1] = (float)total[1] * (scale * s[step]) + bias[j + 1];
        if (more != w) {
            y[j + 2] = (float)total[2] * (scale * s[2 * step]) + bias[j + 2];
            y[j + 3] = (float)total[3] * (scale * s[3 * step]) + bias[j + 3];
        }
        w = more + I;
    }
    if (O % 2 == 1) {
        int32_t acc = 0;
        for (uint32_t k = 0; k < I; k++) {
            int32_t second = (int8_t)w[k / 2];
            acc += q[k] * (k % 2 == 0 ? (w[k / 2] - second) / 256 : second);
        }
        y[O - 1] = (float)acc * (scale * scales[(O - 1) * step]) + bias[O - 1];
    }
}

// The same with W as nibbles: a row has I codes of -7..7 as code + 8, two in a byte, the first one
// in the low half, and a multiplier for each 32 of them.
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
        y[j] = (float)acc * (scale * scales[j]) + bias[j];
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

// What is under one place of a convolution: so many rows of its kernel, run numbers each, that lie
// line apart in the map.
static inline void
export_patch_codes(const int16_t *map, uint32_t rows, uint32_t run, uint32_t line, int16_t *patch)
{
    for (uint32_t k = 0; k < rows; k++) {
        memcpy(patch + k * run, map + k * line, run * sizeof(int16_t));
    }
}

static inline void
export_patch_floats(const float *map, uint32_t rows, uint32_t run, uint32_t line, float *patch)
{
    for (uint32_t k = 0; k < rows; k++) {
        memcpy(patch + k * run, map + k * line, run * sizeof(float));
    }
}

// The sum of 16 lanes as a tree: each time lane i + lane i + half.
static inline float
export_lanes_sum(float *lane)
{
    for (uint32_t half = POLICY_NORM_LANES / 2; half > 0; half /= 2) {
        for (uint32_t i = 0; i < half; i++) {
            lane[i] = lane[i] + lane[i + half];
        }
    }
    return lane[0];
}

static inline void
export_layer_norm(const float *gain, const float *offset, uint32_t n, float *y)
{
    float first[POLICY_NORM_LANES] = {0.0f}, second[POLICY_NORM_LANES] = {0.0f};
    for (uint32_t i = 0; i < n; i++) {
        first[i % POLICY_NORM_LANES] += y[i];
    }
    float mean = export_lanes_sum(first) / (float)n;
    for (uint32_t i = 0; i < n; i++) {
        float d = y[i] - mean;
        second[i % POLICY_NORM_LANES] += d * d;
    }
    float inverse = policy_norm_inverse(export_lanes_sum(second), n);
    for (uint32_t i = 0; i < n; i++) {
        y[i] = ((y[i] - mean) * inverse) * gain[i] + offset[i];
    }
}

static inline void
export_row_relu(uint32_t n, float *y)
{
    for (uint32_t i = 0; i < n; i++) {
        y[i] = policy_relu(y[i]);
    }
}

static inline void
export_row_tanh(uint32_t n, float *y)
{
    for (uint32_t i = 0; i < n; i++) {
        y[i] = policy_tanh(y[i]);
    }
}

static inline void
export_row_elu(uint32_t n, float *y)
{
    for (uint32_t i = 0; i < n; i++) {
        y[i] = policy_elu(y[i]);
    }
}

static inline int32_t
export_argmax(const float *y, uint32_t actions)
{
    uint32_t best = 0;
    for (uint32_t a = 1; a < actions; a++) {
        best = y[a] > y[best] ? a : best;
    }
    return (int32_t)best;
}

// The mean of the support under softmax(logits): sums from atom 0 up.
static inline float
export_atoms_mean(const float *logits, uint32_t atoms, float low, float step)
{
    float most = logits[0], mass = 0.0f, mean = 0.0f;
    for (uint32_t i = 1; i < atoms; i++) {
        most = logits[i] > most ? logits[i] : most;
    }
    for (uint32_t i = 0; i < atoms; i++) {
        float p = policy_exp(logits[i] - most);
        mass += p;
        mean += p * (low + (float)i * step);
    }
    return mean / mass;
}

static inline int32_t
export_atoms_argmax(const float *y, uint32_t actions, uint32_t atoms, float low, float step)
{
    uint32_t best = 0;
    float best_mean = export_atoms_mean(y, atoms, low, step);
    for (uint32_t a = 1; a < actions; a++) {
        float mean = export_atoms_mean(y + a * atoms, atoms, low, step);
        if (mean > best_mean) {
            best = a;
            best_mean = mean;
        }
    }
    return (int32_t)best;
}

static inline void
export_box(const float *y, const float *low, const float *high, uint32_t n, float *action)
{
    for (uint32_t i = 0; i < n; i++) {
        action[i] = policy_box_action(policy_tanh(y[i]), low[i], high[i]);
    }
}

static inline void
export_clip(const float *y, const float *low, const float *high, uint32_t n, float *action)
{
    for (uint32_t i = 0; i < n; i++) {
        action[i] = policy_box_action(policy_clamp(y[i], -1.0f, 1.0f), low[i], high[i]);
    }
}

// Draws of Gaussians, squashed or clipped; gives their log-probability as policy_sample does.
static inline float
export_draw_box(const float *mean, const float *log_std, const float *low, const float *high,
                uint32_t n, policy_rng *rng, float *action)
{
    float log_prob = policy_draw_gaussian(mean, log_std, n, rng, action);
    for (uint32_t i = 0; i < n; i++) {
        log_prob -= policy_log_squash(action[i]);
        action[i] = policy_box_action(policy_tanh(action[i]), low[i], high[i]);
    }
    return log_prob;
}

static inline float
export_draw_clip(const float *mean, const float *log_std, const float *low, const float *high,
                 uint32_t n, policy_rng *rng, float *action)
{
    float log_prob = policy_draw_gaussian(mean, log_std, n, rng, action);
    for (uint32_t i = 0; i < n; i++) {
        action[i] = policy_box_action(policy_clamp(action[i], -1.0f, 1.0f), low[i], high[i]);
    }
    return log_prob;
}

#endif // EXPORT_EXPORT_ROBOT_H
