// Checks, compares and builds network specs (MLP, CNN), and computes the sizes that follow from
// them and the index of each part in the parameter block. Products of sizes from files or peers are
// computed in 64 bits.
#include "policy/policy_spec.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_reason.h"

const char *
policy_activation_name(policy_activation activation)
{
    static const char *const names[] = {POLICY_ACTIVATIONS(POLICY_ACTIVATION_WORD)};
    return names[activation];
}

static bool
is_within(uint32_t number, uint32_t most)
{
    return number >= 1 && number <= most;
}

const char *
policy_kind_name(policy_layer_kind kind)
{
    static const char *const names[] = {
        [POLICY_DENSE] = "dense",
        [POLICY_CONV] = "conv",
        [POLICY_MAX_POOL] = "pool",
        [POLICY_MEAN_POOL] = "mean",
    };
    return names[kind];
}

// Checks one axis of a kernel, whose numbers may all be wrong.
static oct_err
check_axis(const policy_axis *axis, uint32_t l, const char *name, oct_reason *why)
{
    if (!is_within(axis->kernel, POLICY_KERNEL_MAX) ||
        !is_within(axis->stride, POLICY_KERNEL_MAX)) {
        return oct_refuse(why, "layer %u: a kernel of %u %s in steps of %u, allowed 1..%d each", l,
                          axis->kernel, name, axis->stride, POLICY_KERNEL_MAX);
    }
    if (axis->before >= axis->kernel || axis->after >= axis->kernel) {
        return oct_refuse(why, "layer %u: a padding of %u and %u %s, allowed 0..%u each", l,
                          axis->before, axis->after, name, axis->kernel - 1);
    }
    if (axis->before + axis->size + axis->after < axis->kernel) {
        return oct_refuse(why, "layer %u: a map of %u %s is smaller than its kernel of %u", l,
                          axis->size, name, axis->kernel);
    }
    return OCT_OK;
}

// Checks the geometry of a convolution or a pool, whose numbers may all be wrong.
static oct_err
check_conv(const policy_layer *layer, uint32_t l, oct_reason *why)
{
    const policy_conv *conv = &layer->conv;
    uint32_t h = conv->rows.size, w = conv->columns.size;
    if (!is_within(h, POLICY_WIDTH_MAX) || !is_within(w, POLICY_WIDTH_MAX) ||
        !is_within(conv->channels, POLICY_WIDTH_MAX) ||
        !is_within(conv->filters, POLICY_WIDTH_MAX)) {
        return oct_refuse(why, "layer %u: %u filters on a map of %u x %u x %u, allowed 1..%d each",
                          l, conv->filters, h, w, conv->channels, POLICY_WIDTH_MAX);
    }
    OCT_TRY(check_axis(&conv->rows, l, "rows", why));
    OCT_TRY(check_axis(&conv->columns, l, "columns", why));
    // At most 2^50 each, because each factor is at most 2^17.
    uint64_t inputs = (uint64_t)h * w * conv->channels;
    uint64_t outputs = (uint64_t)policy_axis_positions(&conv->rows) *
                       policy_axis_positions(&conv->columns) * conv->filters;
    if (layer->inputs != inputs || layer->outputs != outputs) {
        return oct_refuse(
            why, "layer %u: %u inputs and %u outputs, its geometry has %" PRIu64 " and %" PRIu64, l,
            layer->inputs, layer->outputs, inputs, outputs);
    }
    if (layer->layer_norm) {
        return oct_refuse(why, "layer %u: a %s with a layer norm", l,
                          policy_is_pool(layer->kind) ? "pool" : "convolution");
    }
    if (policy_is_pool(layer->kind) && conv->filters != conv->channels) {
        return oct_refuse(why, "layer %u: a pool of %u channels with %u filters", l, conv->channels,
                          conv->filters);
    }
    return OCT_OK;
}

// Checks the rules for the kind of layer l: its position, and the geometry of a convolution.
static oct_err
check_kind(const policy_spec *spec, uint32_t l, oct_reason *why)
{
    const policy_layer *layer = &spec->layers[l];
    switch (layer->kind) {
    case POLICY_DENSE:
        return OCT_OK;
    case POLICY_CONV:
    case POLICY_MAX_POOL:
    case POLICY_MEAN_POOL:
        if (l > 0 && layer[-1].kind == POLICY_DENSE) {
            return oct_refuse(why, "layer %u: a convolution or pool after a dense layer", l);
        }
        if (l + 1 == spec->layer_count || (l == 0 && policy_is_pool(layer->kind))) {
            return oct_refuse(why, "layer %u: the %s layer is a %s", l,
                              l == 0 && spec->layer_count > 1 ? "first" : "last",
                              policy_is_pool(layer->kind) ? "pool" : "convolution");
        }
        return check_conv(layer, l, why);
    }
    return oct_refuse(why, "layer %u: unknown kind %d", l, (int)layer->kind);
}

static oct_err
check_layers(const policy_spec *spec, oct_reason *why)
{
    if (spec->layer_count < 1 || spec->layer_count > POLICY_LAYERS_MAX) {
        return oct_refuse(why, "%u layers, allowed 1..%d", spec->layer_count, POLICY_LAYERS_MAX);
    }
    uint32_t inputs = spec->obs_count;
    for (uint32_t l = 0; l < spec->layer_count; l++) {
        const policy_layer *layer = &spec->layers[l];
        if (layer->inputs != inputs) {
            return oct_refuse(why, "layer %u: %u inputs, %u come in", l, layer->inputs, inputs);
        }
        if (layer->outputs < 1 || layer->outputs > POLICY_MAP_MAX) {
            return oct_refuse(why, "layer %u: %u outputs, allowed 1..%u", l, layer->outputs,
                              POLICY_MAP_MAX);
        }
        if ((unsigned)layer->activation >= POLICY_ACTIVATION_COUNT) {
            return oct_refuse(why, "layer %u: unknown activation %d", l, (int)layer->activation);
        }
        OCT_TRY(check_kind(spec, l, why));
        if (policy_layer_rows(layer) > POLICY_WIDTH_MAX ||
            policy_layer_columns(layer) > POLICY_WIDTH_MAX) {
            return oct_refuse(why, "layer %u: weights of %u x %u, allowed 1..%d each", l,
                              policy_layer_rows(layer), policy_layer_columns(layer),
                              POLICY_WIDTH_MAX);
        }
        inputs = layer->outputs;
    }
    return OCT_OK;
}

static bool
is_box_head(policy_head head)
{
    return head == POLICY_HEAD_TANH || head == POLICY_HEAD_GAUSSIAN ||
           head == POLICY_HEAD_TANH_GAUSSIAN;
}

static oct_err
check_head(const policy_spec *spec, oct_reason *why)
{
    uint32_t outputs = policy_spec_outputs(spec);
    uint32_t want = spec->action_count;
    if (spec->head != POLICY_HEAD_ATOMS && spec->atoms != 0) {
        return oct_refuse(why, "%u atoms on a head without atoms", spec->atoms);
    }
    if (spec->head != POLICY_HEAD_GAUSSIAN && spec->action_direct) {
        return oct_refuse(why, "actions without mapping, but no Gaussian head");
    }
    if (spec->head != POLICY_HEAD_GAUSSIAN && spec->state_deviation) {
        return oct_refuse(
            why, "a state-dependent deviation on head %d, which is not a Gaussian that supports it",
            (int)spec->head);
    }
    switch (spec->head) {
    case POLICY_HEAD_VALUES:
    case POLICY_HEAD_LOGITS:
    case POLICY_HEAD_TANH:
        break;
    case POLICY_HEAD_GAUSSIAN:
        want *= spec->state_deviation ? 2 : 1;
        break;
    case POLICY_HEAD_TANH_GAUSSIAN:
        want *= 2;
        break;
    case POLICY_HEAD_ATOMS:
        if (spec->atoms < 2 || spec->atoms > 4096 || !isfinite(spec->value_min) ||
            !isfinite(spec->value_max) || !(spec->value_min < spec->value_max) ||
            !isfinite(spec->value_max - spec->value_min)) {
            return oct_refuse(why, "bad support of %u atoms", spec->atoms);
        }
        want *= spec->atoms;
        break;
    default:
        return oct_refuse(why, "unknown head %d", (int)spec->head);
    }
    if (is_box_head(spec->head) != (spec->action_kind == POLICY_BOX)) {
        return oct_refuse(why, "head %d does not fit action kind %d", (int)spec->head,
                          (int)spec->action_kind);
    }
    if (outputs != want) {
        return oct_refuse(why, "the last layer has %u outputs, the head needs %u", outputs, want);
    }
    return OCT_OK;
}

oct_err
policy_spec_check(const policy_spec *spec, oct_reason *why)
{
    if (memchr(spec->env_id, '\0', sizeof(spec->env_id)) == NULL) {
        return oct_refuse(why, "environment ID is not terminated");
    }
    if (spec->obs_dtype != POLICY_F32 && spec->obs_dtype != POLICY_U8) {
        return oct_refuse(why, "unknown observation type %d", (int)spec->obs_dtype);
    }
    if (spec->obs_count < 1 || spec->obs_count > POLICY_WIDTH_MAX) {
        return oct_refuse(why, "%u numbers in an observation, allowed 1..%d", spec->obs_count,
                          POLICY_WIDTH_MAX);
    }
    if (spec->action_kind != POLICY_DISCRETE && spec->action_kind != POLICY_BOX) {
        return oct_refuse(why, "unknown action kind %d", (int)spec->action_kind);
    }
    if (spec->action_count < 1 || spec->action_count > POLICY_ACTIONS_MAX) {
        return oct_refuse(why, "%u actions, allowed 1..%d", spec->action_count, POLICY_ACTIONS_MAX);
    }
    for (uint32_t i = 0; spec->action_kind == POLICY_BOX && i < spec->action_count; i++) {
        float low = spec->action_low[i], high = spec->action_high[i];
        if (!(low < high) || (!spec->action_direct && !isfinite(high - low))) {
            return oct_refuse(why,
                              "action %u has bounds [%g, %g]; allowed are %snumbers, the first "
                              "below the second%s",
                              i, (double)low, (double)high, spec->action_direct ? "" : "finite ",
                              spec->action_direct ? "" : ", with a finite difference");
        }
    }
    OCT_TRY(check_layers(spec, why));
    return check_head(spec, why);
}

static bool
axis_equal(const policy_axis *a, const policy_axis *b)
{
    return a->size == b->size && a->kernel == b->kernel && a->stride == b->stride &&
           a->before == b->before && a->after == b->after;
}

bool
policy_conv_equal(const policy_conv *a, const policy_conv *b)
{
    return axis_equal(&a->rows, &b->rows) && axis_equal(&a->columns, &b->columns) &&
           a->channels == b->channels && a->filters == b->filters;
}

static bool
layer_equal(const policy_layer *a, const policy_layer *b)
{
    return a->kind == b->kind && a->inputs == b->inputs && a->outputs == b->outputs &&
           a->activation == b->activation && a->layer_norm == b->layer_norm &&
           policy_conv_equal(&a->conv, &b->conv);
}

bool
policy_spec_equal(const policy_spec *a, const policy_spec *b)
{
    if (strcmp(a->env_id, b->env_id) != 0 || a->obs_dtype != b->obs_dtype ||
        a->obs_count != b->obs_count || a->action_kind != b->action_kind ||
        a->action_count != b->action_count || a->head != b->head || a->atoms != b->atoms ||
        a->state_deviation != b->state_deviation || a->action_direct != b->action_direct ||
        a->normalise != b->normalise || a->layer_count != b->layer_count) {
        return false;
    }
    if (a->head == POLICY_HEAD_ATOMS &&
        (a->value_min != b->value_min || a->value_max != b->value_max)) {
        return false;
    }
    for (uint32_t i = 0; a->action_kind == POLICY_BOX && i < a->action_count; i++) {
        if (a->action_low[i] != b->action_low[i] || a->action_high[i] != b->action_high[i]) {
            return false;
        }
    }
    for (uint32_t l = 0; l < a->layer_count; l++) {
        if (!layer_equal(&a->layers[l], &b->layers[l])) {
            return false;
        }
    }
    return true;
}

oct_err
policy_spec_set_mlp(policy_spec *spec, const uint32_t *hidden, uint32_t hidden_count,
                    policy_activation activation, bool first_layer_norm, uint32_t outputs)
{
    uint32_t inputs = spec->obs_count;
    if (hidden_count >= POLICY_LAYERS_MAX) {
        return OCT_EINVAL;
    }
    for (uint32_t l = 0; l < hidden_count; l++) {
        bool norm = first_layer_norm && l == 0;
        spec->layers[l] = (policy_layer){
            .kind = POLICY_DENSE,
            .inputs = inputs,
            .outputs = hidden[l],
            .activation = norm ? POLICY_TANH : activation,
            .layer_norm = norm,
        };
        inputs = hidden[l];
    }
    spec->layers[hidden_count] = (policy_layer){
        .kind = POLICY_DENSE,
        .inputs = inputs,
        .outputs = outputs,
        .activation = POLICY_LINEAR,
    };
    spec->layer_count = hidden_count + 1;
    return OCT_OK;
}

policy_offsets
policy_spec_layer(const policy_spec *spec, uint32_t layer)
{
    OCT_ASSERT(layer < spec->layer_count);
    policy_offsets at = {0};
    for (uint32_t l = 0; l <= layer; l++) {
        const policy_layer *here = &spec->layers[l];
        size_t rows = policy_layer_rows(here);
        at.weight = at.end;
        at.bias = at.weight + policy_layer_weights(here);
        at.gain = at.bias + rows;
        at.offset = at.gain + (here->layer_norm ? rows : 0);
        at.end = at.offset + (here->layer_norm ? rows : 0);
    }
    return at;
}

bool
policy_spec_has_deviation(const policy_spec *spec)
{
    return spec->head == POLICY_HEAD_GAUSSIAN && !spec->state_deviation;
}

size_t
policy_spec_deviation(const policy_spec *spec)
{
    return policy_spec_layer(spec, spec->layer_count - 1).end;
}

size_t
policy_spec_params(const policy_spec *spec)
{
    return policy_spec_deviation(spec) + (policy_spec_has_deviation(spec) ? spec->action_count : 0);
}

uint32_t
policy_spec_extra_dim(const policy_spec *spec)
{
    switch (spec->head) {
    case POLICY_HEAD_LOGITS:
        return 1;
    case POLICY_HEAD_GAUSSIAN:
    case POLICY_HEAD_TANH_GAUSSIAN:
        return 1 + spec->action_count;
    case POLICY_HEAD_VALUES:
    case POLICY_HEAD_TANH:
    case POLICY_HEAD_ATOMS:
        break;
    }
    return 0;
}

uint32_t
policy_spec_outputs(const policy_spec *spec)
{
    return spec->layers[spec->layer_count - 1].outputs;
}

uint32_t
policy_spec_width(const policy_spec *spec)
{
    uint32_t width = spec->obs_count;
    for (uint32_t l = 0; l < spec->layer_count; l++) {
        width = OCT_MAX(width, spec->layers[l].outputs);
    }
    return width;
}

size_t
policy_spec_obs_bytes(const policy_spec *spec)
{
    return (size_t)spec->obs_count * (spec->obs_dtype == POLICY_F32 ? sizeof(float) : 1);
}

void
policy_layer_scale(const policy_layer *layer, float *weights, float factor)
{
    size_t count = policy_layer_weights(layer);
    for (size_t i = 0; i < count; i++) {
        weights[i] *= factor;
    }
}

float
policy_byte_unit(uint32_t high)
{
    float unit = 1.0f;
    while (unit * (float)high > 1.0f) {
        unit /= 2.0f;
    }
    return unit;
}

size_t
policy_spec_action_bytes(const policy_spec *spec)
{
    return spec->action_kind == POLICY_DISCRETE ? sizeof(int32_t)
                                                : sizeof(float) * spec->action_count;
}
