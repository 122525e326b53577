// Layers in FP32, BF16 and FP16 on AVX-512: sixteen outputs at a time, each with four chains of
// fused multiply-adds (policy_kernels.h).
#include "policy/kernels/policy_vnni.h"

#include "policy/kernels/policy_simd_avx512.h"

#include "policy/kernels/policy_rows.h"
#include "policy/kernels/policy_unroll.h"

#define CHAINS   4
#define ROWS_MAX 3
#define SUMS_MAX 24 // accumulators of a tile

// Returns the sixteen weights from index i as floats.
static POLICY_INLINE vfloat
weights_load(const policy_precision PRECISION, const void *weights, size_t i)
{
    if (PRECISION == POLICY_FP32) {
        return _mm512_load_ps((const float *)weights + i);
    }
    __m256i halves = _mm256_load_si256((const void *)((const uint16_t *)weights + i));
    if (PRECISION == POLICY_FP16) {
        return _mm512_cvtph_ps(halves);
    }
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
}

// A part of a layer's outputs: the rows from row r, and the groups from group g.
typedef struct tile {
    const policy_dense *dense;
    const policy_work *work;
    uint32_t r;
    size_t g;
} tile;

// The operands of a tile: the weights of its first group, and its first row of inputs.
typedef struct operands {
    policy_precision precision;
    const void *w;
    size_t group_size; // weights
    const float *x;
    size_t x_stride;
} operands;

// acc[GROUPS of w][ROWS] += the weights of input k times x[k] of each row.
static POLICY_INLINE void
input_add(const int ROWS, const int GROUPS, vfloat *acc, const operands *of, size_t k)
{
    vfloat one[ROWS_MAX];
    POLICY_UNROLL
    for (int r = 0; r < ROWS; r++) {
        one[r] = v_set(of->x[(size_t)r * of->x_stride + k]);
    }
    POLICY_UNROLL
    for (int g = 0; g < GROUPS; g++) {
        const size_t at = (size_t)g * of->group_size + k * POLICY_LANES;
        vfloat weights = weights_load(of->precision, of->w, at);
        if (ROWS > 1) {
            POLICY_PIN(weights); // loaded once, not for each row
        }
        POLICY_UNROLL
        for (int r = 0; r < ROWS; r++) {
            acc[g * ROWS + r] = _mm512_fmadd_ps(one[r], weights, acc[g * ROWS + r]);
            POLICY_PIN(acc[g * ROWS + r]);
        }
    }
}

// Computes y[ROWS][GROUPS * 16] of a tile.
static POLICY_INLINE void
tile_float(const policy_precision PRECISION, const int ROWS, const int GROUPS, const tile *t)
{
    const policy_dense *dense = t->dense;
    const float *restrict bias = dense->bias; // read now, not after each store
    const size_t K = dense->inputs, group_size = K * POLICY_LANES;
    const size_t size = PRECISION == POLICY_FP32 ? sizeof(float) : sizeof(uint16_t);
    const operands of = {PRECISION, (const uint8_t *)dense->weights + t->g * group_size * size,
                         group_size, t->work->x + t->r * t->work->x_stride, t->work->x_stride};
    const size_t g = t->g, y_stride = t->work->y_stride;
    float *restrict y = t->work->y + t->r * y_stride;
    const int N = ROWS * GROUPS;
    vfloat acc[SUMS_MAX]; // [CHAINS][GROUPS][ROWS]
    POLICY_UNROLL
    for (int i = 0; i < CHAINS * N; i++) {
        acc[i] = v_set(0.0f);
    }
    size_t k = 0;
    for (; k + CHAINS <= K; k += CHAINS) {
        POLICY_UNROLL
        for (int c = 0; c < CHAINS; c++) {
            input_add(ROWS, GROUPS, acc + c * N, &of, k + (size_t)c);
        }
    }
    POLICY_UNROLL
    for (int c = 0; c < CHAINS - 1; c++) {
        if (k + (size_t)c < K) {
            input_add(ROWS, GROUPS, acc + c * N, &of, k + (size_t)c);
        }
    }
    const bool is_relu = policy_has_plain_relu(dense);
    POLICY_UNROLL
    for (int i = 0; i < N; i++) {
        const size_t at = (g + (size_t)(i / ROWS)) * POLICY_LANES;
        vfloat sum = v_add(v_add(acc[i], acc[N + i]), v_add(acc[2 * N + i], acc[3 * N + i]));
        vfloat out = v_add(sum, v_load(bias + at));
        v_store(y + (size_t)(i % ROWS) * y_stride + at, is_relu ? v_max(out, v_set(0.0f)) : out);
    }
}

typedef void tile_float_fn(const tile *t);

#define TILE(NAME, PRECISION, ROWS, GROUPS)                                                        \
    static void tile_##NAME##_##ROWS##x##GROUPS(const tile *t)                                     \
    {                                                                                              \
        tile_float(PRECISION, ROWS, GROUPS, t);                                                    \
    }
#define TILES(NAME, PRECISION)                                                                     \
    TILE(NAME, PRECISION, 1, 1)                                                                    \
    TILE(NAME, PRECISION, 1, 4)                                                                    \
    TILE(NAME, PRECISION, 2, 1)                                                                    \
    TILE(NAME, PRECISION, 2, 3)                                                                    \
    TILE(NAME, PRECISION, 3, 1)                                                                    \
    TILE(NAME, PRECISION, 3, 2)
TILES(f32, POLICY_FP32)
TILES(bf16, POLICY_BF16)
TILES(fp16, POLICY_FP16)
#undef TILES
#undef TILE

// The tiles for a number of rows: with one group of outputs, and with as many as the registers
// hold.
typedef struct tiles_float {
    tile_float_fn *one;
    tile_float_fn *many;
    size_t groups;
} tiles_float;

#define BY_ROWS(NAME)                                                                              \
    {                                                                                              \
        [1] = {tile_##NAME##_1x1, tile_##NAME##_1x4, 4},                                           \
        [2] = {tile_##NAME##_2x1, tile_##NAME##_2x3, 3},                                           \
        [3] = {tile_##NAME##_3x1, tile_##NAME##_3x2, 2},                                           \
    }
static const tiles_float tiles_f32[ROWS_MAX + 1] = BY_ROWS(f32);
static const tiles_float tiles_bf16[ROWS_MAX + 1] = BY_ROWS(bf16);
static const tiles_float tiles_fp16[ROWS_MAX + 1] = BY_ROWS(fp16);
#undef BY_ROWS

// Computes rows t.r .. R - 1, a multiple of at_a_time, with at_a_time rows in a tile. Groups are
// the outer loop and rows the inner one, so weights come from the outer caches once.
static void
layer_part(const tiles_float *shape, tile t, uint32_t at_a_time, uint32_t R)
{
    const uint32_t first = t.r;
    size_t count = policy_groups(t.dense);
    while (t.g < count) {
        bool is_many = t.g + shape->groups <= count;
        tile_float_fn *compute = is_many ? shape->many : shape->one;
        for (t.r = first; t.r < R; t.r += at_a_time) {
            compute(&t);
        }
        t.g += is_many ? shape->groups : 1;
    }
}

static void
layer_float(const tiles_float *tiles, const policy_dense *dense, const policy_work *work,
            uint32_t R)
{
    uint32_t rest = R % ROWS_MAX, whole = R - rest;
    layer_part(&tiles[ROWS_MAX], (tile){dense, work, 0, 0}, ROWS_MAX, whole);
    if (rest > 0) {
        layer_part(&tiles[rest], (tile){dense, work, whole, 0}, rest, R);
    }
    rows_finish(dense, work, R);
}

void
policy_vnni_layer_f32(const policy_dense *dense, const policy_work *work, uint32_t R)
{
    layer_float(tiles_f32, dense, work, R);
}

void
policy_vnni_layer_half(const policy_dense *dense, const policy_work *work, uint32_t R)
{
    layer_float(dense->precision == POLICY_BF16 ? tiles_bf16 : tiles_fp16, dense, work, R);
}
