// Compiled once per instruction set; NN_TILE_TABLE is the name of the table (nn/meson.build).
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

// C[ROWS][V * WIDTH], of the last vector only the first `last` columns, over the whole of K.
static POLICY_INLINE void
tile(const int ROWS, const int V, float *restrict C, size_t c_stride, const uint32_t *restrict A,
     size_t a_row, size_t a_step, const uint32_t *restrict panel, size_t b_step, size_t K,
     size_t last)
{
    vfloat sum[24]; // [ROWS][V]
    POLICY_UNROLL
    for (int i = 0; i < ROWS * V; i++) {
        sum[i] = v_zero();
    }
    for (size_t k = 0; k < K; k++, panel += b_step, A += a_step) {
        vfloat b[VECTORS_MAX];
        POLICY_UNROLL
        for (int v = 0; v < V; v++) {
            b[v] = v_load(panel + v * WIDTH);
        }
        POLICY_UNROLL
        for (int r = 0; r < ROWS; r++) {
            vfloat a = v_broadcast(A + (size_t)r * a_row);
            POLICY_UNROLL
            for (int v = 0; v < V; v++) {
                sum[r * V + v] = v_accumulate(sum[r * V + v], a, b[v]);
                POLICY_PIN(sum[r * V + v]);
            }
        }
    }
    POLICY_UNROLL
    for (int r = 0; r < ROWS; r++) {
        float *at = C + (size_t)r * c_stride;
        POLICY_UNROLL
        for (int v = 0; v < V - 1; v++) {
            v_store(at + v * WIDTH, sum[r * V + v]);
        }
        v_store_part(at + (V - 1) * WIDTH, sum[r * V + V - 1], last);
    }
}

typedef void tile_fn(float *C, size_t c_stride, const uint32_t *A, size_t a_row, size_t a_step,
                     const uint32_t *panel, size_t b_step, size_t K, size_t last);

#define TILE(ROWS, V)                                                                              \
    static void tile_##ROWS##x##V(float *C, size_t c_stride, const uint32_t *A, size_t a_row,      \
                                  size_t a_step, const uint32_t *panel, size_t b_step, size_t K,   \
                                  size_t last)                                                     \
    {                                                                                              \
        tile(ROWS, V, C, c_stride, A, a_row, a_step, panel, b_step, K, last);                      \
    }
#define TILES_6(V) TILE(1, V) TILE(2, V) TILE(3, V) TILE(4, V) TILE(5, V) TILE(6, V)
#define TILES_8(V) TILES_6(V) TILE(7, V) TILE(8, V)
#define ROWS_6(V)  NULL, tile_1x##V, tile_2x##V, tile_3x##V, tile_4x##V, tile_5x##V, tile_6x##V
#define ROWS_8(V)  ROWS_6(V), tile_7x##V, tile_8x##V

// By vectors of a tile: the most rows whose sums the registers hold, and a tile for each number of
// rows.
typedef struct tiles {
    uint32_t rows_max;
    tile_fn *by_rows[9];
} tiles;

TILES_8(1)
#if VECTORS_MAX == 2
TILES_6(2)
static const tiles tiles_of[VECTORS_MAX + 1] = {
    [1] = {8, {ROWS_8(1)}},
    [2] = {6, {ROWS_6(2)}},
};
#else
TILES_8(2)
TILES_8(3)
TILES_6(4)
static const tiles tiles_of[VECTORS_MAX + 1] = {
    [1] = {8, {ROWS_8(1)}},
    [2] = {8, {ROWS_8(2)}},
    [3] = {8, {ROWS_8(3)}},
    [4] = {6, {ROWS_6(4)}},
};
#endif

// As few tiles as can be, of nearly equal size: a tile of one row alone would be slow.
static void
tile_product(float *C, size_t c_stride, const uint32_t *A, size_t a_row, size_t a_step,
             const uint32_t *panel, size_t b_step, uint32_t M, uint32_t columns, uint32_t K)
{
    const uint32_t V = (columns + WIDTH - 1) / WIDTH;
    OCT_ASSERT(columns >= 1 && V <= VECTORS_MAX);
    const tiles *of = &tiles_of[V];
    const size_t last = columns - (size_t)(V - 1) * WIDTH;
    uint32_t left = M, count = (M + of->rows_max - 1) / of->rows_max;
    for (uint32_t row = 0; left > 0; count--) {
        uint32_t rows = (left + count - 1) / count;
        of->by_rows[rows](C + row * c_stride, c_stride, A + row * a_row, a_row, a_step, panel,
                          b_step, K, last);
        row += rows;
        left -= rows;
    }
}

#endif

// Units of K numbers, with the zeros that follow them.
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

// Squares of WIDTH columns and units are turned in registers.
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
