#ifndef NN_NN_CONV_H
#define NN_NN_CONV_H

#include "nn/nn_net.h"

// Convolutions (defined in policy_spec.h) as matrix products: the numbers under the kernel at one
// position become one row of patches[places][columns] (im2col), and the product for dense layers
// multiplies these rows. Each step unfolds only as many rows of the batch as stay in the L2 cache.
//
// Threads: as the context. Owns: nothing; patches are in the context's spaces.

// Reserves the work spaces for a layer's patches and products with up to rows_max rows.
void nn_conv_reserve(nn_context *context, const nn_layer *layer, uint32_t rows_max);

// y[rows][outputs] = the layer's sums without bias, for x[rows][inputs] and W[filters][columns].
void nn_conv_forward(nn_context *context, const nn_layer *layer, float *y, const float *x,
                     const float *W, uint32_t rows);
// Goes back from dy[rows][outputs], the gradient at the sums, to dW[filters][columns] and
// dx[rows][inputs]. NULL for dW or dx: not wanted.
void nn_conv_backward(nn_context *context, const nn_layer *layer, float *dW, float *dx,
                      const float *dy, const float *x, const float *W, uint32_t rows);

#endif // NN_NN_CONV_H
