#ifndef NN_NN_TAPE_H
#define NN_NN_TAPE_H

#include "nn/nn_net.h"

// A net that keeps the rows between its layers, so that a gradient can go back through it.
// Threads, Owns: as nn_net.
typedef struct nn_tape {
    nn_net net;
    const float *x; // inputs of the last forward: borrowed until backward is done
    float *spare;   // [3][width], sums of a norm that nobody asked for
    void *block;
} nn_tape;

void nn_tape_init(nn_tape *tape, nn_context *context, const policy_spec *spec, uint32_t rows_max);
// As nn_net_init_params, or nn_net_init_residual.
void nn_tape_init_params(nn_tape *tape, nn_context *context, const policy_spec *spec, bool residual,
                         size_t param_count, uint32_t rows_max);
void nn_tape_fini(nn_tape *tape);

// As nn_net_forward; x must stay until backward.
const float *nn_tape_forward(nn_tape *tape, const float *x, uint32_t rows);
const float *nn_tape_forward_again(nn_tape *tape, const float *x, uint32_t rows);

// From dy[rows][outputs], the gradient at the outputs of the last forward (its first rows rows; dy
// is overwritten), to gradient[weight_count] (NULL: not wanted) and dx[rows][inputs] (NULL: not
// wanted). Returns the gradient's sum of squares (0 when it is not wanted); not finite when any
// part of it is not, or is beyond about 1e19.
float nn_tape_backward(nn_tape *tape, float *dy, uint32_t rows, float *gradient, float *dx);
// The gradient at some inputs alone, from the one at first on: dx[rows][inputs - first]. first is 0
// where the first layer is a convolution.
void nn_tape_backward_inputs(nn_tape *tape, float *dy, uint32_t rows, float *dx, uint32_t first);

#endif // NN_NN_TAPE_H
