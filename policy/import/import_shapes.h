#ifndef POLICY_IMPORT_IMPORT_SHAPES_H
#define POLICY_IMPORT_IMPORT_SHAPES_H

#include "policy/import/import_values.h"

// Operations that only move numbers, and operations on constants (import_operation in
// import_values.h). Threads: one user of the graph. Owns: nothing.

const char *import_identity(import_graph *graph, const import_node *node, import_value *out);
const char *import_cast(import_graph *graph, const import_node *node, import_value *out);
const char *import_flatten(import_graph *graph, const import_node *node, import_value *out);
const char *import_reshape(import_graph *graph, const import_node *node, import_value *out);
const char *import_squeeze(import_graph *graph, const import_node *node, import_value *out);
const char *import_transpose(import_graph *graph, const import_node *node, import_value *out);
const char *import_split(import_graph *graph, const import_node *node, import_value *out);
const char *import_slice(import_graph *graph, const import_node *node, import_value *out);
const char *import_constant(import_graph *graph, const import_node *node, import_value *out);
const char *import_shape_of(import_graph *graph, const import_node *node, import_value *out);
const char *import_gather(import_graph *graph, const import_node *node, import_value *out);
const char *import_concat(import_graph *graph, const import_node *node, import_value *out);
// import_concat is in import_join.c, the next three are in import_maps.c, then six in
// import_norm.c.
const char *import_convolution(import_graph *graph, const import_node *node, import_value *out);
const char *import_pool(import_graph *graph, const import_node *node, import_value *out);
const char *import_global_pool(import_graph *graph, const import_node *node, import_value *out);
const char *import_layer_norm(import_graph *graph, const import_node *node, import_value *out);
const char *import_reduce_mean(import_graph *graph, const import_node *node, import_value *out);
const char *import_root(import_graph *graph, const import_node *node, import_value *out);
const char *import_reciprocal(import_graph *graph, const import_node *node, import_value *out);
const char *import_power(import_graph *graph, const import_node *node, import_value *out);
// Sub, Mul or Div of two values as a part of layer norm. If it is not one, out->step stays NULL
// and the result is NULL.
const char *import_norm_written_out(import_graph *graph, const import_node *node,
                                    const import_step *x, const import_step *y, import_value *out);
const char *import_constant_of_shape(import_graph *graph, const import_node *node,
                                     import_value *out);
const char *import_expand(import_graph *graph, const import_node *node, import_value *out);

#endif // POLICY_IMPORT_IMPORT_SHAPES_H
