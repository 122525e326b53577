// Operations that move a kernel over a map: convolutions and pools. A map is [channels][rows]
// [columns], or a sequence [channels][numbers], which is a map of one column.
#include <string.h>

#include "common/oct_base.h"
#include "policy/import/import_shapes.h"

#define TOO_LARGE IMPORT_TOO_LARGE
#define NOT_A_MAP                                                                                  \
    "policies support it on maps of channels, rows and columns, and on sequences of channels only"
#define NO_DILATION                                                                                \
    "it has dilations, which policies do not have: train with a larger kernel instead"
#define NO_GROUPS                                                                                  \
    "it has groups, which policies do not have: train with group 1, or with a convolution of 1 x " \
    "1"
#define NO_SUCH_ATTRIBUTE "a list of its attributes does not have one number for each axis"

// Copies an attribute with count numbers, or `otherwise` for each if there is none. False: it has
// another count, or a number that is not in 0..POLICY_WIDTH_MAX.
static bool
numbers_read(const import_node *node, const char *name, uint32_t otherwise, size_t count,
             uint32_t *out)
{
    const import_attribute *given = import_node_attribute(node, name);
    for (size_t i = 0; i < count; i++) {
        int64_t number = given != NULL && i < given->int_count ? given->ints[i] : otherwise;
        if ((given != NULL && given->int_count != count) || number < 0 ||
            number > POLICY_WIDTH_MAX) {
            return false;
        }
        out[i] = (uint32_t)number;
    }
    return true;
}

// The attributes of a node, for one or two axes.
typedef struct kernel {
    uint32_t axes;
    uint32_t size[2], stride[2], pads[4]; // pads: before [axes], then after [axes]
    const char *auto_pad;
    bool is_ceiled; // positions are rounded up
} kernel;

// Reads all attributes but kernel_shape, which the caller has set.
static const char *
kernel_read(kernel *k, const import_node *node)
{
    static const char *const ways[] = {"", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"};
    const import_attribute *pad = import_node_attribute(node, "auto_pad");
    uint32_t dilations[2] = {1, 1};
    k->auto_pad = pad != NULL ? pad->s : "";
    k->is_ceiled = import_node_int(node, "ceil_mode", 0) != 0;
    if (!numbers_read(node, "strides", 1, k->axes, k->stride) ||
        !numbers_read(node, "pads", 0, 2 * (size_t)k->axes, k->pads) ||
        !numbers_read(node, "dilations", 1, k->axes, dilations)) {
        return NO_SUCH_ATTRIBUTE;
    }
    bool is_known = false;
    for (size_t i = 0; i < OCT_COUNTOF(ways); i++) {
        is_known = is_known || strcmp(k->auto_pad, ways[i]) == 0;
    }
    return !is_known                                ? "its auto_pad is not one of ONNX's"
           : dilations[0] != 1 || dilations[1] != 1 ? NO_DILATION
                                                    : NULL;
}

// Sets the padding of an axis by auto_pad.
static void
axis_pad(const kernel *k, policy_axis *axis)
{
    uint32_t size = axis->size, stride = axis->stride;
    if (strncmp(k->auto_pad, "SAME_", 5) == 0) {
        uint32_t need = ((size + stride - 1) / stride - 1) * stride + axis->kernel;
        uint32_t pad = need > size ? need - size : 0;
        axis->before = (pad + (k->auto_pad[5] == 'L')) / 2;
        axis->after = pad - axis->before;
    } else if (strcmp(k->auto_pad, "VALID") == 0) {
        axis->before = axis->after = 0;
    }
}

// Makes one axis, and checks it.
static const char *
axis_make(import_graph *graph, const kernel *k, uint32_t i, uint32_t size, policy_axis *axis)
{
    *axis = (policy_axis){.size = size, .kernel = 1, .stride = 1};
    if (i >= k->axes) {
        return NULL; // the one column of a sequence
    }
    axis->kernel = k->size[i];
    axis->stride = k->stride[i];
    axis->before = k->pads[i];
    axis->after = k->pads[k->axes + i];
    if (axis->kernel < 1 || axis->kernel > POLICY_KERNEL_MAX || axis->stride < 1 ||
        axis->stride > POLICY_KERNEL_MAX) {
        return import_graph_text(graph,
                                 "its kernel has %u numbers and a stride of %u along an axis; "
                                 "policies have at most %d: make observations smaller before, or "
                                 "train with more layers",
                                 axis->kernel, axis->stride, POLICY_KERNEL_MAX);
    }
    axis_pad(k, axis);
    uint32_t room = axis->before + size + axis->after;
    bool fits = room >= axis->kernel;
    if (fits && k->is_ceiled && (room - axis->kernel) % axis->stride > 0) {
        axis->after += axis->stride - (room - axis->kernel) % axis->stride;
    }
    if (!fits || axis->before >= axis->kernel || axis->after >= axis->kernel) {
        return import_graph_text(graph,
                                 "its kernel of %u numbers does not fit an axis of %u numbers with "
                                 "padding of %u and %u; each padding must be less than the kernel",
                                 axis->kernel, size, axis->before, axis->after);
    }
    return NULL;
}

// Makes the step of a convolution or pool, and its shape.
static const char *
step_make(import_graph *graph, const import_node *node, const import_step *from, const kernel *k,
          import_step **out)
{
    policy_conv conv = {.channels = from->shape[0], .filters = from->shape[0]};
    const char *why = axis_make(graph, k, 0, from->shape[1], &conv.rows);
    if (why == NULL) {
        why = axis_make(graph, k, 1, k->axes == 2 ? from->shape[2] : 1, &conv.columns);
    }
    import_step *step = why == NULL ? import_step_make(graph, node, IMPORT_CONV, from) : NULL;
    if (step == NULL) {
        return why != NULL ? why : TOO_LARGE;
    }
    step->conv = conv;
    step->shape[1] = policy_axis_positions(&conv.rows);
    if (k->axes == 2) {
        step->shape[2] = policy_axis_positions(&conv.columns);
    }
    *out = step;
    return NULL;
}

// Gives the step its count of channels.
static const char *
channels_set(import_graph *graph, import_step *step, uint32_t channels)
{
    uint64_t places = (uint64_t)policy_axis_positions(&step->conv.rows) *
                      policy_axis_positions(&step->conv.columns);
    if (places * channels > IMPORT_MAP_MAX) {
        return import_graph_text(graph, "it gives more than %u numbers", IMPORT_MAP_MAX);
    }
    step->conv.filters = step->shape[0] = channels;
    step->count = (uint32_t)places * channels;
    return NULL;
}

static bool
is_map(const import_value *x)
{
    return x != NULL && x->step != NULL && (x->step->rank == 2 || x->step->rank == 3);
}

const char *
import_convolution(import_graph *graph, const import_node *node, import_value *out)
{
    const import_value *x = import_graph_input(graph, node, 0);
    const import_value *w = import_graph_input(graph, node, 1);
    const import_value *b = import_graph_input(graph, node, 2);
    if (x == NULL || x->step == NULL || w == NULL || w->constant == NULL ||
        w->constant->floats == NULL ||
        (b != NULL && (b->constant == NULL || b->constant->floats == NULL))) {
        return "policies support it with constant weights only";
    }
    const import_tensor *weight = w->constant;
    if (import_node_int(node, "group", 1) != 1) {
        return NO_GROUPS;
    }
    if (!is_map(x) || weight->rank != x->step->rank + 1 || weight->dims[0] < 1 ||
        weight->dims[1] != x->step->shape[0]) {
        return NOT_A_MAP;
    }
    if (b != NULL && b->constant->count != weight->dims[0]) {
        return "its bias does not have one number for each filter";
    }
    kernel k = {.axes = x->step->rank - 1, .size = {weight->dims[2], weight->dims[3]}};
    import_step *step = NULL;
    const char *why = kernel_read(&k, node);
    why = why == NULL ? step_make(graph, node, x->step, &k, &step) : why;
    why = why == NULL ? channels_set(graph, step, weight->dims[0]) : why;
    if (why != NULL) {
        return why;
    }
    double *bias = import_graph_alloc(graph, weight->dims[0] * sizeof(*bias));
    for (uint32_t f = 0; bias != NULL && b != NULL && f < weight->dims[0]; f++) {
        bias[f] = (double)b->constant->floats[f];
    }
    step->weight = weight;
    step->b = bias;
    out->step = step;
    return bias != NULL ? NULL : TOO_LARGE;
}

// Makes a max pool or a mean pool.
static const char *
pool_make(import_graph *graph, const import_node *node, const import_step *from, const kernel *k,
          import_value *out)
{
    import_step *step = NULL;
    bool is_mean = strstr(node->op, "Max") == NULL;
    const char *why = step_make(graph, node, from, k, &step);
    if (why != NULL) {
        return why;
    }
    step->kind = is_mean ? IMPORT_MEAN_POOL : IMPORT_MAX_POOL;
    if (is_mean && policy_has_zeros(&step->conv) &&
        import_node_int(node, "count_include_pad", 0) != 0) {
        return "it counts padding as numbers (count_include_pad 1), which policies do not: export "
               "it with count_include_pad=False";
    }
    out->step = step;
    return channels_set(graph, step, from->shape[0]);
}

const char *
import_pool(import_graph *graph, const import_node *node, import_value *out)
{
    const import_value *x = import_graph_input(graph, node, 0);
    if (!is_map(x)) {
        return NOT_A_MAP;
    }
    kernel k = {.axes = x->step->rank - 1};
    const char *why = numbers_read(node, "kernel_shape", 0, k.axes, k.size) ? kernel_read(&k, node)
                                                                            : NO_SUCH_ATTRIBUTE;
    return why != NULL ? why : pool_make(graph, node, x->step, &k, out);
}

const char *
import_global_pool(import_graph *graph, const import_node *node, import_value *out)
{
    const import_value *x = import_graph_input(graph, node, 0);
    if (!is_map(x)) {
        return NOT_A_MAP;
    }
    const uint32_t *shape = x->step->shape;
    kernel k = {.axes = x->step->rank - 1, .size = {shape[1], shape[2]}, .stride = {1, 1}};
    k.auto_pad = "";
    return pool_make(graph, node, x->step, &k, out);
}
