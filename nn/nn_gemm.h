#ifndef NN_NN_GEMM_H
#define NN_NN_GEMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nn/nn_context.h"

// Matrix products; the only file that uses BLAS. All matrices are row-major and dense. The sizes of
// a product choose its kernels: Octet's own tiles (nn_tile.h) or OpenBLAS.
//
// Threads: as the context. nn_blas_init comes before the first product.
// Owns: the thread count of OpenBLAS, one for the process. Work spaces belong to the context.

// Sets the thread count of OpenBLAS and makes OpenBLAS reserve its work space. Returns the name of
// the kernel family that OpenBLAS chose ("SkylakeX", static storage).
//
// warning receives one line for the user if OpenBLAS was measured to be slow and there is a remedy,
// otherwise "". With one thread nothing is measured, because Octet's own kernels, where this CPU
// has them, do all products.
//
// Until this call OpenBLAS has one thread (nn_blas_start.c), or $OPENBLAS_NUM_THREADS threads. Idle
// threads of OpenBLAS spin for about 0.1 s of CPU time before they sleep.
const char *nn_blas_init(uint32_t threads, char *warning, size_t warning_size);

// Writes the warning of nn_blas_init. ratio: the time of OpenBLAS divided by that of Octet's own
// kernels. family: the kernels that OpenBLAS chose. best: the family for this CPU, NULL if unknown.
// The warning names an environment variable that forces the choice, if one is set.
void nn_blas_advise(double ratio, const char *family, const char *best, char *warning,
                    size_t warning_size);

// Reserves the work spaces for the products of a layer, forward and backward, so that they allocate
// nothing. The forward product has x[M][K] and W[N][K].
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

// A function that continues with rows of a product as soon as they are computed, while they are in
// a near cache. It is called with blocks [first, first + rows), in order, until every row was
// passed once.
typedef void nn_gemm_rows_fn(void *arg, uint32_t first, uint32_t rows);
void nn_gemm_nn_then(nn_context *context, float *C, const float *A, const float *B, uint32_t M,
                     uint32_t N, uint32_t K, nn_gemm_rows_fn *then, void *arg);
void nn_gemm_nt_then(nn_context *context, float *C, const float *A, const float *B, uint32_t M,
                     uint32_t N, uint32_t K, nn_gemm_rows_fn *then, void *arg);

// B[N][K] packed for the kernels and kept for later products: packing takes a tenth of the time of
// a product of 256 rows. A large B is never kept; its panels are packed in turn and used while they
// are in a near cache.
typedef struct nn_panels {
    uint32_t *units; // [room], aligned to a cache line
    size_t room;     // at least nn_gemm_panel_units; with less, nothing is kept
    const void *ops; // the kernels that units is packed for; NULL: not packed
} nn_panels;
// Returns the room that panels of B[N][K] need, or 0 if B is too large to keep or this CPU has no
// tiles.
size_t nn_gemm_panel_units(const nn_context *context, uint32_t N, uint32_t K);
// Like nn_gemm_nt_then, and keeps the packed B in panels (NULL: keeps nothing). B is packed only if
// panels does not hold it for the same kernels; the caller sets panels->ops to NULL when B changes.
void nn_gemm_nt_kept(nn_context *context, float *C, const float *A, const float *B,
                     nn_panels *panels, uint32_t M, uint32_t N, uint32_t K, nn_gemm_rows_fn *then,
                     void *arg);

// The product by its definition, summed in double: the reference for tests. transpose_a: A is
// [K][M]; transpose_b: B is [N][K].
void nn_gemm_ref(float *C, const float *A, bool transpose_a, const float *B, bool transpose_b,
                 uint32_t M, uint32_t N, uint32_t K);

#endif // NN_NN_GEMM_H
