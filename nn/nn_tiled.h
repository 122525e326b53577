#ifndef NN_NN_TILED_H
#define NN_NN_TILED_H

#include "nn/nn_gemm.h"
#include "nn/nn_tile.h"

// Whole products from tiles: packs what the kernels want packed, walks blocks that fit the caches.
//
// Threads: as the context.
// Owns: nothing; packed operands lie in the context's spaces.

// C[M][N] = A B. A is [M][K], or [K][M] to be read transposed; B is [K][N], or [N][K].
typedef struct nn_product {
    float *C;
    const float *A, *B;
    bool transpose_a, transpose_b;
    uint32_t M, N, K;
    nn_gemm_rows_fn *then; // NULL: nothing
    void *arg;
    nn_panels *panels; // of B, kept by the caller; NULL: packed for this product alone
} nn_product;

void nn_tiled_product(nn_context *context, const nn_tile_ops *ops, const nn_product *product);
// What a product keeps of B where the caller gives it panels; 0: nothing, B is too large.
size_t nn_tiled_panel_units(const nn_tile_ops *ops, uint32_t N, uint32_t K);
// Makes room for a product of these sizes, so that it allocates nothing.
void nn_tiled_reserve(nn_context *context, const nn_tile_ops *ops, uint32_t M, uint32_t N,
                      uint32_t K);

#endif // NN_NN_TILED_H
