#ifndef NN_NN_TAPE_H
#define NN_NN_TAPE_H

#include "nn/nn_net.h"

// A net that keeps the values between its layers, so that a gradient can go back through it (the
// order of events is at the head of nn_tape.c).
// Threads, Owns: as nn_net.
typedef struct nn_tape {
    nn_net net;
    const float *x; // inputs of the last forward, borrowed until backward returns
    float *spare;   // [3][width], receives sums of a norm that the caller does not want
    void *block;
} nn_tape;

// Like nn_net_init.
void nn_tape_init(nn_tape *tape, nn_context *context, const policy_spec *spec, uint32_t rows_max);
// Like nn_net_init_params, or nn_net_init_residual.
void nn_tape_init_shape(nn_tape *tape, nn_context *context, const nn_shape *shape);
void nn_tape_fini(nn_tape *tape);

// Like nn_net_forward; the caller keeps x until backward returns.
const float *nn_tape_forward(nn_tape *tape, const float *x, uint32_t rows);
const float *nn_tape_forward_again(nn_tape *tape, const float *x, uint32_t rows);

// Goes back from dy[rows][outputs], the gradient at the first rows outputs of the last forward, to
// gradient[weight_count] and dx[rows][inputs]. NULL for gradient or dx: not wanted. dy is
// overwritten. Returns the sum of squares of gradient, or 0 if it is not wanted; the sum is not
// finite if a part of the gradient is not, or is beyond about 1e19.
float nn_tape_backward(nn_tape *tape, float *dy, uint32_t rows, float *gradient, float *dx);
// Goes back to the inputs from number first on alone: dx[rows][inputs - first]. first is 0 if the
// first layer is a convolution.
void nn_tape_backward_inputs(nn_tape *tape, float *dy, uint32_t rows, float *dx, uint32_t first);

#endif // NN_NN_TAPE_H
