#ifndef POLICY_KERNELS_POLICY_TILES_H
#define POLICY_KERNELS_POLICY_TILES_H

// The matrix products of a layer on 128- and 256-bit registers, written once with the names of
// policy_simd_*.h, one of which the including file includes before; without one this header is
// empty. The including file also defines before
//   UNIT         the unit of packed int8 weights
//   CODE_OFFSET  the difference between the code of the specification and the stored code
//   v_products   (sum, codes, weights): returns sum + UNIT inputs of one row times sixteen outputs
//
// Threads: any. Owns: nothing. Rows are padded to POLICY_LANES floats.
#ifdef POLICY_SIMD

#include "common/oct_base.h"
#include "policy/kernels/policy_kernels.h"
#include "policy/kernels/policy_rows.h"
#include "policy/kernels/policy_unroll.h"

#define ROWS_MAX    4
#define SUMS_MAX    4   // accumulators of a tile, sixteen lanes each
#define CHAINS      4   // chains in a float sum (policy_kernels.h)
#define PART_INPUTS 256 // inputs whose weights for sixteen outputs stay in L1; a multiple of CHAINS

static POLICY_INLINE void
tile_store(const policy_dense *dense, float *y, size_t at, vfloat sum)
{
    vfloat out = v_add(sum, v_load(dense->bias + at));
    v_store(y + at, policy_has_plain_relu(dense) ? v_max(out, v_set(0.0f)) : out);
}

// A part of a layer's outputs: the rows from row r, and the groups from group g.
typedef struct tile {
    const policy_dense *dense;
    const policy_work *work;
    uint32_t r;
    size_t g;
} tile;

// Computes y[ROWS][GROUPS * 16] of a tile.
static POLICY_INLINE void
tile_q8(const int ROWS, const int GROUPS, const tile *t)
{
    const policy_dense *dense = t->dense;
    const size_t g = t->g, q_stride = t->work->q_stride / sizeof(vcode);
    const size_t y_stride = t->work->y_stride;
    const vcode *restrict codes = (const vcode *)t->work->codes + t->r * q_stride;
    const policy_row *restrict rows = t->work->rows + t->r;
    float *restrict y = t->work->y + t->r * y_stride;
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

// Returns sixteen weights of one input as floats.
static POLICY_INLINE vfloat
weights_widen(const policy_precision PRECISION, const void *weights, size_t at)
{
    return PRECISION == POLICY_BF16   ? v_load_bf16((const uint16_t *)weights + at)
           : PRECISION == POLICY_FP16 ? v_load_fp16((const uint16_t *)weights + at)
                                      : v_load((const float *)weights + at);
}

// Prefetches weights. Chains that run one after the other leave gaps in the stream of weights,
// which hardware prefetchers do not predict, so each chain prefetches its share of the next part
// (or group). An address past the end does no harm, as a prefetch never faults.
static POLICY_INLINE void
weights_prefetch(const policy_precision PRECISION, const void *weights, size_t input)
{
    const size_t size = PRECISION == POLICY_FP32 ? sizeof(float) : sizeof(uint16_t);
    __builtin_prefetch((const void *)((uintptr_t)weights + input * POLICY_LANES * size));
}

// The inputs begin .. end - 1 of some rows, begin a multiple of CHAINS, and one group's weights.
typedef struct inputs_part {
    const void *weights;
    size_t begin, end;
    const float *x; // the first row
    size_t x_stride;
} inputs_part;

// Continues chains[ROWS][CHAINS][16], from +0 if begin is 0, over a part of the inputs. SIDE chains
// run side by side, because few rows alone would not hide the latency of an FMA.
static POLICY_INLINE void
tile_floats(const int ROWS, const int SIDE, const policy_precision PRECISION,
            const inputs_part *part, float *restrict chains)
{
    const void *weights = part->weights;
    const size_t begin = part->begin, end = part->end, x_stride = part->x_stride;
    const float *restrict x = part->x;
    for (int c = 0; c < CHAINS; c += SIDE) {
        float *at = chains + c * POLICY_LANES;
        vfloat acc[SUMS_MAX]; // [SIDE][ROWS]
        POLICY_UNROLL
        for (int i = 0; i < SIDE * ROWS; i++) {
            const float *from = at + (i % ROWS * CHAINS + i / ROWS) * POLICY_LANES;
            acc[i] = begin == 0 ? v_set(0.0f) : v_load(from);
        }
        size_t k = begin + (size_t)c;
        for (; k + (size_t)SIDE <= end; k += CHAINS) {
            POLICY_UNROLL
            for (int i = 0; ROWS > 1 && i < SIDE; i++) {
                weights_prefetch(PRECISION, weights, k + (size_t)i + PART_INPUTS);
            }
            POLICY_UNROLL
            for (int i = 0; i < SIDE * ROWS; i++) {
                const size_t input = k + (size_t)(i / ROWS);
                vfloat w = weights_widen(PRECISION, weights, input * POLICY_LANES);
                acc[i] = v_fma(v_set(x[(size_t)(i % ROWS) * x_stride + input]), w, acc[i]);
                V_PIN(acc[i]);
            }
        }
        POLICY_UNROLL
        for (int i = 0; i < (SIDE - 1) * ROWS; i++) {
            const size_t input = k + (size_t)(i / ROWS);
            if (input < end) {
                vfloat w = weights_widen(PRECISION, weights, input * POLICY_LANES);
                acc[i] = v_fma(v_set(x[(size_t)(i % ROWS) * x_stride + input]), w, acc[i]);
            }
        }
        POLICY_UNROLL
        for (int i = 0; i < SIDE * ROWS; i++) {
            v_store(at + (i % ROWS * CHAINS + i / ROWS) * POLICY_LANES, acc[i]);
        }
    }
}

typedef void tile_q8_fn(const tile *t);
typedef void tile_floats_fn(const inputs_part *part, float *chains);

#define TILE_Q8(ROWS, GROUPS)                                                                      \
    static void tile_q8_##ROWS##x##GROUPS(const tile *t)                                           \
    {                                                                                              \
        tile_q8(ROWS, GROUPS, t);                                                                  \
    }
TILE_Q8(1, 1)
TILE_Q8(2, 1)
TILE_Q8(3, 1)
TILE_Q8(4, 1)
TILE_Q8(1, 4)
TILE_Q8(2, 2)
#undef TILE_Q8

#define TILE_FLOATS(ROWS, SIDE, PRECISION)                                                         \
    static void tile_##PRECISION##_##ROWS(const inputs_part *part, float *chains)                  \
    {                                                                                              \
        tile_floats(ROWS, SIDE, PRECISION, part, chains);                                          \
    }
#define TILES_FLOATS(PRECISION)                                                                    \
    TILE_FLOATS(1, 4, PRECISION)                                                                   \
    TILE_FLOATS(2, 2, PRECISION)                                                                   \
    TILE_FLOATS(3, 1, PRECISION)                                                                   \
    TILE_FLOATS(4, 1, PRECISION)                                                                   \
    static tile_floats_fn *const tiles_##PRECISION[ROWS_MAX + 1] = {                               \
        NULL, tile_##PRECISION##_1, tile_##PRECISION##_2, tile_##PRECISION##_3,                    \
        tile_##PRECISION##_4};
TILES_FLOATS(POLICY_FP32)
TILES_FLOATS(POLICY_BF16)
TILES_FLOATS(POLICY_FP16)
#undef TILES_FLOATS
#undef TILE_FLOATS

// The tiles for a number of rows: with one group of outputs, and with as many as the registers
// hold.
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

// Computes rows first .. R - 1, a multiple of at_a_time, with at_a_time rows in a tile. Groups are
// the outer loop and rows the inner one, so weights come from the outer caches once.
static void
layer_part_q8(tile t, uint32_t at_a_time, uint32_t R)
{
    const uint32_t first = t.r;
    size_t count = policy_groups(t.dense), groups = tiles_q8[at_a_time].groups;
    while (t.g < count) {
        bool is_many = t.g + groups <= count;
        tile_q8_fn *compute = is_many ? tiles_q8[at_a_time].many : tiles_q8[at_a_time].one;
        for (t.r = first; t.r < R; t.r += at_a_time) {
            compute(&t);
        }
        t.g += is_many ? groups : 1;
    }
}

static void
tiles_layer_q8(const policy_dense *dense, const policy_work *work, uint32_t R)
{
    const uint32_t rest = R % ROWS_MAX, whole = R - rest;
    if (whole > 0) {
        layer_part_q8((tile){dense, work, 0, 0}, ROWS_MAX, whole);
    }
    if (rest > 0) {
        layer_part_q8((tile){dense, work, whole, 0}, rest, R);
    }
    rows_finish(dense, work, R);
}

// Returns how many of the R remaining rows the next tile takes. Five rows are three and two,
// because a tile of one row is slow.
static inline uint32_t
rows_next(uint32_t R)
{
    return R == ROWS_MAX + 1 ? ROWS_MAX - 1 : OCT_MIN(R, ROWS_MAX);
}

// Computes one group of outputs. Parts of its weights that fit into L1 are the outer loop and rows
// the inner one.
static inline void
group_floats(tile_floats_fn *const *by_rows, const policy_dense *dense, const policy_work *work,
             uint32_t R, size_t g)
{
    _Alignas(64) float chains[POLICY_TILE_ROWS][CHAINS][POLICY_LANES];
    const size_t K = dense->inputs, at = g * POLICY_LANES;
    const size_t size = dense->precision == POLICY_FP32 ? sizeof(float) : sizeof(uint16_t);
    inputs_part part = {.weights = (const uint8_t *)dense->weights + at * K * size,
                        .x_stride = work->x_stride};
    for (; part.begin < K; part.begin = part.end) {
        part.end = OCT_MIN(part.begin + PART_INPUTS, K);
        for (uint32_t r = 0; r < R;) {
            uint32_t count = rows_next(R - r);
            part.x = work->x + r * work->x_stride;
            by_rows[count](&part, &chains[r][0][0]);
            r += count;
        }
    }
    for (uint32_t r = 0; r < R; r++) {
        vfloat early = v_add(v_load(chains[r][0]), v_load(chains[r][1]));
        vfloat late = v_add(v_load(chains[r][2]), v_load(chains[r][3]));
        tile_store(dense, work->y + r * work->y_stride, at, v_add(early, late));
    }
}

static void
tiles_layer_floats(const policy_dense *dense, const policy_work *work, uint32_t R)
{
    tile_floats_fn *const *by_rows = dense->precision == POLICY_BF16   ? tiles_POLICY_BF16
                                     : dense->precision == POLICY_FP16 ? tiles_POLICY_FP16
                                                                       : tiles_POLICY_FP32;
    for (size_t g = 0; g < policy_groups(dense); g++) {
        group_floats(by_rows, dense, work, R, g);
    }
    rows_finish(dense, work, R);
}

#endif // POLICY_SIMD

#endif // POLICY_KERNELS_POLICY_TILES_H
