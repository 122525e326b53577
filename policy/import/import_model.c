// Reads ONNX models: protobuf-c's structs become plain ones, tensors become floats or integers,
// and weights in other files are read from there.
//
// Files come from anywhere, so every count is limited before memory is allocated for it. A
// protobuf message can unpack to many times its size: an allocator with a budget stops that.
// Strings and lists of integers stay in the unpacked message, which lives as long as the model.
#include "policy/import/import_model.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_bytes.h"
#include "common/oct_file.h"
#include "common/oct_reason.h"
#include "onnx.pb-c.h"
#include "policy/import/import_names.h"
#include "policy/policy_half.h"

#define TENSORS_MAX   4096       // initialisers
#define METADATA_MAX  1024       // entries; later ones are ignored
#define PORTS_MAX     64         // inputs, and outputs
#define OUTPUTS_MAX   64         // of a node; also its attributes
#define INTEGERS_MAX  (1u << 16) // of one tensor: shapes and indices
#define PATH_BYTES    4096
#define UNPACK_FACTOR 4          // memory of the unpacked message, in sizes of the file
#define UNPACK_BYTES  (1u << 24) // and in addition

// A model that is being read. Allocations are kept in blocks, which belong to the model later.
typedef struct reader {
    Onnx__ModelProto *proto;
    const char *folder;
    size_t external_left; // bytes that other files may still contribute
    void **blocks;
    size_t block_count;
    oct_reason *why;
} reader;

// Memory of a finished model.
typedef struct owner {
    Onnx__ModelProto *proto;
    void **blocks;
    size_t block_count;
} owner;

// Allocates memory of the model. The list of blocks doubles when its count is a power of 2.
static void *
keep(reader *r, size_t bytes)
{
    if ((r->block_count & (r->block_count - 1)) == 0) {
        void **larger = oct_alloc((r->block_count == 0 ? 1 : 2 * r->block_count) * sizeof(void *));
        if (r->block_count > 0) {
            memcpy(larger, r->blocks, r->block_count * sizeof(void *));
        }
        free(r->blocks);
        r->blocks = larger;
    }
    return r->blocks[r->block_count++] = oct_alloc(OCT_MAX(bytes, (size_t)1));
}

#define REFUSE(r, ...) oct_fail((r)->why, OCT_EPROTO, __VA_ARGS__)

static const char *
text_of(const char *text)
{
    return text != NULL ? text : "";
}

// ONNX's own operations have the domains "" and "ai.onnx".
static const char *
domain_of(const char *text)
{
    return strcmp(text_of(text), "ai.onnx") == 0 ? "" : text_of(text);
}

// ---- protobuf

// Allocates from the budget of unpacking.
static void *
budget_alloc(void *data, size_t bytes)
{
    size_t *left = data;
    if (bytes > *left) {
        return NULL;
    }
    *left -= bytes;
    return malloc(OCT_MAX(bytes, (size_t)1));
}

static void
budget_free(void *data, void *block)
{
    (void)data;
    free(block);
}

static Onnx__ModelProto *
unpack(const uint8_t *bytes, size_t length)
{
    size_t left = UNPACK_FACTOR * length + UNPACK_BYTES;
    ProtobufCAllocator allocator = {budget_alloc, budget_free, &left};
    return onnx__model_proto__unpack(&allocator, length, bytes);
}

// Frees with the same allocator; its budget does not matter.
static void
proto_free(Onnx__ModelProto *proto)
{
    size_t none = 0;
    ProtobufCAllocator allocator = {budget_alloc, budget_free, &none};
    onnx__model_proto__free_unpacked(proto, &allocator);
}

// ---- weights in other files

// Returns an entry of the tensor's external data, or NULL.
static const char *
external_entry(const Onnx__TensorProto *proto, const char *key)
{
    for (size_t i = 0; i < proto->n_external_data; i++) {
        if (strcmp(text_of(proto->external_data[i]->key), key) == 0) {
            return text_of(proto->external_data[i]->value);
        }
    }
    return NULL;
}

// True if the name stays in the model's folder: relative, without "..".
static bool
location_is_sound(const char *location)
{
    for (const char *part = location; part != NULL; part = strchr(part, '/')) {
        part += part != location;
        if (*part == '\0' || *part == '/' || strncmp(part, "../", 3) == 0 ||
            strcmp(part, "..") == 0) {
            return false;
        }
    }
    return true;
}

static uint64_t
external_number(const Onnx__TensorProto *proto, const char *key, uint64_t otherwise)
{
    const char *text = external_entry(proto, key);
    return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

// Reads bytes at an offset. OCT_ENOTFOUND, OCT_EIO.
static oct_err
external_read(reader *r, const char *path, uint64_t offset, void *out, size_t bytes)
{
    FILE *file = oct_file_stream(path, "r");
    if (file == NULL) {
        oct_reason_set(r->why, "its file with weights '%s': %s", path, oct_file_strerror(errno));
        return errno == ENOENT ? OCT_ENOTFOUND : OCT_EIO;
    }
    bool is_read =
        fseeko(file, (off_t)offset, SEEK_SET) == 0 && fread(out, 1, bytes, file) == bytes;
    (void)fclose(file);
    if (!is_read) {
        return oct_fail(r->why, OCT_EIO,
                        "its file with weights '%s' does not have %zu bytes at %" PRIu64, path,
                        bytes, offset);
    }
    return OCT_OK;
}

// Reads the tensor's data from its file; its size must equal the shape's.
static oct_err
external_fetch(reader *r, const Onnx__TensorProto *proto, size_t bytes, const uint8_t **out)
{
    const char *name = text_of(proto->name), *location = external_entry(proto, "location");
    uint64_t offset = external_number(proto, "offset", 0);
    if (r->folder == NULL) {
        return REFUSE(r, "tensor '%s' is in another file, and only bytes were given", name);
    }
    if (location == NULL || !location_is_sound(location) || offset > INT64_MAX) {
        return REFUSE(r, "tensor '%s' should be in file '%s', which is not beside the model", name,
                      text_of(location));
    }
    if (external_number(proto, "length", bytes) != bytes) {
        return REFUSE(r, "tensor '%s' has %s bytes in its file, its shape needs %zu", name,
                      external_entry(proto, "length"), bytes);
    }
    if (bytes > r->external_left) {
        return REFUSE(r, "more than %u bytes of weights in other files", IMPORT_BYTES_MAX);
    }
    r->external_left -= bytes;
    char path[PATH_BYTES];
    if (snprintf(path, sizeof(path), "%s%s", r->folder, location) >= (int)sizeof(path)) {
        return REFUSE(r, "the path of file '%.60s...' is too long", location);
    }
    void *read = keep(r, bytes);
    *out = read;
    return external_read(r, path, offset, read, bytes);
}

// ---- tensors

// Returns the bytes of a number in raw data; 0: the type is not read.
static size_t
element_bytes(int32_t type)
{
    switch (type) {
    case ONNX__TENSOR_PROTO__DATA_TYPE__BOOL:
        return 1;
    case ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16:
    case ONNX__TENSOR_PROTO__DATA_TYPE__BFLOAT16:
        return 2;
    case ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT:
    case ONNX__TENSOR_PROTO__DATA_TYPE__INT32:
        return 4;
    case ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE:
    case ONNX__TENSOR_PROTO__DATA_TYPE__INT64:
        return 8;
    default:
        return 0;
    }
}

static bool
is_half(int32_t type)
{
    return type == ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16 ||
           type == ONNX__TENSOR_PROTO__DATA_TYPE__BFLOAT16;
}

static float
half_read(int32_t type, uint16_t half)
{
    if (type == ONNX__TENSOR_PROTO__DATA_TYPE__BFLOAT16) {
        return policy_bf16_to_float(half);
    }
    // policy_fp16_to_float takes finite numbers only.
    return (half & 0x7c00u) == 0x7c00u ? NAN : policy_fp16_to_float(half);
}

// Converts raw little-endian data.
static void
raw_read(const uint8_t *raw, size_t bytes, int32_t type, size_t count, float *floats,
         int64_t *integers)
{
    oct_reader in = {.at = raw, .left = bytes};
    for (size_t i = 0; i < count; i++) {
        switch (type) {
        case ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT:
            floats[i] = oct_read_f32(&in);
            break;
        case ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE:
            floats[i] = (float)oct_read_f64(&in);
            break;
        case ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16:
        case ONNX__TENSOR_PROTO__DATA_TYPE__BFLOAT16:
            floats[i] = half_read(type, oct_read_u16(&in));
            break;
        case ONNX__TENSOR_PROTO__DATA_TYPE__INT64:
            integers[i] = (int64_t)oct_read_u64(&in);
            break;
        case ONNX__TENSOR_PROTO__DATA_TYPE__INT32:
            integers[i] = (int32_t)oct_read_u32(&in);
            break;
        default:
            integers[i] = oct_read_u8(&in);
            break;
        }
    }
}

static bool
is_integer(int32_t type)
{
    return type == ONNX__TENSOR_PROTO__DATA_TYPE__INT64 ||
           type == ONNX__TENSOR_PROTO__DATA_TYPE__INT32 ||
           type == ONNX__TENSOR_PROTO__DATA_TYPE__BOOL;
}

// Converts one of protobuf's own lists; numbers of 16 bits are in the list of 32-bit integers.
// False: no list has count numbers.
static bool
list_read(const Onnx__TensorProto *proto, size_t count, float *floats, int64_t *integers)
{
    if (is_half(proto->data_type)) {
        for (size_t i = 0; proto->n_int32_data == count && i < count; i++) {
            floats[i] = half_read(proto->data_type, (uint16_t)proto->int32_data[i]);
        }
        return proto->n_int32_data == count;
    }
    if (floats != NULL && proto->n_float_data == count) {
        memcpy(floats, proto->float_data, count * sizeof(float));
        return true;
    }
    for (size_t i = 0; floats != NULL && proto->n_double_data == count && i < count; i++) {
        floats[i] = (float)proto->double_data[i];
    }
    if (floats != NULL) {
        return proto->n_double_data == count;
    }
    if (proto->n_int64_data == count) {
        memcpy(integers, proto->int64_data, count * sizeof(int64_t));
        return true;
    }
    for (size_t i = 0; proto->n_int32_data == count && i < count; i++) {
        integers[i] = proto->int32_data[i];
    }
    return proto->n_int32_data == count;
}

// Checks each product before it can overflow.
static oct_err
shape_read(reader *r, import_tensor *tensor, const Onnx__TensorProto *proto)
{
    if (proto->n_dims > IMPORT_RANK_MAX) {
        return REFUSE(r, "tensor '%s' has rank %zu, allowed is up to %d", tensor->name,
                      proto->n_dims, IMPORT_RANK_MAX);
    }
    uint64_t count = 1;
    for (size_t i = 0; i < proto->n_dims; i++) {
        int64_t dim = proto->dims[i];
        if (dim < 0 || dim > IMPORT_BYTES_MAX || (count *= (uint64_t)dim) > IMPORT_BYTES_MAX) {
            return REFUSE(r, "tensor '%s' has a shape beyond %u numbers", tensor->name,
                          IMPORT_BYTES_MAX);
        }
        tensor->dims[i] = (uint32_t)dim;
    }
    tensor->rank = (uint32_t)proto->n_dims;
    tensor->count = (size_t)count;
    return OCT_OK;
}

// Reads a tensor: its shape, and its numbers if their type is read.
static oct_err
tensor_read(reader *r, import_tensor *tensor, const Onnx__TensorProto *proto)
{
    *tensor = (import_tensor){.name = text_of(proto->name), .type = proto->data_type};
    OCT_TRY(shape_read(r, tensor, proto));
    // Tensors of other types, and long lists of integers, stay without numbers.
    size_t size = element_bytes(tensor->type), bytes = size * tensor->count;
    if (size == 0 || (is_integer(tensor->type) && tensor->count > INTEGERS_MAX)) {
        return OCT_OK;
    }
    const uint8_t *raw = proto->raw_data.data;
    bool is_external = proto->data_location == 1;
    // An empty tensor has neither raw data nor a list.
    bool is_raw = is_external || proto->raw_data.len > 0 || tensor->count == 0;
    if (is_external) {
        OCT_TRY(external_fetch(r, proto, bytes, &raw));
    } else if (is_raw && proto->raw_data.len != bytes) {
        return REFUSE(r, "tensor '%s' has %zu bytes, its shape needs %zu", tensor->name,
                      proto->raw_data.len, bytes);
    } else if (!is_raw && proto->n_float_data != tensor->count &&
               proto->n_double_data != tensor->count && proto->n_int64_data != tensor->count &&
               proto->n_int32_data != tensor->count) {
        return REFUSE(r, "tensor '%s' does not have the %zu numbers of its shape", tensor->name,
                      tensor->count);
    }
    float *floats = NULL;
    int64_t *integers = NULL;
    if (is_integer(tensor->type)) {
        tensor->integers = integers = keep(r, tensor->count * sizeof(int64_t));
    } else {
        tensor->floats = floats = keep(r, tensor->count * sizeof(float));
    }
    if (is_raw) {
        raw_read(raw, bytes, tensor->type, tensor->count, floats, integers);
    } else if (!list_read(proto, tensor->count, floats, integers)) {
        return REFUSE(r, "the numbers of tensor '%s' are not of its type", tensor->name);
    }
    return OCT_OK;
}

// ---- nodes and ports

// Bytes of a string become a terminated copy.
static oct_err
attribute_read(reader *r, import_attribute *attribute, const Onnx__AttributeProto *proto)
{
    char *text = keep(r, proto->s.len + 1);
    if (proto->s.len > 0) {
        memcpy(text, proto->s.data, proto->s.len);
    }
    *attribute = (import_attribute){
        .name = text_of(proto->name),
        .i = proto->i,
        .f = proto->f,
        .s = text,
        .ints = proto->ints,
        .int_count = proto->n_ints,
        .floats = proto->floats,
        .float_count = proto->n_floats,
    };
    if (proto->t != NULL) {
        import_tensor *tensor = keep(r, sizeof(*tensor));
        attribute->tensor = tensor;
        return tensor_read(r, tensor, proto->t);
    }
    return OCT_OK;
}

static oct_err
node_read(reader *r, import_node *node, const Onnx__NodeProto *proto)
{
    if (proto->n_output > OUTPUTS_MAX || proto->n_attribute > OUTPUTS_MAX) {
        return REFUSE(r, "node '%s' has %zu outputs and %zu attributes, allowed are %d each",
                      text_of(proto->name), proto->n_output, proto->n_attribute, OUTPUTS_MAX);
    }
    // Names stay in the unpacked message.
    import_attribute *attributes = keep(r, proto->n_attribute * sizeof(*attributes));
    *node = (import_node){
        .op = text_of(proto->op_type),
        .name = text_of(proto->name),
        .domain = domain_of(proto->domain),
        .inputs = proto->input,
        .input_count = proto->n_input,
        .outputs = proto->output,
        .output_count = proto->n_output,
        .attributes = attributes,
        .attribute_count = proto->n_attribute,
    };
    for (size_t i = 0; i < proto->n_attribute; i++) {
        OCT_TRY(attribute_read(r, &attributes[i], proto->attribute[i]));
    }
    return OCT_OK;
}

// Reads an input's or output's name, type and shape, as far as declared.
static oct_err
port_read(reader *r, import_port *port, const Onnx__ValueInfoProto *proto)
{
    *port = (import_port){.name = text_of(proto->name)};
    if (proto->type == NULL || proto->type->tensor_type == NULL) {
        return OCT_OK;
    }
    port->type = proto->type->tensor_type->elem_type;
    const Onnx__TensorShapeProto *shape = proto->type->tensor_type->shape;
    if (shape == NULL) {
        return OCT_OK;
    }
    if (shape->n_dim > IMPORT_RANK_MAX) {
        return REFUSE(r, "'%s' has rank %zu, allowed is up to %d", port->name, shape->n_dim,
                      IMPORT_RANK_MAX);
    }
    port->rank = (uint32_t)shape->n_dim;
    for (size_t i = 0; i < shape->n_dim; i++) {
        bool is_number = shape->dim[i]->has_dim_value && shape->dim[i]->dim_value > 0;
        port->dims[i] = is_number ? shape->dim[i]->dim_value : -1;
    }
    return OCT_OK;
}

static oct_err
ports_read(reader *r, import_model *model, const Onnx__GraphProto *graph)
{
    model->inputs = keep(r, graph->n_input * sizeof(import_port));
    model->outputs = keep(r, graph->n_output * sizeof(import_port));
    // Sorted, because a model may have thousands of both.
    import_name *tensors = keep(r, model->tensor_count * sizeof(*tensors));
    for (size_t i = 0; i < model->tensor_count; i++) {
        tensors[i].name = model->tensors[i].name;
    }
    import_names_sort(tensors, model->tensor_count);
    for (size_t i = 0; i < graph->n_input; i++) {
        // Models before IR version 4 list initialisers as inputs, too.
        const char *name = text_of(graph->input[i]->name);
        if (import_names_find(tensors, model->tensor_count, name) == NULL) {
            if (model->input_count == PORTS_MAX) {
                return REFUSE(r, "more than %d inputs", PORTS_MAX);
            }
            OCT_TRY(port_read(r, &model->inputs[model->input_count++], graph->input[i]));
        }
    }
    for (size_t i = 0; i < graph->n_output; i++) {
        OCT_TRY(port_read(r, &model->outputs[model->output_count++], graph->output[i]));
    }
    return OCT_OK;
}

// Checks the counts, then reads metadata, tensors, nodes and ports.
static oct_err
graph_read(reader *r, import_model *model)
{
    const Onnx__GraphProto *graph = r->proto->graph;
    if (graph == NULL || graph->n_node > IMPORT_NODES_MAX || graph->n_initializer > TENSORS_MAX ||
        graph->n_output > PORTS_MAX) {
        return graph == NULL ? REFUSE(r, "not an ONNX model: it has no graph")
                             : REFUSE(r,
                                      "%zu operations, %zu tensors and %zu outputs, allowed are "
                                      "%d, %d and %d",
                                      graph->n_node, graph->n_initializer, graph->n_output,
                                      IMPORT_NODES_MAX, TENSORS_MAX, PORTS_MAX);
    }
    model->producer = text_of(r->proto->producer_name);
    for (size_t i = 0; i < r->proto->n_opset_import; i++) {
        const Onnx__OperatorSetIdProto *set = r->proto->opset_import[i];
        // Other domains have operations that policies do not have.
        if (domain_of(set->domain)[0] == '\0') {
            model->opset = set->version;
        }
    }
    size_t entries = OCT_MIN(r->proto->n_metadata_props, (size_t)METADATA_MAX);
    model->metadata = keep(r, entries * sizeof(import_entry));
    for (; model->metadata_count < entries; model->metadata_count++) {
        const Onnx__StringStringEntryProto *from = r->proto->metadata_props[model->metadata_count];
        model->metadata[model->metadata_count] =
            (import_entry){text_of(from->key), text_of(from->value)};
    }
    model->tensors = keep(r, graph->n_initializer * sizeof(import_tensor));
    model->nodes = keep(r, graph->n_node * sizeof(import_node));
    for (; model->tensor_count < graph->n_initializer; model->tensor_count++) {
        size_t i = model->tensor_count;
        OCT_TRY(tensor_read(r, &model->tensors[i], graph->initializer[i]));
    }
    for (; model->node_count < graph->n_node; model->node_count++) {
        size_t i = model->node_count;
        OCT_TRY(node_read(r, &model->nodes[i], graph->node[i]));
    }
    return ports_read(r, model, graph);
}

// ---- the model

static void
owner_free(owner *all)
{
    for (size_t i = 0; i < all->block_count; i++) {
        free(all->blocks[i]);
    }
    free(all->blocks);
    proto_free(all->proto);
    free(all);
}

oct_err
import_model_decode(import_model **out, const uint8_t *bytes, size_t length, const char *folder,
                    oct_reason *why)
{
    reader r = {.folder = folder, .external_left = IMPORT_BYTES_MAX, .why = why};
    if (length > IMPORT_BYTES_MAX) {
        return REFUSE(&r, "%zu bytes, allowed are %u", length, IMPORT_BYTES_MAX);
    }
    r.proto = unpack(bytes, length);
    if (r.proto == NULL) {
        return REFUSE(&r, "not an ONNX model: it cannot be decoded");
    }
    import_model *model = oct_alloc(sizeof(*model));
    oct_err err = graph_read(&r, model);
    // From here on the model owns the memory, on an error, too.
    owner *all = oct_alloc(sizeof(*all));
    *all = (owner){r.proto, r.blocks, r.block_count};
    model->owner = all;
    if (err != OCT_OK) {
        import_model_destroy(model);
        return err;
    }
    *out = model;
    return OCT_OK;
}

oct_err
import_model_load(import_model **out, const char *path, oct_reason *why)
{
    uint8_t *bytes;
    size_t length;
    oct_err err = oct_file_read(path, IMPORT_BYTES_MAX, &bytes, &length);
    if (err != OCT_OK) {
        oct_reason_set(why, "%s",
                       err == OCT_EINVAL ? "more than 256 MiB" : oct_file_strerror(errno));
        return err;
    }
    char folder[PATH_BYTES];
    const char *slash = strrchr(path, '/');
    size_t used = slash != NULL ? (size_t)(slash - path) + 1 : 0;
    // Longer than any path that can be opened.
    if (used >= sizeof(folder)) {
        used = 0;
    }
    memcpy(folder, path, used);
    folder[used] = '\0';
    err = import_model_decode(out, bytes, length, folder, why);
    free(bytes);
    return err;
}

void
import_model_destroy(import_model *model)
{
    if (model != NULL) {
        owner_free(model->owner);
        free(model);
    }
}

const import_attribute *
import_node_attribute(const import_node *node, const char *name)
{
    for (size_t i = 0; i < node->attribute_count; i++) {
        if (strcmp(node->attributes[i].name, name) == 0) {
            return &node->attributes[i];
        }
    }
    return NULL;
}
