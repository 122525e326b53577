// Dense layers: each pass is one matrix product.
#include "nn/nn_kind.h"

static void
dense_reserve(nn_context *context, const nn_layer *layer, uint32_t rows_max)
{
    nn_gemm_reserve(context, rows_max, layer->outputs, layer->inputs);
}

static void
dense_forward(const nn_pass *pass, float *y, const float *x)
{
    const nn_layer *layer = pass->layer;
    nn_gemm_nt_kept(pass->context, y, x, pass->W, pass->panels, pass->rows, layer->outputs,
                    layer->inputs, pass->then, pass->arg);
}

static void
dense_backward_weights(const nn_pass *pass, float *dW, const float *dy, const float *x)
{
    const nn_layer *layer = pass->layer;
    nn_gemm_tn(pass->context, dW, dy, x, layer->outputs, layer->inputs, pass->rows);
}

static void
dense_backward_inputs(const nn_pass *pass, float *dx, const float *dy, const float *x)
{
    const nn_layer *layer = pass->layer;
    (void)x;
    nn_gemm_nn_then(pass->context, dx, dy, pass->W, pass->rows, layer->inputs, layer->outputs,
                    pass->then, pass->arg);
}

const nn_kind_ops nn_dense = {
    .reserve = dense_reserve,
    .forward = dense_forward,
    .backward_weights = dense_backward_weights,
    .backward_inputs = dense_backward_inputs,
};
