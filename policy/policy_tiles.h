#ifndef POLICY_POLICY_TILES_H
#define POLICY_POLICY_TILES_H

// The matrix products of a layer on 128- and 256-bit registers, written once over the names of
// policy_simd_*.h. The file that includes it has before it
//   UNIT         the unit of packed int8 weights
//   CODE_OFFSET  what a stored code lacks of the code of the specification
//   v_products   (sum, codes, weights): sum + UNIT inputs of one row times sixteen outputs
// Empty when no such header was included.
//
// Threads: any. Owns: nothing. Rows are padded to POLICY_LANES floats.
#ifdef POLICY_SIMD

#include "common/oct_base.h"
#include "policy/policy_kernels.h"
#include "policy/policy_rows.h"
#include "policy/policy_unroll.h"

#define ROWS_MAX 4
#define SUMS_MAX 4 // accumulators of a tile, sixteen lanes each
#define CHAINS   4 // of the sum of an output in floats (policy_kernels.h)

static POLICY_INLINE void
tile_store(const policy_dense *dense, float *y, size_t at, vfloat sum)
{
    vfloat out = v_add(sum, v_load(dense->bias + at));
    v_store(y + at, policy_has_plain_relu(dense) ? v_max(out, v_set(0.0f)) : out);
}

// y[ROWS][GROUPS * 16], outputs of group g on.
static POLICY_INLINE void
tile_q8(const int ROWS, const int GROUPS, const policy_dense *dense, size_t g,
        const vcode *restrict codes, size_t q_stride, const policy_row *restrict rows,
        float *restrict y, size_t y_stride)
{
    const size_t K = dense->inputs_padded;
    const int8_t *w = (const int8_t *)dense->weights + g * K * POLICY_LANES;
    const int N = ROWS * GROUPS;
    vint acc[SUMS_MAX]; // [ROWS][GROUPS]
    POLICY_UNROLL
    for (int i = 0; i < N; i++) {
        acc[i] = v_set_int(0);
    }
    for (size_t k = 0; k < K; k += UNIT) {
        POLICY_UNROLL
        for (int i = 0; i < N; i++) {
            acc[i] = v_products(acc[i], codes + (size_t)(i / GROUPS) * q_stride + k,
                                w + ((size_t)(i % GROUPS) * K + k) * POLICY_LANES);
            V_PIN(acc[i]);
        }
    }
    POLICY_UNROLL
    for (int i = 0; i < N; i++) {
        const int r = i / GROUPS;
        const size_t at = (g + (size_t)(i % GROUPS)) * POLICY_LANES;
        vint zero = v_set_int(rows[r].zero_point - CODE_OFFSET);
        vfloat sum = v_float(v_less_product(acc[i], zero, v_load_int(dense->row_sums + at)));
        vfloat scale = v_mul(v_set(rows[r].scale), v_load(dense->scales + at));
        tile_store(dense, y + (size_t)r * y_stride, at, v_mul(sum, scale));
    }
}

// Sixteen weights of input k as floats.
static POLICY_INLINE vfloat
weights_widen(const policy_precision PRECISION, const void *weights, size_t at)
{
    return PRECISION == POLICY_BF16   ? v_load_bf16((const uint16_t *)weights + at)
           : PRECISION == POLICY_FP16 ? v_load_fp16((const uint16_t *)weights + at)
                                      : v_load((const float *)weights + at);
}

// y[16] of one row: its four chains side by side, so that weights are read in one stream.
static POLICY_INLINE void
tile_row(const policy_precision PRECISION, const policy_dense *dense, size_t g,
         const float *restrict x, float *restrict y)
{
    const size_t K = dense->inputs, from = g * K * POLICY_LANES;
    vfloat acc[CHAINS];
    POLICY_UNROLL
    for (int c = 0; c < CHAINS; c++) {
        acc[c] = v_set(0.0f);
    }
    size_t k = 0;
    for (; k + CHAINS <= K; k += CHAINS) {
        POLICY_UNROLL
        for (int c = 0; c < CHAINS; c++) {
            const size_t at = k + (size_t)c;
            vfloat w = weights_widen(PRECISION, dense->weights, from + at * POLICY_LANES);
            acc[c] = v_fma(v_set(x[at]), w, acc[c]);
            V_PIN(acc[c]);
        }
    }
    POLICY_UNROLL
    for (int c = 0; c < CHAINS - 1; c++) {
        const size_t at = k + (size_t)c;
        if (at < K) {
            vfloat w = weights_widen(PRECISION, dense->weights, from + at * POLICY_LANES);
            acc[c] = v_fma(v_set(x[at]), w, acc[c]);
        }
    }
    vfloat sum = v_add(v_add(acc[0], acc[1]), v_add(acc[2], acc[3]));
    tile_store(dense, y, g * POLICY_LANES, sum);
}

// y[ROWS][16]: one chain after the other, each for all rows.
static POLICY_INLINE void
tile_rows(const int ROWS, const policy_precision PRECISION, const policy_dense *dense, size_t g,
          const float *restrict x, size_t x_stride, float *restrict y, size_t y_stride)
{
    const size_t K = dense->inputs, from = g * K * POLICY_LANES;
    vfloat chain[CHAINS][ROWS_MAX];
    for (size_t c = 0; c < CHAINS; c++) {
        vfloat acc[ROWS_MAX];
        POLICY_UNROLL
        for (int r = 0; r < ROWS; r++) {
            acc[r] = v_set(0.0f);
        }
        for (size_t k = c; k < K; k += CHAINS) {
            vfloat w = weights_widen(PRECISION, dense->weights, from + k * POLICY_LANES);
            POLICY_UNROLL
            for (int r = 0; r < ROWS; r++) {
                acc[r] = v_fma(v_set(x[(size_t)r * x_stride + k]), w, acc[r]);
                V_PIN(acc[r]);
            }
        }
        POLICY_UNROLL
        for (int r = 0; r < ROWS; r++) {
            chain[c][r] = acc[r];
        }
    }
    POLICY_UNROLL
    for (int r = 0; r < ROWS; r++) {
        vfloat sum = v_add(v_add(chain[0][r], chain[1][r]), v_add(chain[2][r], chain[3][r]));
        tile_store(dense, y + (size_t)r * y_stride, g * POLICY_LANES, sum);
    }
}

typedef void tile_q8_fn(const policy_dense *dense, size_t g, const vcode *codes, size_t q_stride,
                        const policy_row *rows, float *y, size_t y_stride);
typedef void tile_floats_fn(const policy_dense *dense, size_t g, const float *x, size_t x_stride,
                            float *y, size_t y_stride);

#define TILE_Q8(ROWS, GROUPS)                                                                      \
    static void tile_q8_##ROWS##x##GROUPS(const policy_dense *dense, size_t g, const vcode *codes, \
                                          size_t q_stride, const policy_row *rows, float *y,       \
                                          size_t y_stride)                                         \
    {                                                                                              \
        tile_q8(ROWS, GROUPS, dense, g, codes, q_stride, rows, y, y_stride);                       \
    }
TILE_Q8(1, 1)
TILE_Q8(2, 1)
TILE_Q8(3, 1)
TILE_Q8(4, 1)
TILE_Q8(1, 4)
TILE_Q8(2, 2)
#undef TILE_Q8

#define TILE_FLOATS(ROWS, PRECISION)                                                               \
    static void tile_##PRECISION##_##ROWS(const policy_dense *dense, size_t g, const float *x,     \
                                          size_t x_stride, float *y, size_t y_stride)              \
    {                                                                                              \
        if (ROWS == 1) {                                                                           \
            tile_row(PRECISION, dense, g, x, y);                                                   \
        } else {                                                                                   \
            tile_rows(ROWS, PRECISION, dense, g, x, x_stride, y, y_stride);                        \
        }                                                                                          \
    }
#define TILES_FLOATS(PRECISION)                                                                    \
    TILE_FLOATS(1, PRECISION)                                                                      \
    TILE_FLOATS(2, PRECISION)                                                                      \
    TILE_FLOATS(3, PRECISION)                                                                      \
    TILE_FLOATS(4, PRECISION)                                                                      \
    static tile_floats_fn *const tiles_##PRECISION[ROWS_MAX + 1] = {                               \
        NULL, tile_##PRECISION##_1, tile_##PRECISION##_2, tile_##PRECISION##_3,                    \
        tile_##PRECISION##_4};
TILES_FLOATS(POLICY_FP32)
TILES_FLOATS(POLICY_BF16)
TILES_FLOATS(POLICY_FP16)
#undef TILES_FLOATS
#undef TILE_FLOATS

// For each number of rows: one group of outputs, and as many as the registers hold.
static const struct {
    tile_q8_fn *one;
    tile_q8_fn *many;
    size_t groups;
} tiles_q8[ROWS_MAX + 1] = {
    [1] = {tile_q8_1x1, tile_q8_1x4, 4},
    [2] = {tile_q8_2x1, tile_q8_2x2, 2},
    [3] = {tile_q8_3x1, tile_q8_3x1, 1},
    [4] = {tile_q8_4x1, tile_q8_4x1, 1},
};

// R rows, so many at a time. Groups outside, rows inside: weights come from the outer caches once.
static void
layer_part_q8(const policy_dense *dense, uint32_t at_a_time, uint32_t R, const vcode *codes,
              size_t q_stride, const policy_row *rows, float *y, size_t y_stride)
{
    size_t count = policy_groups(dense), groups = tiles_q8[at_a_time].groups;
    for (size_t g = 0; g < count;) {
        bool is_many = g + groups <= count;
        tile_q8_fn *tile = is_many ? tiles_q8[at_a_time].many : tiles_q8[at_a_time].one;
        for (uint32_t r = 0; r < R; r += at_a_time) {
            tile(dense, g, codes + r * q_stride, q_stride, rows + r, y + r * y_stride, y_stride);
        }
        g += is_many ? groups : 1;
    }
}

static void
tiles_layer_q8(const policy_dense *dense, uint32_t R, const void *codes, size_t q_stride,
               const policy_row *rows, float *y, size_t y_stride)
{
    const vcode *q = codes;
    const size_t stride = q_stride / sizeof(vcode);
    const uint32_t rest = R % ROWS_MAX, whole = R - rest;
    if (whole > 0) {
        layer_part_q8(dense, ROWS_MAX, whole, q, stride, rows, y, y_stride);
    }
    if (rest > 0) {
        layer_part_q8(dense, rest, rest, q + whole * stride, stride, rows + whole,
                      y + whole * y_stride, y_stride);
    }
    rows_finish(dense, R, y, y_stride);
}

static void
tiles_layer_floats(const policy_dense *dense, uint32_t R, const float *x, size_t x_stride, float *y,
                   size_t y_stride)
{
    tile_floats_fn *const *by_rows = dense->precision == POLICY_BF16   ? tiles_POLICY_BF16
                                     : dense->precision == POLICY_FP16 ? tiles_POLICY_FP16
                                                                       : tiles_POLICY_FP32;
    for (size_t g = 0; g < policy_groups(dense); g++) {
        for (uint32_t r = 0; r < R;) {
            uint32_t part = OCT_MIN(R - r, ROWS_MAX);
            by_rows[part](dense, g, x + r * x_stride, x_stride, y + r * y_stride, y_stride);
            r += part;
        }
    }
    rows_finish(dense, R, y, y_stride);
}

#endif // POLICY_SIMD

#endif // POLICY_POLICY_TILES_H
