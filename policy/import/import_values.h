#ifndef POLICY_IMPORT_IMPORT_VALUES_H
#define POLICY_IMPORT_IMPORT_VALUES_H

#include "common/oct_base.h"

#include "policy/import/import_graph.h"

// What import_graph.c and the operations share: values by name, and memory that is freed with the
// graph. Threads: one user. Owns: nothing; the graph owns all.

// A value. Exactly one of constant, step and why is set.
typedef struct import_value {
    const char *name;
    const import_tensor *constant;
    const import_step *step;
    const char *why; // the reason, a line for the user
    // For a value with a reason: a step of the same shape, for Shape. NULL: the shape is unknown.
    const import_step *like;
} import_value;

// The size of the batch, among the numbers of a shape.
#define IMPORT_BATCH INT64_MIN

// Allocates zeroed memory of the graph. NULL: the graph's limit is reached.
void *import_graph_alloc(import_graph *graph, size_t bytes);
// Formats a reason that lives as long as the graph.
const char *import_graph_text(import_graph *graph, const char *format, ...) OCT_PRINTF(2, 3);

// Sets out->step or out->constant for the output out->name of a node and returns NULL, or returns
// a reason.
typedef const char *(*import_operation)(import_graph *graph, const import_node *node,
                                        import_value *out);
// NULL: policies do not have the operation.
import_operation import_operation_find(const char *name);

// Returns input i of the current node, or NULL if it has none.
const import_value *import_graph_input(const import_graph *graph, const import_node *node,
                                       size_t i);
// Returns true if a node's axis is the last one of a value.
bool import_axis_is_last(const import_step *step, int64_t axis);
// Returns the size of the model's batch axis; -1: any; 1 also if there is no batch axis.
int64_t import_graph_batch(const import_graph *graph);
// Defines the value of a name. The name is one of the model's.
void import_graph_define(import_graph *graph, const char *name, const import_value *value);

// The reason if memory is used up.
#define IMPORT_TOO_LARGE "the model is too large"
// Makes a step after from, of the same shape, with alpha 1. NULL: out of memory.
import_step *import_step_make(import_graph *graph, const import_node *node, import_kind kind,
                              const import_step *from);
// Returns true if all axes but the last have one number.
bool import_step_is_row(const import_step *step);
// Gives the step the shape of like, a row, with count numbers.
void import_step_row(import_step *step, const import_step *like, uint32_t count);
// Return an attribute, or otherwise.
int64_t import_node_int(const import_node *node, const char *name, int64_t otherwise);
double import_node_float(const import_node *node, const char *name, double otherwise);
// Returns a list of integers from an attribute, or from an input in newer opsets. NULL: there is
// none, or it is not constant.
const int64_t *import_node_ints(const import_graph *graph, const import_node *node, size_t input,
                                const char *name, size_t *count);

#endif // POLICY_IMPORT_IMPORT_VALUES_H
