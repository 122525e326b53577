#include "policy/policy_vnni.h"

#include <string.h>

#include "policy/policy_simd_avx512.h"

#include "policy/policy_rows.h"
#include "policy/policy_unroll.h"

// Many rows through an INT8 layer: each weight that is loaded multiplies all rows of a tile. The
// limit is one vpdpbusd of 64 products a clock (on Zen 4), so a tile has the fewest other
// instructions beside it, and sixteen sums in flight.

#define ROWS_MAX   8
#define GROUPS_MAX 4
#define SUMS_MAX   16

// y[ROWS][GROUPS * 16], outputs of group g on.
static POLICY_INLINE void
tile_q8(const int ROWS, const int GROUPS, const policy_dense *dense, size_t g,
        const uint8_t *restrict codes, size_t q_stride, const policy_row *restrict rows,
        float *restrict y, size_t y_stride)
{
    const size_t K = dense->inputs_padded;
    const int8_t *w = (const int8_t *)dense->weights + g * K * POLICY_LANES;
    const int N = ROWS * GROUPS;
    vint acc[SUMS_MAX], weights[GROUPS_MAX]; // acc[ROWS][GROUPS]
    POLICY_UNROLL
    for (int i = 0; i < N; i++) {
        acc[i] = _mm512_setzero_si512();
    }
    for (size_t k = 0; k < K; k += POLICY_VNNI_UNIT) {
        POLICY_UNROLL
        for (int i = 0; i < GROUPS; i++) {
            weights[i] = _mm512_load_si512(w + ((size_t)i * K + k) * POLICY_LANES);
            POLICY_PIN(weights[i]); // loaded once, not for each row
        }
        POLICY_UNROLL
        for (int i = 0; i < N; i++) {
            int32_t four;
            memcpy(&four, codes + (size_t)(i / GROUPS) * q_stride + k, sizeof(four));
            acc[i] = _mm512_dpbusd_epi32(acc[i], _mm512_set1_epi32(four), weights[i % GROUPS]);
            POLICY_PIN(acc[i]);
        }
    }
    int32_t any_zero_point = 0; // none after relu
    POLICY_UNROLL
    for (int r = 0; r < ROWS; r++) {
        any_zero_point |= rows[r].zero_point;
    }
    if (any_zero_point != 0) {
        POLICY_UNROLL
        for (int i = 0; i < N; i++) {
            const int32_t *sums = dense->row_sums + (g + (size_t)(i % GROUPS)) * POLICY_LANES;
            vint zero = v_set_int(rows[i / GROUPS].zero_point);
            acc[i] = _mm512_sub_epi32(acc[i], _mm512_mullo_epi32(zero, _mm512_load_si512(sums)));
        }
    }
    const bool is_relu = policy_has_plain_relu(dense);
    POLICY_UNROLL
    for (int i = 0; i < N; i++) {
        const int r = i / GROUPS;
        const size_t at = (g + (size_t)(i % GROUPS)) * POLICY_LANES;
        vfloat scale = v_mul(v_set(rows[r].scale), v_load(dense->scales + at));
        vfloat out = v_add(v_mul(v_float(acc[i]), scale), v_load(dense->bias + at));
        v_store(y + (size_t)r * y_stride + at, is_relu ? v_max(out, v_set(0.0f)) : out);
    }
}

typedef void tile_q8_fn(const policy_dense *dense, size_t g, const uint8_t *codes, size_t q_stride,
                        const policy_row *rows, float *y, size_t y_stride);

#define TILE_Q8(ROWS, GROUPS)                                                                      \
    static void tile_q8_##ROWS##x##GROUPS(const policy_dense *dense, size_t g,                     \
                                          const uint8_t *codes, size_t q_stride,                   \
                                          const policy_row *rows, float *y, size_t y_stride)       \
    {                                                                                              \
        tile_q8(ROWS, GROUPS, dense, g, codes, q_stride, rows, y, y_stride);                       \
    }
TILE_Q8(1, 1)
TILE_Q8(2, 1)
TILE_Q8(3, 1)
TILE_Q8(4, 1)
TILE_Q8(5, 1)
TILE_Q8(6, 1)
TILE_Q8(7, 1)
TILE_Q8(8, 1)
TILE_Q8(1, 4)
TILE_Q8(2, 4)
TILE_Q8(3, 4)
TILE_Q8(4, 4)
TILE_Q8(5, 2)
TILE_Q8(6, 2)
TILE_Q8(7, 2)
TILE_Q8(8, 2)
#undef TILE_Q8

// For each number of rows: one group of outputs, and as many as the registers hold.
static const struct {
    tile_q8_fn *one;
    tile_q8_fn *many;
    size_t groups;
} tiles_q8[ROWS_MAX + 1] = {
    [1] = {tile_q8_1x1, tile_q8_1x4, 4}, [2] = {tile_q8_2x1, tile_q8_2x4, 4},
    [3] = {tile_q8_3x1, tile_q8_3x4, 4}, [4] = {tile_q8_4x1, tile_q8_4x4, 4},
    [5] = {tile_q8_5x1, tile_q8_5x2, 2}, [6] = {tile_q8_6x1, tile_q8_6x2, 2},
    [7] = {tile_q8_7x1, tile_q8_7x2, 2}, [8] = {tile_q8_8x1, tile_q8_8x2, 2},
};

// R rows, so many at a time. Groups outside, rows inside: weights come from the outer caches once.
static void
layer_part(const policy_dense *dense, uint32_t at_a_time, uint32_t R, const uint8_t *codes,
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

void
policy_vnni_layer_rows(const policy_dense *dense, uint32_t R, const uint8_t *codes, size_t q_stride,
                       const policy_row *rows, float *y, size_t y_stride)
{
    uint32_t rest = R % ROWS_MAX, whole = R - rest;
    layer_part(dense, ROWS_MAX, whole, codes, q_stride, rows, y, y_stride);
    if (rest > 0) {
        layer_part(dense, rest, rest, codes + whole * q_stride, q_stride, rows + whole,
                   y + whole * y_stride, y_stride);
    }
    rows_finish(dense, R, y, y_stride);
}
