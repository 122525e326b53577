#ifndef NN_NN_GEMM_H
#define NN_NN_GEMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nn/nn_context.h"

// Matrix products, the only place that knows BLAS. All matrices are row-major and dense. Which
// kernels do a product (own tiles, nn_tile.h, or OpenBLAS) is told by its sizes.
//
// Threads: as the context; nn_blas_init before any product runs.
// Owns: OpenBLAS' thread count, one for the process. Work spaces are the context's.

// Sets OpenBLAS' thread count and makes it reserve its work space. Returns the name of the kernel
// family that OpenBLAS chose ("SkylakeX", static storage). warning gets one line for a person when
// OpenBLAS was measured to be slow and there is a remedy, "" otherwise; with one thread it is not
// used where this CPU has own kernels.
//
// Before that OpenBLAS has one thread (nn_blas_start.c), or $OPENBLAS_NUM_THREADS of them, of which
// idle ones spin for about 0.1 s of CPU time before they sleep.
const char *nn_blas_init(uint32_t threads, char *warning, size_t warning_size);

// Writes the warning of nn_blas_init. ratio: OpenBLAS' time by that of own kernels. family: the
// kernels that OpenBLAS chose; best: those for this CPU, NULL if they are not known. Variables of
// the environment that force OpenBLAS are named.
void nn_blas_advise(double ratio, const char *family, const char *best, char *warning,
                    size_t warning_size);

// Makes room for a layer's products, forward and backward, so that they allocate nothing: x[M][K],
// W[N][K].
void nn_gemm_reserve(nn_context *context, uint32_t M, uint32_t N, uint32_t K);

// C[M][N] = A[M][K] B[K][N]
void nn_gemm_nn(nn_context *context, float *C, const float *A, const float *B, uint32_t M,
                uint32_t N, uint32_t K);
// C[M][N] = A[M][K] B[N][K]^T
void nn_gemm_nt(nn_context *context, float *C, const float *A, const float *B, uint32_t M,
                uint32_t N, uint32_t K);
// C[M][N] = A[K][M]^T B[K][N]
void nn_gemm_tn(nn_context *context, float *C, const float *A, const float *B, uint32_t M,
                uint32_t N, uint32_t K);

// What is done with rows of a product as soon as they are there, while they are in a near cache:
// called for blocks of rows first .. first + rows, in order, until all were given once.
typedef void nn_gemm_rows_fn(void *arg, uint32_t first, uint32_t rows);
void nn_gemm_nn_then(nn_context *context, float *C, const float *A, const float *B, uint32_t M,
                     uint32_t N, uint32_t K, nn_gemm_rows_fn *then, void *arg);
void nn_gemm_nt_then(nn_context *context, float *C, const float *A, const float *B, uint32_t M,
                     uint32_t N, uint32_t K, nn_gemm_rows_fn *then, void *arg);

// B[N][K] as the kernels read it, kept for products to come: packing it is a tenth of a product of
// 256 rows. Large ones are packed piece by piece, each used while it is in a near cache, and not
// kept.
typedef struct nn_panels {
    uint32_t *units; // [room], on a cache line
    size_t room;     // nn_gemm_panel_units; with less, nothing is kept
    const void *ops; // the kernels that it was packed for; NULL: it is not packed
} nn_panels;
// Of a B[N][K]; 0: it is too large.
size_t nn_gemm_panel_units(const nn_context *context, uint32_t N, uint32_t K);
// As nn_gemm_nt_then. Packs B into panels (NULL: keeps nothing) if the kernels have none of it; the
// caller clears ops when B changes.
void nn_gemm_nt_kept(nn_context *context, float *C, const float *A, const float *B,
                     nn_panels *panels, uint32_t M, uint32_t N, uint32_t K, nn_gemm_rows_fn *then,
                     void *arg);

// The same by the definition, summed in double: what the tests compare with.
void nn_gemm_ref(float *C, const float *A, bool transpose_a, const float *B, bool transpose_b,
                 uint32_t M, uint32_t N, uint32_t K);

#endif // NN_NN_GEMM_H
