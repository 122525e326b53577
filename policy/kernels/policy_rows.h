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
#include "policy/kernels/policy_simd_curves.h"
#include "policy/policy_math.h"

// Defines rows_NAME, which applies an activation to rows of y. Lanes from n stay 0, also where the
// activation of 0 is not.
#define ROWS_CURVE(ENUM, name, version)                                                            \
    static inline void rows_##name(uint32_t R, uint32_t n, float *y, size_t y_stride)              \
    {                                                                                              \
        for (uint32_t r = 0; r < R; r++) {                                                         \
            for (uint32_t i = 0; i < n; i += POLICY_LANES) {                                       \
                float *at = y + r * y_stride + i;                                                  \
                vfloat x = v_##name(v_load(at));                                                   \
                v_store(at, n - i < POLICY_LANES ? v_head(x, n - i) : x);                          \
            }                                                                                      \
        }                                                                                          \
    }
POLICY_ACTIVATIONS(ROWS_CURVE)
#undef ROWS_CURVE

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
    if (dense->activation == POLICY_LINEAR || policy_has_plain_relu(dense)) {
        return;
    }
    switch (dense->activation) {
#define ROWS_CASE(ENUM, name, version)                                                             \
    case POLICY_##ENUM:                                                                            \
        rows_##name(R, dense->outputs, y, y_stride);                                               \
        break;
        POLICY_ACTIVATIONS(ROWS_CASE)
#undef ROWS_CASE
    case POLICY_ACTIVATION_COUNT:
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
