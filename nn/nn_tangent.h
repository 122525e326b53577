#ifndef NN_NN_TANGENT_H
#define NN_NN_TANGENT_H

#include "nn/nn_tape.h"

// Forward-mode differentiation through a tape: how fast the outputs of its last forward move when
// its weights move (a Jacobian-vector product; Pearlmutter 1994's forward pass). With
// nn_tape_backward, which is the product with the Jacobian's transpose, it gives products with
// Gauss-Newton and Fisher matrices that are never formed (Schraudolph 2002).
//
// Threads: as the tape. Owns: its rows, reserved by init; nothing allocates later.
typedef struct nn_tangent {
    const nn_tape *tape; // borrowed
    float *sum;          // [rows_max][widest layer], a layer's second product
    float *dy;           // [rows_max][outputs]
} nn_tangent;

void nn_tangent_init(nn_tangent *tangent, const nn_tape *tape); // of a chain
void nn_tangent_fini(nn_tangent *tangent);

// The outputs' derivative by t of a net with weights + t direction, at t = 0, for the inputs of the
// tape's last forward (its first rows rows), with the weights as they were then: [rows][outputs],
// valid until the next call, the caller's to overwrite. direction[weight_count] in the order of the
// weights; numbers that belong to no layer do not count.
float *nn_tangent_forward(nn_tangent *tangent, const float *direction, uint32_t rows);

#endif // NN_NN_TANGENT_H
