#include "policy/policy_vnni.h"

#include <string.h>

#include "policy/policy_simd_avx512.h"

#include "policy/policy_rows.h"
#include "policy/policy_unroll.h"

// AVX-512 with VNNI: vpdpbusd adds four products of u8 and s8 to an int32, exactly.

#define ROWS_MAX 8
#define SUMS_MAX 16 // accumulators of a tile
#define UNIT     4

static bool
vnni_is_supported(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512vnni");
}

// sum + the products of inputs k to k + 3 of one row with sixteen outputs.
static POLICY_INLINE vint
products_add(vint sum, const uint8_t *codes, const int8_t *weights, size_t k)
{
    int32_t four;
    memcpy(&four, codes + k, sizeof(four));
    return _mm512_dpbusd_epi32(sum, _mm512_set1_epi32(four),
                               _mm512_load_si512(weights + k * POLICY_LANES));
}

// y[ROWS][GROUPS * 16], outputs of group g on. SPLIT chains of sums for each accumulator, where
// rows and groups are too few to hide the latency of vpdpbusd; the order of exact sums is free.
static POLICY_INLINE void
tile_q8(const int ROWS, const int GROUPS, const int SPLIT, const policy_dense *dense, size_t g,
        const uint8_t *restrict codes, size_t q_stride, const policy_row *restrict rows,
        float *restrict y, size_t y_stride)
{
    const size_t K = dense->inputs_padded;
    const int8_t *w = (const int8_t *)dense->weights + g * K * POLICY_LANES;
    const int N = ROWS * GROUPS;
    vint acc[SUMS_MAX]; // [SPLIT][ROWS][GROUPS]
    POLICY_UNROLL
    for (int i = 0; i < SPLIT * N; i++) {
        acc[i] = _mm512_setzero_si512();
    }
    size_t k = 0;
    for (; k + (size_t)(UNIT * SPLIT) <= K; k += (size_t)(UNIT * SPLIT)) {
        POLICY_UNROLL
        for (int i = 0; i < SPLIT * N; i++) {
            acc[i] = products_add(acc[i], codes + (size_t)(i % N / GROUPS) * q_stride,
                                  w + (size_t)(i % GROUPS) * K * POLICY_LANES,
                                  k + (size_t)(i / N * UNIT));
            POLICY_PIN(acc[i]);
        }
    }
    for (; SPLIT > 1 && k < K; k += UNIT) {
        POLICY_UNROLL
        for (int i = 0; i < N; i++) {
            acc[i] = products_add(acc[i], codes + (size_t)(i / GROUPS) * q_stride,
                                  w + (size_t)(i % GROUPS) * K * POLICY_LANES, k);
        }
    }
    POLICY_UNROLL
    for (int i = N; i < SPLIT * N; i++) {
        acc[i % N] = v_add_int(acc[i % N], acc[i]);
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

#define TILE_Q8(ROWS, GROUPS, SPLIT)                                                               \
    static void tile_q8_##ROWS##x##GROUPS(const policy_dense *dense, size_t g,                     \
                                          const uint8_t *codes, size_t q_stride,                   \
                                          const policy_row *rows, float *y, size_t y_stride)       \
    {                                                                                              \
        tile_q8(ROWS, GROUPS, SPLIT, dense, g, codes, q_stride, rows, y, y_stride);                \
    }
TILE_Q8(1, 1, 8)
TILE_Q8(2, 1, 2)
TILE_Q8(3, 1, 2)
TILE_Q8(4, 1, 2)
TILE_Q8(5, 1, 2)
TILE_Q8(6, 1, 1)
TILE_Q8(7, 1, 1)
TILE_Q8(8, 1, 1)
TILE_Q8(1, 4, 2)
TILE_Q8(2, 4, 1)
TILE_Q8(3, 2, 2)
TILE_Q8(4, 2, 1)
TILE_Q8(5, 2, 1)
TILE_Q8(6, 2, 1)
TILE_Q8(7, 2, 1)
TILE_Q8(8, 2, 1)
#undef TILE_Q8

// For each number of rows: one group of outputs, and as many as the registers hold.
static const struct {
    tile_q8_fn *one;
    tile_q8_fn *many;
    size_t groups;
} tiles_q8[ROWS_MAX + 1] = {
    [1] = {tile_q8_1x1, tile_q8_1x4, 4}, [2] = {tile_q8_2x1, tile_q8_2x4, 4},
    [3] = {tile_q8_3x1, tile_q8_3x2, 2}, [4] = {tile_q8_4x1, tile_q8_4x2, 2},
    [5] = {tile_q8_5x1, tile_q8_5x2, 2}, [6] = {tile_q8_6x1, tile_q8_6x2, 2},
    [7] = {tile_q8_7x1, tile_q8_7x2, 2}, [8] = {tile_q8_8x1, tile_q8_8x2, 2},
};

// R rows, so many at a time. Groups outside, rows inside: weights come from the outer caches once.
static void
layer_part_q8(const policy_dense *dense, uint32_t at_a_time, uint32_t R, const uint8_t *codes,
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
vnni_layer_q8(const policy_dense *dense, uint32_t R, const void *codes, size_t q_stride,
              const policy_row *rows, float *y, size_t y_stride)
{
    const uint8_t *q = codes;
    uint32_t rest = R % ROWS_MAX;
    layer_part_q8(dense, ROWS_MAX, R - rest, q, q_stride, rows, y, y_stride);
    if (rest > 0) {
        uint32_t r = R - rest;
        layer_part_q8(dense, rest, rest, q + r * q_stride, q_stride, rows + r, y + r * y_stride,
                      y_stride);
    }
    rows_finish(dense, R, y, y_stride);
}

const policy_kernels policy_kernels_vnni = {
    .isa = POLICY_ISA_VNNI,
    .is_supported = vnni_is_supported,
    .lanes = POLICY_LANES,
    .unit = UNIT,
    .code_bytes = sizeof(vcode),
    .quantize = rows_quantize,
    .layer_q8 = vnni_layer_q8,
    .layer_f32 = policy_vnni_layer_f32,
    .layer_half = policy_vnni_layer_half,
};
