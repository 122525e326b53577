#ifndef NN_NN_TILED_H
#define NN_NN_TILED_H

#include "nn/nn_gemm.h"
#include "nn/nn_tile.h"

// Whole matrix products from tiles: packs the operands that the kernels want packed, and walks
// blocks that fit the caches.
//
// Threads: as the context.
// Owns: nothing; packed operands are in the context's spaces.

// C[M][N] = A B. A is [M][K], or [K][M] with transpose_a; B is [K][N], or [N][K] with transpose_b.
typedef struct nn_product {
    float *C;
    const float *A, *B;
    bool transpose_a, transpose_b;
    uint32_t M, N, K;
    nn_gemm_rows_fn *then; // called with finished rows (nn_gemm.h); NULL: nothing follows
    void *arg;
    nn_panels *panels; // keeps the packed B; NULL: B is packed for this product alone
} nn_product;

void nn_tiled_product(nn_context *context, const nn_tile_ops *ops, const nn_product *product);
// Returns the room that the packed B needs to be kept in panels, or 0 if B is too large to be kept.
size_t nn_tiled_panel_units(const nn_tile_ops *ops, uint32_t N, uint32_t K);
// Reserves the work spaces for a product of these sizes, so that it allocates nothing.
void nn_tiled_reserve(nn_context *context, const nn_tile_ops *ops, uint32_t M, uint32_t N,
                      uint32_t K);

#endif // NN_NN_TILED_H
