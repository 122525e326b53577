// Exports a policy as ONNX. Each operation of policy_math.h and policy_ref.c becomes one node, in
// the same order. ONNX operations that a runtime may round differently (Tanh, Elu,
// LayerNormalization) are not used: the next layer would quantise another number, and one different
// code changes outputs by more than 1e-5.
#include "policy/export/export_onnx.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "policy/export/export_graph.h"
#include "policy/policy_contract.h"
#include "policy/policy_draw.h"

#define POWER_MIN (-126) // smallest and largest exponent of policy_power
#define POWER_MAX 127

// The model, and the names of constants that many layers use.
typedef struct onnx {
    export_graph *graph;
    const policy_image *image;
    const char *zero;
    const char *one;
    const char *two;
    const char *codes_max;
    const char *powers; // 2^POWER_MIN .. 2^POWER_MAX
    const char *finite; // [batch][1], true for a finite observation; NULL: observations are bytes
    export_onnx_names names;
} onnx;

// Adds an operation with up to three inputs, the last of which are NULL.
static const char *
op3(const onnx *o, const char *op, const char *a, const char *b, const char *c)
{
    return export_graph_op(o->graph, op, (const char *const[]){a, b, c, NULL}, NULL);
}

static const char *
op2(const onnx *o, const char *op, const char *a, const char *b)
{
    return op3(o, op, a, b, NULL);
}

static const char *
op1(const onnx *o, const char *op, const char *a)
{
    return op3(o, op, a, NULL, NULL);
}

static const char *
constant(const onnx *o, float value)
{
    return export_graph_float(o->graph, value);
}

static const char *
row_of_floats(const onnx *o, const float *values, uint32_t count)
{
    const int64_t dims[1] = {count};
    return export_graph_tensor(o->graph, EXPORT_F32, values, dims, 1);
}

static const char *
cast(const onnx *o, const char *x, export_dtype to)
{
    const char *y = op1(o, "Cast", x);
    export_graph_int(o->graph, "to", (int64_t)to);
    return y;
}

// Adds ReduceMin or ReduceMax along axis, whose length becomes 1.
static const char *
reduce(const onnx *o, const char *op, const char *x, int64_t axis)
{
    const char *y = op1(o, op, x);
    export_graph_ints(o->graph, "axes", &axis, 1);
    export_graph_int(o->graph, "keepdims", 1);
    return y;
}

// ---- the primitives of policy_curves.h; its functions follow in policy_curves_onnx.h

static const char *
curve_round(const onnx *o, const char *x)
{
    return op1(o, "Round", x);
}

static const char *
curve_power(const onnx *o, const char *n)
{
    const char *index = cast(o, op2(o, "Sub", n, constant(o, (float)POWER_MIN)), EXPORT_S64);
    // The cast of NaN is undefined, so the index is clipped. The result is NaN with any power.
    const int64_t ends[2] = {0, POWER_MAX - POWER_MIN};
    const char *first = export_graph_tensor(o->graph, EXPORT_S64, &ends[0], NULL, 0);
    const char *last = export_graph_tensor(o->graph, EXPORT_S64, &ends[1], NULL, 0);
    return op2(o, "Gather", o->powers, op3(o, "Clip", index, first, last));
}

static const char *
curve_abs(const onnx *o, const char *x)
{
    return op1(o, "Abs", x);
}

static const char *
curve_signed(const onnx *o, const char *y, const char *x)
{
    return op2(o, "Mul", y, op1(o, "Sign", x));
}

#include "policy/export/policy_curves_onnx.h"

static const char *
activate(const onnx *o, policy_activation activation, const char *x)
{
    if (activation == POLICY_RELU) {
        return op1(o, "Relu", x); // the same function, by a name that every runtime fuses
    }
    switch (activation) {
#define ACTIVATE_CASE(ENUM, name, version)                                                         \
    case POLICY_##ENUM:                                                                            \
        return curve_##name(o, x);
        POLICY_ACTIVATIONS(ACTIVATE_CASE)
#undef ACTIVATE_CASE
    case POLICY_ACTIVATION_COUNT:
        break;
    }
    return x;
}

// ---- layer norm

// Adds the sums of the rows of x[batch][n]: element i into lane i mod 16, then the lanes as a tree.
static const char *
row_sum(const onnx *o, const char *x, uint32_t n)
{
    uint32_t chunks = (n + POLICY_NORM_LANES - 1) / POLICY_NORM_LANES;
    const int64_t pads[4] = {0, 0, 0, (int64_t)chunks * POLICY_NORM_LANES - n}, dims[1] = {4};
    const char **parts = oct_alloc(OCT_MAX(chunks, 2u) * sizeof(*parts));
    if (pads[3] > 0) {
        x = op2(o, "Pad", x, export_graph_tensor(o->graph, EXPORT_S64, pads, dims, 1));
    }
    if (chunks > 1) {
        export_graph_split(o->graph, x, 1, parts, chunks);
        x = parts[0];
        for (uint32_t i = 1; i < chunks; i++) {
            x = op2(o, "Add", x, parts[i]);
        }
    }
    for (uint32_t half = POLICY_NORM_LANES / 2; half > 0; half /= 2) {
        export_graph_split(o->graph, x, 1, parts, 2);
        x = op2(o, "Add", parts[0], parts[1]);
    }
    free(parts);
    return x;
}

static const char *
layer_norm(const onnx *o, uint32_t l, const char *y)
{
    uint32_t n = o->image->spec.layers[l].outputs;
    const char *count = constant(o, (float)n);
    const char *d = op2(o, "Sub", y, op2(o, "Div", row_sum(o, y, n), count));
    const char *variance = op2(o, "Div", row_sum(o, op2(o, "Mul", d, d), n), count);
    const char *deviation = op1(o, "Sqrt", op2(o, "Add", variance, constant(o, POLICY_NORM_EPS)));
    // 2 / (2 s) has the bits of 1 / s. onnxruntime would merge 1 / s and the next product into d /
    // s, which is rounded once instead of twice.
    const char *inverse = op2(o, "Div", o->two, op2(o, "Add", deviation, deviation));
    y = op2(o, "Mul", d, inverse);
    y = op2(o, "Mul", y, row_of_floats(o, o->image->gain[l], n));
    return op2(o, "Add", y, row_of_floats(o, o->image->offset[l], n));
}

// ---- layers

static const char *
reshape(const onnx *o, const char *x, const int64_t *shape, size_t rank)
{
    const int64_t dims[1] = {(int64_t)rank};
    return op2(o, "Reshape", x, export_graph_tensor(o->graph, EXPORT_S64, shape, dims, 1));
}

static const char *
transpose(const onnx *o, const char *x, const int64_t order[4])
{
    const char *y = op1(o, "Transpose", x);
    export_graph_ints(o->graph, "perm", order, 4);
    return y;
}

// Adds weights of size bytes each, transposed from [outputs][inputs] to [inputs][outputs] for
// MatMul.
static const char *
weights_transposed(const onnx *o, const policy_layer *layer, const void *from, size_t size,
                   export_dtype dtype)
{
    size_t inputs = layer->inputs, outputs = layer->outputs;
    const int64_t dims[2] = {layer->inputs, layer->outputs};
    uint8_t *to = oct_alloc(inputs * outputs * size);
    for (size_t j = 0; j < outputs; j++) {
        for (size_t k = 0; k < inputs; k++) {
            memcpy(to + (k * outputs + j) * size, (const uint8_t *)from + (j * inputs + k) * size,
                   size);
        }
    }
    const char *name = export_graph_tensor(o->graph, dtype, to, dims, 2);
    free(to);
    return name;
}

// Adds weights of size bytes each, transposed from [filters][rows][columns][channels] to
// [filters][channels][rows][columns] for Conv.
static const char *
kernels_transposed(const onnx *o, const policy_conv *conv, const void *from, size_t size,
                   export_dtype dtype)
{
    const int64_t dims[4] = {conv->filters, conv->channels, conv->rows.kernel,
                             conv->columns.kernel};
    const size_t area = (size_t)conv->rows.kernel * conv->columns.kernel, C = conv->channels;
    const size_t count = conv->filters * area * C;
    uint8_t *to = oct_alloc(count * size);
    for (size_t i = 0; i < count; i++) {
        size_t filter = i / (area * C), k = i / C % area, channel = i % C;
        memcpy(to + ((filter * C + channel) * area + k) * size, (const uint8_t *)from + i * size,
               size);
    }
    const char *name = export_graph_tensor(o->graph, dtype, to, dims, 4);
    free(to);
    return name;
}

// Adds weights in the order of the layer's operation.
static const char *
weights_ordered(const onnx *o, const policy_layer *layer, const void *from, size_t size,
                export_dtype dtype)
{
    return layer->kind == POLICY_CONV ? kernels_transposed(o, &layer->conv, from, size, dtype)
                                      : weights_transposed(o, layer, from, size, dtype);
}

static const char *
code_weights(const onnx *o, uint32_t l)
{
    const policy_layer *layer = &o->image->spec.layers[l];
    int8_t *codes = oct_alloc(policy_layer_weights(layer));
    for (uint32_t j = 0; j < policy_layer_rows(layer); j++) {
        policy_image_row(o->image, l, j, codes + (size_t)j * policy_layer_columns(layer));
    }
    const char *name = weights_ordered(o, layer, codes, 1, EXPORT_S8);
    free(codes);
    return name;
}

// Converts codes to floats with scale 1, so that they stay whole numbers.
static const char *
dequantize(const onnx *o, const char *codes, export_dtype dtype)
{
    const uint8_t zero = 0;
    return op3(o, "DequantizeLinear", codes, o->one,
               export_graph_tensor(o->graph, dtype, &zero, NULL, 0));
}

// Adds the kernel, stride and padding of the last operation.
static void
kernel_attributes(const onnx *o, const policy_conv *conv)
{
    const policy_axis *rows = &conv->rows, *columns = &conv->columns;
    const int64_t pads[4] = {rows->before, columns->before, rows->after, columns->after};
    export_graph_ints(o->graph, "kernel_shape", (const int64_t[]){rows->kernel, columns->kernel},
                      2);
    export_graph_ints(o->graph, "strides", (const int64_t[]){rows->stride, columns->stride}, 2);
    export_graph_ints(o->graph, "pads", pads, 4);
}

// Adds Conv with these weights, or MaxPool if they are NULL: [batch][positions][filters]. Both read
// maps with channels first, and policies have channels last.
static const char *
map_op(const onnx *o, const policy_layer *layer, const char *x, const char *weights)
{
    static const int64_t first[4] = {0, 3, 1, 2}, last[4] = {0, 2, 3, 1};
    const policy_conv *conv = &layer->conv;
    const int64_t map[4] = {-1, conv->rows.size, conv->columns.size, conv->channels};
    const int64_t places[3] = {-1, policy_layer_places(layer), conv->filters};
    x = transpose(o, reshape(o, x, map, 4), first);
    x = op2(o, weights != NULL ? "Conv" : "MaxPool", x, weights);
    kernel_attributes(o, conv);
    return reshape(o, transpose(o, x, last), places, 3);
}

// Adds W x: [batch][outputs], or for a convolution [batch][positions][filters].
static const char *
products(const onnx *o, const policy_layer *layer, const char *x, const char *weights)
{
    return layer->kind == POLICY_CONV ? map_op(o, layer, x, weights) : op2(o, "MatMul", x, weights);
}

// Adds the numbers of map [batch][rows][columns][channels] that are under number i, j of the kernel
// at every position.
static const char *
map_slice(const onnx *o, const policy_conv *conv, const char *map, const int64_t from[2])
{
    const policy_axis *axes[2] = {&conv->rows, &conv->columns};
    const int64_t dims[1] = {2}, which[2] = {1, 2};
    int64_t ends[2], steps[2];
    for (int i = 0; i < 2; i++) {
        steps[i] = axes[i]->stride;
        ends[i] = from[i] + (policy_axis_positions(axes[i]) - 1) * steps[i] + 1;
    }
    const char *const inputs[] = {map,
                                  export_graph_tensor(o->graph, EXPORT_S64, from, dims, 1),
                                  export_graph_tensor(o->graph, EXPORT_S64, ends, dims, 1),
                                  export_graph_tensor(o->graph, EXPORT_S64, which, dims, 1),
                                  export_graph_tensor(o->graph, EXPORT_S64, steps, dims, 1),
                                  NULL};
    return export_graph_op(o->graph, "Slice", inputs, NULL);
}

// Returns how many numbers of the map are under the kernel at position p.
static uint32_t
axis_count(const policy_axis *axis, uint32_t p)
{
    uint32_t from = p * axis->stride;
    return OCT_MIN(from + axis->kernel, axis->before + axis->size) - OCT_MAX(from, axis->before);
}

// Adds a mean pool as sums in the order of policy_pool.c: AveragePool may add in another order.
static const char *
mean_pool(const onnx *o, const policy_conv *conv, const char *x)
{
    const policy_axis *rows = &conv->rows, *columns = &conv->columns;
    const uint32_t down = policy_axis_positions(rows), across = policy_axis_positions(columns);
    const int64_t map[4] = {-1, rows->size, columns->size, conv->channels};
    const int64_t pads[8] = {0, rows->before, columns->before, 0,
                             0, rows->after,  columns->after,  0};
    const int64_t dims[1] = {8}, places[3] = {down, across, 1};
    x = reshape(o, x, map, 4);
    if (policy_has_zeros(conv)) {
        x = op2(o, "Pad", x, export_graph_tensor(o->graph, EXPORT_S64, pads, dims, 1));
    }
    const char *sum = NULL;
    for (uint32_t i = 0; i < rows->kernel * columns->kernel; i++) {
        const int64_t from[2] = {i / columns->kernel, i % columns->kernel};
        const char *part = map_slice(o, conv, x, from);
        sum = sum == NULL ? part : op2(o, "Add", sum, part);
    }
    float *counts = oct_alloc((size_t)down * across * sizeof(*counts));
    for (uint32_t i = 0; i < down * across; i++) {
        counts[i] = (float)(axis_count(rows, i / across) * axis_count(columns, i % across));
    }
    sum = op2(o, "Div", sum, export_graph_tensor(o->graph, EXPORT_F32, counts, places, 3));
    free(counts);
    return sum;
}

// Adds policy_round as a float: INT32_MIN for NaN and numbers out of range.
static const char *
round_of(const onnx *o, const char *v)
{
    const char *is_in_range = op2(o, "Less", op1(o, "Abs", v), constant(o, 0x1p22f));
    return op3(o, "Where", is_in_range, op1(o, "Round", v), constant(o, -0x1p31f));
}

// Adds policy_affine_of and the quantisation of a row, then the sums of integer products and their
// scale.
static const char *
products_integer(const onnx *o, uint32_t l, const char *x)
{
    const policy_layer *layer = &o->image->spec.layers[l];
    const char *numbers = op3(o, "Where", op1(o, "IsNaN", x), o->zero, x);
    const char *lo = op2(o, "Min", reduce(o, "ReduceMin", numbers, 1), o->zero);
    const char *hi = op2(o, "Max", reduce(o, "ReduceMax", numbers, 1), o->zero);
    const char *range = op2(o, "Min", op2(o, "Sub", hi, lo), constant(o, POLICY_RANGE_MAX));
    const char *none = op2(o, "Less", range, constant(o, POLICY_RANGE_MIN));
    const char *safe = op3(o, "Where", none, o->one, range);
    const char *inverse = op3(o, "Where", none, o->zero, op2(o, "Div", o->codes_max, safe));
    const char *scale = op3(o, "Where", none, o->zero, op2(o, "Div", safe, o->codes_max));
    const char *zero_point = round_of(o, op2(o, "Mul", op1(o, "Neg", lo), inverse));
    zero_point = op3(o, "Clip", zero_point, o->zero, o->codes_max);
    const char *codes = round_of(o, op2(o, "Mul", x, inverse));
    codes = op3(o, "Clip", op2(o, "Add", codes, zero_point), o->zero, o->codes_max);
    codes = dequantize(o, cast(o, codes, EXPORT_U8), EXPORT_U8);
    const char *weights = dequantize(o, code_weights(o, l), EXPORT_S8);
    const char *acc = products(o, layer, op2(o, "Sub", codes, zero_point), weights);
    if (layer->kind == POLICY_CONV) {
        const int64_t column[3] = {-1, 1, 1};
        scale = reshape(o, scale, column, 3);
    }
    scale = op2(o, "Mul", scale, row_of_floats(o, o->image->scales[l], policy_layer_rows(layer)));
    return op2(o, "Mul", acc, scale);
}

static const char *
products_float(const onnx *o, uint32_t l, const char *x)
{
    const policy_layer *layer = &o->image->spec.layers[l];
    const char *weights;
    if (o->image->precision == POLICY_FP32) {
        weights = weights_ordered(o, layer, o->image->weights[l], sizeof(float), EXPORT_F32);
    } else {
        export_dtype dtype = o->image->precision == POLICY_BF16 ? EXPORT_BF16 : EXPORT_F16;
        weights = weights_ordered(o, layer, o->image->halves[l], sizeof(uint16_t), dtype);
        weights = cast(o, weights, EXPORT_F32);
    }
    return products(o, layer, x, weights);
}

static const char *
layer_of(const onnx *o, uint32_t l, const char *x)
{
    const policy_layer *layer = &o->image->spec.layers[l];
    const int64_t row[2] = {-1, layer->outputs};
    if (layer->kind == POLICY_MAX_POOL) {
        x = map_op(o, layer, x, NULL);
    } else if (layer->kind == POLICY_MEAN_POOL) {
        x = mean_pool(o, &layer->conv, x);
    } else {
        bool is_integer = policy_is_integer(o->image->precision);
        x = is_integer ? products_integer(o, l, x) : products_float(o, l, x);
        x = op2(o, "Add", x, row_of_floats(o, o->image->bias[l], policy_layer_rows(layer)));
    }
    x = activate(o, layer->activation, layer->layer_norm ? layer_norm(o, l, x) : x);
    return layer->kind == POLICY_DENSE ? x : reshape(o, x, row, 2);
}

// ---- heads

// Returns the name of another output than the action: the usual one, unless the contract gives that
// name to the input or the action.
static const char *
output_name(const onnx *o, const char *usual)
{
    static const char *const others[][2] = {{"outputs", "policy_outputs"},
                                            {"mean", "policy_mean"},
                                            {"log_std", "policy_log_std"},
                                            {"probabilities", "policy_probabilities"}};
    bool is_taken = strcmp(o->names.input, usual) == 0 || strcmp(o->names.action, usual) == 0;
    for (size_t i = 0; is_taken && i < OCT_COUNTOF(others); i++) {
        if (strcmp(others[i][0], usual) == 0) {
            return others[i][1];
        }
    }
    return usual;
}

// Adds the output of that name: x, but NaN in rows whose observation is not finite.
static void
output_floats(const onnx *o, const char *name, const char *x)
{
    if (o->finite == NULL) {
        (void)export_graph_op(o->graph, "Identity", (const char *const[]){x, NULL}, name);
    } else {
        const char *const inputs[] = {o->finite, x, constant(o, NAN), NULL};
        (void)export_graph_op(o->graph, "Where", inputs, name);
    }
}

// Adds the action of a discrete policy: [batch], the index of the largest number of x.
static void
arg_max(const onnx *o, const char *x)
{
    const int64_t none = EXPORT_ACTION_NONE, row[1] = {-1};
    const char *most = export_graph_op(o->graph, "ArgMax", (const char *const[]){x, NULL},
                                       o->finite == NULL ? o->names.action : NULL);
    export_graph_int(o->graph, "axis", 1);
    export_graph_int(o->graph, "keepdims", 0);
    if (o->finite != NULL) {
        const char *is_row = reshape(o, o->finite, row, 1);
        const char *other = export_graph_tensor(o->graph, EXPORT_S64, &none, NULL, 0);
        (void)export_graph_op(o->graph, "Where", (const char *const[]){is_row, most, other, NULL},
                              o->names.action);
    }
}

// Adds ReduceSum over the last axis of x [batch][actions][atoms].
static const char *
atoms_sum(const onnx *o, const char *x)
{
    const int64_t axis = 2, dims[1] = {1};
    const char *axes = export_graph_tensor(o->graph, EXPORT_S64, &axis, dims, 1);
    const char *y = op2(o, "ReduceSum", x, axes);
    export_graph_int(o->graph, "keepdims", 0);
    return y;
}

static void
head_atoms(const onnx *o, const char *y)
{
    const policy_spec *spec = &o->image->spec;
    const int64_t shape[3] = {-1, spec->action_count, spec->atoms};
    float *support = oct_alloc(spec->atoms * sizeof(float));
    float step = (spec->value_max - spec->value_min) / (float)(spec->atoms - 1);
    for (uint32_t i = 0; i < spec->atoms; i++) {
        support[i] = spec->value_min + (float)i * step;
    }
    y = reshape(o, y, shape, 3);
    const char *p = curve_exp(o, op2(o, "Sub", y, reduce(o, "ReduceMax", y, 2)));
    const char *mean = atoms_sum(o, op2(o, "Mul", p, row_of_floats(o, support, spec->atoms)));
    arg_max(o, op2(o, "Div", mean, atoms_sum(o, p)));
    free(support);
}

// Adds policy_direct_action of y. An infinite bound becomes the largest float.
static const char *
bounded(const onnx *o, const char *y)
{
    const policy_spec *spec = &o->image->spec;
    float low[POLICY_ACTIONS_MAX], high[POLICY_ACTIONS_MAX];
    for (uint32_t i = 0; i < spec->action_count; i++) {
        low[i] = fmaxf(spec->action_low[i], -FLT_MAX);
        high[i] = fminf(spec->action_high[i], FLT_MAX);
    }
    y = op2(o, "Max", y, row_of_floats(o, low, spec->action_count));
    return op2(o, "Min", y, row_of_floats(o, high, spec->action_count));
}

static void
head_box(const onnx *o, const char *y)
{
    const policy_spec *spec = &o->image->spec;
    float width[POLICY_ACTIONS_MAX];
    for (uint32_t i = 0; i < spec->action_count; i++) {
        width[i] = spec->action_high[i] - spec->action_low[i];
    }
    const char *low = row_of_floats(o, spec->action_low, spec->action_count);
    const char *high = row_of_floats(o, spec->action_high, spec->action_count);
    if (spec->action_direct) {
        output_floats(o, o->names.action, bounded(o, y));
        return;
    }
    const char *t = spec->head == POLICY_HEAD_GAUSSIAN
                        ? op3(o, "Clip", y, constant(o, -1.0f), o->one)
                        : curve_tanh(o, y);
    const char *a = op2(o, "Div", op2(o, "Add", t, o->one), o->two);
    a = op2(o, "Add", low, op2(o, "Mul", a, row_of_floats(o, width, spec->action_count)));
    output_floats(o, o->names.action, op2(o, "Min", op2(o, "Max", a, low), high));
}

// Adds the outputs "mean" and "log_std" of a Gaussian, with which a program can sample actions.
// Returns the means.
static const char *
head_gaussian(const onnx *o, const char *y)
{
    const policy_spec *spec = &o->image->spec;
    const char *mean = y, *log_std;
    if (policy_spec_has_deviation(spec)) {
        log_std = row_of_floats(o, o->image->deviation, spec->action_count);
        log_std = op2(o, "Expand", log_std, op1(o, "Shape", y));
    } else {
        const char *halves[2];
        export_graph_split(o->graph, y, 1, halves, 2);
        mean = halves[0];
        log_std = halves[1];
    }
    output_floats(o, output_name(o, "mean"), mean);
    log_std =
        op3(o, "Clip", log_std, constant(o, POLICY_LOG_STD_MIN), constant(o, POLICY_LOG_STD_MAX));
    output_floats(o, output_name(o, "log_std"), log_std);
    return mean;
}

// Adds the softmax of logits as output "probabilities".
static void
head_softmax(const onnx *o, const char *y)
{
    const int64_t axis = 1, dims[1] = {1};
    const char *axes = export_graph_tensor(o->graph, EXPORT_S64, &axis, dims, 1);
    const char *e = curve_exp(o, op2(o, "Sub", y, reduce(o, "ReduceMax", y, 1)));
    const char *mass = op2(o, "ReduceSum", e, axes);
    export_graph_int(o->graph, "keepdims", 1);
    output_floats(o, output_name(o, "probabilities"), op2(o, "Div", e, mass));
}

static void
head_distribution_outputs(const onnx *o)
{
    const policy_spec *spec = &o->image->spec;
    if (spec->head == POLICY_HEAD_LOGITS) {
        export_graph_output(o->graph, output_name(o, "probabilities"), EXPORT_F32,
                            spec->action_count);
    } else if (policy_spec_extra_dim(spec) > 0) {
        export_graph_output(o->graph, output_name(o, "mean"), EXPORT_F32, spec->action_count);
        export_graph_output(o->graph, output_name(o, "log_std"), EXPORT_F32, spec->action_count);
    }
}

static void
head_of(const onnx *o, const char *y)
{
    const policy_spec *spec = &o->image->spec;
    bool is_box = spec->action_kind == POLICY_BOX;
    output_floats(o, output_name(o, "outputs"), y);
    if (spec->head == POLICY_HEAD_LOGITS) {
        head_softmax(o, y);
    }
    if (is_box) {
        head_box(o, policy_spec_extra_dim(spec) > 0 ? head_gaussian(o, y) : y);
    } else if (spec->head == POLICY_HEAD_ATOMS) {
        head_atoms(o, y);
    } else {
        arg_max(o, y);
    }
    export_graph_output(o->graph, o->names.action, is_box ? EXPORT_F32 : EXPORT_S64,
                        is_box ? spec->action_count : 0);
    export_graph_output(o->graph, output_name(o, "outputs"), EXPORT_F32, policy_spec_outputs(spec));
    head_distribution_outputs(o);
}

// ---- the model

// Adds a column that is true for each row of x whose numbers are all finite. It compares first,
// because comparisons with NaN are false, while ReduceMin alone may ignore NaN.
static const char *
rows_finite(const onnx *o, const char *x)
{
    const char *is_finite = op2(o, "LessOrEqual", op1(o, "Abs", x), constant(o, FLT_MAX));
    return op2(o, "Greater", reduce(o, "ReduceMin", cast(o, is_finite, EXPORT_F32), 1), o->zero);
}

static const char *
observation(onnx *o)
{
    const policy_spec *spec = &o->image->spec;
    const char *x = o->names.input;
    bool is_float = spec->obs_dtype == POLICY_F32;
    export_graph_input(o->graph, x, is_float ? EXPORT_F32 : EXPORT_U8, spec->obs_count);
    o->finite = is_float ? rows_finite(o, x) : NULL;
    x = is_float ? x : cast(o, x, EXPORT_F32);
    if (spec->normalise) {
        x = op2(o, "Sub", x, row_of_floats(o, o->image->obs_mean, spec->obs_count));
        x = op2(o, "Mul", x, row_of_floats(o, o->image->obs_inverse_std, spec->obs_count));
    }
    return x;
}

static const char *
powers_of_two(const onnx *o)
{
    float powers[POWER_MAX - POWER_MIN + 1];
    for (size_t i = 0; i < OCT_COUNTOF(powers); i++) {
        powers[i] = ldexpf(1.0f, (int)i + POWER_MIN);
    }
    return row_of_floats(o, powers, OCT_COUNTOF(powers));
}

// Adds a text as metadata. Texts of protobuf are UTF-8; other characters than printable ASCII
// become underscores.
static void
note_text(const onnx *o, const char *key, const char *text)
{
    char plain[POLICY_NAME_MAX];
    (void)snprintf(plain, sizeof(plain), "%s", text);
    for (char *c = plain; *c != '\0'; c++) {
        *c = *c >= ' ' && *c <= '~' ? *c : '_';
    }
    export_graph_note(o->graph, key, plain);
}

static void
contract_note(const onnx *o, const policy_contract_entry *entry)
{
    char key[POLICY_CONTRACT_KEY_MAX + 1];
    char *text = oct_alloc(entry->text_length + 1);
    memcpy(key, entry->key, entry->key_length);
    key[entry->key_length] = '\0';
    memcpy(text, entry->text, entry->text_length);
    text[entry->text_length] = '\0';
    export_graph_note(o->graph, key, text);
    free(text);
}

// out = the name of a tensor in the contract, or the usual one if the contract has none. Names with
// policy_ are not taken, because names of export_graph_op and the alternatives of output_name begin
// with it.
static void
name_take(const policy_image *image, const char *key, const char *usual,
          char out[POLICY_CONTRACT_KEY_MAX + 1])
{
    policy_contract_entry entry;
    bool is_given = policy_contract_find(image, key, &entry) &&
                    entry.text_length <= POLICY_CONTRACT_KEY_MAX && entry.text_length > 0 &&
                    strncmp(entry.text, "policy_", OCT_MIN(entry.text_length, (size_t)7)) != 0;
    (void)snprintf(out, POLICY_CONTRACT_KEY_MAX + 1, "%.*s",
                   is_given ? (int)entry.text_length : (int)strlen(usual),
                   is_given ? entry.text : usual);
}

export_onnx_names
export_onnx_names_of(const policy_image *image)
{
    bool is_box = image->spec.action_kind == POLICY_BOX;
    export_onnx_names names;
    name_take(image, POLICY_CONTRACT_INPUT, "observation", names.input);
    name_take(image, is_box ? POLICY_CONTRACT_OUTPUT : "", "action", names.action);
    if (strcmp(names.input, names.action) == 0) {
        names = (export_onnx_names){.input = "observation", .action = "action"};
    }
    return names;
}

static void
notes_add(const onnx *o, uint32_t action_repeat)
{
    char text[32];
    const policy_origin *origin = &o->image->origin;
    policy_contract_entry entry;
    for (size_t at = 0; policy_contract_next(o->image, &at, &entry);) {
        if (!policy_contract_is_own(&entry)) {
            contract_note(o, &entry);
        }
    }
    note_text(o, "environment", o->image->spec.env_id);
    note_text(o, "run", origin->run_name);
    (void)snprintf(text, sizeof(text), "%016" PRIx64, origin->run_id);
    export_graph_note(o->graph, "run_id", text);
    (void)snprintf(text, sizeof(text), "%" PRIu64, origin->version);
    export_graph_note(o->graph, "version", text);
    export_graph_note(o->graph, "precision", policy_precision_name(o->image->precision));
    if (action_repeat > 0) {
        (void)snprintf(text, sizeof(text), "%" PRIu32, action_repeat);
        export_graph_note(o->graph, "action_repeat", text);
    }
}

void
export_onnx(uint8_t **out, size_t *length, const policy_image *image, uint32_t action_repeat)
{
    onnx o = {.graph = export_graph_create("policy"),
              .image = image,
              .names = export_onnx_names_of(image)};
    o.zero = constant(&o, 0.0f);
    o.one = constant(&o, 1.0f);
    o.two = constant(&o, 2.0f);
    o.codes_max = constant(&o, 255.0f);
    o.powers = powers_of_two(&o);
    const char *x = observation(&o);
    for (uint32_t l = 0; l < image->spec.layer_count; l++) {
        x = layer_of(&o, l, x);
    }
    head_of(&o, x);
    notes_add(&o, action_repeat);
    export_graph_prune(o.graph);
    export_graph_pack(o.graph, out, length);
    export_graph_destroy(o.graph);
}
