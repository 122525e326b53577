#ifndef NN_NN_TILE_H
#define NN_NN_TILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Kernels of matrix products on register tiles, one table per instruction set (nn_tile.c):
// for products too small for OpenBLAS to be good at, and with bfloat16 inputs.
//
// A kernel works in units: one float, or the bfloat16 values of two neighbours along K, which lie
// in the same 32 bits. Inputs become bfloat16 by rounding to the nearest, ties to even; products
// are added in fp32. Every element of C is one sum along K from the first unit to the last, so that
// tables for floats give the same bits (one FMA per number; not those of OpenBLAS). Tables for
// bfloat16 differ in theirs, and take denormals as zero:
//   avx512bf16: one sum, to which units are added in order
//   amx: for each 32 numbers a sum of the even ones and one of the odd ones, by FMAs in order; both
//   are added, and the result to the sum of those before (Intel SDM, TDPBF16PS)
//
// Threads: any; tables are const. Owns: nothing.

typedef struct nn_tile_ops {
    const char *name;
    uint32_t columns; // of C in one panel of B, at most
    uint32_t width;   // to a multiple of which packed columns are rounded up
    uint32_t unit;    // numbers in a unit
    uint32_t depth;   // to a multiple of which units along K are rounded up, in all that follows
    // panel[ceil(K / unit)][columns rounded up] of units = the first columns of B[K][stride], or of
    // B[columns][stride]^T; what is rounded up is zero.
    void (*pack)(uint32_t *panel, const float *B, bool transposed, size_t stride, uint32_t columns,
                 uint32_t K);
    // out[rows][ceil(K / unit)] of units = A[rows][K]
    void (*pack_rows)(uint32_t *out, const float *A, uint32_t rows, uint32_t K);
    // The same from A[K][stride] read transposed, its first rows columns. NULL: product takes any
    // a_step, so that pack serves. Else a_step must be 1, and product reads rows of A up to the
    // next multiple of width.
    void (*pack_rows_across)(uint32_t *out, const float *A, size_t stride, uint32_t rows,
                             uint32_t K);
    // C[M][c_stride], the first columns of it, = A panel, all in units and with K of them:
    // A(i, k) = A[i * a_row + k * a_step], panel(k, j) = panel[k * b_step + j] up to whole vectors.
    void (*product)(float *C, size_t c_stride, const uint32_t *A, size_t a_row, size_t a_step,
                    const uint32_t *panel, size_t b_step, uint32_t M, uint32_t columns, uint32_t K);
} nn_tile_ops;

// The best table for floats, NULL where this CPU has none.
const nn_tile_ops *nn_tile_float(void);
// The table for bfloat16 inputs, NULL where this CPU does not multiply them faster than floats: it
// does by AMX, which the process asks Linux for here, and by AVX512-BF16 unless Intel made it.
const nn_tile_ops *nn_tile_bf16(void);

// Every table that this CPU can run; returns how many.
#define NN_TILE_TABLES_MAX 4
int nn_tile_tables(const nn_tile_ops *tables[NN_TILE_TABLES_MAX]);

#endif // NN_NN_TILE_H
