// ONNX's operations that only move numbers, and operations on constants. Values that depend on the
// observation go to import_moves.c, constants to import_constants.c.
#include "policy/import/import_shapes.h"

#include <assert.h>
#include <string.h>

#include "common/oct_base.h"
#include "policy/import/import_constants.h"
#include "policy/import/import_moves.h"

// ---- shapes

const char *
import_identity(import_graph *graph, const import_node *node, import_value *out)
{
    const import_value *x = import_graph_input(graph, node, 0);
    if (x == NULL) {
        return "it has no input";
    }
    out->step = x->step;
    out->constant = x->constant;
    return NULL;
}

// Between float types, of an argmax, and of integers, a cast changes nothing. 1, 10, 11 and 16 are
// ONNX's float32, float16, float64 and bfloat16.
const char *
import_cast(import_graph *graph, const import_node *node, import_value *out)
{
    int64_t to = import_node_int(node, "to", 0);
    const char *why = import_identity(graph, node, out);
    bool is_float = to == 1 || to == 10 || to == 11 || to == 16;
    bool is_action = out->step != NULL && out->step->kind == IMPORT_ARGMAX;
    bool is_integers = out->constant != NULL && out->constant->integers != NULL;
    if (why == NULL && is_float && is_integers) {
        out->constant = import_constant_to_floats(graph, out->constant);
        return out->constant != NULL ? NULL : "it uses the size of the batch as a number";
    }
    return why != NULL || is_float || is_action || is_integers
               ? why
               : "it rounds to whole numbers, which layers of policies do not";
}

const char *
import_flatten(import_graph *graph, const import_node *node, import_value *out)
{
    const import_value *x = import_graph_input(graph, node, 0);
    return x != NULL && x->step != NULL
               ? import_move_flatten(graph, node, x->step, import_node_int(node, "axis", 1), out)
               : "policies support it for values only";
}

const char *
import_reshape(import_graph *graph, const import_node *node, import_value *out)
{
    const import_value *x = import_graph_input(graph, node, 0);
    const import_value *to = import_graph_input(graph, node, 1);
    if (x == NULL || to == NULL || to->constant == NULL || to->constant->integers == NULL) {
        return "it needs a constant shape";
    }
    if (x->constant != NULL) {
        out->constant = import_constant_reshape(graph, x->constant, to->constant);
        return out->constant != NULL ? NULL : "it changes how many numbers a constant has";
    }
    return import_move_reshape(graph, node, x->step, to->constant, out);
}

// Inserts axes of one number.
static const char *
constant_unsqueeze(import_graph *graph, const import_tensor *x, const int64_t *axes, size_t count,
                   import_value *out)
{
    if (count > IMPORT_RANK_MAX - x->rank) {
        return "its result has more axes than constants may have";
    }
    uint32_t rank = x->rank + (uint32_t)count, dims[IMPORT_RANK_MAX] = {0}, found, from = 0;
    const char *why = import_axes_find(axes, count, rank, &found);
    for (uint32_t i = 0; why == NULL && i < rank; i++) {
        dims[i] = (found >> i & 1u) != 0 ? 1 : x->dims[from++];
    }
    out->constant = import_constant_shaped(graph, x, dims, rank);
    return why != NULL || out->constant != NULL ? why : IMPORT_TOO_LARGE;
}

// Removes axes of one number.
static const char *
constant_squeeze(import_graph *graph, const import_tensor *x, const int64_t *axes, size_t count,
                 import_value *out)
{
    uint32_t rank = 0, dims[IMPORT_RANK_MAX] = {0}, found;
    const char *why = import_axes_find(axes, count, x->rank, &found);
    for (uint32_t i = 0; why == NULL && i < x->rank; i++) {
        if ((found >> i & 1u) == 0) {
            dims[rank++] = x->dims[i];
        } else if (x->dims[i] != 1) {
            why = IMPORT_NOT_ONE_NUMBER;
        }
    }
    out->constant = import_constant_shaped(graph, x, dims, rank);
    return why != NULL || out->constant != NULL ? why : IMPORT_TOO_LARGE;
}

// Squeeze and Unsqueeze. Axes are an attribute before opset 13, an input since.
const char *
import_squeeze(import_graph *graph, const import_node *node, import_value *out)
{
    const import_value *x = import_graph_input(graph, node, 0);
    size_t count;
    const int64_t *axes = import_node_ints(graph, node, 1, "axes", &count);
    bool is_insert = node->op[0] == 'U';
    bool has_axes = axes != NULL || import_graph_input(graph, node, 1) != NULL;
    if (x == NULL || (has_axes ? count == 0 : is_insert || x->constant != NULL)) {
        return "policies support it with constant axes only";
    }
    if (x->step != NULL) {
        return import_move_squeeze(graph, node, x->step, axes, count, is_insert, out);
    }
    return is_insert ? constant_unsqueeze(graph, x->constant, axes, count, out)
                     : constant_squeeze(graph, x->constant, axes, count, out);
}

// A constant whose axes stay, or are reversed (matrices).
static const char *
constant_transpose(import_graph *graph, const import_tensor *constant, const import_attribute *perm,
                   import_value *out)
{
    const uint32_t rank = constant->rank;
    uint32_t seen = 0;
    bool is_same = true, is_reversed = true;
    if (perm != NULL && perm->int_count != rank) {
        return IMPORT_NOT_AN_ORDER;
    }
    for (uint32_t i = 0; i < rank; i++) {
        int64_t axis = perm != NULL ? perm->ints[i] : rank - 1 - i;
        if (axis < 0 || axis >= rank || (seen >> axis & 1u) != 0) {
            return IMPORT_NOT_AN_ORDER;
        }
        seen |= 1u << axis;
        is_same = is_same && axis == i;
        is_reversed = is_reversed && axis == rank - 1 - i;
    }
    out->constant = is_same       ? constant
                    : is_reversed ? import_constant_transpose(graph, constant)
                                  : NULL;
    return out->constant != NULL ? NULL : "policies support it for matrices and values only";
}

const char *
import_transpose(import_graph *graph, const import_node *node, import_value *out)
{
    const import_value *x = import_graph_input(graph, node, 0);
    const import_attribute *perm = import_node_attribute(node, "perm");
    if (x == NULL || (x->step == NULL && x->constant == NULL)) {
        return "it has no input";
    }
    if (x->constant != NULL) {
        return constant_transpose(graph, x->constant, perm, out);
    }
    return import_move_transpose(graph, node, x->step, perm, out);
}

// Output out->name of a Split: an equal part, or the size that the node lists. The last equal part
// may be smaller.
const char *
import_split(import_graph *graph, const import_node *node, import_value *out)
{
    const import_value *x = import_graph_input(graph, node, 0);
    int64_t axis = import_node_int(node, "axis", 0);
    if (x == NULL || x->step == NULL || !import_step_is_row(x->step) ||
        !import_axis_is_last(x->step, axis)) {
        return "policies support it along the last axis of rows of numbers only";
    }
    size_t known;
    const int64_t *list = import_node_ints(graph, node, 1, "split", &known);
    uint32_t total = x->step->count, parts = (uint32_t)node->output_count;
    uint32_t equal = (total + parts - 1) / parts, end = 0, first = 0, count = 0;
    bool fits = list != NULL ? known == parts : import_graph_input(graph, node, 1) == NULL;
    for (uint32_t i = 0; fits && i < parts; i++) {
        int64_t size = list != NULL ? list[i] : OCT_MIN(equal, total - end);
        fits = size >= 1 && size <= total - end;
        if (fits && node->outputs[i] == out->name) {
            first = end;
            count = (uint32_t)size;
        }
        end += fits ? (uint32_t)size : 0;
    }
    return fits && end == total
               ? import_move_part(graph, node, x->step, x->step->rank - 1 + x->step->has_batch,
                                  first, count, out)
               : "its parts do not add up to the row";
}

// Reads the ranges. False: they are not constants, their counts differ, or they use the size of
// the batch.
static bool
slice_read(import_ranges *out, const import_graph *graph, const import_node *node)
{
    static const int64_t in_order[] = {0, 1, 2, 3, 4, 5, 6, 7};
    static_assert(OCT_COUNTOF(in_order) == IMPORT_RANK_MAX, "each axis");
    size_t end_count, axis_count, step_count;
    *out = (import_ranges){0};
    out->first = import_node_ints(graph, node, 1, "starts", &out->count);
    out->end = import_node_ints(graph, node, 2, "ends", &end_count);
    out->axes = import_node_ints(graph, node, 3, "axes", &axis_count);
    out->steps = import_node_ints(graph, node, 4, "steps", &step_count);
    if (out->axes == NULL && import_graph_input(graph, node, 3) == NULL) {
        out->axes = in_order;
        axis_count = out->count;
    }
    bool is_read = out->first != NULL && out->end != NULL && out->axes != NULL &&
                   end_count == out->count && axis_count == out->count &&
                   out->count <= IMPORT_RANK_MAX &&
                   (out->steps != NULL ? step_count == out->count
                                       : import_graph_input(graph, node, 4) == NULL);
    for (size_t i = 0; is_read && i < out->count; i++) {
        is_read = out->first[i] != IMPORT_BATCH && out->end[i] != IMPORT_BATCH;
    }
    return is_read;
}

// Of a constant, only a list of integers can be sliced: exporters take sizes from shapes.
const char *
import_slice(import_graph *graph, const import_node *node, import_value *out)
{
    const import_value *x = import_graph_input(graph, node, 0);
    import_ranges ranges;
    if (x == NULL || !slice_read(&ranges, graph, node)) {
        return "policies support it with constant ranges, one for each axis, only";
    }
    if (x->step != NULL) {
        return import_move_slice(graph, node, x->step, &ranges, out);
    }
    if (ranges.count != 1 || (ranges.steps != NULL && ranges.steps[0] != 1) ||
        (ranges.axes[0] != 0 && ranges.axes[0] != -1)) {
        return "policies support it along the axis of a constant list, with step 1, only";
    }
    out->constant = import_constant_slice(graph, x->constant, ranges.first[0], ranges.end[0]);
    return out->constant != NULL
               ? NULL
               : "it selects nothing, or a part of a constant that is not a list of whole numbers";
}

// ---- constants

// One of the attributes is set.
const char *
import_constant(import_graph *graph, const import_node *node, import_value *out)
{
    const import_attribute *tensor = import_node_attribute(node, "value");
    const import_attribute *f = import_node_attribute(node, "value_float");
    const import_attribute *i = import_node_attribute(node, "value_int");
    const import_attribute *ints = import_node_attribute(node, "value_ints");
    const import_attribute *floats = import_node_attribute(node, "value_floats");
    out->constant = tensor != NULL ? tensor->tensor
                    : f != NULL    ? import_constant_float(graph, f->f)
                    : i != NULL    ? import_constant_int(graph, i->i)
                    : ints != NULL ? import_constant_ints(graph, ints->ints, ints->int_count)
                    : floats != NULL
                        ? import_constant_floats(graph, floats->floats, floats->float_count)
                        : NULL;
    return out->constant != NULL ? NULL : "a constant of a kind that policies do not have";
}

// The size of a batch is unknown: IMPORT_BATCH stands for it.
const char *
import_shape_of(import_graph *graph, const import_node *node, import_value *out)
{
    const import_value *x = import_graph_input(graph, node, 0);
    const import_step *like = x == NULL ? NULL : x->step != NULL ? x->step : x->like;
    if (like == NULL) {
        return "policies support it for values only";
    }
    int64_t dims[IMPORT_SHAPE_MAX + 1], rank = 0;
    if (like->has_batch) {
        dims[rank++] = IMPORT_BATCH;
    }
    for (uint32_t i = 0; i < like->rank; i++) {
        dims[rank++] = like->shape[i];
    }
    int64_t first = import_node_int(node, "start", 0), end = import_node_int(node, "end", rank);
    if (!import_constant_range((size_t)rank, &first, &end)) {
        return "it selects nothing of the shape";
    }
    out->constant = import_constant_ints(graph, &dims[first], (size_t)(end - first));
    return out->constant != NULL ? NULL : IMPORT_TOO_LARGE;
}

// Of a constant, only one size of a shape can be selected.
const char *
import_gather(import_graph *graph, const import_node *node, import_value *out)
{
    const import_value *x = import_graph_input(graph, node, 0);
    const import_value *index = import_graph_input(graph, node, 1);
    if (x == NULL || index == NULL || index->constant == NULL ||
        index->constant->integers == NULL || index->constant->rank > 1) {
        return "policies support it with a constant index, or a list of them, only";
    }
    if (x->step != NULL) {
        return import_move_gather(graph, node, x->step, import_node_int(node, "axis", 0),
                                  index->constant, out);
    }
    if (index->constant->count != 1 || x->constant->integers == NULL || x->constant->rank != 1) {
        return "policies support it for values, and for one size of a shape, only";
    }
    int64_t at = index->constant->integers[0];
    at += at < 0 ? (int64_t)x->constant->count : 0;
    if (at < 0 || at >= (int64_t)x->constant->count) {
        return "its index is outside";
    }
    int64_t size = x->constant->integers[at];
    out->constant = index->constant->rank == 0 ? import_constant_int(graph, size)
                                               : import_constant_ints(graph, &size, 1);
    return out->constant != NULL ? NULL : IMPORT_TOO_LARGE;
}

// A float that is the same everywhere replaces a constant of any shape. A list of integers, of a
// known length, may be a shape.
const char *
import_constant_of_shape(import_graph *graph, const import_node *node, import_value *out)
{
    const import_value *shape = import_graph_input(graph, node, 0);
    const import_attribute *given = import_node_attribute(node, "value");
    const import_tensor *value = given != NULL ? given->tensor : NULL;
    if (shape == NULL || shape->constant == NULL || shape->constant->integers == NULL ||
        (value != NULL &&
         (value->count != 1 || (value->floats == NULL && value->integers == NULL)))) {
        return "policies support it for one number and constant shapes only";
    }
    if (value == NULL || value->floats != NULL) {
        out->constant = import_constant_float(graph, value != NULL ? value->floats[0] : 0.0f);
        return out->constant != NULL ? NULL : IMPORT_TOO_LARGE;
    }
    int64_t list[IMPORT_RANK_MAX],
        count = shape->constant->count == 1 ? shape->constant->integers[0] : 0;
    for (int64_t i = 0; i < count && i < IMPORT_RANK_MAX; i++) {
        list[i] = value->integers[0];
    }
    if (count < 1 || count > IMPORT_RANK_MAX) {
        return "policies support lists of whole numbers of a known length only";
    }
    out->constant = import_constant_ints(graph, list, (size_t)count);
    return out->constant != NULL ? NULL : IMPORT_TOO_LARGE;
}

// A value that is expanded to its own shape stays as it is.
static const char *
value_expand(const import_step *step, const import_tensor *to, import_value *out)
{
    uint32_t rank = step->rank + step->has_batch;
    bool is_same = to->count <= rank;
    for (size_t i = 0; is_same && i < to->count; i++) {
        size_t axis = rank - to->count + i; // with the batch axis, if there is one
        int64_t dim = to->integers[i], batch = step->has_batch;
        is_same = batch == 1 && axis == 0 ? dim == IMPORT_BATCH || dim == 1
                                          : dim == 1 || dim == step->shape[axis - (size_t)batch];
    }
    out->step = step;
    return is_same ? NULL : "it repeats a value, which policies do not";
}

// Constants are repeated: log deviations are expanded to each row of a batch, and one row is
// enough.
const char *
import_expand(import_graph *graph, const import_node *node, import_value *out)
{
    const import_value *x = import_graph_input(graph, node, 0);
    const import_value *to = import_graph_input(graph, node, 1);
    if (x != NULL && x->step != NULL && to != NULL && to->constant != NULL &&
        to->constant->integers != NULL) {
        return value_expand(x->step, to->constant, out);
    }
    if (x == NULL || x->constant == NULL || x->constant->floats == NULL || to == NULL ||
        to->constant == NULL || to->constant->integers == NULL ||
        to->constant->count > IMPORT_RANK_MAX) {
        return "policies support it for constant floats, to constant shapes, only";
    }
    uint32_t dims[IMPORT_RANK_MAX] = {0}, rank = (uint32_t)to->constant->count;
    for (uint32_t i = 0; i < rank; i++) {
        int64_t dim = to->constant->integers[i];
        dim = i == 0 && dim == IMPORT_BATCH ? 1 : dim;
        if (dim < 1 || dim > IMPORT_WIDTH_MAX) {
            return "policies support it to shapes of a batch and known sizes only";
        }
        dims[i] = (uint32_t)dim;
    }
    out->constant = import_constant_expand(graph, x->constant, dims, rank);
    return out->constant != NULL ? NULL : "it expands a constant to a shape that does not fit";
}
