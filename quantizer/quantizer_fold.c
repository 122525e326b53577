// Folds the scaling of observations into the first layer, and removes the common part of all
// actions from the last.
#include "quantizer/quantizer_fold.h"

#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"

#define LANES 8 // independent partial sums of a dot product

struct quantizer_fold {
    policy_spec spec;
    uint32_t group; // rows of the last layer that share a mean; 0: the last layer is not centred
    float *first;   // the parameters of the scaled first layer; NULL: spec has no normalise
    float *last;    // the parameters of the centred last layer; NULL: group is 0
    float *common;  // [groups][columns + 1] means of weights and, last, of biases
    double *sum;    // [columns + 1]
};

// Returns how many outputs form one group whose common part does not affect the action; 0: none.
static uint32_t
group_of(const policy_spec *spec, policy_precision precision)
{
    const policy_layer *last = &spec->layers[spec->layer_count - 1];
    if (precision == POLICY_FP32 || last->activation != POLICY_LINEAR || last->layer_norm) {
        return 0;
    }
    switch (spec->head) {
    case POLICY_HEAD_VALUES:
    case POLICY_HEAD_LOGITS:
        return spec->action_count;
    case POLICY_HEAD_ATOMS:
        return spec->atoms;
    case POLICY_HEAD_TANH:
    case POLICY_HEAD_GAUSSIAN:
    case POLICY_HEAD_TANH_GAUSSIAN:
        break;
    }
    return 0;
}

static size_t
layer_floats(const policy_spec *spec, uint32_t l)
{
    policy_offsets at = policy_spec_layer(spec, l);
    return at.end - at.weight;
}

// The count of numbers in each array of a fold; 0: the fold does not have the array.
typedef struct fold_counts {
    size_t first, last, common, sum;
} fold_counts;

static fold_counts
counts_of(const policy_spec *spec, uint32_t group)
{
    fold_counts counts = {0};
    if (spec->normalise) {
        counts.first = layer_floats(spec, 0);
    }
    if (group > 0) {
        uint32_t l = spec->layer_count - 1;
        size_t columns = policy_layer_columns(&spec->layers[l]) + 1;
        counts.last = layer_floats(spec, l);
        counts.common = policy_layer_rows(&spec->layers[l]) / group * columns;
        counts.sum = columns;
    }
    return counts;
}

size_t
quantizer_fold_bytes(const policy_spec *spec, policy_precision precision)
{
    fold_counts counts = counts_of(spec, group_of(spec, precision));
    return (counts.first + counts.last + counts.common) * sizeof(float) +
           counts.sum * sizeof(double);
}

quantizer_fold *
quantizer_fold_create(const policy_spec *spec, policy_precision precision)
{
    quantizer_fold *fold = oct_alloc(sizeof(*fold));
    fold->spec = *spec;
    fold->group = group_of(spec, precision);
    fold_counts counts = counts_of(spec, fold->group);
    if (counts.first > 0) {
        fold->first = oct_alloc(counts.first * sizeof(float));
    }
    if (fold->group > 0) {
        fold->last = oct_alloc(counts.last * sizeof(float));
        fold->common = oct_alloc(counts.common * sizeof(float));
        fold->sum = oct_alloc(counts.sum * sizeof(double));
    }
    return fold;
}

void
quantizer_fold_destroy(quantizer_fold *fold)
{
    if (fold != NULL) {
        free(fold->first);
        free(fold->last);
        free(fold->common);
        free(fold->sum);
        free(fold);
    }
}

// ---- first layer

// Returns the sum of w[i] * x[i]: element i is added to lane i mod 8, then the lanes in order, so
// that every build gives the same bits.
static double
row_dot(const float *restrict w, const float *restrict x, size_t n)
{
    double lanes[LANES] = {0}, sum = 0.0;
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (size_t lane = 0; lane < LANES; lane++) {
            lanes[lane] += (double)w[i + lane] * (double)x[i + lane];
        }
    }
    for (size_t lane = 0; i + lane < n; lane++) {
        lanes[lane] += (double)w[i + lane] * (double)x[i + lane];
    }
    for (size_t lane = 0; lane < LANES; lane++) {
        sum += lanes[lane];
    }
    return sum;
}

// Returns the period with which means and deviations repeat along a row of weights: all inputs of a
// dense layer, the channels of a convolution.
static size_t
first_group(const policy_spec *spec)
{
    const policy_layer *first = &spec->layers[0];
    return first->kind != POLICY_DENSE ? first->conv.channels : first->inputs;
}

// Returns the sum of w[i] * mean[i mod group].
static double
mean_dot(const float *w, const float *mean, size_t columns, size_t group)
{
    double sum = row_dot(w, mean, group);
    for (size_t i = group; i < columns; i += group) {
        sum += row_dot(w + i, mean, group);
    }
    return sum;
}

static void
first_scale(quantizer_fold *fold, const float *layer, const quantizer_scaling *scaling)
{
    const policy_layer *first = &fold->spec.layers[0];
    size_t columns = policy_layer_columns(first), rows = policy_layer_rows(first);
    size_t bias = columns * rows, group = first_group(&fold->spec);
    const float *restrict deviation = scaling->deviation;
    for (size_t j = 0; j < rows; j++) {
        const float *restrict w = layer + j * columns;
        float *restrict out = fold->first + j * columns;
        for (size_t at = 0; at < columns; at += group) {
            for (size_t i = 0; i < group; i++) {
                out[at + i] = w[at + i] * deviation[i];
            }
        }
        fold->first[bias + j] =
            (float)((double)layer[bias + j] + mean_dot(w, scaling->mean, columns, group));
    }
    size_t rest = bias + rows; // gains and offsets
    memcpy(fold->first + rest, layer + rest, (layer_floats(&fold->spec, 0) - rest) * sizeof(float));
}

static void
first_unscale(const quantizer_fold *fold, const quantizer_scaling *scaling, float *layer)
{
    const policy_layer *first = &fold->spec.layers[0];
    size_t columns = policy_layer_columns(first), rows = policy_layer_rows(first);
    size_t group = first_group(&fold->spec);
    float *bias = layer + columns * rows;
    for (size_t j = 0; j < rows; j++) {
        float *w = layer + j * columns;
        for (size_t at = 0; at < columns; at += group) {
            for (size_t i = 0; i < group; i++) {
                w[at + i] /= scaling->deviation[i];
            }
        }
        bias[j] = (float)((double)bias[j] - mean_dot(w, scaling->mean, columns, group));
    }
}

// ---- last layer

// common[columns + 1] = the mean of a group's rows w and of its biases.
static void
group_mean(quantizer_fold *fold, const float *w, const float *bias, size_t columns, float *common)
{
    double *restrict sum = fold->sum;
    memset(sum, 0, (columns + 1) * sizeof(*sum));
    for (size_t j = 0; j < fold->group; j++) {
        const float *restrict row = w + j * columns;
        for (size_t i = 0; i < columns; i++) {
            sum[i] += (double)row[i];
        }
        sum[columns] += (double)bias[j];
    }
    for (size_t i = 0; i <= columns; i++) {
        common[i] = (float)(sum[i] / fold->group);
    }
}

// Adds sign * common of its group to every row and bias of the last layer.
static void
last_move(const quantizer_fold *fold, float *layer, float sign)
{
    const policy_layer *last = &fold->spec.layers[fold->spec.layer_count - 1];
    size_t columns = policy_layer_columns(last), rows = policy_layer_rows(last);
    for (size_t j = 0; j < rows; j++) {
        const float *restrict common = fold->common + j / fold->group * (columns + 1);
        float *restrict row = layer + j * columns;
        for (size_t i = 0; i < columns; i++) {
            row[i] += sign * common[i];
        }
        layer[rows * columns + j] += sign * common[columns];
    }
}

static void
last_centre(quantizer_fold *fold, const float *layer)
{
    uint32_t l = fold->spec.layer_count - 1;
    const policy_layer *last = &fold->spec.layers[l];
    size_t columns = policy_layer_columns(last), rows = policy_layer_rows(last);
    for (size_t j = 0; j < rows; j += fold->group) {
        group_mean(fold, layer + j * columns, layer + rows * columns + j, columns,
                   fold->common + j / fold->group * (columns + 1));
    }
    memcpy(fold->last, layer, layer_floats(&fold->spec, l) * sizeof(float));
    last_move(fold, fold->last, -1.0f);
}

// ---- both

bool
quantizer_is_foldable(const policy_spec *spec, const quantizer_scaling *scaling)
{
    size_t group = first_group(spec);
    bool has_zeros = policy_has_zeros(&spec->layers[0].conv);
    for (size_t i = 0; i < group; i++) {
        if (has_zeros && scaling->mean[i] != 0.0f) {
            return false;
        }
    }
    for (size_t i = group; i < spec->obs_count; i++) {
        if (scaling->mean[i] != scaling->mean[i % group] ||
            scaling->deviation[i] != scaling->deviation[i % group]) {
            return false;
        }
    }
    return true;
}

quantizer_layers
quantizer_fold_layers(quantizer_fold *fold, const float *params, const quantizer_scaling *scaling)
{
    quantizer_layers layers = quantizer_layers_of(&fold->spec, params);
    if (fold->first != NULL && scaling != NULL) {
        first_scale(fold, layers.at[0], scaling);
        layers.at[0] = fold->first;
    }
    if (fold->last != NULL) {
        uint32_t l = fold->spec.layer_count - 1;
        last_centre(fold, layers.at[l]);
        layers.at[l] = fold->last;
    }
    return layers;
}

void
quantizer_unfold(const quantizer_fold *fold, const quantizer_scaling *scaling, float *params)
{
    if (fold->last != NULL) {
        last_move(fold, params + policy_spec_layer(&fold->spec, fold->spec.layer_count - 1).weight,
                  1.0f);
    }
    if (fold->first != NULL && scaling != NULL) {
        first_unscale(fold, scaling, params);
    }
}

oct_err
quantizer_convert_folded(policy_image *image, const float *params, const quantizer_scaling *scaling,
                         const quantizer_method *method)
{
    quantizer_fold *fold = quantizer_fold_create(&image->spec, image->precision);
    quantizer_layers layers = quantizer_fold_layers(fold, params, scaling);
    if (scaling != NULL) {
        quantizer_scaling_set(image, scaling);
    }
    oct_err err = quantizer_convert_layers(image, &layers, method);
    quantizer_fold_destroy(fold);
    return err;
}

void
quantizer_report_folded(const policy_image *image, const float *params,
                        quantizer_layer_error *errors)
{
    quantizer_fold *fold = quantizer_fold_create(&image->spec, image->precision);
    quantizer_layers layers = quantizer_fold_layers(fold, params, NULL);
    quantizer_report_layers(image, &layers, errors);
    quantizer_fold_destroy(fold);
}
