// Goes through a model's nodes, and gives each value a meaning, which is kept by name.
//
// 1. All names of initialisers, inputs and outputs of nodes are sorted, so that a lookup takes
//    O(log n) for any choice of names.
// 2. Going backwards from the wanted output finds the one input on which it depends: the
//    observation. A model whose output depends on several inputs is refused.
// 3. The observation becomes the first step, followed by the caller's normaliser. Other inputs get
//    a reason instead of a value.
// 4. Nodes run in the model's order, which ONNX requires to be topological. A node's operation
//    (import_operations.c and others) makes its output a constant or a step, or returns a reason.
//    A node that reads a value with a reason passes that reason on, so the reason of an output
//    names the node that is to blame.
// 5. Some values have a reason but a known shape: models compute sizes from values that policies
//    do not support. Such a value remembers a step of the same shape (like), which Shape reads.
//
// All memory comes from blocks that are freed with the graph; the sum is bounded, so a small file
// cannot exhaust memory.
#include "policy/import/import_graph.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "common/oct_text.h"
#include "policy/import/import_constants.h"
#include "policy/import/import_names.h"
#include "policy/import/import_shapes.h"

#define TEXT_BYTES  512   // longest reason
#define INPUTS_MAX  16    // of a node
#define QUOTE_BYTES 64    // of a name in a message
#define OPSET_LEAST 7     // operations mean something else before
#define VALUES_MAX  16384 // initialisers, inputs and outputs of nodes

// An allocation, in a list.
typedef struct block {
    struct block *next;
    _Alignas(16) unsigned char bytes[];
} block;

struct import_graph {
    const import_model *model;
    const import_port *port; // the observation
    block *blocks;
    size_t bytes_left;    // of IMPORT_GRAPH_BYTES_MAX
    import_value *values; // [value_max], defined so far: value_count
    size_t value_count, value_max;
    import_name *names; // [value_max] sorted; place: index in values, or PLACE_NONE
    const import_value *inputs[INPUTS_MAX]; // of the current node; NULL: left out, or not defined
    import_step observation;                // the first step of every chain
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

// -1: the model accepts any batch, or does not say.
int64_t
import_graph_batch(const import_graph *graph)
{
    return !graph->observation.has_batch ? 1 : graph->port->rank > 0 ? graph->port->dims[0] : -1;
}

bool
import_axis_is_last(const import_step *step, int64_t axis)
{
    return axis == -1 || axis == (int64_t)step->rank - 1 + step->has_batch;
}

const import_port *
import_graph_port(const import_graph *graph)
{
    return graph->port;
}

const char *
import_graph_output(const import_model *model)
{
    static const char *const usual[] = {"action", "actions", "mean", "mu", "logits", "q_values"};
    for (size_t i = 0; i < OCT_COUNTOF(usual); i++) {
        for (size_t k = 0; k < model->output_count; k++) {
            if (strcmp(model->outputs[k].name, usual[i]) == 0) {
                return model->outputs[k].name;
            }
        }
    }
    return model->output_count > 0 ? model->outputs[0].name : "";
}

const import_step *
import_graph_observation(const import_graph *graph)
{
    return &graph->observation;
}

// ---- values by name

#define PLACE_NONE SIZE_MAX // the value of a name is not defined yet

// Collects and sorts the names of all values.
static void
names_make(import_graph *graph)
{
    const import_model *model = graph->model;
    size_t count = 0;
    graph->names = oct_alloc(graph->value_max * sizeof(*graph->names));
    for (size_t i = 0; i < model->tensor_count; i++) {
        graph->names[count++].name = model->tensors[i].name;
    }
    for (size_t i = 0; i < model->input_count; i++) {
        graph->names[count++].name = model->inputs[i].name;
    }
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

// Returns the value defined last under this name: in a valid model names are unique.
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
                   const import_tensor **constant, oct_reason *reason)
{
    char quoted[QUOTE_BYTES];
    const import_value *value = value_find(graph, name);
    if (value == NULL) {
        return oct_fail(reason, OCT_ENOTFOUND, "the model has no value '%s'",
                        oct_text_quote(quoted, sizeof(quoted), name, strlen(name)));
    }
    if (value->why != NULL) {
        return oct_refuse(reason, "%s", value->why);
    }
    *step = value->step;
    *constant = value->constant;
    return OCT_OK;
}

// ---- nodes

// Puts the node before the reason: "node '/pi/1/Relu' (Relu): …".
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

// Says why policies lack an operation, and what to do instead.
static const char *
operation_missing(const char *op)
{
    static const char *const states[] = {"LSTM", "GRU", "RNN"};
    static const char *const flows[] = {"If", "Loop", "Scan"};
    static const char *const activations[] = {"PRelu", "Selu", "Celu", "Softsign"};
    return oct_text_is_one_of(op, states, OCT_COUNTOF(states))
               ? "it has a state, and policies have none: train an actor without memory"
           : oct_text_is_one_of(op, flows, OCT_COUNTOF(flows))
               ? "policies have no branches and loops: export the model without them"
           : oct_text_is_one_of(op, activations, OCT_COUNTOF(activations))
               ? "policies do not have this activation: train with relu, tanh, elu or silu"
               : "policies do not have this operation; they have " IMPORT_OPERATIONS;
}

// Finds a node's operation and inputs, once for all of its outputs. Returns NULL, or why the node
// has no value: its own fault, or the reason of an input. Shape may read an input with a reason if
// the shape is known.
static const char *
node_begin(import_graph *graph, const import_node *node, import_operation *operation)
{
    *operation = node->domain[0] == '\0' ? import_operation_find(node->op) : NULL;
    memset(graph->inputs, 0, sizeof(graph->inputs));
    if (node->input_count > INPUTS_MAX) {
        return node_refuse(graph, node, "too many inputs");
    }
    bool is_computed = true;
    for (size_t i = 0; i < node->input_count; i++) {
        const char *name = node->inputs[i];
        graph->inputs[i] = name[0] != '\0' ? value_find(graph, name) : NULL;
        is_computed = is_computed && (graph->inputs[i] != NULL || name[0] == '\0');
    }
    if (*operation == NULL) {
        return node_refuse(graph, node, operation_missing(node->op));
    }
    if (!is_computed) {
        return node_refuse(graph, node, "it reads a value that no node before it computes");
    }
    bool is_shape = *operation == import_shape_of;
    for (size_t i = 0; i < node->input_count; i++) {
        const import_value *input = graph->inputs[i];
        if (input != NULL && input->why != NULL && !(is_shape && input->like != NULL)) {
            return input->why;
        }
    }
    return NULL;
}

// Operations whose output has the common shape of their inputs, repeated as NumPy does.
static bool
is_elementwise(const char *op)
{
    static const char *const names[] = {"Abs",
                                        "Add",
                                        "Clip",
                                        "Div",
                                        "Exp",
                                        "Identity",
                                        "Log",
                                        "Max",
                                        "Min",
                                        "Mul",
                                        "Neg",
                                        "Pow",
                                        "Relu",
                                        "Sigmoid",
                                        "Softplus",
                                        "Sqrt",
                                        "Sub",
                                        "Tanh",
                                        "RandomNormalLike"};
    return oct_text_is_one_of(op, names, OCT_COUNTOF(names));
}

// Returns a step with the value's shape, or NULL if the shape is unknown.
static const import_step *
shape_of(const import_value *x)
{
    return x->step != NULL ? x->step : x->like;
}

// True if the value has this shape or is repeated to it.
static bool
is_of_shape(const import_value *x, const import_step *like)
{
    if (x->constant != NULL) {
        return import_constant_fits(x->constant, like->shape, like->rank);
    }
    const import_step *own = shape_of(x);
    return own != NULL && own->has_batch == like->has_batch && own->rank == like->rank &&
           memcmp(own->shape, like->shape, like->rank * sizeof(*like->shape)) == 0;
}

// Keeps the shape of a value with a reason, if the node is elementwise and all inputs that depend
// on the observation have the same shape.
static void
shape_keep(const import_graph *graph, const import_node *node, import_value *out)
{
    const import_step *like = NULL;
    bool is_known = is_elementwise(node->op) && node->input_count <= INPUTS_MAX;
    for (size_t i = 0; is_known && like == NULL && i < node->input_count; i++) {
        const import_value *x = graph->inputs[i];
        like = x != NULL && x->constant == NULL ? shape_of(x) : NULL;
    }
    for (size_t i = 0; like != NULL && i < node->input_count; i++) {
        const import_value *x = graph->inputs[i];
        like = x == NULL || is_of_shape(x, like) ? like : NULL;
    }
    out->like = like;
}

// Defines the outputs of all nodes.
static void
nodes_run(import_graph *graph)
{
    for (size_t i = 0; i < graph->model->node_count; i++) {
        const import_node *node = &graph->model->nodes[i];
        import_operation operation;
        const char *why = node_begin(graph, node, &operation);
        for (size_t k = 0; k < node->output_count; k++) {
            // Split finds its part by out->name. Other operations compute their first output.
            import_value out = {.name = node->outputs[k], .why = why};
            bool is_read = k == 0 || operation == import_split;
            const char *refused = why != NULL ? NULL
                                  : is_read   ? operation(graph, node, &out)
                                              : "policies support its first output only";
            if (refused != NULL) {
                out.why = node_refuse(graph, node, refused);
            }
            if (out.why != NULL) {
                out.step = NULL;
                out.constant = NULL;
                shape_keep(graph, node, &out);
            }
            import_graph_define(graph, node->outputs[k], &out);
        }
    }
}

// ---- the observation

// The first axis is a batch, unless the input has one axis only, or exactly the shape of one
// observation that the caller knows.
static bool
port_has_batch(const import_port *port, const uint32_t *obs_shape, uint32_t obs_rank)
{
    bool is_whole = obs_rank == port->rank && port->dims[0] > 1;
    for (uint32_t i = 0; is_whole && i < obs_rank; i++) {
        is_whole = port->dims[i] == (int64_t)obs_shape[i];
    }
    return port->rank != 1 && !is_whole;
}

// Sets the shape of an observation: as the model declares it, or as the caller knows it.
static oct_err
observation_shape(import_step *step, const import_port *port, const uint32_t *obs_shape,
                  uint32_t obs_rank, oct_reason *why)
{
    // Dimensions that are unknown or variable are -1.
    bool has_batch = port_has_batch(port, obs_shape, obs_rank);
    uint32_t rank = has_batch && port->rank > 0 ? port->rank - 1 : port->rank;
    step->has_batch = has_batch;
    if (rank > IMPORT_SHAPE_MAX) {
        return oct_refuse(why, "its input has rank %u, allowed is a batch and %d", port->rank,
                          IMPORT_SHAPE_MAX);
    }
    uint64_t count = 1;
    bool is_known = rank > 0;
    for (uint32_t i = 0; i < rank; i++) {
        int64_t dim = port->dims[has_batch ? i + 1 : i];
        is_known = is_known && dim > 0;
        if (dim > IMPORT_WIDTH_MAX || (dim > 0 && (count *= (uint64_t)dim) > IMPORT_WIDTH_MAX)) {
            return oct_refuse(why, "an observation of more than %d numbers, the limit of policies",
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
            why, "it does not state the shape of its input; give it with --obs-shape or --env");
    }
    step->count = (uint32_t)count;
    return OCT_OK;
}

// Adds the normaliser's steps after the observation. *step becomes the last of them.
static oct_err
normaliser_add(import_graph *graph, const import_normaliser *normaliser, const import_step **step,
               oct_reason *why)
{
    uint32_t count = graph->observation.count;
    if (normaliser->count != count) {
        return oct_refuse(why, "the normaliser has %u number%s, but an observation has %u",
                          normaliser->count, oct_text_plural(normaliser->count), count);
    }
    double *numbers = import_graph_alloc(graph, 4 * (size_t)count * sizeof(double));
    import_step *affine = import_step_make(graph, NULL, IMPORT_AFFINE, &graph->observation);
    import_step *clip = affine != NULL ? import_step_make(graph, NULL, IMPORT_CLIP, affine) : NULL;
    if (numbers == NULL || clip == NULL) {
        return oct_refuse(why, IMPORT_TOO_LARGE);
    }
    double *a = numbers, *b = a + count, *low = b + count, *high = low + count;
    for (uint32_t i = 0; i < count; i++) {
        // (x - mean) / deviation = a x + b.
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

// Defines the observation, and gives the other inputs a reason.
static oct_err
observation_define(import_graph *graph, const uint32_t *obs_shape, uint32_t obs_rank,
                   const import_normaliser *normaliser, oct_reason *reason)
{
    const import_port *port = graph->port;
    graph->observation = (import_step){.kind = IMPORT_OBSERVATION};
    OCT_TRY(observation_shape(&graph->observation, port, obs_shape, obs_rank, reason));
    import_value value = {.step = &graph->observation};
    if (normaliser != NULL) {
        OCT_TRY(normaliser_add(graph, normaliser, &value.step, reason));
    }
    import_graph_define(graph, port->name, &value);
    for (size_t i = 0; i < graph->model->input_count; i++) {
        const import_port *other = &graph->model->inputs[i];
        char quoted[QUOTE_BYTES];
        oct_text_quote(quoted, sizeof(quoted), other->name, strlen(other->name));
        if (other != port) {
            import_value unused = {
                .why = import_graph_text(graph,
                                         "it depends on the input '%s' beside the observation; a "
                                         "policy has one input",
                                         quoted)};
            import_graph_define(graph, other->name, &unused);
        }
    }
    return OCT_OK;
}

// ---- choice of the observation

// Marks a name as needed.
static void
need(const import_graph *graph, bool *is_needed, const char *name)
{
    const import_name *found =
        name[0] != '\0' ? import_names_find(graph->names, graph->value_max, name) : NULL;
    if (found != NULL) {
        is_needed[found - graph->names] = true;
    }
}

static bool
is_needed_now(const import_graph *graph, const bool *is_needed, const char *name)
{
    const import_name *found = import_names_find(graph->names, graph->value_max, name);
    return found != NULL && is_needed[found - graph->names];
}

// Goes backwards through the nodes, which are in topological order. Afterwards is_needed[i] is
// true if the output depends on the value of names[i].
static void
needs_find(const import_graph *graph, bool *is_needed, const char *output)
{
    const import_model *model = graph->model;
    need(graph, is_needed, output);
    for (size_t i = model->node_count; i-- > 0;) {
        const import_node *node = &model->nodes[i];
        bool is_used = false;
        for (size_t k = 0; k < node->output_count; k++) {
            is_used = is_used || is_needed_now(graph, is_needed, node->outputs[k]);
        }
        for (size_t k = 0; is_used && k < node->input_count; k++) {
            need(graph, is_needed, node->inputs[k]);
        }
    }
}

// Sets the port: the one input that the output needs, or the first if it needs none.
static oct_err
observation_choose(import_graph *graph, const char *output, oct_reason *why)
{
    const import_model *model = graph->model;
    bool *is_needed = oct_alloc(graph->value_max * sizeof(*is_needed));
    const char *found[2] = {"", ""};
    size_t count = 0;
    needs_find(graph, is_needed, output);
    graph->port = &model->inputs[0];
    for (size_t i = 0; i < model->input_count; i++) {
        if (is_needed_now(graph, is_needed, model->inputs[i].name)) {
            graph->port = count == 0 ? &model->inputs[i] : graph->port;
            found[count > 0] = model->inputs[i].name;
            count++;
        }
    }
    free(is_needed);
    if (count <= 1) {
        return OCT_OK;
    }
    char first[QUOTE_BYTES], last[QUOTE_BYTES];
    oct_text_quote(first, sizeof(first), found[0], strlen(found[0]));
    oct_text_quote(last, sizeof(last), found[1], strlen(found[1]));
    return oct_refuse(why,
                      "its output depends on %zu inputs, '%s' %s '%s'; a policy has one, the "
                      "observation, and no state: export a model that joins its inputs itself",
                      count, first, count > 2 ? "to" : "and", last);
}

// Counts initialisers, inputs and outputs of nodes: each becomes a value.
static size_t
values_count(const import_model *model)
{
    size_t count = model->tensor_count + model->input_count;
    for (size_t i = 0; i < model->node_count; i++) {
        count += model->nodes[i].output_count;
    }
    return count;
}

oct_err
import_graph_create(import_graph **out, const import_model *model, const char *output,
                    const uint32_t *obs_shape, uint32_t obs_rank,
                    const import_normaliser *normaliser, oct_reason *why)
{
    if (model->opset < OPSET_LEAST) {
        return oct_refuse(why, "its opset is %" PRId64 ", allowed is %d and later", model->opset,
                          OPSET_LEAST);
    }
    size_t values = values_count(model);
    if (values > VALUES_MAX) {
        return oct_refuse(why, "%zu values, allowed are %d", values, VALUES_MAX);
    }
    if (model->input_count == 0) {
        return oct_refuse(why, "it has no input; a policy has one, the observation");
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
    oct_err err =
        observation_choose(graph, output != NULL ? output : import_graph_output(model), why);
    if (err == OCT_OK) {
        err = observation_define(graph, obs_shape, obs_rank, normaliser, why);
    }
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
