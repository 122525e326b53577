#ifndef IMPORT_IMPORT_CONSTANTS_H
#define IMPORT_IMPORT_CONSTANTS_H

#include <stdbool.h>

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

const import_tensor *import_constant_float(import_graph *graph, float value); // of rank 0
const import_tensor *import_constant_floats(import_graph *graph, const float *values, size_t count);
const import_tensor *import_constant_ints(import_graph *graph, const int64_t *values, size_t count);
const import_tensor *import_constant_int(import_graph *graph, int64_t value); // of rank 0
// Of integers. NULL, too, where one is IMPORT_BATCH.
const import_tensor *import_constant_to_floats(import_graph *graph, const import_tensor *x);
// Whether NumPy's broadcasting repeats it to that shape.
bool import_constant_fits(const import_tensor *t, const uint32_t *shape, uint32_t rank);
// Which number of it is number i of the shape that it fits.
size_t import_constant_at(const import_tensor *t, const uint32_t *shape, uint32_t rank, size_t i);
// op: the first letter of Add, Sub, Mul or Div; floats, repeated to the shape of both. NULL, too,
// where that has more numbers than the larger one and than any value.
const import_tensor *import_constant_binary(import_graph *graph, char op, const import_tensor *x,
                                            const import_tensor *y);
const import_tensor *import_constant_root(import_graph *graph, const import_tensor *x);
// Floats, repeated to the shape of its own and dims[rank].
const import_tensor *import_constant_expand(import_graph *graph, const import_tensor *x,
                                            const uint32_t *dims, uint32_t rank);
// The same numbers with dims[rank], of which there are as many.
const import_tensor *import_constant_shaped(import_graph *graph, const import_tensor *x,
                                            const uint32_t *dims, uint32_t rank);
const import_tensor *import_constant_reshape(import_graph *graph, const import_tensor *x,
                                             const import_tensor *shape);
const import_tensor *import_constant_transpose(import_graph *graph, const import_tensor *x);
// A range of Slice or Shape as the model has it becomes the one that it is of count numbers. False:
// it has none of them.
bool import_constant_range(size_t count, int64_t *first, int64_t *end);
const import_tensor *import_constant_slice(import_graph *graph, const import_tensor *x,
                                           int64_t first, int64_t end);

#endif // IMPORT_IMPORT_CONSTANTS_H
