#ifndef IMPORT_IMPORT_MOVES_H
#define IMPORT_IMPORT_MOVES_H

#include "import/import_values.h"

// Why a move is refused, of a computed value or of a constant.
#define IMPORT_NOT_AN_ORDER   "its perm is not an order of the axes"
#define IMPORT_NOT_ONE_NUMBER "it removes an axis of more than one number"

// Operations that select, reorder or reshape the numbers of a value: each becomes one
// IMPORT_GATHER, or the value itself where nothing changes. Axes are those of the model, the axis
// of the batch included. That axis stays as it is, unless a model is of one observation alone
// (import_graph_batch is 1): then it is an axis of one number like others.
//
// Each makes out->step, and returns a reason or NULL. Threads: one user of the graph.

// What a Slice takes of each axis that it names.
typedef struct import_ranges {
    const int64_t *first; // [count]
    const int64_t *end;   // [count]
    const int64_t *axes;  // [count]
    const int64_t *steps; // [count]; NULL: 1
    size_t count;
} import_ranges;

// Bits of axes[count], of a value of this rank. A reason, or NULL.
const char *import_axes_find(const int64_t *axes, size_t count, uint32_t rank, uint32_t *found);

const char *import_move_flatten(import_graph *graph, const import_node *node,
                                const import_step *from, int64_t axis, import_value *out);
// to: whole numbers.
const char *import_move_reshape(import_graph *graph, const import_node *node,
                                const import_step *from, const import_tensor *to,
                                import_value *out);
// Inserts axes of one number or removes them. axes NULL: removes all of one number.
const char *import_move_squeeze(import_graph *graph, const import_node *node,
                                const import_step *from, const int64_t *axes, size_t count,
                                bool is_insert, import_value *out);
// perm NULL: the axes are reversed.
const char *import_move_transpose(import_graph *graph, const import_node *node,
                                  const import_step *from, const import_attribute *perm,
                                  import_value *out);
const char *import_move_slice(import_graph *graph, const import_node *node, const import_step *from,
                              const import_ranges *ranges, import_value *out);
// at: whole numbers, of rank 0 (the axis is removed) or 1.
const char *import_move_gather(import_graph *graph, const import_node *node,
                               const import_step *from, int64_t axis, const import_tensor *at,
                               import_value *out);
// Numbers first .. first + count - 1 of an axis.
const char *import_move_part(import_graph *graph, const import_node *node, const import_step *from,
                             uint32_t axis, uint32_t first, uint32_t count, import_value *out);

#endif // IMPORT_IMPORT_MOVES_H
