#ifndef NN_NN_TILE_AMX_H
#define NN_NN_TILE_AMX_H

// The product of nn_tile.c with Intel's AMX: 16 x 16 sums stay in a tile register, and one
// instruction adds 32 products to each sum. Panels and rows have the format of the other bfloat16
// table, padded along K with zeros to whole tiles.

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#include "common/oct_base.h"
#include "policy/kernels/policy_unroll.h"

#define AMX_ROWS  16
#define AMX_BYTES 64 // bytes in a row of a tile: 16 units, or 16 sums

// The operand of LDTILECFG (Intel SDM volume 1, 18.3): palette 1, eight tiles of full size.
typedef struct amx_config {
    uint8_t palette, start_row;
    uint8_t reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} amx_config;

_Static_assert(sizeof(amx_config) == 64, "LDTILECFG reads 64 bytes");

static const amx_config amx_full = {
    .palette = 1,
    .row_bytes = {AMX_BYTES, AMX_BYTES, AMX_BYTES, AMX_BYTES, AMX_BYTES, AMX_BYTES, AMX_BYTES,
                  AMX_BYTES},
    .rows = {AMX_ROWS, AMX_ROWS, AMX_ROWS, AMX_ROWS, AMX_ROWS, AMX_ROWS, AMX_ROWS, AMX_ROWS},
};

// Tile numbers must be constants: 0 to 3 are sums (row by column), 4 and 5 left operands, 6 and 7
// right operands. AMX_STORE writes the part of a tile that lies within C.
#define AMX_STORE(TILE, ROW, COLUMN)                                                               \
    do {                                                                                           \
        if (rows >= (ROW) + AMX_ROWS && columns >= (COLUMN) + AMX_ROWS) {                          \
            _tile_stored(TILE, C + (ROW)*c_stride + (COLUMN), c_stride * sizeof(*C));              \
        } else if (rows > (ROW) && columns > (COLUMN)) {                                           \
            _tile_stored(TILE, part, AMX_BYTES);                                                   \
            amx_copy(C + (ROW)*c_stride + (COLUMN), c_stride, part, rows - (ROW),                  \
                     columns - (COLUMN));                                                          \
        }                                                                                          \
    } while (0)

// Copies at most one tile of sums from part to C.
static inline void
amx_copy(float *C, size_t c_stride, const float *part, size_t rows, size_t columns)
{
    rows = OCT_MIN(rows, (size_t)AMX_ROWS);
    columns = OCT_MIN(columns, (size_t)AMX_ROWS);
    for (size_t row = 0; row < rows; row++) {
        memcpy(C + row * c_stride, part + row * AMX_ROWS, columns * sizeof(*C));
    }
}

// Computes up to 32 x 32 sums. ROW_TILES and COLUMN_TILES are 1 where the second tile of an operand
// would lie outside C.
static POLICY_INLINE void
amx_block(const int ROW_TILES, const int COLUMN_TILES, float *C, size_t c_stride, const uint32_t *A,
          size_t a_row, const uint32_t *panel, size_t b_step, size_t rows, size_t columns, size_t K)
{
    float part[AMX_ROWS * AMX_ROWS];
    const size_t a_bytes = a_row * sizeof(*A), b_bytes = b_step * sizeof(*panel);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (size_t k = 0; k < K; k += AMX_ROWS, A += AMX_ROWS, panel += AMX_ROWS * b_step) {
        _tile_loadd(4, A, a_bytes);
        _tile_loadd(6, panel, b_bytes);
        _tile_dpbf16ps(0, 4, 6);
        if (COLUMN_TILES == 2) {
            _tile_loadd(7, panel + AMX_ROWS, b_bytes);
            _tile_dpbf16ps(1, 4, 7);
        }
        if (ROW_TILES == 2) {
            _tile_loadd(5, A + AMX_ROWS * a_row, a_bytes);
            _tile_dpbf16ps(2, 5, 6);
        }
        if (ROW_TILES == 2 && COLUMN_TILES == 2) {
            _tile_dpbf16ps(3, 5, 7);
        }
    }
    AMX_STORE(0, 0, 0);
    AMX_STORE(1, 0, AMX_ROWS);
    AMX_STORE(2, AMX_ROWS, 0);
    AMX_STORE(3, AMX_ROWS, AMX_ROWS);
}

// nn_tile_ops.product; a_step is 1 and K a multiple of 16. Reads rows of A up to a multiple of 16.
static void
amx_product(float *C, size_t c_stride, const uint32_t *A, size_t a_row, size_t a_step,
            const uint32_t *panel, size_t b_step, uint32_t M, uint32_t columns, uint32_t K)
{
    OCT_ASSERT(a_step == 1 && K % AMX_ROWS == 0);
    _tile_loadconfig(&amx_full);
    for (size_t column = 0; column < columns; column += 2 * AMX_ROWS) {
        const size_t c = columns - column;
        for (size_t row = 0; row < M; row += 2 * AMX_ROWS) {
            const size_t r = M - row;
            float *at = C + row * c_stride + column;
            const uint32_t *left = A + row * a_row, *right = panel + column;
            if (r > AMX_ROWS && c > AMX_ROWS) {
                amx_block(2, 2, at, c_stride, left, a_row, right, b_step, r, c, K);
            } else if (r > AMX_ROWS) {
                amx_block(2, 1, at, c_stride, left, a_row, right, b_step, r, c, K);
            } else if (c > AMX_ROWS) {
                amx_block(1, 2, at, c_stride, left, a_row, right, b_step, r, c, K);
            } else {
                amx_block(1, 1, at, c_stride, left, a_row, right, b_step, r, c, K);
            }
        }
    }
    _tile_release(); // the tile registers are empty, so a thread switch need not save them
}

#endif // NN_NN_TILE_AMX_H
