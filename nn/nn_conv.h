#ifndef NN_NN_CONV_H
#define NN_NN_CONV_H

#include "nn/nn_net.h"

// Convolutions (policy_spec.h has the definition) as matrix products: the numbers under each place
// of the kernel are laid side by side as one row of patches[rows * places][columns], which a dense
// layer's products then take.
//
// Threads: the training thread. Owns: nothing; patches are the net's or the tape's, for one layer
// at a time.

// Floats of patches that a net of this spec needs for so many rows; 0 without convolutions.
size_t nn_conv_patch_floats(const policy_spec *spec, uint32_t rows);

// y[rows][outputs] = the sums of the layer without bias, x[rows][inputs], W[filters][columns].
void nn_conv_forward(const nn_layer *layer, float *y, const float *x, const float *W,
                     float *patches, uint32_t rows);
// From dy[rows][outputs], the gradient at those sums: dW[filters][columns] (NULL: not wanted) and
// dx[rows][inputs] (NULL: not wanted).
void nn_conv_backward(const nn_layer *layer, float *dW, float *dx, const float *dy, const float *x,
                      const float *W, float *patches, uint32_t rows);

#endif // NN_NN_CONV_H
