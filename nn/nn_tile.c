// Matrix products on register tiles. Compiled once per instruction set; NN_TILE_TABLE is the name
// of the table (nn/meson.build).
//
// A tile holds ROWS x V vectors of sums in registers while it walks the whole of K. Rows of A are
// read one unit at a time and broadcast; rows of the panel of B are read as vectors. There is one
// function for each number of rows and vectors, so that all loops but the one along K are unrolled.
#include "nn/nn_tile.h"

#include "common/oct_base.h"
#include "nn/nn_tile_simd.h"
#include "nn/nn_tile_tables.h"
#include "policy/kernels/policy_unroll.h"

#ifdef NN_TILE_SIMD

#if defined(__AMX_BF16__)

#include "nn/nn_tile_amx.h"

#define DEPTH        AMX_ROWS
#define TILE_PRODUCT amx_product

#else

#define DEPTH        1
#define TILE_PRODUCT tile_product

// Computes C[ROWS][V * WIDTH] over the whole of K; of the last vector only the first `last` columns
// are stored. HALF: `last` is at most half a vector, and the other half is not computed.
static POLICY_INLINE void
tile(const int ROWS, const int V, const bool HALF, float *restrict C, size_t c_stride,
     const uint32_t *restrict A, size_t a_row, size_t a_step, const uint32_t *restrict panel,
     size_t b_step, size_t K, size_t last)
{
    const int W = HALF ? V - 1 : V; // whole vectors
    vfloat sum[24];                 // [ROWS][W]; 24 is 6 rows of 4 vectors, or 8 rows of 3
    vhalf rest[8];                  // [ROWS]
    POLICY_UNROLL
    for (int i = 0; i < ROWS * W; i++) {
        sum[i] = v_zero();
    }
    POLICY_UNROLL
    for (int r = 0; r < ROWS; r++) {
        rest[r] = half_of(v_zero());
    }
    for (size_t k = 0; k < K; k++, panel += b_step, A += a_step) {
        vfloat b[VECTORS_MAX];
        POLICY_UNROLL
        for (int v = 0; v < W; v++) {
            b[v] = v_load(panel + v * WIDTH);
        }
        vhalf end = HALF ? half_load(panel + W * WIDTH) : half_of(b[0]);
        POLICY_UNROLL
        for (int r = 0; r < ROWS; r++) {
            vfloat a = v_broadcast(A + (size_t)r * a_row);
            POLICY_UNROLL
            for (int v = 0; v < W; v++) {
                sum[r * W + v] = v_accumulate(sum[r * W + v], a, b[v]);
                POLICY_PIN(sum[r * W + v]);
            }
            if (HALF) {
                rest[r] = half_accumulate(rest[r], half_of(a), end);
                POLICY_PIN(rest[r]);
            }
        }
    }
    POLICY_UNROLL
    for (int r = 0; r < ROWS; r++) {
        float *at = C + (size_t)r * c_stride;
        POLICY_UNROLL
        for (int v = 0; v < V - 1; v++) {
            v_store(at + v * WIDTH, sum[r * W + v]);
        }
        if (HALF) {
            half_store_part(at + W * WIDTH, rest[r], last);
        } else {
            v_store_part(at + (V - 1) * WIDTH, sum[r * W + V - 1], last);
        }
    }
}

typedef void tile_fn(float *C, size_t c_stride, const uint32_t *A, size_t a_row, size_t a_step,
                     const uint32_t *panel, size_t b_step, size_t K, size_t last);

#define TILE(ROWS, V, HALF)                                                                        \
    static void tile_##ROWS##x##V##_##HALF(float *C, size_t c_stride, const uint32_t *A,           \
                                           size_t a_row, size_t a_step, const uint32_t *panel,     \
                                           size_t b_step, size_t K, size_t last)                   \
    {                                                                                              \
        tile(ROWS, V, HALF, C, c_stride, A, a_row, a_step, panel, b_step, K, last);                \
    }
#define TILES_6(V, H)                                                                              \
    TILE(1, V, H) TILE(2, V, H) TILE(3, V, H) TILE(4, V, H) TILE(5, V, H) TILE(6, V, H)
#define TILES_8(V, H) TILES_6(V, H) TILE(7, V, H) TILE(8, V, H)
#define ROWS_6(V, H)                                                                               \
    NULL, tile_1x##V##_##H, tile_2x##V##_##H, tile_3x##V##_##H, tile_4x##V##_##H,                  \
        tile_5x##V##_##H, tile_6x##V##_##H
#define ROWS_8(V, H) ROWS_6(V, H), tile_7x##V##_##H, tile_8x##V##_##H

// The tiles of V vectors: the most rows whose sums fit the registers, and a function for each
// number of rows.
typedef struct tiles {
    uint32_t rows_max;
    tile_fn *by_rows[9];
} tiles;

TILES_8(1, 0)
#if VECTORS_MAX == 2
TILES_6(2, 0)
static const tiles tiles_whole[VECTORS_MAX + 1] = {
    [1] = {8, {ROWS_8(1, 0)}},
    [2] = {6, {ROWS_6(2, 0)}},
};
#define tiles_half tiles_whole
#else
TILES_8(2, 0)
TILES_8(3, 0)
TILES_6(4, 0)
static const tiles tiles_whole[VECTORS_MAX + 1] = {
    [1] = {8, {ROWS_8(1, 0)}},
    [2] = {8, {ROWS_8(2, 0)}},
    [3] = {8, {ROWS_8(3, 0)}},
    [4] = {6, {ROWS_6(4, 0)}},
};
TILES_8(1, 1)
TILES_8(2, 1)
TILES_8(3, 1)
TILES_6(4, 1)
static const tiles tiles_half[VECTORS_MAX + 1] = {
    [1] = {8, {ROWS_8(1, 1)}},
    [2] = {8, {ROWS_8(2, 1)}},
    [3] = {8, {ROWS_8(3, 1)}},
    [4] = {6, {ROWS_6(4, 1)}},
};
#endif

// Uses the fewest tiles possible, of nearly equal size, because a tile of a single row is slow.
static void
tile_product(float *C, size_t c_stride, const uint32_t *A, size_t a_row, size_t a_step,
             const uint32_t *panel, size_t b_step, uint32_t M, uint32_t columns, uint32_t K)
{
    const uint32_t V = (columns + WIDTH - 1) / WIDTH;
    OCT_ASSERT(columns >= 1 && V <= VECTORS_MAX);
    const size_t last = columns - (size_t)(V - 1) * WIDTH;
    const tiles *of = last <= WIDTH / 2 ? &tiles_half[V] : &tiles_whole[V];
    const uint32_t count = (M + of->rows_max - 1) / of->rows_max;
    const uint32_t least = M / count, larger = M % count; // the first tiles have a row more
    for (uint32_t i = 0, row = 0; i < count; i++) {
        const uint32_t rows = least + (i < larger);
        of->by_rows[rows](C + row * c_stride, c_stride, A + row * a_row, a_row, a_step, panel,
                          b_step, K, last);
        row += rows;
    }
}

#endif

// Units of K numbers, rounded up to DEPTH.
static size_t
units_of(uint32_t K)
{
    const size_t units = ((size_t)K + UNIT - 1) / UNIT;
    return (units + DEPTH - 1) / DEPTH * DEPTH;
}

static void
pack_columns(uint32_t *panel, const float *B, size_t stride, uint32_t columns, uint32_t K)
{
    const size_t units = units_of(K);
    for (size_t unit = 0; unit < units; unit++) {
        for (size_t c = 0; c < columns; c += WIDTH, panel += WIDTH) {
            v_store(panel, units_of_columns(B + c, stride, unit, K, columns - c));
        }
    }
}

// Packs rows of B as columns: squares of WIDTH columns and units are transposed in registers.
static void
pack_transposed(uint32_t *panel, const float *B, size_t stride, uint32_t columns, uint32_t K)
{
    const size_t units = units_of(K);
    const size_t width = (columns + WIDTH - 1) / WIDTH * WIDTH;
    for (size_t c = 0; c < columns; c += WIDTH) {
        for (size_t unit = 0; unit < units; unit += WIDTH) {
            vfloat a[WIDTH];
            for (size_t i = 0; i < WIDTH; i++) {
                a[i] = c + i < columns ? units_of_row(B + (c + i) * stride, unit, K) : v_zero();
            }
            v_transpose(a);
            for (size_t i = 0; i < WIDTH && unit + i < units; i++) {
                v_store(panel + (unit + i) * width + c, a[i]);
            }
        }
    }
}

static void
tile_pack(uint32_t *panel, const float *B, bool transposed, size_t stride, uint32_t columns,
          uint32_t K)
{
    if (transposed) {
        pack_transposed(panel, B, stride, columns, K);
    } else {
        pack_columns(panel, B, stride, columns, K);
    }
}

static void
tile_pack_rows(uint32_t *out, const float *A, uint32_t rows, uint32_t K)
{
    const size_t units = units_of(K);
    for (size_t row = 0; row < rows; row++, A += K, out += units) {
        for (size_t unit = 0; unit < units; unit += WIDTH) {
            v_store_part((float *)(out + unit), units_of_row(A, unit, K), units - unit);
        }
    }
}

#if DEPTH > 1

// Squares of WIDTH columns and units are transposed in registers.
static void
tile_pack_rows_across(uint32_t *out, const float *A, size_t stride, uint32_t rows, uint32_t K)
{
    const size_t units = units_of(K);
    for (size_t row = 0; row < rows; row += WIDTH) {
        for (size_t unit = 0; unit < units; unit += WIDTH) {
            vfloat a[WIDTH];
            for (size_t i = 0; i < WIDTH; i++) {
                a[i] = units_of_columns(A + row, stride, unit + i, K, rows - row);
            }
            v_transpose(a);
            for (size_t i = 0; i < WIDTH && row + i < rows; i++) {
                v_store(out + (row + i) * units + unit, a[i]);
            }
        }
    }
}

#endif

#define NAME_TEXT(name)  #name
#define NAME_VALUE(name) NAME_TEXT(name)

const nn_tile_ops NN_TILE_TABLE = {
    .name = NAME_VALUE(NN_TILE_TABLE),
    .columns = VECTORS_MAX * WIDTH,
    .width = WIDTH,
    .unit = UNIT,
    .depth = DEPTH,
    .pack = tile_pack,
    .pack_rows = tile_pack_rows,
#if DEPTH > 1
    .pack_rows_across = tile_pack_rows_across,
#endif
    .product = TILE_PRODUCT,
};

#endif // NN_TILE_SIMD
