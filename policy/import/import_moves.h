#ifndef POLICY_IMPORT_IMPORT_MOVES_H
#define POLICY_IMPORT_IMPORT_MOVES_H

#include "policy/import/import_values.h"

// Operations that select, reorder or reshape the numbers of a value. Each becomes one
// IMPORT_GATHER, or the value itself if nothing changes. Axes are the model's, with the batch axis.
// The batch axis stays as it is, unless the model takes one observation only (import_graph_batch is
// 1); then it is an axis like others.
//
// Each function sets out->step, and returns NULL or a reason. Threads: one user of the graph. Owns:
// nothing.

// Reasons that operations on constants use, too.
#define IMPORT_NOT_AN_ORDER   "its perm is not an order of the axes"
#define IMPORT_NOT_ONE_NUMBER "it removes an axis of more than one number"

// The ranges of a Slice.
typedef struct import_ranges {
    const int64_t *first; // [count]
    const int64_t *end;   // [count]
    const int64_t *axes;  // [count] each axis at most once
    const int64_t *steps; // [count]; NULL: all 1
    size_t count;
} import_ranges;

// Sets bit i of *found for each axis i that axes[count] names, for a value of this rank. Negative
// axes count from the end.
const char *import_axes_find(const int64_t *axes, size_t count, uint32_t rank, uint32_t *found);

const char *import_move_flatten(import_graph *graph, const import_node *node,
                                const import_step *from, int64_t axis, import_value *out);
// to: a list of integers, as of ONNX's Reshape.
const char *import_move_reshape(import_graph *graph, const import_node *node,
                                const import_step *from, const import_tensor *to,
                                import_value *out);
// Removes axes of one number, or inserts them (is_insert). axes NULL: removes all of them.
const char *import_move_squeeze(import_graph *graph, const import_node *node,
                                const import_step *from, const int64_t *axes, size_t count,
                                bool is_insert, import_value *out);
// perm NULL: the axes are reversed.
const char *import_move_transpose(import_graph *graph, const import_node *node,
                                  const import_step *from, const import_attribute *perm,
                                  import_value *out);
const char *import_move_slice(import_graph *graph, const import_node *node, const import_step *from,
                              const import_ranges *ranges, import_value *out);
// at: integers of rank 0 (the axis is removed) or 1.
const char *import_move_gather(import_graph *graph, const import_node *node,
                               const import_step *from, int64_t axis, const import_tensor *at,
                               import_value *out);
// Selects numbers first … first + count - 1 of an axis.
const char *import_move_part(import_graph *graph, const import_node *node, const import_step *from,
                             uint32_t axis, uint32_t first, uint32_t count, import_value *out);

#endif // POLICY_IMPORT_IMPORT_MOVES_H
