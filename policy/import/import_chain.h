#ifndef POLICY_IMPORT_IMPORT_CHAIN_H
#define POLICY_IMPORT_IMPORT_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "policy/import/import_model.h"
#include "policy/policy_spec.h"

// What a model computes from an observation, as a chain of steps of few kinds. Each step points to
// the step before it, so several chains can share their beginning. A value is a row of numbers
// with a shape, without the batch, in the model's order (maps: channels first).
//
// Threads: any. Owns: nothing; the graph owns steps and their numbers (import_graph.h).

#define IMPORT_SHAPE_MAX 4              // rank of a value
#define IMPORT_WIDTH_MAX 65536          // numbers in a row
#define IMPORT_MAP_MAX   POLICY_MAP_MAX // numbers in a map between layers

// Kinds of steps: the row y from the row x.
typedef enum import_kind {
    IMPORT_OBSERVATION, // the beginning of every chain
    IMPORT_AFFINE,      // y[i] = a[i] x[i] + b[i]
    IMPORT_CLIP,        // y[i] = min(max(x[i], a[i]), b[i])
    IMPORT_GATHER,      // y[i] = x[order[i]]: a transposition, a selection or another shape
    IMPORT_DENSE,       // y[j] = alpha sum_k W[j][k] x[k] + b[j]
    IMPORT_CONV,        // weight is [filters][channels][kernel rows][kernel columns]
    IMPORT_MAX_POOL,
    IMPORT_MEAN_POOL,   // does not count padding
    IMPORT_ACTIVATION,  // of each number
    IMPORT_NORM,        // layer norm: (x - mean) / sqrt(var + epsilon) * a[i] + b[i]
    IMPORT_SOFTMAX,     // over the whole row
    IMPORT_LOG_SOFTMAX, // over the whole row
    IMPORT_ARGMAX,      // one number, the first of equal maxima
    IMPORT_LOG_SUM_EXP, // one number; only within log softmax
    // Parts of a layer norm that a model writes out, of the row x that `from` gives. By themselves
    // policies do not have them.
    IMPORT_MEAN,         // one number: mean(x)
    IMPORT_CENTRED,      // x - mean(x)
    IMPORT_SQUARED,      // its squares; from is IMPORT_CENTRED
    IMPORT_VARIANCE,     // one number: the mean of IMPORT_SQUARED
    IMPORT_ROOT,         // one number: sqrt(variance + epsilon)
    IMPORT_INVERSE_ROOT, // one number: 1 / IMPORT_ROOT
    // A part of an activation that a model writes out (import_activations.h). By itself policies do
    // not have it.
    IMPORT_PART, // y[i] = function(left[i], right[i])
} import_kind;

typedef double (*import_function)(double x, double y);

// A step. Fields that its kind does not use are 0.
typedef struct import_step {
    import_kind kind;
    const struct import_step *from;   // the step before; NULL: this is the observation
    const import_node *node;          // the node that it comes from, for messages; NULL: none
    bool has_batch;                   // the model's value has a batch axis before shape
    uint32_t rank;                    // of the value
    uint32_t shape[IMPORT_SHAPE_MAX]; // [rank]
    uint32_t count;                   // product of shape
    const double *a;                  // [count]
    const double *b;                  // [count]; dense and conv: [outputs or filters], or NULL
    const uint32_t *order;            // [count] of IMPORT_GATHER: positions in from
    const import_tensor *weight;      // of IMPORT_DENSE and IMPORT_CONV
    bool is_transposed;               // of IMPORT_DENSE: weight is [inputs][outputs]
    double alpha;                     // of IMPORT_DENSE; of IMPORT_PART instead of right
    bool is_even;                     // a and b are the same for all numbers; false: perhaps
    policy_activation activation;     // of IMPORT_ACTIVATION
    import_function function;         // of IMPORT_PART
    const struct import_step *left;   // of IMPORT_PART: from, or computed from it
    const struct import_step *right;  // the same; NULL: the second argument is alpha
    double epsilon;                   // of IMPORT_NORM and of the roots, above 0
    policy_conv conv;                 // of IMPORT_CONV and pools
} import_step;

// Returns W[j][k] of a dense step, without alpha.
static inline double
import_weight(const import_step *step, size_t j, size_t k)
{
    size_t columns = step->weight->dims[1];
    return (double)step->weight->floats[step->is_transposed ? k * columns + j : j * columns + k];
}

// Returns the length of the longest row in the chain that ends with step.
uint32_t import_chain_width(const import_step *step);
// Computes the chain for one observation, in double precision. observation is [count of the
// observation]; work is [2 * import_chain_width], and holds the result.
const double *import_chain_eval(const import_step *step, const double *observation, double *work);
// Returns true if a clip of the chain changes a number for this observation. Arguments as
// import_chain_eval.
bool import_chain_is_clipped(const import_step *step, const double *observation, double *work);

#endif // POLICY_IMPORT_IMPORT_CHAIN_H
