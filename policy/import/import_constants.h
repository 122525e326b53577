#ifndef POLICY_IMPORT_IMPORT_CONSTANTS_H
#define POLICY_IMPORT_IMPORT_CONSTANTS_H

#include <stdbool.h>

#include "policy/import/import_values.h"

// Arithmetic on the constants of a model. Exporters leave some in: sizes that are computed from
// shapes, and deviations of observations. Each function returns a new constant that the graph
// owns, or NULL if the arguments have another type or shape, or memory is used up.
//
// Threads: one user of the graph.

// Returns number i of a tensor of floats or integers.
static inline double
import_constant_number(const import_tensor *t, size_t i)
{
    return t->floats != NULL ? (double)t->floats[i] : (double)t->integers[i];
}

// float and int: constants of rank 0; floats and ints: of rank 1, [count].
const import_tensor *import_constant_float(import_graph *graph, float value);
const import_tensor *import_constant_floats(import_graph *graph, const float *values, size_t count);
const import_tensor *import_constant_ints(import_graph *graph, const int64_t *values, size_t count);
const import_tensor *import_constant_int(import_graph *graph, int64_t value);
// x has integers. NULL also if one of them is IMPORT_BATCH.
const import_tensor *import_constant_to_floats(import_graph *graph, const import_tensor *x);
// Returns true if NumPy's broadcasting repeats t to this shape.
bool import_constant_fits(const import_tensor *t, const uint32_t *shape, uint32_t rank);
// Returns the index in t of number i of a shape that t fits.
size_t import_constant_at(const import_tensor *t, const uint32_t *shape, uint32_t rank, size_t i);
// op: the first letter of Add, Sub, Mul or Div. x and y have floats, and both are repeated to
// their common shape. NULL also if that has more numbers than the larger of them and than
// IMPORT_WIDTH_MAX.
const import_tensor *import_constant_binary(import_graph *graph, char op, const import_tensor *x,
                                            const import_tensor *y);
// Square roots of floats.
const import_tensor *import_constant_root(import_graph *graph, const import_tensor *x);
// Repeats floats to the common shape of x and dims[rank].
const import_tensor *import_constant_expand(import_graph *graph, const import_tensor *x,
                                            const uint32_t *dims, uint32_t rank);
// Gives x the shape dims[rank], which has the same number of elements.
const import_tensor *import_constant_shaped(import_graph *graph, const import_tensor *x,
                                            const uint32_t *dims, uint32_t rank);
// As ONNX's Reshape: one number of shape may be -1.
const import_tensor *import_constant_reshape(import_graph *graph, const import_tensor *x,
                                             const import_tensor *shape);
// x is a matrix of floats.
const import_tensor *import_constant_transpose(import_graph *graph, const import_tensor *x);
// Turns a range of Slice or Shape, in which negative numbers count from the end, into indices of
// count numbers. False: it contains none of them.
bool import_constant_range(size_t count, int64_t *first, int64_t *end);
// Numbers first … end - 1 of a list of integers.
const import_tensor *import_constant_slice(import_graph *graph, const import_tensor *x,
                                           int64_t first, int64_t end);

#endif // POLICY_IMPORT_IMPORT_CONSTANTS_H
