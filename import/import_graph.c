// Goes through a model's nodes in their order, gives each value a meaning, and keeps them by name.
#include "import/import_graph.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_text.h"
#include "import/import_names.h"
#include "import/import_shapes.h"

#define TEXT_BYTES  512
#define INPUTS_MAX  16
#define QUOTE_BYTES 64
#define OPSET_LEAST 7
#define VALUES_MAX  16384

typedef struct block {
    struct block *next;
    _Alignas(16) unsigned char bytes[];
} block;

struct import_graph {
    const import_model *model;
    block *blocks;
    size_t bytes_left;
    import_value *values; // [value_max]
    size_t value_count, value_max;
    import_name *names;                     // [value_max], each with the last value of that name
    const import_value *inputs[INPUTS_MAX]; // of the node that is run
    import_step observation;
};

void *
import_graph_alloc(import_graph *graph, size_t bytes)
{
    if (bytes > graph->bytes_left) {
        return NULL;
    }
    graph->bytes_left -= bytes;
    block *made = oct_alloc(sizeof(*made) + bytes);
    made->next = graph->blocks;
    graph->blocks = made;
    return made->bytes;
}

const char *
import_graph_text(import_graph *graph, const char *format, ...)
{
    char line[TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    size_t bytes = OCT_MIN((size_t)OCT_MAX(length, 0) + 1, sizeof(line));
    char *text = import_graph_alloc(graph, bytes);
    return text != NULL ? memcpy(text, line, bytes) : "the model is too large";
}

int64_t
import_graph_opset(const import_graph *graph)
{
    return graph->model->opset;
}

int64_t
import_graph_batch(const import_graph *graph)
{
    const import_port *port = &graph->model->inputs[0];
    return port->rank >= 2 ? port->dims[0] : -1;
}

const import_step *
import_graph_observation(const import_graph *graph)
{
    return &graph->observation;
}

// ---- values by name

#define PLACE_NONE SIZE_MAX // of a name whose value is not made yet

// All names that values will have.
static void
names_make(import_graph *graph)
{
    const import_model *model = graph->model;
    size_t count = 0;
    graph->names = oct_alloc(graph->value_max * sizeof(*graph->names));
    for (size_t i = 0; i < model->tensor_count; i++) {
        graph->names[count++].name = model->tensors[i].name;
    }
    graph->names[count++].name = model->inputs[0].name;
    for (size_t i = 0; i < model->node_count; i++) {
        for (size_t k = 0; k < model->nodes[i].output_count; k++) {
            graph->names[count++].name = model->nodes[i].outputs[k];
        }
    }
    OCT_ASSERT(count == graph->value_max);
    import_names_sort(graph->names, count);
    for (size_t i = 0; i < count; i++) {
        graph->names[i].place = PLACE_NONE;
    }
}

// The last of that name: names are unique in a sound model.
static const import_value *
value_find(const import_graph *graph, const char *name)
{
    const import_name *found = import_names_find(graph->names, graph->value_max, name);
    return found != NULL && found->place != PLACE_NONE ? &graph->values[found->place] : NULL;
}

const import_value *
import_graph_input(const import_graph *graph, const import_node *node, size_t i)
{
    return i < node->input_count ? graph->inputs[i] : NULL;
}

void
import_graph_define(import_graph *graph, const char *name, const import_value *value)
{
    OCT_ASSERT(graph->value_count < graph->value_max);
    import_name *known = import_names_find(graph->names, graph->value_max, name);
    OCT_ASSERT(known != NULL);
    known->place = graph->value_count;
    import_value *made = &graph->values[graph->value_count++];
    *made = *value;
    made->name = name;
}

oct_err
import_graph_value(const import_graph *graph, const char *name, const import_step **step,
                   const import_tensor **constant, char *reason, size_t reason_size)
{
    char quoted[QUOTE_BYTES];
    const import_value *value = value_find(graph, name);
    if (value == NULL) {
        (void)snprintf(reason, reason_size, "the model has no value '%s'",
                       oct_text_quote(quoted, sizeof(quoted), name, strlen(name)));
        return OCT_ENOTFOUND;
    }
    if (value->why != NULL) {
        return oct_refuse(reason, reason_size, "%s", value->why);
    }
    *step = value->step;
    *constant = value->constant;
    return OCT_OK;
}

// ---- nodes

// "node '/pi/1/Relu' (Relu): ".
static const char *
node_refuse(import_graph *graph, const import_node *node, const char *why)
{
    char name[QUOTE_BYTES], op[QUOTE_BYTES];
    const char *known = node->name[0] != '\0'    ? node->name
                        : node->output_count > 0 ? node->outputs[0]
                                                 : "";
    oct_text_quote(name, sizeof(name), known, strlen(known));
    oct_text_quote(op, sizeof(op), node->op, strlen(node->op));
    return import_graph_text(graph, "node '%s' (%s): %s", name, op, why);
}

// Finds the operation of a node and its inputs, once for all of its outputs. A reason, or NULL.
static const char *
node_begin(import_graph *graph, const import_node *node, import_operation *operation)
{
    *operation = node->domain[0] == '\0' ? import_operation_find(node->op) : NULL;
    if (*operation == NULL) {
        return node_refuse(graph, node,
                           "policies do not have this operation; they have " IMPORT_OPERATIONS);
    }
    if (node->input_count > INPUTS_MAX) {
        return node_refuse(graph, node, "too many inputs");
    }
    for (size_t i = 0; i < node->input_count; i++) {
        const char *name = node->inputs[i];
        const import_value *input = name[0] != '\0' ? value_find(graph, name) : NULL;
        if (input == NULL && name[0] != '\0') {
            return node_refuse(graph, node, "it reads a value that no node before it computes");
        }
        if (input != NULL && input->why != NULL) {
            return input->why;
        }
        graph->inputs[i] = input;
    }
    return NULL;
}

static void
nodes_run(import_graph *graph)
{
    for (size_t i = 0; i < graph->model->node_count; i++) {
        const import_node *node = &graph->model->nodes[i];
        import_operation operation;
        const char *why = node_begin(graph, node, &operation);
        for (size_t k = 0; k < node->output_count; k++) {
            // Split finds its part by the name in out; of others the first output is what they
            // compute.
            import_value out = {.name = node->outputs[k], .why = why};
            bool is_read = k == 0 || operation == import_split;
            const char *refused = why != NULL ? NULL
                                  : is_read   ? operation(graph, node, &out)
                                              : "policies support its first output only";
            if (refused != NULL) {
                out.why = node_refuse(graph, node, refused);
            }
            import_graph_define(graph, node->outputs[k], &out);
        }
    }
}

// ---- the observation

// The shape that the model declares, its first dimension being the batch.
static oct_err
observation_shape(import_step *step, const import_port *port, const uint32_t *obs_shape,
                  uint32_t obs_rank, char *reason, size_t reason_size)
{
    bool has_batch = port->rank >= 2;
    uint32_t rank = has_batch ? port->rank - 1 : port->rank;
    if (rank > IMPORT_SHAPE_MAX) {
        return oct_refuse(reason, reason_size, "its input has rank %u, allowed is a batch and %d",
                          port->rank, IMPORT_SHAPE_MAX);
    }
    uint64_t count = 1;
    bool is_known = rank > 0;
    for (uint32_t i = 0; i < rank; i++) {
        int64_t dim = port->dims[has_batch ? i + 1 : i];
        is_known = is_known && dim > 0;
        if (dim > IMPORT_WIDTH_MAX || (dim > 0 && (count *= (uint64_t)dim) > IMPORT_WIDTH_MAX)) {
            return oct_refuse(reason, reason_size,
                              "an observation of more than %d numbers, the limit of policies",
                              IMPORT_WIDTH_MAX);
        }
        step->shape[i] = (uint32_t)OCT_MAX(dim, 0);
    }
    step->rank = rank;
    if (!is_known) {
        count = obs_rank > 0 && obs_rank <= IMPORT_SHAPE_MAX;
        step->rank = obs_rank;
        for (uint32_t i = 0; count > 0 && count <= IMPORT_WIDTH_MAX && i < obs_rank; i++) {
            step->shape[i] = obs_shape[i];
            count *= obs_shape[i];
        }
    }
    if (count == 0 || count > IMPORT_WIDTH_MAX) {
        return oct_refuse(
            reason, reason_size,
            "it does not state the shape of its input; give it with --obs-shape or --env");
    }
    step->count = (uint32_t)count;
    return OCT_OK;
}

// The steps of a normaliser behind the observation; *step becomes the last of them.
static oct_err
normaliser_add(import_graph *graph, const import_normaliser *normaliser, const import_step **step,
               char *reason, size_t reason_size)
{
    uint32_t count = graph->observation.count;
    if (normaliser->count != count) {
        return oct_refuse(reason, reason_size,
                          "the normaliser has %u number%s, but an observation has %u",
                          normaliser->count, oct_text_plural(normaliser->count), count);
    }
    double *numbers = import_graph_alloc(graph, 4 * (size_t)count * sizeof(double));
    import_step *affine = import_step_make(graph, NULL, IMPORT_AFFINE, &graph->observation);
    import_step *clip = affine != NULL ? import_step_make(graph, NULL, IMPORT_CLIP, affine) : NULL;
    if (numbers == NULL || clip == NULL) {
        return oct_refuse(reason, reason_size, IMPORT_TOO_LARGE);
    }
    double *a = numbers, *b = a + count, *low = b + count, *high = low + count;
    for (uint32_t i = 0; i < count; i++) {
        a[i] = 1.0 / normaliser->deviation[i];
        b[i] = -normaliser->mean[i] * a[i];
        low[i] = -normaliser->clip;
        high[i] = normaliser->clip;
    }
    affine->a = a;
    affine->b = b;
    clip->a = low;
    clip->b = high;
    *step = normaliser->clip > 0.0 ? clip : affine;
    return OCT_OK;
}

static oct_err
observation_define(import_graph *graph, const uint32_t *obs_shape, uint32_t obs_rank,
                   const import_normaliser *normaliser, char *reason, size_t reason_size)
{
    const import_port *port = &graph->model->inputs[0];
    graph->observation = (import_step){.kind = IMPORT_OBSERVATION};
    OCT_TRY(observation_shape(&graph->observation, port, obs_shape, obs_rank, reason, reason_size));
    import_value value = {.step = &graph->observation};
    if (normaliser != NULL) {
        OCT_TRY(normaliser_add(graph, normaliser, &value.step, reason, reason_size));
    }
    import_graph_define(graph, port->name, &value);
    return OCT_OK;
}

// Room for each initialiser, each output of a node and the input.
static size_t
values_count(const import_model *model)
{
    size_t count = model->tensor_count + 1;
    for (size_t i = 0; i < model->node_count; i++) {
        count += model->nodes[i].output_count;
    }
    return count;
}

oct_err
import_graph_create(import_graph **out, const import_model *model, const uint32_t *obs_shape,
                    uint32_t obs_rank, const import_normaliser *normaliser, char *reason,
                    size_t reason_size)
{
    if (model->opset < OPSET_LEAST) {
        return oct_refuse(reason, reason_size, "its opset is %" PRId64 ", allowed is %d and later",
                          model->opset, OPSET_LEAST);
    }
    size_t values = values_count(model);
    if (values > VALUES_MAX) {
        return oct_refuse(reason, reason_size, "%zu values, allowed are %d", values, VALUES_MAX);
    }
    if (model->input_count != 1) {
        return oct_refuse(reason, reason_size,
                          "it has %zu inputs; a policy has one, the observation, and no state",
                          model->input_count);
    }
    import_graph *graph = oct_alloc(sizeof(*graph));
    graph->model = model;
    graph->bytes_left = IMPORT_GRAPH_BYTES_MAX;
    graph->value_max = values;
    graph->values = oct_alloc(graph->value_max * sizeof(*graph->values));
    names_make(graph);
    for (size_t i = 0; i < model->tensor_count; i++) {
        import_value value = {.constant = &model->tensors[i]};
        import_graph_define(graph, model->tensors[i].name, &value);
    }
    oct_err err = observation_define(graph, obs_shape, obs_rank, normaliser, reason, reason_size);
    if (err != OCT_OK) {
        import_graph_destroy(graph);
        return err;
    }
    nodes_run(graph);
    *out = graph;
    return OCT_OK;
}

void
import_graph_destroy(import_graph *graph)
{
    if (graph == NULL) {
        return;
    }
    for (block *b = graph->blocks; b != NULL;) {
        block *next = b->next;
        free(b);
        b = next;
    }
    free(graph->values);
    free(graph->names);
    free(graph);
}
