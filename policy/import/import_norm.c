// Layer norm: as one operation, and as the pattern that exporters write out:
//   m = ReduceMean(x); c = x - m; v = ReduceMean(c^2); y = c / Sqrt(v + epsilon)
// with Pow or Mul for the square, and Reciprocal or a power of -1/2 for the quotient.
//
// Each node of the pattern makes a step of its own kind (IMPORT_MEAN …), which refers to x and
// only fits the next node of the pattern. The last node makes IMPORT_NORM; gain and offset follow
// as an affine step. A part that the pattern does not complete is refused when a layer is made.
#include <math.h>

#include "common/oct_base.h"
#include "policy/import/import_activations.h"
#include "policy/import/import_constants.h"
#include "policy/import/import_shapes.h"

#define PART_ONLY "policies support it as a part of layer norm over rows only"

// The mean over the last axis, which is kept with one number.
const char *
import_reduce_mean(import_graph *graph, const import_node *node, import_value *out)
{
    const import_value *x = import_graph_input(graph, node, 0);
    size_t count;
    const int64_t *axes = import_node_ints(graph, node, 1, "axes", &count);
    if (x == NULL || x->step == NULL || !import_step_is_row(x->step) || axes == NULL ||
        count != 1 || !import_axis_is_last(x->step, axes[0]) ||
        import_node_int(node, "keepdims", 1) != 1) {
        return PART_ONLY;
    }
    const import_step *from = x->step;
    // The mean of squares refers to x itself, so that the next node of the pattern can check it.
    bool is_variance = from->kind == IMPORT_SQUARED;
    import_step *made = import_step_make(graph, node, is_variance ? IMPORT_VARIANCE : IMPORT_MEAN,
                                         is_variance ? from->from->from : from);
    if (made == NULL) {
        return IMPORT_TOO_LARGE;
    }
    import_step_row(made, made->from, 1);
    out->step = made;
    return NULL;
}

// (variance + epsilon) to the power 1/2 or -1/2.
static const char *
root_make(import_graph *graph, const import_node *node, const import_step *x, bool is_inverse,
          import_value *out)
{
    bool has_epsilon =
        x->kind == IMPORT_AFFINE && x->a[0] == 1.0 && x->from->kind == IMPORT_VARIANCE;
    if (!has_epsilon || !(x->b[0] > 0.0)) {
        return PART_ONLY;
    }
    import_step *made = import_step_make(
        graph, node, is_inverse ? IMPORT_INVERSE_ROOT : IMPORT_ROOT, x->from->from);
    if (made == NULL) {
        return IMPORT_TOO_LARGE;
    }
    import_step_row(made, made->from, 1);
    made->epsilon = x->b[0];
    out->step = made;
    return NULL;
}

// Sqrt of a variance, or of a constant.
const char *
import_root(import_graph *graph, const import_node *node, import_value *out)
{
    const import_value *x = import_graph_input(graph, node, 0);
    if (x != NULL && x->step != NULL) {
        return root_make(graph, node, x->step, false, out);
    }
    out->constant = x != NULL ? import_constant_root(graph, x->constant) : NULL;
    return out->constant != NULL ? NULL : "it takes a constant that is not a list of floats";
}

// 1 / sqrt(variance + epsilon), or a part of an activation.
const char *
import_reciprocal(import_graph *graph, const import_node *node, import_value *out)
{
    const import_value *x = import_graph_input(graph, node, 0);
    if (x == NULL || x->step == NULL) {
        return PART_ONLY;
    }
    if (x->step->kind != IMPORT_ROOT) {
        return import_activation_part(graph, node, x->step, import_function_reciprocal, 0.0, out);
    }
    import_step *made = import_step_make(graph, node, IMPORT_INVERSE_ROOT, x->step->from);
    if (made == NULL) {
        return IMPORT_TOO_LARGE;
    }
    import_step_row(made, made->from, 1);
    made->epsilon = x->step->epsilon;
    out->step = made;
    return NULL;
}

// A square, or a root as a power, or a part of an activation.
const char *
import_power(import_graph *graph, const import_node *node, import_value *out)
{
    const import_value *x = import_graph_input(graph, node, 0);
    const import_value *y = import_graph_input(graph, node, 1);
    if (x == NULL || x->step == NULL || y == NULL || y->constant == NULL ||
        y->constant->count != 1 || (y->constant->floats == NULL && y->constant->integers == NULL)) {
        return PART_ONLY;
    }
    double power = import_constant_number(y->constant, 0);
    if (power == 0.5 || power == -0.5) {
        return root_make(graph, node, x->step, power < 0.0, out);
    }
    if (power != 2.0 || x->step->kind != IMPORT_CENTRED) {
        return import_activation_part(graph, node, x->step, import_function_power, power, out);
    }
    out->step = import_step_make(graph, node, IMPORT_SQUARED, x->step);
    return out->step != NULL ? NULL : IMPORT_TOO_LARGE;
}

// Makes the layer norm of from, with gain 1 and offset 0.
static const char *
norm_make(import_graph *graph, const import_node *node, const import_step *from, double epsilon,
          import_step **out)
{
    import_step *step = import_step_make(graph, node, IMPORT_NORM, from);
    double *a = import_graph_alloc(graph, from->count * sizeof(double));
    double *b = import_graph_alloc(graph, from->count * sizeof(double));
    if (step == NULL || a == NULL || b == NULL) {
        return IMPORT_TOO_LARGE;
    }
    for (uint32_t i = 0; i < from->count; i++) {
        a[i] = 1.0;
    }
    step->a = a;
    step->b = b;
    step->epsilon = epsilon;
    *out = step;
    return NULL;
}

// Mul has its inputs in any order.
const char *
import_norm_written_out(import_graph *graph, const import_node *node, const import_step *x,
                        const import_step *y, import_value *out)
{
    char op = node->op[0];
    import_step *made = NULL;
    const char *why = NULL;
    if (op == 'M' && y->kind == IMPORT_CENTRED && x->kind == IMPORT_INVERSE_ROOT) {
        const import_step *other = x;
        x = y;
        y = other;
    }
    if (op == 'S' && y->kind == IMPORT_MEAN && y->from == x) {
        made = import_step_make(graph, node, IMPORT_CENTRED, x);
        why = made != NULL ? NULL : IMPORT_TOO_LARGE;
    } else if (op == 'M' && x == y && x->kind == IMPORT_CENTRED) {
        made = import_step_make(graph, node, IMPORT_SQUARED, x);
        why = made != NULL ? NULL : IMPORT_TOO_LARGE;
    } else if (x->kind == IMPORT_CENTRED && y->from == x->from &&
               ((op == 'D' && y->kind == IMPORT_ROOT) ||
                (op == 'M' && y->kind == IMPORT_INVERSE_ROOT))) {
        why = norm_make(graph, node, x->from, y->epsilon, &made);
    }
    out->step = made;
    return why;
}

// Reads a constant that is repeated to the step's shape.
static const char *
row_read(const import_value *value, const import_step *step, double *out)
{
    const import_tensor *t = value->constant;
    if (t == NULL || (t->floats == NULL && t->integers == NULL) ||
        !import_constant_fits(t, step->shape, step->rank)) {
        return "it takes a gain or an offset that is not a constant of its shape";
    }
    for (uint32_t i = 0; i < step->count; i++) {
        out[i] = import_constant_number(t, import_constant_at(t, step->shape, step->rank, i));
    }
    return NULL;
}

// LayerNormalization since opset 17.
const char *
import_layer_norm(import_graph *graph, const import_node *node, import_value *out)
{
    const import_value *x = import_graph_input(graph, node, 0);
    const import_value *gain = import_graph_input(graph, node, 1);
    const import_value *offset = import_graph_input(graph, node, 2);
    double epsilon = import_node_float(node, "epsilon", 1e-5);
    if (x == NULL || x->step == NULL || !import_step_is_row(x->step) || gain == NULL ||
        !import_axis_is_last(x->step, import_node_int(node, "axis", -1))) {
        return "policies support it over rows of numbers, with constant gain and offset, only";
    }
    if (!(epsilon > 0.0) || !isfinite(epsilon)) {
        return import_graph_text(graph, "its epsilon is %g; allowed are numbers above 0", epsilon);
    }
    import_step *step = NULL;
    const char *why = norm_make(graph, node, x->step, epsilon, &step);
    if (why == NULL) {
        why = row_read(gain, step, (double *)step->a);
    }
    if (why == NULL && offset != NULL) {
        why = row_read(offset, step, (double *)step->b);
    }
    out->step = step;
    return why;
}
