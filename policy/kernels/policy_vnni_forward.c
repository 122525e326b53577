// A forward pass of one tile of rows through an INT8 net: quantise, multiply, quantise again, layer
// after layer. The products already find the range of each row, so that the next layer can quantise
// at once.
#include "policy/kernels/policy_vnni.h"

#include "policy/kernels/policy_vnni_quantize.h"

#define QUANTIZE_ROWS POLICY_LANES // rows whose ranges are found together

// Defines a function that returns a vector whose lane r is the smallest (largest) number of v[r].
#define TRANSPOSED(name, operation)                                                                \
    static POLICY_INLINE vfloat name(const vfloat v[QUANTIZE_ROWS])                                \
    {                                                                                              \
        vfloat quarter[4]; /* four lanes for each row */                                           \
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

// The range of each row of a tile, lane by lane.
typedef struct tile_range {
    float lo[POLICY_TILE_ROWS_MAX][POLICY_LANES];
    float hi[POLICY_TILE_ROWS_MAX][POLICY_LANES];
} tile_range;

static POLICY_INLINE const float *
batch_row(const policy_batch *x, uint32_t r)
{
    return (const void *)((const uint8_t *)x->at + r * x->stride);
}

// Finds the ranges of rows of n numbers.
static void
tile_range_of(const policy_batch *x, uint32_t n, tile_range *range)
{
    for (uint32_t r = 0; r < x->rows; r++) {
        vrange one = range_of(n, batch_row(x, r), false);
        v_store(range->lo[r], one.lo);
        v_store(range->hi[r], one.hi);
    }
}

// Computes the grids of rows r .. r + QUANTIZE_ROWS - 1, as far as they are below R.
static POLICY_INLINE void
some_rows_measure(uint32_t r, uint32_t R, const tile_range *range, bool is_positive,
                  affine_rows *affine)
{
    vfloat lo[QUANTIZE_ROWS], hi[QUANTIZE_ROWS];
    for (uint32_t i = 0; i < QUANTIZE_ROWS; i++) {
        bool is_row = r + i < R;
        hi[i] = is_row ? v_load(range->hi[r + i]) : v_set(0.0f);
        lo[i] = is_row && !is_positive ? v_load(range->lo[r + i]) : v_set(0.0f);
    }
    affine_of_rows(is_positive ? v_set(0.0f) : rows_least(lo), rows_greatest(hi), affine);
}

// Quantises a tile, first all grids, then all codes. The CPU can do nothing else while it computes
// the first grids, so this wait occurs once for each tile and not for every sixteen rows.
// is_positive: no number is below zero, and range->lo is not read.
static POLICY_INLINE void
tile_quantize(const policy_batch *x, uint32_t n, const tile_range *range, bool is_positive,
              const policy_work *work)
{
    const uint32_t R = x->rows;
    affine_rows affine[POLICY_TILE_ROWS_MAX / QUANTIZE_ROWS];
    for (uint32_t r = 0; r < R; r += QUANTIZE_ROWS) {
        some_rows_measure(r, R, range, is_positive, &affine[r / QUANTIZE_ROWS]);
    }
    for (uint32_t r = 0; r < R; r++) {
        const affine_rows *some = &affine[r / QUANTIZE_ROWS];
        const uint32_t i = r % QUANTIZE_ROWS;
        policy_affine one = {some->scale[i], some->inverse[i], some->zero_point[i]};
        work->rows[r] = (policy_row){.scale = one.scale, .zero_point = one.zero_point};
        codes_of(n, batch_row(x, r), &one, is_positive,
                 (uint8_t *)work->codes + r * work->q_stride);
    }
}

// Layers read codes and write floats, so one buffer of floats is enough, which saves space in L2.
void
policy_vnni_forward_rows(const policy_dense *layers, uint32_t count, const policy_batch *obs,
                         const policy_work *work, float *out)
{
    const policy_batch y = {work->y, work->y_stride * sizeof(float), obs->rows};
    tile_range range;
    tile_range_of(obs, layers[0].inputs, &range);
    tile_quantize(obs, layers[0].inputs, &range, false, work);
    for (uint32_t l = 0; l < count; l++) {
        const policy_dense *dense = &layers[l];
        bool is_last = l + 1 == count, is_plain_relu = policy_has_plain_relu(dense);
        policy_vnni_layer_products(dense, work, y.rows, range.hi);
        if (!is_plain_relu) { // the products did not find the ranges
            rows_finish(dense, work, y.rows);
            tile_range_of(&y, dense->outputs, &range);
        }
        if (!is_last && is_plain_relu) {
            tile_quantize(&y, dense->outputs, &range, true, work);
        } else if (!is_last) {
            tile_quantize(&y, dense->outputs, &range, false, work);
        }
    }
    uint32_t outputs = layers[count - 1].outputs;
    for (uint32_t r = 0; r < y.rows; r++) {
        numbers_copy(outputs, work->y + r * work->y_stride, out + (size_t)r * outputs);
    }
}
