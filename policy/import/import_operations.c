// ONNX's operations on a value that is computed from the observation: each becomes one step.
// Operations on constants alone are computed. Every function below with these three parameters is
// an import_operation: it sets out->step or out->constant and returns NULL, or returns a reason,
// which import_graph.c puts after the node's name.
//
// Attributes and optional inputs differ between opsets; a comment names the opset where both forms
// are read.
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/oct_base.h"
#include "policy/import/import_activations.h"
#include "policy/import/import_constants.h"
#include "policy/import/import_shapes.h"

#define TOO_LARGE IMPORT_TOO_LARGE
#define NOT_A_ROW                                                                                  \
    "it works on a map, but policies support it on rows of numbers only; flatten the map before"

#define IN_EVALUATION "export the model in evaluation mode"

// ---- helpers

// Steps start as the identity on the shape of from.
import_step *
import_step_make(import_graph *graph, const import_node *node, import_kind kind,
                 const import_step *from)
{
    import_step *step = import_graph_alloc(graph, sizeof(*step));
    if (step != NULL) {
        *step = (import_step){.kind = kind,
                              .from = from,
                              .node = node,
                              .has_batch = from->has_batch,
                              .rank = from->rank,
                              .count = from->count,
                              .alpha = 1.0};
        memcpy(step->shape, from->shape, sizeof(step->shape));
    }
    return step;
}

bool
import_step_is_row(const import_step *step)
{
    return step->rank > 0 && step->shape[step->rank - 1] == step->count;
}

void
import_step_row(import_step *step, const import_step *like, uint32_t count)
{
    step->has_batch = like->has_batch;
    step->rank = like->rank;
    memcpy(step->shape, like->shape, sizeof(step->shape));
    step->shape[step->rank - 1] = step->count = count;
}

int64_t
import_node_int(const import_node *node, const char *name, int64_t otherwise)
{
    const import_attribute *given = import_node_attribute(node, name);
    return given != NULL ? given->i : otherwise;
}

double
import_node_float(const import_node *node, const char *name, double otherwise)
{
    const import_attribute *given = import_node_attribute(node, name);
    return given != NULL ? (double)given->f : otherwise;
}

// An attribute in older opsets, an input in newer ones.
const int64_t *
import_node_ints(const import_graph *graph, const import_node *node, size_t input, const char *name,
                 size_t *count)
{
    const import_attribute *given = import_node_attribute(node, name);
    const import_value *value = import_graph_input(graph, node, input);
    if (given != NULL) {
        *count = given->int_count;
        return given->ints;
    }
    bool is_list = value != NULL && value->constant != NULL && value->constant->integers != NULL;
    *count = is_list ? value->constant->count : 0;
    return is_list ? value->constant->integers : NULL;
}

// [count] zeros, or NULL.
static double *
numbers_make(import_graph *graph, uint32_t count)
{
    return import_graph_alloc(graph, OCT_MAX(count, 1u) * sizeof(double));
}

// An operation on each number of its first input.
static const char *
unary(import_graph *graph, const import_node *node, import_value *out, import_kind kind)
{
    const import_value *x = import_graph_input(graph, node, 0);
    if (x == NULL || x->step == NULL) {
        return "its input is a constant, which no exporter leaves in a model";
    }
    out->step = import_step_make(graph, node, kind, x->step);
    return out->step != NULL ? NULL : TOO_LARGE;
}

// Repeats a constant to the step's shape as NumPy does.
static const char *
broadcast(const import_tensor *constant, const import_step *step, double *out)
{
    if (constant->floats == NULL && constant->integers == NULL) {
        return "it takes a constant of a type that policies do not have";
    }
    if (!import_constant_fits(constant, step->shape, step->rank)) {
        return "it takes a constant whose shape does not fit";
    }
    for (uint32_t i = 0; i < step->count; i++) {
        out[i] = import_constant_number(constant,
                                        import_constant_at(constant, step->shape, step->rank, i));
    }
    return NULL;
}

// y = a x + b, with numbers for each position.
static const char *
affine(import_graph *graph, const import_node *node, const import_step *from, const double *a,
       const double *b, import_value *out)
{
    import_step *step = import_step_make(graph, node, IMPORT_AFFINE, from);
    if (step == NULL) {
        return TOO_LARGE;
    }
    step->is_even = true;
    for (uint32_t i = 0; i < from->count; i++) {
        if (!isfinite(a[i]) || !isfinite(b[i])) {
            return "it gives numbers that are not finite";
        }
        step->is_even = step->is_even && a[i] == a[0] && b[i] == b[0];
    }
    step->a = a;
    step->b = b;
    out->step = step;
    return from->kind == IMPORT_PART ? import_activation_settle(graph, node, step, out) : NULL;
}

// ---- arithmetic

// Two inputs that depend on the observation are allowed as parts of log softmax, layer norm and
// activations only.
static const char *
both_depend(import_graph *graph, const import_node *node, const import_value *x,
            const import_value *y, import_value *out)
{
    const import_step *a = x->step, *b = y->step;
    if (strcmp(node->op, "Sub") == 0 && b->kind == IMPORT_LOG_SUM_EXP && b->from == a) {
        out->step = import_step_make(graph, node, IMPORT_LOG_SOFTMAX, a);
        return out->step != NULL ? NULL : TOO_LARGE;
    }
    const char *why = import_norm_written_out(graph, node, a, b, out);
    if (why != NULL || out->step != NULL) {
        return why;
    }
    why = import_activation_both(graph, node, a, b, out);
    return why != NULL || out->step != NULL
               ? why
               : "both of its inputs are computed from the observation; a policy is a chain of "
                 "layers";
}

// Add, Sub, Mul and Div with a constant become a x + b. Two constants are computed.
static const char *
arithmetic(import_graph *graph, const import_node *node, import_value *out)
{
    const import_value *x = import_graph_input(graph, node, 0);
    const import_value *y = import_graph_input(graph, node, 1);
    if (x == NULL || y == NULL) {
        return "it does not have two inputs";
    }
    if (x->constant != NULL && y->constant != NULL) {
        out->constant = import_constant_binary(graph, node->op[0], x->constant, y->constant);
        return out->constant != NULL
                   ? NULL
                   : "it takes constants that are not floats, or whose shapes do not fit";
    }
    if (x->step != NULL && y->step != NULL) {
        return both_depend(graph, node, x, y, out);
    }
    bool is_first = x->step != NULL, is_inverse = node->op[0] == 'D' && !is_first;
    import_value value = {.step = is_first ? x->step : y->step};
    // c / x = c (1 / x).
    const char *why = is_inverse ? import_activation_part(graph, node, value.step,
                                                          import_function_reciprocal, 0.0, &value)
                                 : NULL;
    if (why != NULL) {
        return why;
    }
    const import_step *from = value.step;
    double *a = numbers_make(graph, from->count), *b = numbers_make(graph, from->count);
    if (a == NULL || b == NULL) {
        return TOO_LARGE;
    }
    why = broadcast(is_first ? y->constant : x->constant, from, b);
    if (why != NULL) {
        return why;
    }
    // With a constant c: x + c, x - c, c - x, c x, x / c.
    char op = node->op[0] == 'S'                 ? '-'
              : node->op[0] == 'A'               ? '+'
              : node->op[0] == 'M' || is_inverse ? '*'
                                                 : '/';
    for (uint32_t i = 0; i < from->count; i++) {
        double c = b[i]; // the constant; b is overwritten below
        bool is_factor = op == '*' || op == '/';
        a[i] = op == '*' ? c : op == '/' ? 1.0 / c : op == '-' && !is_first ? -1.0 : 1.0;
        b[i] = is_factor ? 0.0 : op == '-' && is_first ? -c : c;
    }
    return affine(graph, node, from, a, b, out);
}

// -x.
static const char *
negate(import_graph *graph, const import_node *node, import_value *out)
{
    const import_value *x = import_graph_input(graph, node, 0);
    if (x == NULL || x->step == NULL) {
        return "its input is a constant, which no exporter leaves in a model";
    }
    double *a = numbers_make(graph, x->step->count), *b = numbers_make(graph, x->step->count);
    for (uint32_t i = 0; a != NULL && i < x->step->count; i++) {
        a[i] = -1.0;
    }
    return a != NULL && b != NULL ? affine(graph, node, x->step, a, b, out) : TOO_LARGE;
}

// t is [channels], and channels are the first dimension of the step. Returns the number for
// position i.
static double
channel_number(const import_tensor *t, const import_step *step, uint32_t i)
{
    return (double)t->floats[i / (step->count / step->shape[0])];
}

// True in training mode: an attribute since opset 14, further outputs before.
static bool
is_norm_of_batch(const import_node *node)
{
    bool is_training = import_node_int(node, "training_mode", 0) != 0;
    for (size_t i = 1; i < node->output_count; i++) {
        is_training = is_training || node->outputs[i][0] != '\0';
    }
    return is_training;
}

// scale * (x - mean) / sqrt(variance + epsilon) + bias, with constants [channels]: affine.
static const char *
batch_norm(import_graph *graph, const import_node *node, import_value *out)
{
    if (is_norm_of_batch(node)) {
        return "it normalises by the batch, which policies do not; " IN_EVALUATION;
    }
    const import_value *in[5];
    for (size_t i = 0; i < 5; i++) {
        in[i] = import_graph_input(graph, node, i); // x, scale, bias, mean, variance
        if (in[i] == NULL || (i == 0 ? in[i]->step == NULL : in[i]->constant == NULL) ||
            (i > 0 && (in[i]->constant->floats == NULL || in[0]->step->rank == 0 ||
                       in[i]->constant->count != in[0]->step->shape[0]))) {
            return "policies support it with four constants for each channel only";
        }
    }
    const import_step *from = in[0]->step;
    double epsilon = import_node_float(node, "epsilon", 1e-5);
    double *a = numbers_make(graph, from->count), *b = numbers_make(graph, from->count);
    if (a == NULL || b == NULL) {
        return TOO_LARGE;
    }
    for (uint32_t i = 0; i < from->count; i++) {
        // a = scale / sqrt(variance + epsilon), b = bias - a mean.
        double variance = channel_number(in[4]->constant, from, i);
        a[i] = channel_number(in[1]->constant, from, i) / sqrt(variance + epsilon);
        b[i] = channel_number(in[2]->constant, from, i) -
               a[i] * channel_number(in[3]->constant, from, i);
    }
    return affine(graph, node, from, a, b, out);
}

// The identity, unless the training_mode input (since opset 12) is set.
static const char *
dropout(import_graph *graph, const import_node *node, import_value *out)
{
    const import_value *mode = import_graph_input(graph, node, 2);
    if (mode != NULL && (mode->constant == NULL || mode->constant->integers == NULL ||
                         mode->constant->count != 1 || mode->constant->integers[0] != 0)) {
        return "it drops numbers at random, which policies do not; " IN_EVALUATION;
    }
    return import_identity(graph, node, out);
}

// ---- clipping

// y = min(max(x, low), high); a NULL end is infinite.
static const char *
clip_make(import_graph *graph, const import_node *node, const import_step *from,
          const import_tensor *low, const import_tensor *high, import_value *out)
{
    import_step *step = import_step_make(graph, node, IMPORT_CLIP, from);
    double *a = numbers_make(graph, from->count), *b = numbers_make(graph, from->count);
    if (step == NULL || a == NULL || b == NULL) {
        return TOO_LARGE;
    }
    const char *why = low != NULL ? broadcast(low, from, a) : NULL;
    why = why == NULL && high != NULL ? broadcast(high, from, b) : why;
    step->is_even = true;
    for (uint32_t i = 0; why == NULL && i < from->count; i++) {
        a[i] = low != NULL ? a[i] : -(double)INFINITY;
        b[i] = high != NULL ? b[i] : (double)INFINITY;
        step->is_even = step->is_even && a[i] == a[0] && b[i] == b[0];
        why = a[i] <= b[i] ? NULL : "its lower end is above its upper end";
    }
    // Two clips are one, whose ends are those of the first, clipped by the second.
    if (why == NULL && from->kind == IMPORT_CLIP) {
        for (uint32_t i = 0; i < from->count; i++) {
            double first = a[i], last = b[i];
            a[i] = fmin(fmax(from->a[i], first), last);
            b[i] = fmin(fmax(from->b[i], first), last);
        }
        step->from = from->from;
        step->is_even = step->is_even && from->is_even;
    }
    step->a = a;
    step->b = b;
    out->step = step;
    // A tanh that is clipped to [-1, 1] is a tanh, and min(relu(x), 6) is relu6.
    bool is_part = from->kind == IMPORT_ACTIVATION || from->kind == IMPORT_PART;
    return why == NULL && is_part ? import_activation_settle(graph, node, step, out) : why;
}

static const char *
clip(import_graph *graph, const import_node *node, import_value *out)
{
    const import_value *x = import_graph_input(graph, node, 0);
    const import_value *low = import_graph_input(graph, node, 1);
    const import_value *high = import_graph_input(graph, node, 2);
    if (x == NULL || x->step == NULL || (low != NULL && low->constant == NULL) ||
        (high != NULL && high->constant == NULL)) {
        return "policies support a clip between constants only";
    }
    const import_tensor *ends[2] = {low != NULL ? low->constant : NULL,
                                    high != NULL ? high->constant : NULL};
    // The ends are attributes before opset 11.
    static const char *const names[2] = {"min", "max"};
    for (size_t i = 0; i < 2; i++) {
        const import_attribute *end = import_node_attribute(node, names[i]);
        if (ends[i] == NULL && end != NULL) {
            ends[i] = import_constant_float(graph, end->f);
        }
    }
    return clip_make(graph, node, x->step, ends[0], ends[1], out);
}

// Min and Max with a constant are clips with one end; of two values, parts of an activation.
static const char *
extremum(import_graph *graph, const import_node *node, import_value *out)
{
    const import_value *x = import_graph_input(graph, node, 0);
    const import_value *y = import_graph_input(graph, node, 1);
    bool is_pair = x != NULL && y != NULL && node->input_count == 2;
    if (is_pair && x->step != NULL && y->step != NULL) {
        return both_depend(graph, node, x, y, out);
    }
    if (!is_pair || (x->step == NULL && y->step == NULL)) {
        return "policies support it for one value and one constant only";
    }
    const import_step *from = x->step != NULL ? x->step : y->step;
    const import_tensor *end = x->step != NULL ? y->constant : x->constant;
    bool is_max = node->op[1] == 'a';
    return clip_make(graph, node, from, is_max ? end : NULL, is_max ? NULL : end, out);
}

// ---- whole rows

// An operation along the last axis, which must be the whole row. Without the attribute that is the
// last axis, for ArgMax axis 0.
static const char *
row_operation(import_graph *graph, const import_node *node, import_value *out, import_kind kind)
{
    const import_value *x = import_graph_input(graph, node, 0);
    const import_attribute *axis = import_node_attribute(node, "axis");
    int64_t along = axis != NULL ? axis->i : kind == IMPORT_ARGMAX ? 0 : -1;
    if (x == NULL || x->step == NULL || !import_step_is_row(x->step) ||
        !import_axis_is_last(x->step, along)) {
        return "policies support it over the last axis of rows of numbers only";
    }
    return unary(graph, node, out, kind);
}

static const char *
softmax(import_graph *graph, const import_node *node, import_value *out)
{
    return row_operation(graph, node, out, IMPORT_SOFTMAX);
}

static const char *
log_softmax(import_graph *graph, const import_node *node, import_value *out)
{
    return row_operation(graph, node, out, IMPORT_LOG_SOFTMAX);
}

// A row operation that gives one number. The step is copied, because its shape changes.
static const char *
reduced(import_graph *graph, const import_node *node, import_value *out, import_kind kind)
{
    const char *why = row_operation(graph, node, out, kind);
    if (why == NULL) {
        import_step *step = import_graph_alloc(graph, sizeof(*step));
        if (step == NULL) {
            return TOO_LARGE;
        }
        *step = *out->step;
        import_step_row(step, step->from, 1);
        // keepdims 0 removes the axis.
        step->rank -= import_node_int(node, "keepdims", 1) == 0;
        out->step = step;
    }
    return why;
}

static const char *
arg_max(import_graph *graph, const import_node *node, import_value *out)
{
    if (import_node_int(node, "select_last_index", 0) != 0) {
        return "it chooses the last of equal numbers (select_last_index 1), policies the first";
    }
    return reduced(graph, node, out, IMPORT_ARGMAX);
}

// ReduceLogSumExp, as a part of log softmax.
static const char *
log_sum_exp(import_graph *graph, const import_node *node, import_value *out)
{
    const import_value *x = import_graph_input(graph, node, 0);
    size_t count;
    const int64_t *axes = import_node_ints(graph, node, 1, "axes", &count);
    if (x == NULL || x->step == NULL || axes == NULL || count != 1 ||
        !import_axis_is_last(x->step, axes[0])) {
        return "policies support it over the last axis of rows of numbers only";
    }
    return reduced(graph, node, out, IMPORT_LOG_SUM_EXP);
}

// ---- layers

// A matrix product on a row. is_transposed: weight is [inputs][outputs].
static const char *
dense(import_graph *graph, const import_node *node, const import_step *from,
      const import_tensor *weight, bool is_transposed, import_step **out)
{
    if (!import_step_is_row(from)) {
        return NOT_A_ROW;
    }
    if (weight->floats == NULL || weight->rank != 2) {
        return "its weights are not a matrix of floats";
    }
    // [inputs][outputs] if is_transposed, else [outputs][inputs].
    uint32_t inputs = weight->dims[is_transposed ? 0 : 1];
    uint32_t outputs = weight->dims[is_transposed ? 1 : 0];
    if (inputs != from->count || outputs < 1 || outputs > IMPORT_WIDTH_MAX) {
        return import_graph_text(graph,
                                 "its weights take %u numbers and give %u; its input has %u, and "
                                 "its output may have at most %d",
                                 inputs, outputs, from->count, IMPORT_WIDTH_MAX);
    }
    import_step *step = import_step_make(graph, node, IMPORT_DENSE, from);
    if (step == NULL) {
        return TOO_LARGE;
    }
    import_step_row(step, from, outputs);
    step->weight = weight;
    step->is_transposed = is_transposed;
    *out = step;
    return NULL;
}

// alpha x W + beta c.
static const char *
gemm(import_graph *graph, const import_node *node, import_value *out)
{
    const import_value *x = import_graph_input(graph, node, 0);
    const import_value *w = import_graph_input(graph, node, 1);
    const import_value *c = import_graph_input(graph, node, 2);
    if (x == NULL || x->step == NULL || w == NULL || w->constant == NULL ||
        (c != NULL && c->constant == NULL) || import_node_int(node, "transA", 0) != 0) {
        return "policies support it for the observation's value, constant weights and a constant "
               "bias only, without transA";
    }
    import_step *step = NULL;
    const char *why =
        dense(graph, node, x->step, w->constant, import_node_int(node, "transB", 0) == 0, &step);
    if (why != NULL) {
        return why;
    }
    step->alpha = import_node_float(node, "alpha", 1.0);
    if (c != NULL) {
        double *bias = numbers_make(graph, step->count),
               beta = import_node_float(node, "beta", 1.0);
        if (bias == NULL) {
            return TOO_LARGE;
        }
        why = broadcast(c->constant, step, bias);
        for (uint32_t j = 0; j < step->count; j++) {
            bias[j] *= beta;
        }
        step->b = bias;
    }
    out->step = step;
    return why;
}

// x W, or W x in a model without a batch.
static const char *
mat_mul(import_graph *graph, const import_node *node, import_value *out)
{
    const import_value *x = import_graph_input(graph, node, 0);
    const import_value *w = import_graph_input(graph, node, 1);
    bool is_first = x != NULL && x->step != NULL;
    const import_value *weight = is_first ? w : x;
    // In W x, the value is a column, which only works without a batch.
    bool is_column = !is_first && w != NULL && w->step != NULL && !w->step->has_batch;
    if ((!is_first && !is_column) || weight == NULL || weight->constant == NULL) {
        return "policies support it for the observation's value and constant weights only";
    }
    import_step *step = NULL;
    const char *why =
        dense(graph, node, is_first ? x->step : w->step, weight->constant, is_first, &step);
    out->step = step;
    return why;
}

// ---- the table

// Pow, ReduceMean, Reciprocal, ReduceLogSumExp and Sqrt are supported as parts of patterns only.
// Activations are in import_activations.c.
import_operation
import_operation_find(const char *name)
{
    static const struct {
        const char *name;
        import_operation run;
    } table[] = {
        {"Add", arithmetic},
        {"ArgMax", arg_max},
        {"AveragePool", import_pool},
        {"BatchNormalization", batch_norm},
        {"Cast", import_cast},
        {"Clip", clip},
        {"Concat", import_concat},
        {"Constant", import_constant},
        {"ConstantOfShape", import_constant_of_shape},
        {"Conv", import_convolution},
        {"Div", arithmetic},
        {"Dropout", dropout},
        {"Expand", import_expand},
        {"Flatten", import_flatten},
        {"Gather", import_gather},
        {"Gemm", gemm},
        {"GlobalAveragePool", import_global_pool},
        {"GlobalMaxPool", import_global_pool},
        {"Identity", import_identity},
        {"LayerNormalization", import_layer_norm},
        {"LogSoftmax", log_softmax},
        {"MatMul", mat_mul},
        {"Max", extremum},
        {"MaxPool", import_pool},
        {"Min", extremum},
        {"Mul", arithmetic},
        {"Neg", negate},
        {"Pow", import_power},
        {"Reciprocal", import_reciprocal},
        {"ReduceLogSumExp", log_sum_exp},
        {"ReduceMean", import_reduce_mean},
        {"Reshape", import_reshape},
        {"Shape", import_shape_of},
        {"Slice", import_slice},
        {"Softmax", softmax},
        {"Split", import_split},
        {"Sqrt", import_root},
        {"Squeeze", import_squeeze},
        {"Sub", arithmetic},
        {"Transpose", import_transpose},
        {"Unsqueeze", import_squeeze},
    };
    for (size_t i = 0; i < OCT_COUNTOF(table); i++) {
        if (strcmp(table[i].name, name) == 0) {
            return table[i].run;
        }
    }
    return import_activation_is_operation(name) ? import_activate : NULL;
}
