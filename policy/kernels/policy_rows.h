#ifndef POLICY_KERNELS_POLICY_ROWS_H
#define POLICY_KERNELS_POLICY_ROWS_H

// The steps of a layer on whole rows, sixteen lanes at a time: quantisation, layer norm,
// activation. They are written once with the names of policy_simd_*.h, one of which the including
// file includes before; without one this header is empty. Each step is that of policy_math.h and
// policy_ref.c, lane by lane.
//
// Threads: any. Owns: nothing. Rows are padded to POLICY_LANES floats.
#ifdef POLICY_SIMD

#include "policy/kernels/policy_kernels.h"
#include "policy/policy_math.h"

// Returns exp(x) - 1 by the steps of policy_exp_parts and policy_expm1: x = n ln 2 + r.
static inline vfloat
v_expm1(vfloat x)
{
    x = v_max(v_set(POLICY_EXP_MIN), x);
    x = v_min(v_set(POLICY_EXP_MAX), x);
    vint whole = v_round(v_mul(x, v_set(POLICY_LOG2_E)));
    vfloat n = v_float(whole);
    vfloat r = v_sub(v_sub(x, v_mul(n, v_set(POLICY_LN2_HIGH))), v_mul(n, v_set(POLICY_LN2_LOW)));
    vfloat p = v_add(v_mul(v_set(POLICY_EXP_C4), r), v_set(POLICY_EXP_C3));
    p = v_add(v_mul(p, r), v_set(POLICY_EXP_C2));
    p = v_add(v_mul(p, r), v_set(POLICY_EXP_C1));
    p = v_add(v_mul(p, r), v_set(POLICY_EXP_C0));
    vfloat e = v_add(v_mul(v_mul(r, r), p), r);
    vfloat power = v_power(whole);
    return v_add(v_mul(e, power), v_sub(power, v_set(1.0f)));
}

static inline vfloat
v_tanh(vfloat x)
{
    vfloat sign = v_sign(x);
    vfloat a = v_xor(x, sign);
    vfloat t = v_expm1(v_add(a, a));
    return v_xor(v_div(t, v_add(t, v_set(2.0f))), sign);
}

static inline void
rows_tanh(uint32_t R, uint32_t n, float *y, size_t y_stride)
{
    for (uint32_t r = 0; r < R; r++) {
        for (uint32_t i = 0; i < n; i += POLICY_LANES) {
            float *at = y + r * y_stride + i;
            v_store(at, v_tanh(v_load(at)));
        }
    }
}

static inline void
rows_elu(uint32_t R, uint32_t n, float *y, size_t y_stride)
{
    for (uint32_t r = 0; r < R; r++) {
        for (uint32_t i = 0; i < n; i += POLICY_LANES) {
            float *at = y + r * y_stride + i;
            vfloat x = v_load(at);
            v_store(at, v_positive_or(x, v_expm1(x)));
        }
    }
}

static inline void
rows_relu(uint32_t R, uint32_t n, float *y, size_t y_stride)
{
    for (uint32_t r = 0; r < R; r++) {
        for (uint32_t i = 0; i < n; i += POLICY_LANES) {
            float *at = y + r * y_stride + i;
            v_store(at, v_max(v_load(at), v_set(0.0f)));
        }
    }
}

// Returns the sum of x[n], or if is_square the sum of (x - mean)^2, with the lanes of the
// specification. Lanes from index n add +0, which changes no sum that began at +0.
static inline float
row_sum(uint32_t n, const float *x, float mean, bool is_square)
{
    vfloat sum = v_set(0.0f), middle = v_set(mean);
    for (uint32_t i = 0; i < n; i += POLICY_LANES) {
        vfloat d = v_load(x + i);
        if (is_square) {
            d = v_sub(d, middle);
            d = v_mul(d, d);
        }
        sum = v_add(sum, n - i < POLICY_LANES ? v_head(d, n - i) : d);
    }
    return v_sum(sum);
}

static inline void
rows_layer_norm(const policy_dense *dense, uint32_t R, float *y, size_t y_stride)
{
    uint32_t n = dense->outputs;
    for (uint32_t r = 0; r < R; r++) {
        float *row = y + r * y_stride;
        float mean = row_sum(n, row, 0.0f, false) / (float)n;
        float inverse = policy_norm_inverse(row_sum(n, row, mean, true), n);
        vfloat middle = v_set(mean), factor = v_set(inverse);
        for (uint32_t i = 0; i < n; i += POLICY_LANES) {
            vfloat x = v_mul(v_sub(v_load(row + i), middle), factor);
            x = v_add(v_mul(x, v_load(dense->gain + i)), v_load(dense->offset + i));
            v_store(row + i, x);
        }
    }
}

// Applies what follows the matrix product and the bias: layer norm and activation, except a plain
// ReLU, which the product has applied.
static inline void
rows_finish(const policy_dense *dense, const policy_work *work, uint32_t R)
{
    float *y = work->y;
    const size_t y_stride = work->y_stride;
    if (dense->layer_norm) {
        rows_layer_norm(dense, R, y, y_stride);
    }
    switch (dense->activation) {
    case POLICY_TANH:
        rows_tanh(R, dense->outputs, y, y_stride);
        break;
    case POLICY_ELU:
        rows_elu(R, dense->outputs, y, y_stride);
        break;
    case POLICY_RELU:
        if (dense->layer_norm) {
            rows_relu(R, dense->outputs, y, y_stride);
        }
        break;
    case POLICY_LINEAR:
        break;
    }
}

// Finds the range of x[n], including zero. Two chains keep a comparison from waiting for the one
// before it.
static inline void
row_range(uint32_t n, const float *x, float *least, float *greatest)
{
    vfloat lo[2] = {v_set(0.0f), v_set(0.0f)}, hi[2] = {v_set(0.0f), v_set(0.0f)};
    uint32_t i = 0;
    for (; i + 2 * POLICY_LANES <= n; i += 2 * POLICY_LANES) {
        vfloat a = v_load(x + i), b = v_load(x + i + POLICY_LANES);
        lo[0] = v_min(a, lo[0]);
        hi[0] = v_max(a, hi[0]);
        lo[1] = v_min(b, lo[1]);
        hi[1] = v_max(b, hi[1]);
    }
    for (; i < n; i += POLICY_LANES) {
        vfloat a = v_load(x + i);
        lo[0] = v_min(a, lo[0]);
        hi[0] = v_max(a, hi[0]);
    }
    *least = v_least(v_min(lo[0], lo[1]));
    *greatest = v_greatest(v_max(hi[0], hi[1]));
}

// Computes the codes of x[n] on a grid.
static inline void
row_codes(uint32_t n, const float *restrict x, const policy_affine *affine, vcode *restrict codes)
{
    const vfloat inverse = v_set(affine->inverse);
    const vint zero = v_set_int(affine->zero_point);
#define CODE(i) v_add_int(v_round(v_mul(v_load(x + (i)), inverse)), zero)
    uint32_t i = 0;
    for (; i + 64 <= n; i += 64) {
        v_store_codes4(codes + i, CODE(i), CODE(i + 16), CODE(i + 32), CODE(i + 48));
    }
    for (; i < n; i += POLICY_LANES) {
        v_store_codes(codes + i, CODE(i));
    }
#undef CODE
}

// Quantises rows in three steps, ranges, grids and codes, each for all rows, so that the work
// within a step is independent.
static inline void
rows_quantize(const policy_work *work, uint32_t R, uint32_t n)
{
    float lo[POLICY_TILE_ROWS] = {0}, hi[POLICY_TILE_ROWS] = {0};
    policy_affine affine[POLICY_TILE_ROWS];
    for (uint32_t r = 0; r < R; r++) {
        row_range(n, work->x + r * work->x_stride, &lo[r], &hi[r]);
    }
    for (uint32_t r = 0; r < R; r++) {
        affine[r] = policy_affine_of(lo[r], hi[r]);
        work->rows[r] = (policy_row){affine[r].scale, affine[r].zero_point};
    }
    for (uint32_t r = 0; r < R; r++) {
        void *codes = (uint8_t *)work->codes + r * work->q_stride;
        row_codes(n, work->x + r * work->x_stride, &affine[r], codes);
    }
}

#endif // POLICY_SIMD

#endif // POLICY_KERNELS_POLICY_ROWS_H
