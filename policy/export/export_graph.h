#ifndef POLICY_EXPORT_EXPORT_GRAPH_H
#define POLICY_EXPORT_EXPORT_GRAPH_H

#include <stddef.h>
#include <stdint.h>

// Builds an ONNX model. Tensors have names, and a function that adds an operation returns the name
// of its result. Only this file's implementation uses protobuf-c.
//
// Threads: one user. Owns: all names and copies of all data, until destroy.

#define EXPORT_OPSET 13
#define EXPORT_IR    8

// Kinds of numbers; the values are ONNX's.
typedef enum export_dtype {
    EXPORT_F32 = 1,
    EXPORT_U8 = 2,
    EXPORT_S8 = 3,
    EXPORT_S64 = 7,
    EXPORT_F16 = 10,
    EXPORT_BF16 = 16,
} export_dtype;

typedef struct export_graph export_graph;

export_graph *export_graph_create(const char *name);
void export_graph_destroy(export_graph *graph); // NULL is a no-op

// Adds an operation; the list of its inputs ends with NULL. output is the name of its result; NULL:
// a new name. Returns that name.
const char *export_graph_op(export_graph *graph, const char *op, const char *const *inputs,
                            const char *output);
// Add an attribute to the last operation: one integer, or a list of integers.
void export_graph_int(export_graph *graph, const char *name, int64_t value);
void export_graph_ints(export_graph *graph, const char *name, const int64_t *values, size_t count);
// Adds a Split along axis into count equal parts; outs[count] = the names of the parts.
void export_graph_split(export_graph *graph, const char *input, int64_t axis, const char **outs,
                        size_t count);

// Add a constant tensor, whose numbers are copied; rank 0: a scalar. Return its name.
const char *export_graph_tensor(export_graph *graph, export_dtype dtype, const void *data,
                                const int64_t *dims, size_t rank);
const char *export_graph_float(export_graph *graph, float value);

// Declare a tensor of shape [batch] (count 0) or [batch][count] as an input or output of the model.
void export_graph_input(export_graph *graph, const char *name, export_dtype dtype, uint32_t count);
void export_graph_output(export_graph *graph, const char *name, export_dtype dtype, uint32_t count);
void export_graph_note(export_graph *graph, const char *key, const char *value); // metadata

// Removes the constants that no operation uses. Nothing may be added afterwards.
void export_graph_prune(export_graph *graph);

// Writes the model as bytes. The caller frees *out with free.
void export_graph_pack(const export_graph *graph, uint8_t **out, size_t *length);

#endif // POLICY_EXPORT_EXPORT_GRAPH_H
