#include "policy/policy_kernels.h"

#include <string.h>

#include "policy/policy_simd_avx2.h"

#include "policy/policy_rows.h"
#include "policy/policy_unroll.h"

// AVX2. vpmaddubsw saturates its sums of two products, so codes are widened to 16 bits (activations
// when they are quantised, weights when they are loaded) and vpmaddwd adds pairs exactly.

#define ROWS_MAX 4
#define SUMS_MAX 4 // accumulators of a tile, two registers each
#define UNIT     2

static bool
avx2_is_supported(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

// sum + the products of inputs k and k + 1 of one row with sixteen outputs.
static POLICY_INLINE vint
products_add(vint sum, const uint16_t *codes, const int8_t *weights, size_t k)
{
    int32_t two;
    memcpy(&two, codes + k, sizeof(two));
    const __m256i pair = _mm256_set1_epi32(two);
    const __m128i *at = (const __m128i *)(const void *)(weights + k * POLICY_LANES);
    __m256i low = _mm256_cvtepi8_epi16(_mm_load_si128(at));
    __m256i high = _mm256_cvtepi8_epi16(_mm_load_si128(at + 1));
    return (vint){
        _mm256_add_epi32(sum.low, _mm256_madd_epi16(pair, low)),
        _mm256_add_epi32(sum.high, _mm256_madd_epi16(pair, high)),
    };
}

// (float)(acc - zero_point * sums)
static POLICY_INLINE vfloat
corrected(vint acc, int32_t zero_point, const int32_t *sums)
{
    __m256i zero = _mm256_set1_epi32(zero_point);
    __m256i low = _mm256_mullo_epi32(zero, _mm256_load_si256((const __m256i *)sums));
    __m256i high = _mm256_mullo_epi32(zero, _mm256_load_si256((const __m256i *)(sums + 8)));
    return v_float((vint){_mm256_sub_epi32(acc.low, low), _mm256_sub_epi32(acc.high, high)});
}

// y[ROWS][GROUPS * 16], outputs of group g on.
static POLICY_INLINE void
tile_q8(const int ROWS, const int GROUPS, const policy_dense *dense, size_t g,
        const uint16_t *restrict codes, size_t q_stride, const policy_row *restrict rows,
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
            acc[i] = products_add(acc[i], codes + (size_t)(i / GROUPS) * q_stride,
                                  w + (size_t)(i % GROUPS) * K * POLICY_LANES, k);
            POLICY_PIN(acc[i].low);
            POLICY_PIN(acc[i].high);
        }
    }
    const bool is_relu = policy_has_plain_relu(dense);
    POLICY_UNROLL
    for (int i = 0; i < N; i++) {
        const int r = i / GROUPS;
        const size_t at = (g + (size_t)(i % GROUPS)) * POLICY_LANES;
        vfloat sum = corrected(acc[i], rows[r].zero_point, dense->row_sums + at);
        vfloat scale = v_mul(v_set(rows[r].scale), v_load(dense->scales + at));
        vfloat out = v_add(v_mul(sum, scale), v_load(dense->bias + at));
        v_store(y + (size_t)r * y_stride + at, is_relu ? v_max(out, v_set(0.0f)) : out);
    }
}

// All groups of outputs for ROWS rows, GROUPS at a time, then the rest one by one.
#define ROWS_Q8(ROWS, GROUPS)                                                                      \
    static void rows_q8_##ROWS(const policy_dense *dense, const uint16_t *codes, size_t q_stride,  \
                               const policy_row *rows, float *y, size_t y_stride)                  \
    {                                                                                              \
        size_t g = 0, count = policy_groups(dense);                                                \
        for (; g + (GROUPS) <= count; g += (GROUPS)) {                                             \
            tile_q8(ROWS, GROUPS, dense, g, codes, q_stride, rows, y, y_stride);                   \
        }                                                                                          \
        for (; g < count; g++) {                                                                   \
            tile_q8(ROWS, 1, dense, g, codes, q_stride, rows, y, y_stride);                        \
        }                                                                                          \
    }
ROWS_Q8(1, 4)
ROWS_Q8(2, 2)
ROWS_Q8(3, 1)
ROWS_Q8(4, 1)
#undef ROWS_Q8

static void
avx2_layer_q8(const policy_dense *dense, uint32_t R, const void *codes, size_t q_stride,
              const policy_row *rows, float *y, size_t y_stride)
{
    typedef void rows_fn(const policy_dense *, const uint16_t *, size_t, const policy_row *,
                         float *, size_t);
    static rows_fn *const by_rows[ROWS_MAX + 1] = {NULL, rows_q8_1, rows_q8_2, rows_q8_3,
                                                   rows_q8_4};
    size_t stride = q_stride / sizeof(uint16_t);
    for (uint32_t r = 0; r < R; r += ROWS_MAX) {
        uint32_t count = R - r < ROWS_MAX ? R - r : ROWS_MAX;
        by_rows[count](dense, (const uint16_t *)codes + r * stride, stride, rows + r,
                       y + r * y_stride, y_stride);
    }
    rows_finish(dense, R, y, y_stride);
}

// y[ROWS][GROUPS * 16]. One chain over k for each output: the same bits for any batch split. The
// sums may use FMA, FP32 has no promise of bits across instruction sets.
static POLICY_INLINE void
tile_f32(const int ROWS, const int GROUPS, const policy_dense *dense, size_t g,
         const float *restrict x, size_t x_stride, float *restrict y, size_t y_stride)
{
    const size_t K = dense->inputs_padded;
    const float *w = (const float *)dense->weights + g * K * POLICY_LANES;
    const int N = ROWS * GROUPS;
    vfloat acc[SUMS_MAX]; // [ROWS][GROUPS]
    POLICY_UNROLL
    for (int i = 0; i < N; i++) {
        acc[i] = v_set(0.0f);
    }
    for (size_t k = 0; k < K; k++) {
        POLICY_UNROLL
        for (int i = 0; i < N; i++) {
            __m256 one = _mm256_set1_ps(x[(size_t)(i / GROUPS) * x_stride + k]);
            vfloat weights = v_load(w + ((size_t)(i % GROUPS) * K + k) * POLICY_LANES);
            acc[i].low = _mm256_fmadd_ps(one, weights.low, acc[i].low);
            acc[i].high = _mm256_fmadd_ps(one, weights.high, acc[i].high);
            POLICY_PIN(acc[i].low);
            POLICY_PIN(acc[i].high);
        }
    }
    const bool is_relu = policy_has_plain_relu(dense);
    POLICY_UNROLL
    for (int i = 0; i < N; i++) {
        const size_t at = (g + (size_t)(i % GROUPS)) * POLICY_LANES;
        vfloat out = v_add(acc[i], v_load(dense->bias + at));
        v_store(y + (size_t)(i / GROUPS) * y_stride + at, is_relu ? v_max(out, v_set(0.0f)) : out);
    }
}

#define ROWS_F32(ROWS, GROUPS)                                                                     \
    static void rows_f32_##ROWS(const policy_dense *dense, const float *x, size_t x_stride,        \
                                float *y, size_t y_stride)                                         \
    {                                                                                              \
        size_t g = 0, count = policy_groups(dense);                                                \
        for (; g + (GROUPS) <= count; g += (GROUPS)) {                                             \
            tile_f32(ROWS, GROUPS, dense, g, x, x_stride, y, y_stride);                            \
        }                                                                                          \
        for (; g < count; g++) {                                                                   \
            tile_f32(ROWS, 1, dense, g, x, x_stride, y, y_stride);                                 \
        }                                                                                          \
    }
ROWS_F32(1, 4)
ROWS_F32(2, 2)
ROWS_F32(3, 1)
ROWS_F32(4, 1)
#undef ROWS_F32

static void
avx2_layer_f32(const policy_dense *dense, uint32_t R, const float *x, size_t x_stride, float *y,
               size_t y_stride)
{
    typedef void rows_fn(const policy_dense *, const float *, size_t, float *, size_t);
    static rows_fn *const by_rows[ROWS_MAX + 1] = {NULL, rows_f32_1, rows_f32_2, rows_f32_3,
                                                   rows_f32_4};
    for (uint32_t r = 0; r < R; r += ROWS_MAX) {
        uint32_t count = R - r < ROWS_MAX ? R - r : ROWS_MAX;
        by_rows[count](dense, x + r * x_stride, x_stride, y + r * y_stride, y_stride);
    }
    rows_finish(dense, R, y, y_stride);
}

const policy_kernels policy_kernels_avx2 = {
    .isa = POLICY_ISA_AVX2,
    .is_supported = avx2_is_supported,
    .lanes = POLICY_LANES,
    .unit = UNIT,
    .code_bytes = sizeof(vcode),
    .quantize = rows_quantize,
    .layer_q8 = avx2_layer_q8,
    .layer_f32 = avx2_layer_f32,
};
