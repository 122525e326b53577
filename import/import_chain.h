#ifndef IMPORT_IMPORT_CHAIN_H
#define IMPORT_IMPORT_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "import/import_model.h"

// What a model computes from an observation, as a chain of few kinds of steps: each knows the one
// that it follows. Several chains may have their beginning in common. Values are rows of numbers
// with a shape, without the batch; their order is the model's (maps: channels first).
//
// Threads: any. Owns: nothing; steps belong to the graph that made them (import_graph.h).

#define IMPORT_SHAPE_MAX 4 // rank of a value
#define IMPORT_WIDTH_MAX 65536

typedef enum import_kind {
    IMPORT_OBSERVATION,
    IMPORT_AFFINE,      // y[i] = a[i] x[i] + b[i]
    IMPORT_CLIP,        // y[i] = min(max(x[i], a[i]), b[i])
    IMPORT_GATHER,      // y[i] = x[order[i]]: a transposition or a part
    IMPORT_DENSE,       // y[j] = alpha sum_k W[j][k] x[k] + b[j]
    IMPORT_CONV,        // stride 1, no padding; weight [filters][channels][kernel][kernel]
    IMPORT_RELU,        //
    IMPORT_TANH,        //
    IMPORT_ELU,         // alpha 1
    IMPORT_SIGMOID,     //
    IMPORT_NORM,        // (x - mean) / sqrt(var + epsilon) * a[i] + b[i], over the whole row
    IMPORT_SOFTMAX,     // over the whole row
    IMPORT_LOG_SOFTMAX, //
    IMPORT_ARGMAX,      // one number
    IMPORT_LOG_SUM_EXP, // one number; only as a part of log softmax
    // Only as parts of layer norm, of the row x that `from` gives.
    IMPORT_MEAN,         // one number
    IMPORT_CENTRED,      // x less its mean
    IMPORT_SQUARED,      // squares; from is IMPORT_CENTRED
    IMPORT_VARIANCE,     // one number
    IMPORT_ROOT,         // one number, sqrt(variance + epsilon)
    IMPORT_INVERSE_ROOT, // one number, 1 / IMPORT_ROOT
} import_kind;

typedef struct import_step {
    import_kind kind;
    const struct import_step *from; // NULL: this is the observation
    const import_node *node;        // that it was made of; NULL: the observation
    bool has_batch;                 // the model's value has an axis of the batch before its shape
    uint32_t rank;                  // of what it gives
    uint32_t shape[IMPORT_SHAPE_MAX];
    uint32_t count; // product of shape
    const double *a;
    const double *b; // of IMPORT_DENSE and IMPORT_CONV: NULL, or [outputs or filters]
    const uint32_t *order;
    const import_tensor *weight;
    bool is_transposed; // weight is [inputs][outputs]
    double alpha;
    double epsilon; // IMPORT_NORM and roots
    uint32_t kernel;
} import_step;

// W[j][k] of a dense step, without alpha.
static inline double
import_weight(const import_step *step, size_t j, size_t k)
{
    size_t columns = step->weight->dims[1];
    return (double)step->weight->floats[step->is_transposed ? k * columns + j : j * columns + k];
}

// y = what the chain gives that ends with step, for one observation, in double precision. work has
// room for two rows of import_chain_width numbers; the answer lies in it.
uint32_t import_chain_width(const import_step *step);
const double *import_chain_eval(const import_step *step, const double *observation, double *work);
// Whether a clip of that chain changes a number of this observation.
bool import_chain_is_clipped(const import_step *step, const double *observation, double *work);

#endif // IMPORT_IMPORT_CHAIN_H
