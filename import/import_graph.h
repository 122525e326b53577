#ifndef IMPORT_IMPORT_GRAPH_H
#define IMPORT_IMPORT_GRAPH_H

#include "import/import_chain.h"

// A model's graph, node by node: each value becomes a constant, a step of a chain, or the reason
// why no policy can have it. A reason is only of interest when somebody asks for that value: a
// model may have outputs beside the policy.
//
// Threads: one user. Owns: steps, constants and texts, until destroy; borrows the model. Memory is
// bounded (IMPORT_GRAPH_BYTES_MAX).

#define IMPORT_GRAPH_BYTES_MAX (1u << 29)

// The operations that are read; for messages and for the documentation.
#define IMPORT_OPERATIONS                                                                          \
    "Gemm, MatMul, Conv (stride 1, no padding), Add, Sub, Mul, Div, Neg, BatchNormalization, "     \
    "LayerNormalization, Relu, Tanh, Elu, Sigmoid, Clip, Min, Max, Softmax, LogSoftmax, ArgMax, "  \
    "Concat (of one value's layers), "                                                             \
    "Flatten, Reshape, Transpose, Squeeze, Unsqueeze, Split, Slice, Gather, Cast, Dropout and "    \
    "Identity"

typedef struct import_graph import_graph;

// What is done to an observation before the model reads it, in the order of the model's input:
// (x - mean) / deviation, then a clip to [-clip, clip].
typedef struct import_normaliser {
    uint32_t count;
    double *mean;      // [count], finite
    double *deviation; // [count], finite and above 0
    double clip;       // 0: none
} import_normaliser;

// obs_shape[obs_rank]: of one observation as the caller knows it, for a model that does not say it;
// rank 0: not known. output: a name of a value; the observation is the one input that it depends
// on; NULL: import_graph_output chooses. normaliser: of the caller; NULL: none. OCT_EINVAL: the
// output depends on several inputs, or the input has another shape, with one line in reason.
OCT_CHECKED oct_err import_graph_create(import_graph **out, const import_model *model,
                                        const char *output, const uint32_t *obs_shape,
                                        uint32_t obs_rank, const import_normaliser *normaliser,
                                        char *reason, size_t reason_size);
void import_graph_destroy(import_graph *graph); // NULL is a no-op

// The name of the output with actions or values: the first of action, actions, mean, mu, logits and
// q_values that the model has, or its first output; "": it has none.
const char *import_graph_output(const import_model *model);
// The input that is the observation.
const import_port *import_graph_port(const import_graph *graph);
const import_step *import_graph_observation(const import_graph *graph);
// The value of that name: a step (*constant is NULL then) or a constant. OCT_ENOTFOUND: there is
// none; OCT_EINVAL: no policy can have it; with one line in reason.
OCT_CHECKED oct_err import_graph_value(const import_graph *graph, const char *name,
                                       const import_step **step, const import_tensor **constant,
                                       char *reason, size_t reason_size);

#endif // IMPORT_IMPORT_GRAPH_H
