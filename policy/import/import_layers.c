// Makes the layers of a policy from a chain of steps.
//
// A policy has dense layers, convolutions and pools, with an optional layer norm and activation; a
// model has more steps. Everything linear between layers is folded: an affine step after a layer
// without activation scales the layer's rows, any other changes the factors a and summands b of
// the current value, which the next layer takes into its weights (w (a x + b) = (w a) x + w b). A
// selection only changes the order of the current value. Before the first layer, a and b become
// the policy's normalisation, unless a single factor for all numbers can go into the weights. What
// remains at the end is settled into the last layer, or a diagonal layer is added.
//
// Maps of models have their channels first, those of policies last; only the order knows. A clip
// cannot be folded, so it is allowed before the first layer, where the policy leaves it out, and
// at the end, where the head clips. Everything is computed in double precision and rounded once
// (import_policy.c).
#include "policy/import/import_layers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "common/oct_text.h"
#include "policy/import/import_activations.h"

#define WEIGHTS_MAX  (POLICY_BYTES_MAX / sizeof(float)) // of all layers
#define NORM_EPSILON 1e-5                               // of every layer norm in policies
#define DIAGONAL_MAX 1024 // numbers, so that a diagonal layer has at most 4 MiB of weights

// ---- messages

// OCT_EINVAL with the node that is to blame.
static oct_err
refuse(import_layers *layers, const import_step *step, const char *why)
{
    char name[64], op[32];
    const import_node *node = step->node;
    const char *known = node == NULL ? "" : node->name[0] != '\0' ? node->name : node->outputs[0];
    const char *kind = node == NULL ? "the observation" : node->op;
    return oct_refuse(layers->why, "node '%s' (%s): %s",
                      oct_text_quote(name, sizeof(name), known, strlen(known)),
                      oct_text_quote(op, sizeof(op), kind, strlen(kind)), why);
}

// ---- the current value

// The current value becomes the last layer's rows, in order and unchanged.
static void
value_reset(import_layers *layers, uint32_t width)
{
    free(layers->order);
    free(layers->a);
    free(layers->b);
    layers->width = width;
    layers->order = oct_alloc(width * sizeof(uint32_t));
    layers->a = oct_alloc(width * sizeof(double));
    layers->b = oct_alloc(width * sizeof(double));
    for (uint32_t i = 0; i < width; i++) {
        layers->order[i] = i;
        layers->a[i] = 1.0;
    }
}

// True if nothing remains to be done but a change of order.
static bool
is_plain(const import_layers *layers)
{
    for (uint32_t i = 0; i < layers->width; i++) {
        if (layers->a[i] != 1.0 || layers->b[i] != 0.0) {
            return false;
        }
    }
    return true;
}

// True if the value has all `count` numbers of the policy's value in their order.
static bool
is_in_order(const import_layers *layers, uint32_t count)
{
    for (uint32_t i = 0; i < layers->width; i++) {
        if (layers->order[i] != i) {
            return false;
        }
    }
    return layers->width == count;
}

// Returns where number i of a map [channels][places] is in the policy's, whose channels are last.
static uint32_t
channels_last(uint32_t i, uint32_t channels, uint32_t places)
{
    return i % places * channels + i / places;
}

// True if the value is a whole map [channels][places] that the policy has with its channels last.
static bool
is_map(const import_layers *layers, uint32_t channels, uint32_t places)
{
    for (uint32_t i = 0; i < layers->width; i++) {
        if (layers->order[i] != channels_last(i, channels, places)) {
            return false;
        }
    }
    return layers->width == channels * places;
}

// Number i of the model's map is at this position of the policy's.
static void
order_channels_last(import_layers *layers, uint32_t channels)
{
    for (uint32_t i = 0; i < layers->width; i++) {
        layers->order[i] = channels_last(i, channels, layers->width / channels);
    }
}

// Selects numbers of the current value; what remains to be done moves with them.
static void
gather(import_layers *layers, const import_step *step)
{
    import_layers old = *layers;
    layers->order = NULL;
    layers->a = layers->b = NULL;
    value_reset(layers, step->count);
    for (uint32_t i = 0; i < step->count; i++) {
        layers->order[i] = old.order[step->order[i]];
        layers->a[i] = old.a[step->order[i]];
        layers->b[i] = old.b[step->order[i]];
    }
    free(old.order);
    free(old.a);
    free(old.b);
}

// ---- the observation

// (x - mean) * inverse = a x + b. Numbers that the model does not read get mean 0 and inverse 1.
static void
normalisation_set(import_layers *layers)
{
    uint32_t n = layers->obs_count;
    layers->normalise = true;
    layers->mean = oct_alloc(n * sizeof(double));
    layers->inverse = oct_alloc(n * sizeof(double));
    for (uint32_t i = 0; i < n; i++) {
        layers->inverse[i] = 1.0; // of numbers that the model leaves out
    }
    for (uint32_t i = 0; i < layers->width; i++) {
        layers->mean[layers->order[i]] = -layers->b[i] / layers->a[i];
        layers->inverse[layers->order[i]] = layers->a[i];
        layers->a[i] = 1.0;
        layers->b[i] = 0.0;
    }
}

// Before the first layer: a and b become the normalisation, unless one factor applies to all
// numbers, which goes into the weights. A normalisation needs factors above 0 and normal floats.
static void
observation_scale(import_layers *layers)
{
    bool is_uniform = true, is_positive = true;
    for (uint32_t i = 0; i < layers->width; i++) {
        is_uniform = is_uniform && layers->a[i] == layers->a[0] && layers->b[i] == 0.0;
        float mean = (float)(-layers->b[i] / layers->a[i]), inverse = (float)layers->a[i];
        is_positive = is_positive && layers->a[i] > 0.0 && isnormal(inverse) && isfinite(mean);
    }
    if (!is_uniform && is_positive) {
        normalisation_set(layers);
    }
}

// True if the step only changes the shape.
static bool
is_reshape(const import_step *step)
{
    bool is_same = step->kind == IMPORT_GATHER && step->count == step->from->count;
    for (uint32_t i = 0; is_same && i < step->count; i++) {
        is_same = step->order[i] == i;
    }
    return is_same;
}

// True for convolutions and pools.
static bool
has_kernel(const import_step *step)
{
    return step->kind == IMPORT_CONV || step->kind == IMPORT_MAX_POOL ||
           step->kind == IMPORT_MEAN_POOL;
}

// True if the model has maps with their channels first and the policy has them last: the
// environment has them last, or its shape is unknown and a convolution reads them.
static bool
is_channels_first(const import_step *const *path, uint32_t count, const uint32_t *obs_shape,
                  uint32_t obs_rank)
{
    const import_step *input = path[0];
    const uint32_t *s = input->shape, rank = input->rank;
    if (rank != 2 && rank != 3) {
        return false;
    }
    if (obs_rank == rank && s[0] == obs_shape[rank - 1] &&
        memcmp(s + 1, obs_shape, (rank - 1) * sizeof(*s)) == 0 &&
        memcmp(s, obs_shape, rank * sizeof(*s)) != 0) {
        return true;
    }
    for (uint32_t i = 1; i < count; i++) {
        if (has_kernel(path[i]) || (path[i]->kind == IMPORT_GATHER && !is_reshape(path[i]))) {
            return has_kernel(path[i]) && path[i]->from->rank == rank;
        }
    }
    return false;
}

// ---- layers

static import_layer *
last_of(import_layers *layers)
{
    return &layers->list[layers->count - 1];
}

// Adds an open layer with weights of 0. NULL: there are too many layers or weights.
static import_layer *
layer_add(import_layers *layers, policy_layer layer)
{
    uint64_t weights = (uint64_t)policy_layer_rows(&layer) * policy_layer_columns(&layer);
    if (layers->count == POLICY_LAYERS_MAX || weights > WEIGHTS_MAX - layers->weights) {
        return NULL;
    }
    layers->weights += weights;
    import_layer *made = &layers->list[layers->count++];
    *made = (import_layer){.layer = layer};
    made->weight = oct_alloc(policy_layer_weights(&layer) * sizeof(double));
    made->bias = oct_alloc(policy_layer_rows(&layer) * sizeof(double));
    layers->is_open = true;
    return made;
}

// Numbers that a new layer reads.
static uint32_t
columns_now(const import_layers *layers)
{
    return layers->count == 0 ? layers->obs_count : layers->list[layers->count - 1].layer.outputs;
}

static oct_err
too_many(import_layers *layers)
{
    return oct_refuse(layers->why, "more than %d layers or %zu weights", POLICY_LAYERS_MAX,
                      WEIGHTS_MAX);
}

// Adds a dense layer, with the remaining factors and summands in its weights and bias.
static oct_err
dense(import_layers *layers, const import_step *step)
{
    if (layers->count == 0) {
        observation_scale(layers);
    }
    uint32_t columns = columns_now(layers);
    import_layer *made = layer_add(
        layers, (policy_layer){.kind = POLICY_DENSE, .inputs = columns, .outputs = step->count});
    if (made == NULL) {
        return too_many(layers);
    }
    for (uint32_t j = 0; j < step->count; j++) {
        // W (a x + b) + c = (W a) x + (W b + c).
        double sum = step->b != NULL ? step->b[j] : 0.0;
        for (uint32_t k = 0; k < layers->width; k++) {
            double w = step->alpha * import_weight(step, j, k);
            made->weight[(size_t)j * columns + layers->order[k]] += w * layers->a[k];
            sum += w * layers->b[k];
        }
        made->bias[j] = sum;
    }
    value_reset(layers, step->count);
    layers->dense = step;
    return OCT_OK;
}

// Finds the factor and summand that all positions of a channel share. False: they differ.
static bool
channel_scale(const import_layers *layers, uint32_t channel, uint32_t places, double *a, double *b)
{
    uint32_t first = channel * places;
    for (uint32_t i = first; i < first + places; i++) {
        if (layers->a[i] != layers->a[first] || layers->b[i] != layers->b[first]) {
            return false;
        }
    }
    *a = layers->a[first];
    *b = layers->b[first];
    return true;
}

// Checks that the value is a map as policies have it, and which is what a new layer reads.
static oct_err
map_check(import_layers *layers, const import_step *step)
{
    const policy_conv *conv = &step->conv;
    if (!is_map(layers, conv->channels, conv->rows.size * conv->columns.size)) {
        return refuse(layers, step,
                      "the order of its map is not rows, columns and channels of the observation, "
                      "as policies need");
    }
    if (layers->width != columns_now(layers)) {
        return refuse(layers, step,
                      "its map is a part of the numbers before it, but policies support it on all "
                      "of them only");
    }
    for (uint32_t l = 0; l < layers->count; l++) {
        if (layers->list[l].layer.kind == POLICY_DENSE) {
            return refuse(layers, step,
                          "it follows a dense layer; policies have convolutions and pools before "
                          "dense layers only");
        }
    }
    return OCT_OK;
}

// Adds a convolution. Its filters become [rows][columns][channels], as policies have them.
static oct_err
conv(import_layers *layers, const import_step *step)
{
    const policy_conv *conv = &step->conv;
    const uint32_t channels = conv->channels, filters = conv->filters;
    const size_t area = (size_t)conv->rows.kernel * conv->columns.kernel;
    OCT_TRY(map_check(layers, step));
    if (layers->count == 0) {
        observation_scale(layers);
    }
    import_layer *made = layer_add(layers, (policy_layer){.kind = POLICY_CONV,
                                                          .inputs = layers->width,
                                                          .outputs = step->count,
                                                          .conv = *conv});
    if (made == NULL) {
        return too_many(layers);
    }
    for (uint32_t c = 0; c < channels; c++) {
        double a = 1.0, b = 0.0;
        if (!channel_scale(layers, c, conv->rows.size * conv->columns.size, &a, &b)) {
            return refuse(layers, step, "each position of its map is scaled differently before it");
        }
        if (b != 0.0 && policy_has_zeros(conv)) {
            return refuse(
                layers, step,
                "something is added to its map before its padding of zeros, which "
                "policies cannot: add it after the convolution, or train without padding");
        }
        for (uint32_t f = 0; f < filters; f++) {
            const float *w = step->weight->floats + ((size_t)f * channels + c) * area;
            for (uint32_t i = 0; i < area; i++) {
                made->weight[(f * area + i) * channels + c] = (double)w[i] * a;
                made->bias[f] += (double)w[i] * b;
            }
        }
    }
    for (uint32_t f = 0; f < filters; f++) {
        made->bias[f] += step->b[f];
    }
    value_reset(layers, step->count);
    order_channels_last(layers, filters);
    layers->dense = step;
    return OCT_OK;
}

// Adds a pool. Factors and summands of its channels remain to be done after it: it gives the same
// numbers, unless a negative factor makes the largest number the smallest.
static oct_err
pool(import_layers *layers, const import_step *step)
{
    const policy_conv *conv = &step->conv;
    const uint32_t channels = conv->channels, places = step->count / channels;
    OCT_TRY(map_check(layers, step));
    if (layers->count == 0) {
        return refuse(layers, step,
                      "it reads the observation, but policies have a convolution before a pool");
    }
    double *a = oct_alloc(channels * sizeof(*a)), *b = oct_alloc(channels * sizeof(*b));
    bool is_even = true, is_positive = true;
    for (uint32_t c = 0; c < channels; c++) {
        is_even =
            is_even && channel_scale(layers, c, conv->rows.size * conv->columns.size, &a[c], &b[c]);
        is_positive = is_positive && a[c] > 0.0;
    }
    policy_layer_kind kind = step->kind == IMPORT_MAX_POOL ? POLICY_MAX_POOL : POLICY_MEAN_POOL;
    oct_err err = OCT_OK;
    if (!is_even) {
        err = refuse(layers, step, "each position of its map is scaled differently before it");
    } else if (kind == POLICY_MAX_POOL && !is_positive) {
        err = refuse(layers, step, "a factor before it is not above 0, which policies cannot move");
    } else if (layer_add(layers, (policy_layer){.kind = kind,
                                                .inputs = layers->width,
                                                .outputs = step->count,
                                                .conv = *conv}) == NULL) {
        err = too_many(layers);
    } else {
        value_reset(layers, step->count);
        order_channels_last(layers, channels);
        for (uint32_t i = 0; i < step->count; i++) {
            layers->a[i] = a[i / places];
            layers->b[i] = b[i / places];
        }
    }
    free(a);
    free(b);
    return err;
}

// An affine step after a layer without activation changes the layer's rows, or the gain and offset
// of its norm. A row of a convolution is shared by all positions of a map, also of a pool after it,
// and a gather may have repeated a row; the factors must agree then.
static oct_err
rows_scale(import_layers *layers, import_layer *last, const import_step *step)
{
    uint32_t rows = policy_layer_rows(&last->layer), columns = policy_layer_columns(&last->layer);
    uint32_t places = policy_layer_places(&last->layer);
    double *a = oct_alloc(rows * sizeof(double)), *b = oct_alloc(rows * sizeof(double));
    // Rows that the value does not contain stay as they are.
    uint8_t *seen = oct_alloc(rows);
    bool is_same = true;
    for (uint32_t i = 0; i < layers->width; i++) {
        uint32_t row = layers->order[i] % rows; // positions of a map have their filters innermost
        is_same = is_same && (!seen[row] || (a[row] == step->a[i] && b[row] == step->b[i]));
        seen[row] = 1;
        a[row] = step->a[i];
        b[row] = step->b[i];
    }
    for (uint32_t j = 0; is_same && j < rows; j++) {
        for (uint32_t k = 0; seen[j] && k < columns && !last->layer.layer_norm; k++) {
            last->weight[(size_t)j * columns + k] *= a[j];
        }
        double *scale = last->layer.layer_norm ? last->gain : NULL;
        double *shift = last->layer.layer_norm ? last->offset : last->bias;
        if (seen[j]) {
            shift[j] = shift[j] * a[j] + b[j];
        }
        if (seen[j] && scale != NULL) {
            scale[j] *= a[j];
        }
    }
    free(a);
    free(b);
    free(seen);
    return is_same ? OCT_OK
                   : refuse(layers, step,
                            places > 1 ? "it scales each position of a map differently"
                                       : "it scales one number in two ways");
}

// Returns the layer with weights that an affine step may change: the last one, or the convolution
// before pools if these give the same numbers of a scaled map. NULL: it has an activation, or there
// is none.
static import_layer *
scalable(import_layers *layers, const import_step *step)
{
    bool is_positive = true, is_plain_value = is_plain(layers);
    for (uint32_t i = 0; i < step->count; i++) {
        is_positive = is_positive && step->a[i] > 0.0;
    }
    for (uint32_t l = layers->count; l-- > 0 && is_plain_value;) {
        import_layer *layer = &layers->list[l];
        if (layer->layer.activation != POLICY_LINEAR ||
            (layer->layer.kind == POLICY_MAX_POOL && !is_positive)) {
            return NULL;
        }
        if (!policy_is_pool(layer->layer.kind)) {
            return layer;
        }
    }
    return NULL;
}

// Folds an affine step into a layer or into a and b.
static oct_err
affine(import_layers *layers, const import_step *step)
{
    import_layer *layer = layers->is_open ? scalable(layers, step) : NULL;
    if (layer != NULL) {
        return rows_scale(layers, layer, step);
    }
    for (uint32_t i = 0; i < layers->width; i++) {
        layers->a[i] *= step->a[i];
        layers->b[i] = step->a[i] * layers->b[i] + step->b[i];
    }
    return OCT_OK;
}

static oct_err diagonal_add(import_layers *layers);

// Adds layer norm to the last dense layer, or to a new diagonal layer.
static oct_err
norm(import_layers *layers, const import_step *step)
{
    import_layer *last = layers->count > 0 ? last_of(layers) : NULL;
    if (last == NULL || !layers->is_open || last->layer.kind != POLICY_DENSE ||
        last->layer.layer_norm || !is_in_order(layers, last->layer.outputs)) {
        // Observations and activations get a diagonal layer.
        if (step->count > DIAGONAL_MAX || columns_now(layers) > DIAGONAL_MAX) {
            return refuse(layers, step,
                          "it does not follow a dense layer; policies support that for at most "
                          "1024 numbers");
        }
        if (layers->count == 0) {
            observation_scale(layers);
        }
        OCT_TRY(diagonal_add(layers));
        value_reset(layers, step->count);
        last = last_of(layers);
    }
    // LN(k h; k^2 e) = LN(h; e): scaling the layer by k replaces the model's epsilon by that of
    // policies.
    double k = sqrt(NORM_EPSILON / step->epsilon);
    bool is_own = fabs(k - 1.0) < 1e-3; // 1e-5 as a float is not exactly 1e-5
    for (size_t i = 0; !is_own && i < policy_layer_weights(&last->layer); i++) {
        last->weight[i] *= k;
    }
    for (uint32_t i = 0; !is_own && i < last->layer.outputs; i++) {
        last->bias[i] *= k;
    }
    last->layer.layer_norm = true;
    last->gain = oct_alloc(step->count * sizeof(double));
    last->offset = oct_alloc(step->count * sizeof(double));
    memcpy(last->gain, step->a, step->count * sizeof(double));
    memcpy(last->offset, step->b, step->count * sizeof(double));
    return OCT_OK;
}

// Closes the last layer.
static oct_err
activate(import_layers *layers, const import_step *step, policy_activation activation)
{
    if (layers->count == 0 || !layers->is_open) {
        return refuse(layers, step, "policies support activations after a layer only");
    }
    if (!is_plain(layers)) {
        return refuse(layers, step,
                      "its input is scaled after a pool that follows an activation, and policies "
                      "support activations of the pool itself only");
    }
    last_of(layers)->layer.activation = activation;
    layers->is_open = false;
    return OCT_OK;
}

// sigmoid(x) = (tanh(x / 2) + 1) / 2: an end of a dense layer becomes a tanh, which heads have.
static void
end_as_tanh(import_layers *layers)
{
    import_layer *last = last_of(layers);
    if (last->layer.activation != POLICY_SIGMOID || last->layer.kind != POLICY_DENSE ||
        last->layer.layer_norm) {
        return;
    }
    last->layer.activation = POLICY_TANH;
    for (size_t i = 0; i < policy_layer_weights(&last->layer); i++) {
        last->weight[i] *= 0.5;
    }
    for (uint32_t i = 0; i < last->layer.outputs; i++) {
        last->bias[i] *= 0.5;
    }
    for (uint32_t i = 0; i < layers->width; i++) {
        layers->a[i] *= 0.5;
        layers->b[i] += layers->a[i];
    }
}

// ---- clips after layers

// Combines a clip with the ones before it: the ends of the first are clipped by the second.
static void
clip(import_layers *layers, const import_step *step)
{
    if (layers->clip_low == NULL) {
        layers->clip_low = oct_alloc(step->count * sizeof(double));
        layers->clip_high = oct_alloc(step->count * sizeof(double));
        memcpy(layers->clip_low, step->a, step->count * sizeof(double));
        memcpy(layers->clip_high, step->b, step->count * sizeof(double));
        return;
    }
    for (uint32_t i = 0; i < step->count; i++) {
        layers->clip_low[i] = fmin(fmax(layers->clip_low[i], step->a[i]), step->b[i]);
        layers->clip_high[i] = fmin(fmax(layers->clip_high[i], step->a[i]), step->b[i]);
    }
}

// An affine step after a clip also scales the ends of the clip.
static void
clip_scale(import_layers *layers, const import_step *step)
{
    for (uint32_t i = 0; i < step->count; i++) {
        // A negative factor exchanges the ends.
        double low = step->a[i] * layers->clip_low[i] + step->b[i];
        double high = step->a[i] * layers->clip_high[i] + step->b[i];
        layers->clip_low[i] = fmin(low, high);
        layers->clip_high[i] = fmax(low, high);
    }
}

// ---- steps

// Adds a step to the layers.
static oct_err
step_take(import_layers *layers, const import_step *step)
{
    switch (step->kind) {
    case IMPORT_AFFINE:
        return affine(layers, step);
    case IMPORT_GATHER:
        gather(layers, step);
        return OCT_OK;
    case IMPORT_DENSE:
        return dense(layers, step);
    case IMPORT_CONV:
        return conv(layers, step);
    case IMPORT_MAX_POOL:
    case IMPORT_MEAN_POOL:
        return pool(layers, step);
    case IMPORT_ACTIVATION:
        return activate(layers, step, step->activation);
    case IMPORT_NORM:
        return norm(layers, step);
    case IMPORT_CLIP:
        if (layers->count == 0) {
            layers->observation_clip = step;
        } else {
            clip(layers, step);
        }
        return OCT_OK;
    case IMPORT_MEAN:
    case IMPORT_CENTRED:
    case IMPORT_SQUARED:
    case IMPORT_VARIANCE:
    case IMPORT_ROOT:
    case IMPORT_INVERSE_ROOT:
        return refuse(layers, step, "policies support it as a part of layer norm only");
    default:
        return refuse(layers, step, "policies support it at their end only");
    }
}

// Softmax, log softmax and argmax do not change which action is best.
static bool
is_choice(const import_step *step)
{
    return step->kind == IMPORT_SOFTMAX || step->kind == IMPORT_LOG_SOFTMAX ||
           step->kind == IMPORT_ARGMAX;
}

// Removes choices and changes of shape from the end; returns the step with the scores.
static const import_step *
choice_strip(import_layers *layers, const import_step *chain)
{
    const import_step *step = chain;
    while (step->from != NULL && (is_choice(step) || is_reshape(step))) {
        layers->is_softmax =
            layers->is_softmax || step->kind == IMPORT_SOFTMAX || step->kind == IMPORT_LOG_SOFTMAX;
        if (is_choice(step)) {
            chain = step->from;
        }
        step = step->from;
    }
    return chain;
}

// Refuses a part of an activation: the last of those that follow path[0] number by number, or
// path[0].
static oct_err
part_refuse(import_layers *layers, const import_step *const *path, uint32_t count)
{
    char text[512];
    const import_step *last = path[0];
    for (uint32_t i = 1; i < count && import_step_is_numberwise(path[i]); i++) {
        last = path[i]->kind == IMPORT_PART ? path[i] : last;
    }
    import_activation_why(last, text, sizeof(text));
    return refuse(layers, last, text);
}

// True if path[0] is a clip that is an activation: of a layer, with another layer behind it. At
// the end it stays a clip, which is a matter of the head.
static bool
is_activation(const import_layers *layers, const import_step *const *path, uint32_t count,
              policy_activation *activation)
{
    double factor;
    bool is_inner = false;
    for (uint32_t i = 1; i < count; i++) {
        is_inner = is_inner || path[i]->kind == IMPORT_DENSE || has_kernel(path[i]) ||
                   path[i]->kind == IMPORT_NORM;
    }
    return path[0]->kind == IMPORT_CLIP && is_inner && layers->count > 0 && layers->is_open &&
           import_activation_match(path[0], path[0]->from, activation, &factor);
}

// Adds all steps, path[0] being the observation.
static oct_err
steps_take(import_layers *layers, const import_step *const *path, uint32_t count)
{
    policy_activation activation;
    for (uint32_t i = 1; i < count; i++) {
        if (path[i]->kind == IMPORT_PART) {
            return part_refuse(layers, path + i, count - i);
        }
        if (is_activation(layers, path + i, count - i, &activation)) {
            OCT_TRY(activate(layers, path[i], activation));
            continue;
        }
        bool is_clipped = layers->clip_low != NULL;
        bool is_affine = path[i]->kind == IMPORT_AFFINE;
        // A clip may be followed by what commutes with it: scales, further clips and changes of
        // shape.
        if (is_clipped && !is_affine && path[i]->kind != IMPORT_CLIP && !is_reshape(path[i])) {
            return refuse(layers, path[i],
                          "it follows a clip, which policies support only before the first layer, "
                          "at the end, and as relu and relu6");
        }
        OCT_TRY(step_take(layers, path[i]));
        if (is_clipped && is_affine) {
            clip_scale(layers, path[i]);
        }
    }
    if (layers->count == 0) {
        const import_node *node = path[count - 1]->node;
        return oct_refuse(layers->why, "there is no layer between the observation and '%.60s'",
                          node != NULL && node->output_count > 0 ? node->outputs[0] : "");
    }
    end_as_tanh(layers);
    return OCT_OK;
}

oct_err
import_layers_make(import_layers *layers, const import_step *chain, const uint32_t *obs_shape,
                   uint32_t obs_rank, oct_reason *why)
{
    *layers = (import_layers){.why = why};
    const import_step *path[2 * IMPORT_NODES_MAX];
    uint32_t count = 0;
    layers->scores = choice_strip(layers, chain);
    for (const import_step *step = layers->scores; step != NULL; step = step->from) {
        OCT_ASSERT(count < OCT_COUNTOF(path));
        path[count++] = step;
    }
    // The chain is linked from its end; path becomes the order of computation.
    for (uint32_t i = 0; i < count / 2; i++) {
        const import_step *other = path[i];
        path[i] = path[count - 1 - i];
        path[count - 1 - i] = other;
    }
    layers->obs_count = path[0]->count;
    value_reset(layers, layers->obs_count);
    layers->is_channels_first = is_channels_first(path, count, obs_shape, obs_rank);
    if (layers->is_channels_first) {
        order_channels_last(layers, path[0]->shape[0]);
    }
    layers->obs_order = oct_alloc(layers->obs_count * sizeof(uint32_t));
    memcpy(layers->obs_order, layers->order, layers->obs_count * sizeof(uint32_t));
    return steps_take(layers, path, count);
}

// Frees a layer's numbers.
static void
layer_free(import_layer *layer)
{
    free(layer->weight);
    free(layer->bias);
    free(layer->gain);
    free(layer->offset);
}

void
import_layers_free(import_layers *layers)
{
    for (uint32_t l = 0; l < layers->count; l++) {
        layer_free(&layers->list[l]);
    }
    free(layers->mean);
    free(layers->inverse);
    free(layers->obs_order);
    free(layers->order);
    free(layers->a);
    free(layers->b);
    free(layers->clip_low);
    free(layers->clip_high);
}

// ---- the end

// Row i of the last layer becomes the old row order[i].
static void
rows_choose(import_layers *layers)
{
    import_layer old = *last_of(layers), *last = last_of(layers);
    uint32_t columns = old.layer.inputs, rows = layers->width;
    last->layer.outputs = rows;
    last->weight = oct_alloc((size_t)rows * columns * sizeof(double));
    last->bias = oct_alloc(rows * sizeof(double));
    for (uint32_t i = 0; i < rows; i++) {
        memcpy(last->weight + (size_t)i * columns, old.weight + (size_t)layers->order[i] * columns,
               columns * sizeof(double));
        last->bias[i] = old.bias[layers->order[i]];
    }
    free(old.weight);
    free(old.bias);
}

// Adds a dense layer that only applies a, b and the order.
static oct_err
diagonal_add(import_layers *layers)
{
    uint32_t columns = columns_now(layers), rows = layers->width;
    if (columns > DIAGONAL_MAX || rows > DIAGONAL_MAX) {
        return oct_refuse(layers->why,
                          "%u outputs are computed without a layer at the end, allowed are %d",
                          columns, DIAGONAL_MAX);
    }
    import_layer *made =
        layer_add(layers, (policy_layer){.kind = POLICY_DENSE, .inputs = columns, .outputs = rows});
    if (made == NULL) {
        return too_many(layers);
    }
    for (uint32_t i = 0; i < rows; i++) {
        made->weight[(size_t)i * columns + layers->order[i]] = layers->a[i];
        made->bias[i] = layers->b[i];
    }
    layers->dense = NULL;
    return OCT_OK;
}

oct_err
import_layers_settle(import_layers *layers)
{
    const import_layer *last = last_of(layers);
    // Rows of a norm belong together: choosing some of them would change it.
    bool is_order = is_in_order(layers, last->layer.outputs);
    if (!layers->is_open || last->layer.kind != POLICY_DENSE || !is_plain(layers) ||
        (last->layer.layer_norm && !is_order)) {
        OCT_TRY(diagonal_add(layers));
    } else if (!is_order) {
        rows_choose(layers);
    }
    value_reset(layers, last_of(layers)->layer.outputs);
    return OCT_OK;
}

void
import_layers_scale(import_layers *layers, const double *scale, const double *shift)
{
    import_layer *last = last_of(layers);
    // With a norm, gain and offset are scaled in place of weights and bias.
    double *factors = last->layer.layer_norm ? last->gain : last->bias;
    for (uint32_t j = 0; j < last->layer.outputs; j++) {
        for (uint32_t k = 0; !last->layer.layer_norm && k < last->layer.inputs; k++) {
            last->weight[(size_t)j * last->layer.inputs + k] *= scale[j];
        }
        factors[j] *= scale[j];
        if (last->layer.layer_norm) {
            last->offset[j] = last->offset[j] * scale[j] + shift[j];
        } else {
            last->bias[j] += shift[j];
        }
    }
}

oct_err
import_layers_stack(import_layers *layers, const import_layers *other)
{
    import_layer *last = last_of(layers);
    const import_layer *added = &other->list[other->count - 1];
    uint32_t rows = last->layer.outputs, more = added->layer.outputs, columns = last->layer.inputs;
    // The same step before both means that both trunks are the same layers.
    bool is_beside = layers->count == other->count && columns == added->layer.inputs &&
                     layers->dense != NULL && other->dense != NULL &&
                     layers->dense->from == other->dense->from;
    if (!is_beside || last->layer.layer_norm || added->layer.layer_norm) {
        return oct_refuse(layers->why,
                          "log deviations and means are computed by different layers; policies "
                          "compute both by one layer, from the same numbers");
    }
    double *weight = oct_alloc((size_t)(rows + more) * columns * sizeof(double));
    double *bias = oct_alloc((rows + more) * sizeof(double));
    // The rows of the other layer follow below.
    memcpy(weight, last->weight, (size_t)rows * columns * sizeof(double));
    memcpy(weight + (size_t)rows * columns, added->weight, (size_t)more * columns * sizeof(double));
    memcpy(bias, last->bias, rows * sizeof(double));
    memcpy(bias + rows, added->bias, more * sizeof(double));
    free(last->weight);
    free(last->bias);
    last->weight = weight;
    last->bias = bias;
    last->layer.outputs = rows + more;
    return OCT_OK;
}
