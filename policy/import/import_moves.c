// Selects, reorders and reshapes the numbers of a value. An operation builds a list of positions
// (moves), which becomes one gather; a gather of a gather is combined with it.
#include "policy/import/import_moves.h"

#include <string.h>

#include "common/oct_base.h"
#include "policy/import/import_constants.h"

#define AXES_MAX (IMPORT_SHAPE_MAX + 1) // with the batch axis
#define STEP_MAX INT32_MAX              // of a Slice; keeps index arithmetic from overflowing
#define AFTER_THE_BATCH                                                                            \
    "policies support it after the batch only, as which the first axis of the input is taken; "    \
    "--obs-shape names the whole shape of an input without one"
#define NOT_AN_AXIS      "it names an axis that its input does not have"
#define OTHER_COUNT      "it changes how many numbers one observation has"
#define TOO_MANY_AXES    "its result has more than four axes after the batch"
#define PART_OF_BATCH    "it selects a part of the batch"
#define NOTHING_SELECTED "it selects nothing of the row, or more than 1048576 numbers"

// A value in the making: its number i is number order[i] of from.
typedef struct moves {
    import_graph *graph;
    const import_node *node;
    const import_step *from;
    uint32_t *order; // [count]
    uint32_t count;
    uint32_t rank;           // with the batch axis
    uint32_t dims[AXES_MAX]; // [rank]; a batch axis counts as 1
} moves;

// True if the model takes one observation only.
static bool
has_one_row(const import_graph *graph)
{
    return import_graph_batch(graph) == 1;
}

// Begins with the value itself. False: out of memory.
static bool
moves_begin(moves *m, import_graph *graph, const import_node *node, const import_step *from)
{
    *m = (moves){.graph = graph, .node = node, .from = from, .count = from->count};
    m->order = import_graph_alloc(graph, OCT_MAX(from->count, 1u) * sizeof(*m->order));
    if (from->has_batch) {
        m->dims[m->rank++] = 1;
    }
    for (uint32_t i = 0; i < from->rank; i++) {
        m->dims[m->rank++] = from->shape[i];
    }
    for (uint32_t i = 0; m->order != NULL && i < m->count; i++) {
        m->order[i] = i;
    }
    return m->order != NULL;
}

// True if the moves give the value itself.
static bool
is_unchanged(const moves *m, bool has_batch, const uint32_t *shape, uint32_t rank)
{
    const import_step *from = m->from;
    bool is_same = from->has_batch == has_batch && from->rank == rank && from->count == m->count &&
                   memcmp(from->shape, shape, rank * sizeof(*shape)) == 0;
    for (uint32_t i = 0; is_same && i < m->count; i++) {
        is_same = m->order[i] == i;
    }
    return is_same;
}

// Makes the gather. A model of one observation has a batch axis if its first axis has one number
// and others follow.
static const char *
moves_end(moves *m, import_value *out)
{
    bool has_batch = !has_one_row(m->graph) || (m->rank >= 2 && m->dims[0] == 1);
    const uint32_t *shape = m->dims + has_batch;
    uint32_t rank = m->rank - has_batch;
    const import_step *from = m->from;
    if (rank > IMPORT_SHAPE_MAX) {
        return TOO_MANY_AXES;
    }
    if (is_unchanged(m, has_batch, shape, rank)) {
        out->step = from;
        return NULL;
    }
    // A selection of a selection is a selection of the first value.
    for (uint32_t i = 0; from->kind == IMPORT_GATHER && i < m->count; i++) {
        m->order[i] = from->order[m->order[i]];
    }
    import_step *step = import_step_make(m->graph, m->node, IMPORT_GATHER,
                                         from->kind == IMPORT_GATHER ? from->from : from);
    if (step == NULL) {
        return IMPORT_TOO_LARGE;
    }
    memset(step->shape, 0, sizeof(step->shape));
    memcpy(step->shape, shape, rank * sizeof(*shape));
    step->order = m->order;
    step->count = m->count;
    step->rank = rank;
    step->has_batch = has_batch;
    out->step = step;
    return NULL;
}

// Gives all numbers, in their order, the shape dims[rank].
static const char *
reshaped(import_graph *graph, const import_node *node, const import_step *from,
         const uint32_t *dims, uint32_t rank, import_value *out)
{
    moves m;
    if (!moves_begin(&m, graph, node, from)) {
        return IMPORT_TOO_LARGE;
    }
    memcpy(m.dims, dims, rank * sizeof(*dims));
    m.rank = rank;
    return moves_end(&m, out);
}

// ---- selections

// The numbers that are taken from an axis: at[count], or first, first + step, … if at is NULL.
typedef struct selection {
    const uint32_t *at;
    int64_t first, step;
    uint64_t count;
} selection;

// Replaces an axis by a selection of its numbers.
static const char *
axis_select(moves *m, uint32_t axis, const selection *s)
{
    uint32_t dim = m->dims[axis], inner = 1, at = 0;
    for (uint32_t i = axis + 1; i < m->rank; i++) {
        inner *= m->dims[i];
    }
    uint64_t count = m->count / dim * s->count;
    if (s->count < 1 || s->count > IMPORT_MAP_MAX || count > IMPORT_MAP_MAX) {
        return NOTHING_SELECTED;
    }
    uint32_t *order = import_graph_alloc(m->graph, count * sizeof(*order));
    if (order == NULL) {
        return IMPORT_TOO_LARGE;
    }
    // The value is [outer][dim][inner]; whole rows of inner numbers are copied.
    for (uint32_t outer = 0; outer < m->count / (dim * inner); outer++) {
        for (uint32_t i = 0; i < s->count; i++) {
            uint32_t index = s->at != NULL ? s->at[i] : (uint32_t)(s->first + i * s->step);
            const uint32_t *row = m->order + ((size_t)outer * dim + index) * inner;
            memcpy(order + at, row, inner * sizeof(*order));
            at += inner;
        }
    }
    m->order = order;
    m->count = (uint32_t)count;
    m->dims[axis] = (uint32_t)s->count;
    return NULL;
}

const char *
import_move_part(import_graph *graph, const import_node *node, const import_step *from,
                 uint32_t axis, uint32_t first, uint32_t count, import_value *out)
{
    moves m;
    const selection all = {.first = first, .step = 1, .count = count};
    if (!moves_begin(&m, graph, node, from)) {
        return IMPORT_TOO_LARGE;
    }
    const char *why = axis_select(&m, axis, &all);
    return why != NULL ? why : moves_end(&m, out);
}

// A range as ONNX defines it: negative ends count from the end, and both are cut to the axis.
static selection
range_of(int64_t first, int64_t end, int64_t step, int64_t dim)
{
    // With a negative step, -1 is the position before the first number.
    int64_t least = step < 0 ? -1 : 0, most = step < 0 ? dim - 1 : dim;
    first = OCT_MIN(OCT_MAX(first < 0 ? first + dim : first, least), most);
    end = OCT_MIN(OCT_MAX(end < 0 ? end + dim : end, least), most);
    int64_t length = step < 0 ? first - end : end - first, stride = step < 0 ? -step : step;
    return (selection){.first = first,
                       .step = step,
                       .count = length > 0 ? (uint64_t)((length + stride - 1) / stride) : 0};
}

// True if a range takes the whole batch. Exporters write the unknown end of an axis as the largest
// number of 32 or 64 bits.
static bool
batch_is_whole(int64_t first, int64_t end, int64_t step)
{
    return (first == 0 || first <= -INT32_MAX) && end >= INT32_MAX && step == 1;
}

const char *
import_move_slice(import_graph *graph, const import_node *node, const import_step *from,
                  const import_ranges *ranges, import_value *out)
{
    moves m;
    // The ranges apply one after the other, each to the result of the ones before.
    uint32_t found;
    if (!moves_begin(&m, graph, node, from)) {
        return IMPORT_TOO_LARGE;
    }
    const char *why = import_axes_find(ranges->axes, ranges->count, m.rank, &found);
    for (size_t i = 0; why == NULL && i < ranges->count; i++) {
        int64_t axis = ranges->axes[i] + (ranges->axes[i] < 0 ? m.rank : 0);
        int64_t step = ranges->steps != NULL ? ranges->steps[i] : 1;
        if (step == 0 || step > STEP_MAX || step < -STEP_MAX) {
            why = "it has a step of 0, or a very large one";
        } else if (axis == 0 && !has_one_row(graph)) {
            why = batch_is_whole(ranges->first[i], ranges->end[i], step) ? NULL : PART_OF_BATCH;
        } else {
            selection s = range_of(ranges->first[i], ranges->end[i], step, m.dims[axis]);
            why = axis_select(&m, (uint32_t)axis, &s);
        }
    }
    return why != NULL ? why : moves_end(&m, out);
}

const char *
import_move_gather(import_graph *graph, const import_node *node, const import_step *from,
                   int64_t axis, const import_tensor *at, import_value *out)
{
    moves m;
    uint32_t found;
    if (at->count > IMPORT_WIDTH_MAX || !moves_begin(&m, graph, node, from)) {
        return IMPORT_TOO_LARGE;
    }
    const char *why = import_axes_find(&axis, 1, m.rank, &found);
    if (why != NULL) {
        return why;
    }
    axis += axis < 0 ? m.rank : 0;
    if (axis == 0 && !has_one_row(graph)) {
        return PART_OF_BATCH;
    }
    // Negative indices count from the end.
    uint32_t *list = import_graph_alloc(graph, OCT_MAX(at->count, (size_t)1) * sizeof(*list));
    for (size_t i = 0; list != NULL && i < at->count; i++) {
        int64_t dim = m.dims[axis], index = at->integers[i];
        index += index < 0 && index >= -dim ? dim : 0;
        if (index < 0 || index >= dim) {
            return "its index is outside";
        }
        list[i] = (uint32_t)index;
    }
    const selection s = {.at = list, .count = at->count};
    why = list != NULL ? axis_select(&m, (uint32_t)axis, &s) : IMPORT_TOO_LARGE;
    // A single index removes its axis.
    if (why == NULL && at->rank == 0) {
        m.rank--;
        memmove(m.dims + axis, m.dims + axis + 1, (m.rank - (size_t)axis) * sizeof(*m.dims));
    }
    return why != NULL ? why : moves_end(&m, out);
}

// ---- shapes and orders

const char *
import_axes_find(const int64_t *axes, size_t count, uint32_t rank, uint32_t *found)
{
    *found = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
        if (axis < 0 || axis >= rank) {
            return NOT_AN_AXIS;
        }
        if ((*found >> axis & 1u) != 0) {
            return "it names one axis twice";
        }
        *found |= 1u << axis;
    }
    return NULL;
}

const char *
import_move_flatten(import_graph *graph, const import_node *node, const import_step *from,
                    int64_t axis, import_value *out)
{
    int64_t rank = (int64_t)from->rank + from->has_batch;
    uint32_t dims[2] = {1, from->count};
    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis > rank) {
        return NOT_AN_AXIS;
    }
    if (axis != 1 && !has_one_row(graph)) {
        return AFTER_THE_BATCH;
    }
    // Axes before `axis` become the first dimension, the others the second.
    for (int64_t i = from->has_batch; i < axis; i++) {
        dims[0] *= from->shape[i - from->has_batch];
        dims[1] /= from->shape[i - from->has_batch];
    }
    return reshaped(graph, node, from, dims, 2, out);
}

// Returns dimension i, with a batch axis as 1; 0: there is no such axis.
static int64_t
dim_of(const import_step *from, uint32_t i)
{
    return from->has_batch && i == 0          ? 1
           : i < from->rank + from->has_batch ? from->shape[i - from->has_batch]
                                              : 0;
}

const char *
import_move_reshape(import_graph *graph, const import_node *node, const import_step *from,
                    const import_tensor *to, import_value *out)
{
    uint32_t dims[AXES_MAX] = {1}, open = UINT32_MAX, rank = (uint32_t)to->count;
    uint32_t first = has_one_row(graph) ? 0 : 1;
    uint64_t known = 1;
    if (to->count <= first || to->count > AXES_MAX) {
        return "policies support shapes of a batch and up to four dimensions only";
    }
    // The first number is the batch, in any of the ways in which exporters write it.
    int64_t batch = to->integers[0];
    if (first > 0 && batch != -1 && batch != 0 && batch != 1 && batch != IMPORT_BATCH &&
        batch != import_graph_batch(graph)) {
        return "it changes the size of the batch";
    }
    for (uint32_t i = first; i < rank; i++) {
        int64_t dim = to->integers[i];
        dim = dim == 0 ? dim_of(from, i) : dim == IMPORT_BATCH && first == 0 ? 1 : dim;
        if (dim > from->count || dim == 0 || dim < -1 || (dim == -1 && open != UINT32_MAX)) {
            return OTHER_COUNT;
        }
        open = dim == -1 ? i : open;
        dims[i] = dim == -1 ? 1 : (uint32_t)dim;
        known *= dims[i];
        if (known > from->count) {
            return OTHER_COUNT;
        }
    }
    // A dimension of -1 gets the remaining factor of the count.
    if (open != UINT32_MAX) {
        dims[open] = from->count / (uint32_t)known;
        known *= dims[open];
    }
    return known == from->count ? reshaped(graph, node, from, dims, rank, out) : OTHER_COUNT;
}

const char *
import_move_squeeze(import_graph *graph, const import_node *node, const import_step *from,
                    const int64_t *axes, size_t count, bool is_insert, import_value *out)
{
    uint32_t own = from->rank + from->has_batch, dims[AXES_MAX] = {0}, rank = 0, at = 0;
    uint32_t found = 0, all = own + (is_insert ? (uint32_t)OCT_MIN(count, (size_t)AXES_MAX) : 0);
    if (all > AXES_MAX) {
        return TOO_MANY_AXES;
    }
    // Without axes, all of one number are removed.
    for (uint32_t i = 0; axes == NULL && i < own; i++) {
        found |= dim_of(from, i) == 1 ? 1u << i : 0u;
    }
    const char *why = axes != NULL ? import_axes_find(axes, count, all, &found) : NULL;
    if (why == NULL && (found & 1u) != 0 && !has_one_row(graph)) {
        why = axes != NULL ? AFTER_THE_BATCH
                           : "it names no axes, and what it removes may be the batch";
    }
    for (uint32_t i = 0; why == NULL && i < all; i++) {
        bool is_named = (found >> i & 1u) != 0;
        if (is_insert && is_named) {
            dims[rank++] = 1;
        } else if (!is_named) {
            dims[rank++] = (uint32_t)dim_of(from, at++);
        } else if (dim_of(from, at++) != 1) {
            why = IMPORT_NOT_ONE_NUMBER;
        }
    }
    return why != NULL ? why : reshaped(graph, node, from, dims, rank, out);
}

const char *
import_move_transpose(import_graph *graph, const import_node *node, const import_step *from,
                      const import_attribute *perm, import_value *out)
{
    moves m;
    uint32_t strides[AXES_MAX] = {0}, dims[AXES_MAX] = {0}, seen = 0;
    if (!moves_begin(&m, graph, node, from)) {
        return IMPORT_TOO_LARGE;
    }
    if (perm != NULL && perm->int_count != m.rank) {
        return IMPORT_NOT_AN_ORDER;
    }
    for (uint32_t i = 0; i < m.rank; i++) {
        int64_t axis = perm != NULL ? perm->ints[i] : m.rank - 1 - i;
        if (axis < 0 || axis >= m.rank || (seen >> axis & 1u) != 0) {
            return IMPORT_NOT_AN_ORDER;
        }
        if (i == 0 && axis != 0 && !has_one_row(graph)) {
            return AFTER_THE_BATCH;
        }
        seen |= 1u << axis;
        dims[i] = m.dims[axis];
        // Distance in the value of two neighbours along this axis of the result.
        strides[i] = 1;
        for (uint32_t k = (uint32_t)axis + 1; k < m.rank; k++) {
            strides[i] *= m.dims[k];
        }
    }
    // Position i of the result, split into its axes, has this index in the value.
    for (uint32_t i = 0; i < m.count; i++) {
        uint32_t rest = i, at = 0;
        for (uint32_t d = m.rank; d > 0; d--) {
            at += rest % dims[d - 1] * strides[d - 1];
            rest /= dims[d - 1];
        }
        m.order[i] = at;
    }
    memcpy(m.dims, dims, sizeof(dims));
    return moves_end(&m, out);
}
