#ifndef NN_NN_TILE_H
#define NN_NN_TILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Kernels of matrix products on register tiles, one table per instruction set (nn_tile.c): for
// products that are too small for OpenBLAS to be fast, and for products with bfloat16 inputs.
//
// A kernel works in units of 32 bits. A unit is one float, or the bfloat16 values of two neighbours
// along K. Inputs become bfloat16 by rounding to the nearest, ties to even; products are added in
// fp32.
//
// Bits. Every element of C is one sum along K from the first unit to the last, with one FMA per
// number, so that all tables for floats give the same bits (OpenBLAS gives others). The tables for
// bfloat16 differ from each other and treat denormals as zero:
//   avx512bf16  one sum, to which units are added in order
//   amx         for each 32 numbers, one sum of the even numbers and one of the odd numbers, by
//               FMAs in order; both are added, and their sum is added to the sum so far (Intel SDM,
//               TDPBF16PS)
//
// Threads: any; tables are const. Owns: nothing.

typedef struct nn_tile_ops {
    // the table's symbol, for logs and tests
    const char *name;
    uint32_t columns; // the most columns of C that one panel of B covers
    uint32_t width;   // packed columns are rounded up to a multiple of width
    uint32_t unit;    // numbers in a unit: 1 float or 2 bfloat16
    uint32_t depth;   // units along K are rounded up to a multiple of depth in all that follows
    // panel[ceil(K / unit)][columns rounded up] = units of the first columns of B[K][stride], or of
    // B[columns][stride] transposed. Units beyond K or columns are zero.
    void (*pack)(uint32_t *panel, const float *B, bool transposed, size_t stride, uint32_t columns,
                 uint32_t K);
    // out[rows][ceil(K / unit)] = units of A[rows][K].
    void (*pack_rows)(uint32_t *out, const float *A, uint32_t rows, uint32_t K);
    // The same from A[K][stride], read transposed: its first rows columns. NULL: product takes any
    // a_step, so that pack does this job. Otherwise product needs a_step 1, and reads rows of A up
    // to the next multiple of width.
    void (*pack_rows_across)(uint32_t *out, const float *A, size_t stride, uint32_t rows,
                             uint32_t K);
    // The first `columns` columns of C[M][c_stride] = A panel, with K units along the sum: A(i, k)
    // = A[i * a_row + k * a_step], panel(k, j) = panel[k * b_step + j]; whole vectors of panel are
    // read.
    void (*product)(float *C, size_t c_stride, const uint32_t *A, size_t a_row, size_t a_step,
                    const uint32_t *panel, size_t b_step, uint32_t M, uint32_t columns, uint32_t K);
} nn_tile_ops;

// Returns the best table for floats, or NULL if this CPU has none.
const nn_tile_ops *nn_tile_float(void);
// Returns the table for bfloat16 inputs, or NULL if this CPU multiplies them no faster than floats.
// CPUs with AMX are faster (the call asks Linux to allow the process tile registers), and so are
// CPUs with AVX512-BF16 that are not Intel's.
const nn_tile_ops *nn_tile_bf16(void);

// Lists every table that this CPU can run and returns their count.
#define NN_TILE_TABLES_MAX 4
int nn_tile_tables(const nn_tile_ops *tables[NN_TILE_TABLES_MAX]);

#endif // NN_NN_TILE_H
