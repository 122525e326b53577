// Builds an ONNX model in memory (tensors, operations, inputs, outputs) and packs it with
// protobuf-c.
#include "policy/export/export_graph.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "onnx.pb-c.h"

#define NAME_BYTES 24

// Each part of model is an allocation of its own, because protobuf-c's function for unpacked
// messages frees the model.
struct export_graph {
    Onnx__ModelProto *model;
    uint64_t names; // count of names that name_new has made
};

static char *
text_copy(const char *text)
{
    size_t bytes = strlen(text) + 1;
    return memcpy(oct_alloc(bytes), text, bytes);
}

// Appends a pointer to a list of *count pointers and returns the list, whose capacity grows in
// powers of two.
static void *
list_add(void *list, size_t *count, void *item)
{
    void **items = list;
    if ((*count & (*count - 1)) == 0) {
        void **larger = oct_alloc((*count == 0 ? 1 : 2 * *count) * sizeof(void *));
        if (*count > 0) {
            memcpy(larger, items, *count * sizeof(void *));
        }
        free(items);
        items = larger;
    }
    items[(*count)++] = item;
    return items;
}

export_graph *
export_graph_create(const char *name)
{
    export_graph *graph = oct_alloc(sizeof(*graph));
    graph->model = oct_alloc(sizeof(*graph->model));
    onnx__model_proto__init(graph->model);
    graph->model->has_ir_version = 1;
    graph->model->ir_version = EXPORT_IR;
    graph->model->producer_name = text_copy("octet");
    graph->model->producer_version = text_copy(OCTET_VERSION);
    graph->model->graph = oct_alloc(sizeof(*graph->model->graph));
    onnx__graph_proto__init(graph->model->graph);
    graph->model->graph->name = text_copy(name);
    Onnx__OperatorSetIdProto *opset = oct_alloc(sizeof(*opset));
    onnx__operator_set_id_proto__init(opset);
    opset->domain = text_copy("");
    opset->has_version = 1;
    opset->version = EXPORT_OPSET;
    graph->model->opset_import =
        list_add(graph->model->opset_import, &graph->model->n_opset_import, opset);
    return graph;
}

void
export_graph_destroy(export_graph *graph)
{
    if (graph != NULL) {
        onnx__model_proto__free_unpacked(graph->model, NULL);
        free(graph);
    }
}

static char *
name_new(export_graph *graph)
{
    char *name = oct_alloc(NAME_BYTES);
    (void)snprintf(name, NAME_BYTES, "policy_%" PRIu64, graph->names++);
    return name;
}

static Onnx__NodeProto *
node_add(export_graph *graph, const char *op)
{
    Onnx__GraphProto *to = graph->model->graph;
    Onnx__NodeProto *node = oct_alloc(sizeof(*node));
    onnx__node_proto__init(node);
    node->op_type = text_copy(op);
    to->node = list_add(to->node, &to->n_node, node);
    return node;
}

const char *
export_graph_op(export_graph *graph, const char *op, const char *const *inputs, const char *output)
{
    Onnx__NodeProto *node = node_add(graph, op);
    for (; *inputs != NULL; inputs++) {
        node->input = list_add(node->input, &node->n_input, text_copy(*inputs));
    }
    char *name = output != NULL ? text_copy(output) : name_new(graph);
    node->output = list_add(node->output, &node->n_output, name);
    return name;
}

static Onnx__AttributeProto *
attribute_add(export_graph *graph, const char *name, Onnx__AttributeProto__AttributeType type)
{
    Onnx__GraphProto *to = graph->model->graph;
    OCT_ASSERT(to->n_node > 0);
    Onnx__NodeProto *node = to->node[to->n_node - 1];
    Onnx__AttributeProto *attribute = oct_alloc(sizeof(*attribute));
    onnx__attribute_proto__init(attribute);
    attribute->name = text_copy(name);
    attribute->has_type = 1;
    attribute->type = type;
    node->attribute = list_add(node->attribute, &node->n_attribute, attribute);
    return attribute;
}

void
export_graph_int(export_graph *graph, const char *name, int64_t value)
{
    Onnx__AttributeProto *attribute =
        attribute_add(graph, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);
    attribute->has_i = 1;
    attribute->i = value;
}

void
export_graph_ints(export_graph *graph, const char *name, const int64_t *values, size_t count)
{
    Onnx__AttributeProto *attribute =
        attribute_add(graph, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS);
    attribute->n_ints = count;
    attribute->ints = oct_alloc(count * sizeof(int64_t));
    memcpy(attribute->ints, values, count * sizeof(int64_t));
}

void
export_graph_split(export_graph *graph, const char *input, int64_t axis, const char **outs,
                   size_t count)
{
    Onnx__NodeProto *node = node_add(graph, "Split");
    node->input = list_add(node->input, &node->n_input, text_copy(input));
    for (size_t i = 0; i < count; i++) {
        char *name = name_new(graph);
        node->output = list_add(node->output, &node->n_output, name);
        outs[i] = name;
    }
    export_graph_int(graph, "axis", axis);
}

static size_t
dtype_bytes(export_dtype dtype)
{
    switch (dtype) {
    case EXPORT_U8:
    case EXPORT_S8:
        return 1;
    case EXPORT_F16:
    case EXPORT_BF16:
        return 2;
    case EXPORT_F32:
        return 4;
    case EXPORT_S64:
        break;
    }
    return 8;
}

const char *
export_graph_tensor(export_graph *graph, export_dtype dtype, const void *data, const int64_t *dims,
                    size_t rank)
{
    size_t bytes = dtype_bytes(dtype);
    for (size_t i = 0; i < rank; i++) {
        bytes *= (size_t)dims[i];
    }
    Onnx__GraphProto *to = graph->model->graph;
    Onnx__TensorProto *tensor = oct_alloc(sizeof(*tensor));
    onnx__tensor_proto__init(tensor);
    tensor->name = name_new(graph);
    tensor->has_data_type = 1;
    tensor->data_type = (int32_t)dtype;
    tensor->n_dims = rank;
    if (rank > 0) {
        tensor->dims = oct_alloc(rank * sizeof(int64_t));
        memcpy(tensor->dims, dims, rank * sizeof(int64_t));
    }
    tensor->has_raw_data = 1;
    tensor->raw_data.len = bytes;
    tensor->raw_data.data = oct_alloc(bytes);
    memcpy(tensor->raw_data.data, data, bytes);
    to->initializer = list_add(to->initializer, &to->n_initializer, tensor);
    return tensor->name;
}

const char *
export_graph_float(export_graph *graph, float value)
{
    return export_graph_tensor(graph, EXPORT_F32, &value, NULL, 0);
}

static void
dimension_add(Onnx__TensorShapeProto *shape, const char *param, uint32_t value)
{
    Onnx__TensorShapeProto__Dimension *dimension = oct_alloc(sizeof(*dimension));
    onnx__tensor_shape_proto__dimension__init(dimension);
    if (param != NULL) {
        dimension->dim_param = text_copy(param);
    } else {
        dimension->has_dim_value = 1;
        dimension->dim_value = value;
    }
    shape->dim = list_add(shape->dim, &shape->n_dim, dimension);
}

static Onnx__ValueInfoProto *
value_new(const char *name, export_dtype dtype, uint32_t count)
{
    Onnx__ValueInfoProto *value = oct_alloc(sizeof(*value));
    onnx__value_info_proto__init(value);
    value->name = text_copy(name);
    value->type = oct_alloc(sizeof(*value->type));
    onnx__type_proto__init(value->type);
    Onnx__TypeProto__Tensor *tensor = oct_alloc(sizeof(*tensor));
    onnx__type_proto__tensor__init(tensor);
    value->type->tensor_type = tensor;
    tensor->has_elem_type = 1;
    tensor->elem_type = (int32_t)dtype;
    tensor->shape = oct_alloc(sizeof(*tensor->shape));
    onnx__tensor_shape_proto__init(tensor->shape);
    dimension_add(tensor->shape, "batch", 0);
    if (count > 0) {
        dimension_add(tensor->shape, NULL, count);
    }
    return value;
}

void
export_graph_input(export_graph *graph, const char *name, export_dtype dtype, uint32_t count)
{
    Onnx__GraphProto *to = graph->model->graph;
    to->input = list_add(to->input, &to->n_input, value_new(name, dtype, count));
}

void
export_graph_output(export_graph *graph, const char *name, export_dtype dtype, uint32_t count)
{
    Onnx__GraphProto *to = graph->model->graph;
    to->output = list_add(to->output, &to->n_output, value_new(name, dtype, count));
}

void
export_graph_note(export_graph *graph, const char *key, const char *value)
{
    Onnx__ModelProto *to = graph->model;
    Onnx__StringStringEntryProto *entry = oct_alloc(sizeof(*entry));
    onnx__string_string_entry_proto__init(entry);
    entry->key = text_copy(key);
    entry->value = text_copy(value);
    to->metadata_props = list_add(to->metadata_props, &to->n_metadata_props, entry);
}

static bool
is_used(const Onnx__GraphProto *graph, const char *name)
{
    for (size_t n = 0; n < graph->n_node; n++) {
        const Onnx__NodeProto *node = graph->node[n];
        for (size_t i = 0; i < node->n_input; i++) {
            if (strcmp(node->input[i], name) == 0) {
                return true;
            }
        }
    }
    return false;
}

void
export_graph_prune(export_graph *graph)
{
    Onnx__GraphProto *of = graph->model->graph;
    size_t kept = 0;
    for (size_t i = 0; i < of->n_initializer; i++) {
        if (is_used(of, of->initializer[i]->name)) {
            of->initializer[kept++] = of->initializer[i];
        } else {
            onnx__tensor_proto__free_unpacked(of->initializer[i], NULL);
        }
    }
    of->n_initializer = kept;
}

void
export_graph_pack(const export_graph *graph, uint8_t **out, size_t *length)
{
    *length = onnx__model_proto__get_packed_size(graph->model);
    *out = oct_alloc(*length);
    OCT_ASSERT(onnx__model_proto__pack(graph->model, *out) == *length);
}
