#ifndef IMPORT_IMPORT_MODEL_H
#define IMPORT_IMPORT_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"

// An ONNX model as plain structs: what the file says, checked for its form and nothing else.
// protobuf-c lives behind this. Initialisers and tensors of attributes are converted: numbers of
// 16, 32 and 64 bits to float, integers to int64; others stay as a name and a shape.
//
// Threads: any. Owns: everything that it points to, until destroy. Memory is bounded by the size of
// the file (IMPORT_BYTES_MAX at most) and of the files with weights beside it, as large again.

#define IMPORT_BYTES_MAX (1u << 28)
#define IMPORT_NODES_MAX 4096
#define IMPORT_RANK_MAX  8

typedef struct import_tensor {
    const char *name; // "" where it has none
    uint32_t rank;
    uint32_t dims[IMPORT_RANK_MAX];
    size_t count;            // product of dims, 1 of a scalar
    const float *floats;     // [count], or NULL
    const int64_t *integers; // [count], or NULL
    int32_t type;            // ONNX's number of it, for messages
} import_tensor;

typedef struct import_attribute {
    const char *name;
    int64_t i;
    float f;
    const char *s; // cut at a zero byte; "" where it has none
    const int64_t *ints;
    size_t int_count;
    const float *floats;
    size_t float_count;
    const import_tensor *tensor; // or NULL
} import_attribute;

typedef struct import_node {
    const char *op;
    const char *name;
    const char *domain;  // "": ONNX's own operations
    char *const *inputs; // an input that is left out has the name ""
    size_t input_count;
    char *const *outputs;
    size_t output_count;
    const import_attribute *attributes;
    size_t attribute_count;
} import_node;

// An input or output of the model.
typedef struct import_port {
    const char *name;
    int32_t type;                  // ONNX's number: 1 float32, 2 uint8; 0: the file does not say
    uint32_t rank;                 // 0: the file does not say
    int64_t dims[IMPORT_RANK_MAX]; // -1: any
} import_port;

// What the model says beside its graph (metadata_props).
typedef struct import_entry {
    const char *key;
    const char *text;
} import_entry;

typedef struct import_model {
    const char *producer;
    import_entry *metadata;
    size_t metadata_count;
    int64_t opset; // of ONNX's own operations
    import_node *nodes;
    size_t node_count;
    import_tensor *tensors; // initialisers
    size_t tensor_count;
    import_port *inputs; // without initialisers
    size_t input_count;
    import_port *outputs;
    size_t output_count;
    void *owner;
} import_model;

// folder: where files with weights (external data) are looked for, by names without ".." and
// without a leading slash; NULL: a model that needs one is refused. OCT_EPROTO: no ONNX model, or
// one beyond the limits; OCT_ENOTFOUND, OCT_EIO: a file with weights; each with one line in reason.
OCT_CHECKED oct_err import_model_decode(import_model **out, const uint8_t *bytes, size_t length,
                                        const char *folder, char *reason, size_t reason_size);
// The same of a file and of those beside it.
OCT_CHECKED oct_err import_model_load(import_model **out, const char *path, char *reason,
                                      size_t reason_size);
void import_model_destroy(import_model *model); // NULL is a no-op

// The attribute of that name, or NULL.
const import_attribute *import_node_attribute(const import_node *node, const char *name);

#endif // IMPORT_IMPORT_MODEL_H
