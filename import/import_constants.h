#ifndef IMPORT_IMPORT_CONSTANTS_H
#define IMPORT_IMPORT_CONSTANTS_H

#include "import/import_values.h"

// Arithmetic on constants of a model, where an exporter left some: sizes that a model computes from
// shapes, and deviations of observations. Each gives a new constant of the graph, or NULL where it
// has none of that kind or no memory.
//
// Threads: one user of the graph.

// The tensor has floats or integers.
static inline double
import_constant_number(const import_tensor *t, size_t i)
{
    return t->floats != NULL ? (double)t->floats[i] : (double)t->integers[i];
}

const import_tensor *import_constant_float(import_graph *graph, float value);
const import_tensor *import_constant_floats(import_graph *graph, const float *values, size_t count);
const import_tensor *import_constant_ints(import_graph *graph, const int64_t *values, size_t count);
// op: the first letter of Add, Sub, Mul or Div; floats of one shape, or one of them a single
// number.
const import_tensor *import_constant_binary(import_graph *graph, char op, const import_tensor *x,
                                            const import_tensor *y);
const import_tensor *import_constant_root(import_graph *graph, const import_tensor *x);
const import_tensor *import_constant_reshape(import_graph *graph, const import_tensor *x,
                                             const import_tensor *shape);
const import_tensor *import_constant_transpose(import_graph *graph, const import_tensor *x);
const import_tensor *import_constant_slice(import_graph *graph, const import_tensor *x,
                                           int64_t first, int64_t end);

#endif // IMPORT_IMPORT_CONSTANTS_H
