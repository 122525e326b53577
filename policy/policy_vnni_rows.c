#include "policy/policy_vnni.h"

#include <string.h>

#include "policy/policy_simd_avx512.h"

#include "policy/policy_vnni_quantize.h"

// Many rows through an INT8 layer: each weight that is loaded multiplies all rows of a tile. The
// limit is one vpdpbusd of 64 products a clock (on Zen 4), so a tile has the fewest other
// instructions beside it, and sixteen sums in flight.

#define ROWS_MAX   8
#define GROUPS_MAX 4
#define SUMS_MAX   16

#define QUANTIZE_ROWS POLICY_LANES // whose ranges are found together

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
        v_store(y + (size_t)r * y_stride + at, is_relu ? numbers_relu(out) : out);
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

// Lane r of the result is the least (greatest) number of v[r].
#define TRANSPOSED(name, operation)                                                                \
    static POLICY_INLINE vfloat name(const vfloat v[QUANTIZE_ROWS])                                \
    {                                                                                              \
        vfloat quarter[4]; /* in each four lanes those of one row */                               \
        POLICY_UNROLL                                                                              \
        for (int i = 0; i < 4; i++) {                                                              \
            vfloat a = operation(_mm512_shuffle_f32x4(v[i], v[i + 4], 0x44),                       \
                                 _mm512_shuffle_f32x4(v[i], v[i + 4], 0xee));                      \
            vfloat b = operation(_mm512_shuffle_f32x4(v[i + 8], v[i + 12], 0x44),                  \
                                 _mm512_shuffle_f32x4(v[i + 8], v[i + 12], 0xee));                 \
            quarter[i] =                                                                           \
                operation(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));     \
        }                                                                                          \
        vfloat c = operation(_mm512_shuffle_ps(quarter[0], quarter[1], 0x44),                      \
                             _mm512_shuffle_ps(quarter[0], quarter[1], 0xee));                     \
        vfloat d = operation(_mm512_shuffle_ps(quarter[2], quarter[3], 0x44),                      \
                             _mm512_shuffle_ps(quarter[2], quarter[3], 0xee));                     \
        return operation(_mm512_shuffle_ps(c, d, 0x88), _mm512_shuffle_ps(c, d, 0xdd));            \
    }
TRANSPOSED(rows_least, v_min)
TRANSPOSED(rows_greatest, v_max)
#undef TRANSPOSED

// policy_affine_of for sixteen rows at once.
typedef struct affine_rows {
    float scale[QUANTIZE_ROWS];
    float inverse[QUANTIZE_ROWS];
    int32_t zero_point[QUANTIZE_ROWS];
} affine_rows;

static POLICY_INLINE void
affine_of_rows(vfloat lo, vfloat hi, affine_rows *affine)
{
    vfloat range = v_min(v_sub(hi, lo), v_set(POLICY_RANGE_MAX));
    __mmask16 is_some = _mm512_cmp_ps_mask(range, v_set(POLICY_RANGE_MIN), _CMP_NLT_UQ);
    vfloat inverse = _mm512_maskz_div_ps(is_some, v_set(255.0f), range);
    vint zero = v_round(v_mul(v_sub(v_set(-0.0f), lo), inverse));
    zero = _mm512_min_epi32(_mm512_max_epi32(zero, v_set_int(0)), v_set_int(255));
    v_store(affine->scale, _mm512_maskz_div_ps(is_some, range, v_set(255.0f)));
    v_store(affine->inverse, inverse);
    _mm512_storeu_si512(affine->zero_point, _mm512_maskz_mov_epi32(is_some, zero));
}

// R <= QUANTIZE_ROWS rows of n numbers, x_stride bytes apart.
static POLICY_INLINE void
some_rows_quantize(uint32_t R, uint32_t n, const uint8_t *x, size_t x_stride, bool is_positive,
                   uint8_t *codes, size_t q_stride, policy_row *rows)
{
    vfloat lo[QUANTIZE_ROWS], hi[QUANTIZE_ROWS];
    affine_rows affine;
    for (uint32_t r = 0; r < QUANTIZE_ROWS; r++) {
        const float *row = (const void *)(x + r * x_stride);
        vrange range = range_of(r < R ? n : 0, row, is_positive);
        lo[r] = range.lo;
        hi[r] = range.hi;
    }
    affine_of_rows(is_positive ? v_set(0.0f) : rows_least(lo), rows_greatest(hi), &affine);
    for (uint32_t r = 0; r < R; r++) {
        policy_affine one = {affine.scale[r], affine.inverse[r], affine.zero_point[r]};
        rows[r] = (policy_row){.scale = one.scale, .zero_point = one.zero_point};
        codes_of(n, (const void *)(x + r * x_stride), &one, is_positive, codes + r * q_stride);
    }
}

static void
tile_quantize(uint32_t R, uint32_t n, const void *x, size_t x_stride, bool is_positive,
              const policy_work *work)
{
    for (uint32_t r = 0; r < R; r += QUANTIZE_ROWS) {
        uint32_t some = R - r < QUANTIZE_ROWS ? R - r : QUANTIZE_ROWS;
        const uint8_t *at = (const uint8_t *)x + r * x_stride;
        uint8_t *codes = (uint8_t *)work->codes + r * work->q_stride;
        if (is_positive) {
            some_rows_quantize(some, n, at, x_stride, true, codes, work->q_stride, work->rows + r);
        } else {
            some_rows_quantize(some, n, at, x_stride, false, codes, work->q_stride, work->rows + r);
        }
    }
}

// Layers read codes and write floats, so one buffer of floats is enough: less of L2 is taken.
void
policy_vnni_forward_rows(const policy_dense *layers, uint32_t count, uint32_t R, const void *obs,
                         size_t obs_stride, const policy_work *work, float *out)
{
    float *y = work->y;
    const void *x = obs;
    size_t x_stride = obs_stride;
    bool is_positive = false;
    for (uint32_t l = 0; l < count; l++) {
        const policy_dense *dense = &layers[l];
        tile_quantize(R, dense->inputs, x, x_stride, is_positive, work);
        policy_vnni_layer_rows(dense, R, work->codes, work->q_stride, work->rows, y, work->stride);
        is_positive = dense->activation == POLICY_RELU;
        x = y;
        x_stride = work->stride * sizeof(float);
    }
    uint32_t outputs = layers[count - 1].outputs;
    for (uint32_t r = 0; r < R; r++) {
        numbers_copy(outputs, y + r * work->stride, out + (size_t)r * outputs);
    }
}
