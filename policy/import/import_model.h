#ifndef POLICY_IMPORT_IMPORT_MODEL_H
#define POLICY_IMPORT_IMPORT_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"
#include "common/oct_reason.h"

// An ONNX model as plain structs: what the file says, checked for its form only. No other file
// knows protobuf-c's structs. Initialisers and tensors of attributes are converted: numbers of 16,
// 32 and 64 bits to float, integers and bool to int64; others stay as a name and a shape.
//
// Threads: any. Owns: everything that it points to, until destroy. Memory is bounded by a multiple
// of the file's size, plus the files with weights.

#define IMPORT_BYTES_MAX (1u << 28) // of a file; also of all files with weights together
#define IMPORT_NODES_MAX 4096       // of a model
#define IMPORT_RANK_MAX  8          // of a tensor

// A constant. floats and integers are NULL if its type is not read.
typedef struct import_tensor {
    const char *name;
    uint32_t rank;
    uint32_t dims[IMPORT_RANK_MAX]; // [rank]
    size_t count;                   // product of dims; 1 for a scalar
    const float *floats;            // [count], or NULL
    const int64_t *integers;        // [count], or NULL
    int32_t type;                   // ONNX's number, for messages
} import_tensor;

// An attribute of a node. The field for its type is set; the others are 0 or empty.
typedef struct import_attribute {
    const char *name;
    int64_t i;
    float f;
    const char *s; // cut at a zero byte; "": no text
    const int64_t *ints;
    size_t int_count;
    const float *floats;
    size_t float_count;
    const import_tensor *tensor; // NULL: not a tensor
} import_attribute;

// An operation.
typedef struct import_node {
    const char *op; // "Gemm", …
    const char *name;
    const char *domain;  // "": ONNX's own operations
    char *const *inputs; // "": this input is left out
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
    int64_t dims[IMPORT_RANK_MAX]; // -1: any number
} import_port;

// An entry of metadata_props.
typedef struct import_entry {
    const char *key;
    const char *text;
} import_entry;

typedef struct import_model {
    const char *producer; // the exporter's name
    import_entry *metadata;
    size_t metadata_count;
    int64_t opset;      // version of ONNX's own operations
    import_node *nodes; // in topological order
    size_t node_count;
    import_tensor *tensors; // initialisers
    size_t tensor_count;
    import_port *inputs; // without initialisers
    size_t input_count;
    import_port *outputs;
    size_t output_count;
    void *owner; // the memory
} import_model;

// Decodes a model. bytes are not kept. folder, with a final slash, contains the files with weights
// (external data), whose names must not leave it; NULL: a model that needs such a file is refused.
// Errors, with one line in reason:
//   OCT_EPROTO  no ONNX model, or one beyond the limits
//   OCT_ENOTFOUND, OCT_EIO  a file with weights is missing or cannot be read
OCT_CHECKED oct_err import_model_decode(import_model **out, const uint8_t *bytes, size_t length,
                                        const char *folder, oct_reason *why);
// Reads a file and the files with weights beside it. Errors as above and of oct_file_read;
// OCT_EINVAL: more than IMPORT_BYTES_MAX bytes.
OCT_CHECKED oct_err import_model_load(import_model **out, const char *path, oct_reason *why);
void import_model_destroy(import_model *model); // NULL is a no-op

// Returns the attribute of that name, or NULL.
const import_attribute *import_node_attribute(const import_node *node, const char *name);

#endif // POLICY_IMPORT_IMPORT_MODEL_H
