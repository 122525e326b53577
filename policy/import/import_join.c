// Concat: sizes become one list, and parts that are computed from one value in the same way become
// one step, so that two heads on a trunk are one dense layer.
//
// Parts are joined from their ends: if all are tanh, the result is a tanh of their joined inputs,
// and so on, until all are dense layers or selections of the same value. Parts that only some have
// (an affine step) are filled up with factor 1 and summand 0.
#include <string.h>

#include "common/oct_base.h"
#include "policy/import/import_constants.h"
#include "policy/import/import_shapes.h"

#define PARTS_MAX 16 // as INPUTS_MAX of import_graph.c

// Values to put side by side.
typedef struct join {
    import_graph *graph;
    const import_node *node;
    const import_step *parts[PARTS_MAX];
    uint32_t count;
} join;

static const import_step *join_make(const join *j);

// Numbers of the joined row.
static uint32_t
width_of(const join *j)
{
    uint32_t width = 0;
    for (uint32_t i = 0; i < j->count; i++) {
        width += j->parts[i]->count;
    }
    return width;
}

// True if all parts are of this kind, with the same activation.
static bool
all_are(const join *j, import_kind kind)
{
    for (uint32_t i = 0; i < j->count; i++) {
        if (j->parts[i]->kind != kind || j->parts[i]->activation != j->parts[0]->activation) {
            return false;
        }
    }
    return true;
}

// True if all parts follow the same step.
static bool
have_one_source(const join *j)
{
    for (uint32_t i = 1; i < j->count; i++) {
        if (j->parts[i]->from != j->parts[0]->from) {
            return false;
        }
    }
    return true;
}

// Joins the values before the parts. Parts of another kind than `only` are joined as they are.
static const import_step *
inner_join(const join *j, import_kind only)
{
    join inner = *j;
    for (uint32_t i = 0; i < j->count; i++) {
        inner.parts[i] = j->parts[i]->kind == only ? j->parts[i]->from : j->parts[i];
    }
    return join_make(&inner);
}

// Makes a step of this kind on the joined inner values, with all a and b side by side. A part of
// another kind gets 1 and 0, which is only right for IMPORT_AFFINE.
static const import_step *
numbers_join(const join *j, import_kind kind)
{
    const import_step *from = inner_join(j, kind);
    uint32_t width = width_of(j), at = 0;
    double *a = import_graph_alloc(j->graph, width * sizeof(double));
    double *b = import_graph_alloc(j->graph, width * sizeof(double));
    import_step *made = from != NULL ? import_step_make(j->graph, j->node, kind, from) : NULL;
    if (made == NULL || a == NULL || b == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < j->count; i++) {
        const import_step *part = j->parts[i];
        for (uint32_t k = 0; k < part->count; k++, at++) {
            a[at] = part->kind == kind ? part->a[k] : 1.0;
            b[at] = part->kind == kind ? part->b[k] : 0.0;
        }
    }
    made->a = a;
    made->b = b;
    return made;
}

// Joins selections of one value into one selection.
static const import_step *
gather_join(const join *j)
{
    uint32_t width = width_of(j), at = 0;
    uint32_t *order = import_graph_alloc(j->graph, width * sizeof(uint32_t));
    import_step *made = import_step_make(j->graph, j->node, IMPORT_GATHER, j->parts[0]->from);
    if (made == NULL || order == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < j->count; i++) {
        memcpy(order + at, j->parts[i]->order, j->parts[i]->count * sizeof(*order));
        at += j->parts[i]->count;
    }
    import_step_row(made, j->parts[0], width);
    made->order = order;
    return made;
}

// Joins dense layers on one value into one, with all rows one below the other.
static const import_step *
dense_join(const join *j)
{
    const import_step *from = j->parts[0]->from;
    uint32_t width = width_of(j), at = 0;
    import_tensor *weight = import_graph_alloc(j->graph, sizeof(*weight));
    float *floats = import_graph_alloc(j->graph, (size_t)width * from->count * sizeof(float));
    double *bias = import_graph_alloc(j->graph, width * sizeof(double));
    import_step *made = import_step_make(j->graph, j->node, IMPORT_DENSE, from);
    if (weight == NULL || floats == NULL || bias == NULL || made == NULL) {
        return NULL;
    }
    *weight = (import_tensor){.name = "",
                              .rank = 2,
                              .dims = {width, from->count},
                              .count = (size_t)width * from->count,
                              .floats = floats,
                              .type = 1};
    for (uint32_t i = 0; i < j->count; i++) {
        const import_step *part = j->parts[i];
        for (uint32_t row = 0; row < part->count; row++, at++) {
            for (uint32_t k = 0; k < from->count; k++) {
                floats[(size_t)at * from->count + k] =
                    (float)(part->alpha * import_weight(part, row, k));
            }
            bias[at] = part->b != NULL ? part->b[row] : 0.0;
        }
    }
    import_step_row(made, j->parts[0], width);
    made->weight = weight;
    made->b = bias;
    return made;
}

// Returns the joined step. NULL: the parts are not computed from one value in the same way, or
// memory is used up.
static const import_step *
join_make(const join *j)
{
    if (all_are(j, IMPORT_ACTIVATION)) {
        const import_step *from = inner_join(j, IMPORT_ACTIVATION);
        import_step *made =
            from != NULL ? import_step_make(j->graph, j->node, IMPORT_ACTIVATION, from) : NULL;
        if (made != NULL) {
            made->activation = j->parts[0]->activation;
        }
        return made;
    }
    if (all_are(j, IMPORT_CLIP)) {
        return numbers_join(j, IMPORT_CLIP);
    }
    if (all_are(j, IMPORT_DENSE) && have_one_source(j)) {
        return dense_join(j);
    }
    if (all_are(j, IMPORT_GATHER) && have_one_source(j)) {
        return gather_join(j);
    }
    for (uint32_t i = 0; i < j->count; i++) {
        if (j->parts[i]->kind == IMPORT_AFFINE) {
            return numbers_join(j, IMPORT_AFFINE);
        }
    }
    return NULL;
}

// Concat of values that depend on the observation.
static const char *
steps_concat(import_graph *graph, const import_node *node, import_value *out)
{
    join j = {.graph = graph, .node = node, .count = (uint32_t)node->input_count};
    int64_t axis = import_node_int(node, "axis", 0);
    uint64_t width = 0;
    for (uint32_t i = 0; i < j.count; i++) {
        const import_value *x = import_graph_input(graph, node, i);
        if (x == NULL || x->step == NULL || !import_step_is_row(x->step) ||
            (i > 0 &&
             (x->step->has_batch != j.parts[0]->has_batch || x->step->rank != j.parts[0]->rank))) {
            return "policies support it for parts that are all computed from the observation, and "
                   "that are rows";
        }
        j.parts[i] = x->step;
        width += x->step->count;
    }
    if (!import_axis_is_last(j.parts[0], axis) || width > IMPORT_WIDTH_MAX) {
        return "policies support it along the last axis of rows, of at most 65536 numbers, only";
    }
    out->step = join_make(&j);
    return out->step != NULL
               ? NULL
               : "its inputs are computed in different ways; policies support it for dense layers "
                 "and selections of one value, with the same activation, only";
}

// A list of sizes, or steps.
const char *
import_concat(import_graph *graph, const import_node *node, import_value *out)
{
    int64_t all[IMPORT_RANK_MAX];
    size_t count = 0;
    const import_value *first = import_graph_input(graph, node, 0);
    // A single part stays as it is.
    if (node->input_count == 1 && first != NULL) {
        out->step = first->step;
        out->constant = first->constant;
        return NULL;
    }
    for (size_t i = 0; i < node->input_count; i++) {
        const import_value *x = import_graph_input(graph, node, i);
        if (x != NULL && x->step != NULL) {
            return steps_concat(graph, node, out);
        }
        if (x == NULL || x->constant == NULL || x->constant->integers == NULL ||
            x->constant->count > IMPORT_RANK_MAX - count) {
            return "policies support it for sizes, and for parts of one value, only";
        }
        for (size_t k = 0; k < x->constant->count; k++) {
            all[count++] = x->constant->integers[k];
        }
    }
    out->constant = import_constant_ints(graph, all, count);
    return out->constant != NULL ? NULL : IMPORT_TOO_LARGE;
}
