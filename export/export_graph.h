#ifndef EXPORT_EXPORT_GRAPH_H
#define EXPORT_EXPORT_GRAPH_H

#include <stddef.h>
#include <stdint.h>

// An ONNX model in the making: tensors are known by names, an operation gives the name of what it
// makes. protobuf-c lives behind this.
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

// Up to three inputs, NULL where there are fewer. output: the name of what it makes; NULL makes one
// up. Returns that name.
const char *export_graph_op(export_graph *graph, const char *op, const char *a, const char *b,
                            const char *c, const char *output);
// An attribute of the operation added last: one integer, or a list of them.
void export_graph_int(export_graph *graph, const char *name, int64_t value);
void export_graph_ints(export_graph *graph, const char *name, const int64_t *values, size_t count);
// The outputs of Split along axis into count equal parts: outs[count] get the names.
void export_graph_split(export_graph *graph, const char *input, int64_t axis, const char **outs,
                        size_t count);

// A constant tensor, copied. rank 0: a scalar.
const char *export_graph_tensor(export_graph *graph, export_dtype dtype, const void *data,
                                size_t bytes, const int64_t *dims, size_t rank);
const char *export_graph_float(export_graph *graph, float value);

// A tensor of shape [batch] (count 0) or [batch][count] that comes in or goes out.
void export_graph_input(export_graph *graph, const char *name, export_dtype dtype, uint32_t count);
void export_graph_output(export_graph *graph, const char *name, export_dtype dtype, uint32_t count);
void export_graph_note(export_graph *graph, const char *key, const char *value); // metadata

// Leaves out the constants that no operation takes. Nothing may be added afterwards.
void export_graph_prune(export_graph *graph);

// The model as bytes; *out is malloc'd, the caller frees it.
void export_graph_pack(const export_graph *graph, uint8_t **out, size_t *length);

#endif // EXPORT_EXPORT_GRAPH_H
