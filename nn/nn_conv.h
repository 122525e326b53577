#ifndef NN_NN_CONV_H
#define NN_NN_CONV_H

#include "nn/nn_net.h"

// Convolutions (policy_spec.h has the definition) as matrix products: the numbers under each place
// of the kernel are laid side by side as one row of patches[places][columns], which a dense layer's
// products then take. That is done for as many rows of the batch at a time as stay in L2.
//
// Threads: as the context. Owns: nothing; patches lie in the context's spaces.

// Makes room for a layer's patches and its products with up to rows_max rows.
void nn_conv_reserve(nn_context *context, const nn_layer *layer, uint32_t rows_max);

// y[rows][outputs] = the sums of the layer without bias, x[rows][inputs], W[filters][columns].
void nn_conv_forward(nn_context *context, const nn_layer *layer, float *y, const float *x,
                     const float *W, uint32_t rows);
// From dy[rows][outputs], the gradient at those sums: dW[filters][columns] (NULL: not wanted) and
// dx[rows][inputs] (NULL: not wanted).
void nn_conv_backward(nn_context *context, const nn_layer *layer, float *dW, float *dx,
                      const float *dy, const float *x, const float *W, uint32_t rows);

#endif // NN_NN_CONV_H
