#ifndef NN_NN_TANGENT_H
#define NN_NN_TANGENT_H

#include "nn/nn_tape.h"

// Forward-mode differentiation through a tape: the derivative of the outputs of its last forward
// along a direction of its weights (a Jacobian-vector product; the forward pass of Pearlmutter
// 1994). With nn_tape_backward, the product with the transposed Jacobian, it gives products with
// Gauss-Newton and Fisher matrices without forming these (Schraudolph 2002).
//
// Threads: as the tape. Owns: its rows, which init reserves; no later call allocates.
typedef struct nn_tangent {
    const nn_tape *tape; // borrowed
    float *sum;          // [rows_max][widest layer], the second of a layer's two products
    float *dy;           // [rows_max][outputs], the result
} nn_tangent;

void nn_tangent_init(nn_tangent *tangent, const nn_tape *tape); // a chain, not a residual net
void nn_tangent_fini(nn_tangent *tangent);

// Returns the derivative by t, at t = 0, of the outputs of a net with the weights + t * direction:
// [rows][outputs], valid until the next call; the caller may overwrite it. The inputs are the first
// `rows` rows of the tape's last forward, and the weights must still be those of that forward.
// direction[weight_count] has the order of the weights; its numbers that belong to no layer are
// ignored.
float *nn_tangent_forward(nn_tangent *tangent, const float *direction, uint32_t rows);

#endif // NN_NN_TANGENT_H
