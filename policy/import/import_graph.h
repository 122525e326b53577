#ifndef POLICY_IMPORT_IMPORT_GRAPH_H
#define POLICY_IMPORT_IMPORT_GRAPH_H

#include "common/oct_reason.h"
#include "policy/import/import_chain.h"

// A model's graph, node by node. Each value becomes a constant, a step of a chain, or the reason
// why a policy cannot have it. A reason only matters if someone asks for that value, because a
// model may have outputs beside the policy.
//
// Threads: one user. Owns: steps, constants and texts, until destroy; borrows the model. Full:
// IMPORT_GRAPH_BYTES_MAX bounds the memory; values beyond it have the reason IMPORT_TOO_LARGE.

#define IMPORT_GRAPH_BYTES_MAX (1u << 29)

// The operations that policies support, for messages and the documentation. Others are read as
// parts of a pattern only, such as Pow in a layer norm (import_operation_find has all).
#define IMPORT_OPERATIONS                                                                          \
    "Gemm, MatMul, Conv, MaxPool, AveragePool, GlobalMaxPool, GlobalAveragePool, "                 \
    "Add, Sub, Mul, Div, Neg, BatchNormalization, "                                                \
    "LayerNormalization, Relu, LeakyRelu, Tanh, Elu, Sigmoid, Swish, Gelu, Softplus, Mish, Clip, " \
    "Min, Max, Softmax, LogSoftmax, ArgMax, "                                                      \
    "Concat (of one value's layers), "                                                             \
    "Flatten, Reshape, Transpose, Squeeze, Unsqueeze, Split, Slice, Gather, Cast, Dropout and "    \
    "Identity"

typedef struct import_graph import_graph;

// The normalisation of observations before the model reads them, in the order of the model's
// input: (x - mean) / deviation, then a clip to [-clip, clip].
typedef struct import_normaliser {
    uint32_t count;
    double *mean;      // [count], finite
    double *deviation; // [count], finite and above 0
    double clip;       // 0: no clip
} import_normaliser;

// Reads the graph of a model, which outlives it.
//   output  name of the wanted value; the observation is the one input on which it depends. NULL:
//     import_graph_output
//   obs_shape[obs_rank]  shape of one observation if the caller knows it, for models that do not
//     declare it; rank 0: unknown
//   normaliser  applied before the model; NULL: none
// OCT_EINVAL, with one line in reason: the opset is too old, there are too many values, the output
// depends on several inputs, or the input has another shape.
OCT_CHECKED oct_err import_graph_create(import_graph **out, const import_model *model,
                                        const char *output, const uint32_t *obs_shape,
                                        uint32_t obs_rank, const import_normaliser *normaliser,
                                        oct_reason *why);
void import_graph_destroy(import_graph *graph); // NULL is a no-op

// Returns the name of the output with actions or values: the first of action, actions, mean, mu,
// logits and q_values that the model has, or its first output; "": it has none.
const char *import_graph_output(const import_model *model);
// Returns the input that is the observation.
const import_port *import_graph_port(const import_graph *graph);
// Returns the step with which every chain begins.
const import_step *import_graph_observation(const import_graph *graph);
// Finds a value by name: sets *step or *constant, and the other to NULL. With one line in reason:
//   OCT_ENOTFOUND  the model has no such value
//   OCT_EINVAL  a policy cannot have it
OCT_CHECKED oct_err import_graph_value(const import_graph *graph, const char *name,
                                       const import_step **step, const import_tensor **constant,
                                       oct_reason *why);

#endif // POLICY_IMPORT_IMPORT_GRAPH_H
