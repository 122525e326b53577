#ifndef IMPORT_IMPORT_VALUES_H
#define IMPORT_IMPORT_VALUES_H

#include "common/oct_base.h"

#include "import/import_graph.h"

// What import_graph.c and the operations share: values by name, and memory that is freed with the
// graph. Threads: one user.

// Exactly one of them is set.
typedef struct import_value {
    const char *name;
    const import_tensor *constant;
    const import_step *step;
    const char *why; // it is neither: the line for a person
    // Of a value that is neither: a step of the same shape, which other operations may ask for.
    // NULL: the shape is not known.
    const import_step *like;
} import_value;

// A batch in a shape that a model computes.
#define IMPORT_BATCH INT64_MIN

// Zeroed; NULL when the bound on memory is reached.
void *import_graph_alloc(import_graph *graph, size_t bytes);
// A line that lives as long as the graph.
const char *import_graph_text(import_graph *graph, const char *format, ...) OCT_PRINTF(2, 3);

// Makes the value of the output of a node that out->name is. A reason, or NULL when it could.
typedef const char *(*import_operation)(import_graph *graph, const import_node *node,
                                        import_value *out);
import_operation import_operation_find(const char *name); // NULL: none

// Input i of the node that is run, or NULL where it has none.
const import_value *import_graph_input(const import_graph *graph, const import_node *node,
                                       size_t i);
int64_t import_graph_opset(const import_graph *graph);
// An axis of a node is the last one of a value.
bool import_axis_is_last(const import_step *step, int64_t axis);
// The size of the batch that the model has; -1: any; 1: also where it has no axis for a batch.
int64_t import_graph_batch(const import_graph *graph);
void import_graph_define(import_graph *graph, const char *name, const import_value *value);

#define IMPORT_TOO_LARGE "the model is too large"
// A step behind from, of the same shape. NULL: no memory.
import_step *import_step_make(import_graph *graph, const import_node *node, import_kind kind,
                              const import_step *from);
// The value is a row: all axes but the last one are of one number.
bool import_step_is_row(const import_step *step);
// The step gives a row of count numbers with the axes of like, which is a row.
void import_step_row(import_step *step, const import_step *like, uint32_t count);
// An attribute that is an integer.
int64_t import_node_int(const import_node *node, const char *name, int64_t otherwise);
// A list of integers that is an attribute, or an input in later opsets. NULL: none, or no constant
// one.
const int64_t *import_node_ints(const import_graph *graph, const import_node *node, size_t input,
                                const char *name, size_t *count);

#endif // IMPORT_IMPORT_VALUES_H
