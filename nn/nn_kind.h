#ifndef NN_NN_KIND_H
#define NN_NN_KIND_H

#include "nn/nn_gemm.h"
#include "nn/nn_net.h"

// The kinds of layers (policy_spec.h): what the passes through a net ask of each kind. Everything
// else that a layer does is common to all kinds: bias, norm, activation, and their gradients
// (nn_net.c, nn_tape.c, nn_tangent.c). A new kind is one file with one table of these functions,
// and one row in kinds (nn_net.c).
//
// Threads: as the context. Owns: nothing; what a kind needs during a call is in the context's
// spaces.

// One pass through a layer.
typedef struct nn_pass {
    nn_context *context;
    const nn_layer *layer;
    const float *W;    // [units][columns], the layer's weights or a direction of them; of a layer
                       // without weights meaningless
    nn_panels *panels; // keeps W packed between passes; NULL: keeps nothing
    uint32_t rows;     // of the batch
    // Continues with rows of the result as soon as they are complete, as of nn_gemm.h; NULL:
    // nothing follows.
    nn_gemm_rows_fn *then;
    void *arg;
} nn_pass;

// x and dx are [rows][inputs], y and dy are [rows][outputs]. Results are overwritten, and do not
// overlap operands. x are always the inputs of the layer in the forward pass.
typedef struct nn_kind_ops {
    // Reserves the work spaces for passes of up to rows_max rows, so that they allocate nothing.
    void (*reserve)(nn_context *context, const nn_layer *layer, uint32_t rows_max);
    // y = what the layer computes before bias, norm and activation.
    void (*forward)(const nn_pass *pass, float *y, const float *x);
    // dy = the derivative of forward when x moves along dx. NULL: forward is linear in x, so that
    // forward itself maps dx to dy.
    void (*tangent)(const nn_pass *pass, float *dy, const float *dx, const float *x);
    // dW[units][columns] from dy, the gradient at the results of forward. NULL: no weights.
    void (*backward_weights)(const nn_pass *pass, float *dW, const float *dy, const float *x);
    // dx from dy.
    void (*backward_inputs)(const nn_pass *pass, float *dx, const float *dy, const float *x);
} nn_kind_ops;

extern const nn_kind_ops nn_dense;     // nn_dense.c
extern const nn_kind_ops nn_conv;      // nn_conv.c
extern const nn_kind_ops nn_max_pool;  // nn_pool.c
extern const nn_kind_ops nn_mean_pool; // nn_pool.c

#endif // NN_NN_KIND_H
