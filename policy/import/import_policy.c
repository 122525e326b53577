// Finds out what the end of a model's chain means as actions, and makes the policy from its
// layers.
//
// 1. The layers are made up to the scores or means (import_layers.c).
// 2. The kind of action comes from the request, or from what the chain ends in (policy_make).
// 3. Discrete: the head is values, or logits if there is a softmax or the request says so.
// 4. Box that ends in a scaled tanh: the head does the tanh and maps [-1, 1] onto the bounds,
//    which follow from the scale (box_squashed). A negative scale changes the sign of the last
//    layer.
// 5. Other box: the head clips to the bounds, the narrower of the model's and the request's
//    (box_clipped). Mapped bounds divide the last layer's rows by half their width.
// 6. Log deviations are a constant, or a second chain whose last layer is stacked below the
//    means'. They are moved to the head's units by adding the logarithm of the scale.
//
// Numbers are rounded to float once, in image_make. Whatever was dropped or assumed becomes a note
// for the user.
#include "policy/import/import_policy.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "common/oct_text.h"
#include "policy/import/import_layers.h"
#include "policy/policy_contract.h"
#include "policy/policy_draw.h"
#include "policy/policy_net.h"

#define MAPPED_MAX 1024.0 // largest half width of bounds onto which actions are mapped
// Log deviation of a policy that samples its mean.
#define DEVIATION_NONE ((double)POLICY_LOG_STD_MIN)
#define DEVIATION_LOST (-16.6) // e^-16.6 is less than half a float's step at 1

// A policy in the making.
typedef struct maker {
    const import_model *model;
    const import_graph *graph;
    const import_request *request;
    import_result *result;
    import_layers layers;     // up to the scores or actions
    import_layers deviations; // of log_std, if it is a chain
    policy_spec spec;
    // Gaussian heads have actions in [-1, 1]: log_scale is added to the model's log deviations.
    double log_scale[POLICY_ACTIONS_MAX];
    double own_deviation[POLICY_ACTIONS_MAX]; // constant log deviations, if has_own_deviation
    bool has_own_deviation;
    oct_reason *why;
} maker;

#define REFUSE(m, ...) oct_refuse((m)->why, __VA_ARGS__)

void
import_note(import_result *result, const char *format, ...)
{
    if (result->note_count < IMPORT_NOTES_MAX) {
        va_list arguments;
        va_start(arguments, format);
        (void)vsnprintf(result->notes[result->note_count++], IMPORT_NOTE_SIZE, format, arguments);
        va_end(arguments);
    }
}

// ---- values of the model

// Sets *chain or *constant, and the other to NULL.
static oct_err
chain_find(const maker *m, const char *name, const import_step **chain,
           const import_tensor **constant)
{
    *chain = NULL;
    *constant = NULL;
    return import_graph_value(m->graph, name, chain, constant, m->why);
}

// ---- bounds

// Returns number i of a list with one number for all, one for each, or none.
static float
list_number(const float *list, uint32_t count, uint32_t i, float otherwise)
{
    return count == 0 ? otherwise : list[count == 1 ? 0 : i];
}

// Maps bounds of the model's action i to the environment's units.
static void
bounds_map(const maker *m, uint32_t i, double *low, double *high)
{
    double scale = m->result->action_scale[i], shift = m->result->action_shift[i];
    double a = scale * *low + shift, b = scale * *high + shift;
    *low = fmin(a, b);
    *high = fmax(a, b);
}

// Bounds of action i in the request; infinite if it has none. Returns true if it has some.
static bool
bounds_of(const maker *m, uint32_t i, double *low, double *high)
{
    const import_request *request = m->request;
    *low = (double)list_number(request->low, request->bound_count, i, -INFINITY);
    *high = (double)list_number(request->high, request->bound_count, i, INFINITY);
    return request->bound_count > 0;
}

// ---- discrete actions

// The model chooses an action itself.
static bool
has_argmax(const import_step *chain)
{
    for (; chain != NULL; chain = chain->from) {
        if (chain->kind == IMPORT_ARGMAX) {
            return true;
        }
    }
    return false;
}

// Makes a policy with discrete actions.
static oct_err
discrete(maker *m)
{
    const import_request *request = m->request;
    // Options of the request that only a box has.
    const char *of_box = request->log_std != NULL    ? "--log-std"
                         : request->unit_actions     ? "--unit-actions"
                         : request->bound_count > 0  ? "--bounds"
                         : request->scale_count > 0  ? "--action-scale"
                         : request->offset_count > 0 ? "--action-offset"
                                                     : NULL;
    if (of_box != NULL) {
        return REFUSE(m, "%s is for box actions, but output '%s' has values of discrete actions",
                      of_box, m->result->output);
    }
    if (m->layers.clip_low != NULL) {
        return REFUSE(m, "its values are clipped at the end, which policies do not do");
    }
    OCT_TRY(import_layers_settle(&m->layers));
    m->spec.action_kind = POLICY_DISCRETE;
    m->spec.action_count = m->layers.width;
    m->spec.head = request->head != 0     ? request->head
                   : m->layers.is_softmax ? POLICY_HEAD_LOGITS
                                          : POLICY_HEAD_VALUES;
    if (request->head == 0 && !m->layers.is_softmax) {
        import_note(m->result,
                    "its outputs are taken as values: it has no softmax; --head logits makes a "
                    "distribution of them");
    }
    return OCT_OK;
}

// ---- box: log deviations

// Takes log deviations from a constant with one number for each action, or for all.
static oct_err
deviation_constant(maker *m, const import_tensor *constant, uint32_t count)
{
    if (constant->floats == NULL || (constant->count != count && constant->count != 1)) {
        return REFUSE(m, "'%s' has %zu numbers, but the actions have %u", m->request->log_std,
                      constant->count, count);
    }
    bool is_cut = false;
    for (uint32_t i = 0; i < count; i++) {
        // The deviation scales with the action: log(scale sigma) = log sigma + log scale.
        double given = (double)constant->floats[constant->count == 1 ? 0 : i];
        m->own_deviation[i] = given + m->log_scale[i];
        is_cut = is_cut || m->own_deviation[i] > (double)POLICY_LOG_STD_MAX;
    }
    if (is_cut) {
        import_note(
            m->result,
            "policies limit log deviations to %g for actions in [-1, 1]; the model's are higher, "
            "so its samples spread wider",
            (double)POLICY_LOG_STD_MAX);
    }
    m->has_own_deviation = true;
    return OCT_OK;
}

// Compares the policy's limits of log deviations with those of the model. Refused if the model's
// are narrower, because the policy cannot keep them.
static oct_err
deviation_clip_compare(maker *m, const double *low, const double *high, uint32_t count)
{
    const double least = (double)POLICY_LOG_STD_MIN, most = (double)POLICY_LOG_STD_MAX;
    bool is_cut = false;
    for (uint32_t i = 0; i < count; i++) {
        double l = low != NULL ? low[i] : -(double)INFINITY;
        double h = high != NULL ? high[i] : (double)INFINITY, scale = m->log_scale[i];
        if (l + scale > DEVIATION_LOST || h + scale < most) {
            return REFUSE(m,
                          "'%s' is clipped to [%g, %g], which is [%.3g, %.3g] for action %u in "
                          "[-1, 1]; policies clip log deviations to [%g, %g] there",
                          m->request->log_std, l, h, l + scale, h + scale, i, least, most);
        }
        is_cut = is_cut || h + scale > most;
    }
    if (is_cut) {
        import_note(
            m->result,
            "policies clip log deviations at %g for actions in [-1, 1]; the model %s, so its "
            "samples spread wider there",
            most, high != NULL ? "clips them at a higher value" : "does not clip them");
    }
    return OCT_OK;
}

// Takes log deviations from a chain of layers.
static oct_err
deviation_layers(maker *m, const import_step *chain, uint32_t count)
{
    import_layers *made = &m->deviations;
    OCT_TRY(import_layers_make(made, chain, m->request->obs_shape, m->request->obs_rank, m->why));
    if (made->width != count) {
        return REFUSE(m, "'%s' has %u number%s, but the actions have %u", m->request->log_std,
                      made->width, oct_text_plural(made->width), count);
    }
    OCT_TRY(deviation_clip_compare(m, made->clip_low, made->clip_high, count));
    return import_layers_settle(made);
}

// Takes the log deviations that the request names, if it names some.
static oct_err
deviation_find(maker *m, uint32_t count)
{
    const import_step *chain;
    const import_tensor *constant;
    if (m->request->log_std == NULL) {
        return OCT_OK;
    }
    OCT_TRY(chain_find(m, m->request->log_std, &chain, &constant));
    return constant != NULL ? deviation_constant(m, constant, count)
                            : deviation_layers(m, chain, count);
}

// Makes a layer without weights for constant log deviations: POLICY_HEAD_TANH_GAUSSIAN reads them
// as outputs.
static void
deviation_rows(maker *m, uint32_t count)
{
    import_layers *made = &m->deviations;
    const import_layers *layers = &m->layers;
    uint32_t columns = layers->list[layers->count - 1].layer.inputs;
    made->count = layers->count;
    made->dense = layers->dense;
    import_layer *last = &made->list[made->count - 1];
    last->layer = (policy_layer){.kind = POLICY_DENSE, .inputs = columns, .outputs = count};
    last->weight = oct_alloc((size_t)count * columns * sizeof(double));
    last->bias = oct_alloc(count * sizeof(double));
    memcpy(last->bias, m->own_deviation, count * sizeof(double));
}

// ---- box: actions

// True if the model ends in a tanh, scaled, whose range no clip narrows.
static bool
is_squashed(const import_layers *layers)
{
    const import_layer *last = &layers->list[layers->count - 1];
    bool is_tanh = !layers->is_open && last->layer.activation == POLICY_TANH &&
                   last->layer.kind == POLICY_DENSE && !last->layer.layer_norm;
    for (uint32_t i = 0; is_tanh && i < layers->width; i++) {
        // a tanh(x) + b has this range; rounding of the model's numbers is allowed for.
        double low = layers->b[i] - fabs(layers->a[i]), high = layers->b[i] + fabs(layers->a[i]);
        double slack = 1e-6 * (high - low);
        is_tanh = (float)low < (float)high &&
                  (layers->clip_low == NULL ||
                   (layers->clip_low[i] <= low + slack && layers->clip_high[i] >= high - slack));
    }
    return is_tanh;
}

// Replaces the model's tanh by that of the head.
static oct_err
box_squashed(maker *m)
{
    import_layers *layers = &m->layers;
    uint32_t count = layers->width;
    double *sign = oct_alloc(count * sizeof(double)), *zero = oct_alloc(count * sizeof(double));
    for (uint32_t i = 0; i < count; i++) {
        double low = layers->b[i] - layers->a[i], high = layers->b[i] + layers->a[i];
        // The head maps [-1, 1] onto rising bounds; tanh(-x) = -tanh(x) takes care of a negative
        // scale.
        sign[i] = layers->a[i] * m->result->action_scale[i] < 0.0 ? -1.0 : 1.0;
        bounds_map(m, i, &low, &high);
        m->spec.action_low[i] = (float)low;
        m->spec.action_high[i] = (float)high;
        layers->a[i] = 1.0;
        layers->b[i] = 0.0;
    }
    // The last layer gives the input of the tanh.
    layers->list[layers->count - 1].layer.activation = POLICY_LINEAR;
    layers->is_open = true;
    oct_err err = import_layers_settle(layers);
    if (err == OCT_OK) {
        import_layers_scale(layers, sign, zero);
    }
    free(sign);
    free(zero);
    OCT_TRY(err);
    OCT_TRY(deviation_find(m, count));
    m->spec.head = m->request->log_std != NULL ? POLICY_HEAD_TANH_GAUSSIAN : POLICY_HEAD_TANH;
    if (m->has_own_deviation) {
        deviation_rows(m, count);
    }
    return m->request->log_std != NULL ? import_layers_stack(layers, &m->deviations) : OCT_OK;
}

// Sets the bounds of the policy's actions, in the environment's units: the narrower of the model's
// and the request's. Actions are not mapped if a range is infinite or very wide, or is [-1, 1]
// anyway.
static oct_err
bounds_set(maker *m)
{
    const import_layers *layers = &m->layers;
    bool is_direct = false, is_unit = true;
    for (uint32_t i = 0; i < layers->width; i++) {
        double low, high, own_low = -(double)INFINITY, own_high = (double)INFINITY;
        (void)bounds_of(m, i, &low, &high);
        // The model's own bounds, in its units.
        if (m->request->unit_actions) {
            own_low = -1.0;
            own_high = 1.0;
        }
        if (layers->clip_low != NULL) {
            own_low = fmax(own_low, layers->clip_low[i]);
            own_high = fmin(own_high, layers->clip_high[i]);
        }
        bounds_map(m, i, &own_low, &own_high);
        float l = (float)fmax(low, own_low), h = (float)fmin(high, own_high);
        if (!(l < h)) {
            return REFUSE(m,
                          "the model clips action %u to [%g, %g], which has nothing in common with "
                          "the bounds [%g, %g]",
                          i, own_low, own_high, low, high);
        }
        m->spec.action_low[i] = l;
        m->spec.action_high[i] = h;
        is_direct = is_direct || !((double)h - (double)l <= 2.0 * MAPPED_MAX);
        is_unit = is_unit && l == -1.0f && h == 1.0f;
    }
    m->spec.action_direct = is_direct || is_unit;
    return OCT_OK;
}

// True if some action has a bound.
static bool
is_bounded(const policy_spec *spec)
{
    for (uint32_t i = 0; i < spec->action_count; i++) {
        if (isfinite(spec->action_low[i]) || isfinite(spec->action_high[i])) {
            return true;
        }
    }
    return false;
}

// Scales the last layer to the head's units: those of the environment (action_direct), or [-1, 1].
static void
actions_scale(maker *m)
{
    double scale[POLICY_ACTIONS_MAX], shift[POLICY_ACTIONS_MAX];
    const policy_spec *spec = &m->spec;
    for (uint32_t i = 0; i < m->layers.width; i++) {
        double low = (double)spec->action_low[i], high = (double)spec->action_high[i];
        // A mapped action is (y - middle) * 2 / (high - low) of the environment's action y.
        double unit = spec->action_direct ? 1.0 : 2.0 / (high - low);
        double middle = spec->action_direct ? 0.0 : (low + high) / 2.0;
        scale[i] = m->result->action_scale[i] * unit;
        shift[i] = (m->result->action_shift[i] - middle) * unit;
        m->log_scale[i] = log(fabs(scale[i]));
    }
    import_layers_scale(&m->layers, scale, shift);
}

// Returns a name under which the model has log deviations, or NULL.
static const char *
deviation_name(const import_model *model)
{
    for (size_t i = 0; i < model->output_count; i++) {
        if (strstr(model->outputs[i].name, "log_std") != NULL) {
            return model->outputs[i].name;
        }
    }
    for (size_t i = 0; i < model->tensor_count; i++) {
        if (strstr(model->tensors[i].name, "log_std") != NULL) {
            return model->tensors[i].name;
        }
    }
    return NULL;
}

// Notes that the policy has no log deviations of the model.
static void
deviation_note(maker *m)
{
    char name[64];
    const char *found = deviation_name(m->model);
    if (found != NULL) {
        oct_text_quote(name, sizeof(name), found, strlen(found));
        import_note(m->result,
                    "its log deviations '%s' are left out, so sampled actions are the mean; "
                    "--log-std %s takes them",
                    name, name);
    } else {
        import_note(m->result,
                    "it has no log deviations: sampled actions are the mean (deviation e^%g)",
                    DEVIATION_NONE);
    }
}

// Makes a policy whose head clips actions to the bounds.
static oct_err
box_clipped(maker *m)
{
    import_layers *layers = &m->layers;
    OCT_TRY(import_layers_settle(layers));
    uint32_t count = layers->width;
    double one[POLICY_ACTIONS_MAX];
    OCT_TRY(bounds_set(m));
    actions_scale(m);
    for (uint32_t i = 0; i < count; i++) {
        one[i] = 1.0;
    }
    if (!is_bounded(&m->spec)) {
        import_note(m->result,
                    "its actions have no bounds, so they are neither mapped nor clipped; "
                    "--bounds sets some");
    }
    m->spec.head = POLICY_HEAD_GAUSSIAN;
    OCT_TRY(deviation_find(m, count));
    m->spec.state_deviation = m->deviations.count > 0;
    if (m->spec.state_deviation) {
        import_layers_scale(&m->deviations, one, m->log_scale);
        return import_layers_stack(layers, &m->deviations);
    }
    for (uint32_t i = 0; !m->has_own_deviation && i < count; i++) {
        m->own_deviation[i] = DEVIATION_NONE;
    }
    if (!m->has_own_deviation) {
        deviation_note(m);
    }
    return OCT_OK;
}

// Checks that a list of the request has one number for each action, or one for all.
static oct_err
list_check(const maker *m, uint32_t count, const char *what)
{
    uint32_t width = m->layers.width;
    return count <= 1 || count == width
               ? OCT_OK
               : REFUSE(m, "output '%s' has %u number%s, but there are %s for %u actions",
                        m->result->output, width, oct_text_plural(width), what, count);
}

// Sets the map from the model's actions to the environment's.
static oct_err
action_map_set(maker *m)
{
    const import_request *request = m->request;
    OCT_TRY(list_check(m, request->bound_count, "bounds"));
    OCT_TRY(list_check(m, request->scale_count, "scales"));
    OCT_TRY(list_check(m, request->offset_count, "offsets"));
    if (request->unit_actions && (request->scale_count > 0 || request->offset_count > 0)) {
        return REFUSE(m,
                      "--unit-actions maps actions onto the bounds; leave out --action-scale and "
                      "--action-offset");
    }
    for (uint32_t i = 0; i < m->layers.width; i++) {
        double low, high;
        bool is_known = bounds_of(m, i, &low, &high);
        if (request->unit_actions && (!is_known || !isfinite(low) || !isfinite(high))) {
            return REFUSE(m, "--unit-actions needs finite bounds, from --bounds or --env");
        }
        m->result->action_scale[i] =
            request->unit_actions
                ? (high - low) / 2.0
                : (double)list_number(request->scale, request->scale_count, i, 1.0f);
        m->result->action_shift[i] =
            request->unit_actions
                ? (high + low) / 2.0
                : (double)list_number(request->offset, request->offset_count, i, 0.0f);
    }
    return OCT_OK;
}

// Makes a policy with actions of a box.
static oct_err
box(maker *m, const import_step *chain)
{
    import_layers *layers = &m->layers;
    const import_request *request = m->request;
    if (has_argmax(chain) || layers->is_softmax) {
        return REFUSE(
            m,
            "output '%s' is a choice among discrete actions, but the environment has box actions",
            m->result->output);
    }
    if (request->head != 0) {
        return REFUSE(m, "--head is for discrete actions, but output '%s' is for box actions",
                      m->result->output);
    }
    if (layers->width > POLICY_ACTIONS_MAX) {
        return REFUSE(m, "%u actions, allowed 1..%d", layers->width, POLICY_ACTIONS_MAX);
    }
    OCT_TRY(action_map_set(m));
    m->spec.action_kind = POLICY_BOX;
    m->spec.action_count = layers->width;
    return is_squashed(layers) ? box_squashed(m) : box_clipped(m);
}

// Notes the first action for which the model's range and the environment's differ.
static void
bounds_compare(maker *m)
{
    for (uint32_t i = 0; m->request->bound_count > 0 && i < m->spec.action_count; i++) {
        double low, high;
        (void)bounds_of(m, i, &low, &high);
        double l = (double)m->spec.action_low[i], h = (double)m->spec.action_high[i];
        if (isfinite(high - low) && fabs(l - low) + fabs(h - high) > 1e-4 * (high - low)) {
            import_note(m->result,
                        "its action %u is within [%g, %g], the environment's within [%g, %g]%s", i,
                        l, h, low, high,
                        l == -1.0 && h == 1.0 ? "; --unit-actions maps one onto the other" : "");
            return;
        }
    }
}

// ---- the policy

// What happened when numbers were rounded to float.
typedef struct floats_state {
    bool is_finite; // all numbers were finite
    bool fits;      // all are finite as floats
} floats_state;

static void
floats_set(float *out, const double *from, size_t count, floats_state *state)
{
    for (size_t i = 0; i < count; i++) {
        out[i] = (float)from[i];
        state->is_finite = state->is_finite && isfinite(from[i]);
        state->fits = state->fits && isfinite(out[i]);
    }
}

// Rounds the layers to float and makes the policy's image.
static oct_err
image_make(maker *m)
{
    policy_spec *spec = &m->spec;
    const import_layers *layers = &m->layers;
    spec->layer_count = layers->count;
    for (uint32_t l = 0; l < layers->count; l++) {
        spec->layers[l] = layers->list[l].layer;
    }
    spec->normalise = layers->normalise;
    OCT_TRY(policy_spec_check(spec, m->why));
    policy_image *image;
    if (policy_image_create(&image, spec, POLICY_FP32) != OCT_OK) {
        return REFUSE(m, "its policy would be larger than %u MiB", POLICY_BYTES_MAX >> 20);
    }
    floats_state state = {.is_finite = true, .fits = true};
    for (uint32_t l = 0; l < layers->count; l++) {
        const import_layer *from = &layers->list[l];
        uint32_t rows = policy_layer_rows(&from->layer);
        floats_set(image->weights[l], from->weight, policy_layer_weights(&from->layer), &state);
        floats_set(image->bias[l], from->bias, rows, &state);
        if (from->layer.layer_norm) {
            floats_set(image->gain[l], from->gain, rows, &state);
            floats_set(image->offset[l], from->offset, rows, &state);
        }
    }
    if (spec->normalise) {
        floats_set(image->obs_mean, layers->mean, spec->obs_count, &state);
        floats_set(image->obs_inverse_std, layers->inverse, spec->obs_count, &state);
    }
    if (image->deviation != NULL) {
        floats_set(image->deviation, m->own_deviation, spec->action_count, &state);
    }
    if (!state.fits) {
        policy_image_destroy(image);
        return state.is_finite ? REFUSE(m, "with the scales of observations and actions folded in, "
                                           "a weight is too large for a float")
                               : REFUSE(m, "a weight is not finite");
    }
    image->origin.eval_return = NAN;
    m->result->image = image;
    return OCT_OK;
}

// Sets type and count of observations.
static oct_err
spec_begin(maker *m)
{
    policy_spec *spec = &m->spec;
    const import_request *request = m->request;
    // 2 is ONNX's uint8.
    spec->obs_dtype = request->dtype != 0                      ? request->dtype
                      : import_graph_port(m->graph)->type == 2 ? POLICY_U8
                                                               : POLICY_F32;
    spec->obs_count = m->layers.obs_count;
    oct_text_copy(spec->env_id, sizeof(spec->env_id), request->env_id);
    uint64_t count = 1;
    for (uint32_t i = 0; i < request->obs_rank; i++) {
        count *= request->obs_shape[i];
    }
    if (request->obs_rank > 0 && count != spec->obs_count) {
        return REFUSE(m, "it reads %u number%s, but an observation has %llu", spec->obs_count,
                      oct_text_plural(spec->obs_count), (unsigned long long)count);
    }
    return OCT_OK;
}

// Options that only a box can have.
static bool
has_box_options(const import_request *request)
{
    return request->bound_count > 0 || request->scale_count > 0 || request->offset_count > 0;
}

// Names that exporters give to actions of a box, never to values of discrete actions.
static bool
is_named_as_actions(const char *output)
{
    static const char *const names[] = {"action",
                                        "actions",
                                        "mean",
                                        "means",
                                        "mu",
                                        "action_mean",
                                        "continuous_actions",
                                        "deterministic_continuous_actions"};
    return oct_text_is_one_of(output, names, OCT_COUNTOF(names));
}

// Notes what the policy leaves out: inputs that its output does not need, and nodes after a value
// that is not an output of the model.
static void
left_out_note(maker *m)
{
    const import_model *model = m->model;
    const char *output = m->result->output;
    char name[64];
    bool is_output = false;
    for (size_t i = 0; i < model->input_count; i++) {
        const char *input = model->inputs[i].name;
        if (&model->inputs[i] != import_graph_port(m->graph)) {
            import_note(m->result, "its input '%s' is left out: output '%s' does not depend on it",
                        oct_text_quote(name, sizeof(name), input, strlen(input)), output);
        }
    }
    for (size_t i = 0; i < model->output_count; i++) {
        is_output = is_output || strcmp(model->outputs[i].name, output) == 0;
    }
    for (size_t i = 0; !is_output && i < model->node_count; i++) {
        const import_node *node = &model->nodes[i];
        for (size_t k = 0; k < node->input_count; k++) {
            if (strcmp(node->inputs[k], output) == 0) {
                import_note(m->result,
                            "'%s' is not an output of the model; what follows it is left out, "
                            "first %s '%s'",
                            output, node->op,
                            oct_text_quote(name, sizeof(name), node->name, strlen(node->name)));
                return;
            }
        }
    }
}

// Copies the model's metadata, and the names of input and output, into the policy file: programs
// on a robot read them.
static void
contract_take(maker *m)
{
    policy_image *image = m->result->image;
    const import_model *model = m->model;
    const char *input = import_graph_port(m->graph)->name;
    char key[64];
    for (size_t i = 0; i < model->metadata_count; i++) {
        const import_entry *entry = &model->metadata[i];
        bool is_own = strncmp(entry->key, POLICY_CONTRACT_OWN, strlen(POLICY_CONTRACT_OWN)) == 0;
        if (is_own || !policy_contract_add(image, entry->key, entry->text)) {
            import_note(m->result,
                        "its metadata '%s', %zu bytes, is left out: it is there twice, is not "
                        "UTF-8, or has no room in a policy file",
                        oct_text_quote(key, sizeof(key), entry->key, strlen(entry->key)),
                        strlen(entry->text));
        }
    }
    // octet export gives these names to a model without others.
    bool is_kept = strcmp(input, "observation") == 0 ||
                   policy_contract_add(image, POLICY_CONTRACT_INPUT, input);
    if (m->spec.action_kind == POLICY_BOX && strcmp(m->result->output, "action") != 0) {
        is_kept = policy_contract_add(image, POLICY_CONTRACT_OUTPUT, m->result->output) && is_kept;
    }
    if (!is_kept) {
        import_note(m->result, "the names of its input and output are not kept: they are too long");
    }
}

// Follows the steps at the head of this file.
static oct_err
policy_make(maker *m)
{
    const import_request *request = m->request;
    const import_step *chain;
    const import_tensor *constant;
    const char *name = m->result->output =
        request->output != NULL ? request->output : import_graph_output(m->model);
    OCT_TRY(chain_find(m, name, &chain, &constant));
    if (chain == NULL) {
        return REFUSE(m, "its output '%s' does not depend on the observation", name);
    }
    OCT_TRY(import_layers_make(&m->layers, chain, request->obs_shape, request->obs_rank, m->why));
    OCT_TRY(spec_begin(m));
    left_out_note(m);
    policy_action_kind kind = request->action_kind;
    bool is_choice = has_argmax(chain) || m->layers.is_softmax || request->action_count > 0;
    if (kind == 0) {
        kind = has_box_options(request) ? POLICY_BOX
               : is_choice              ? POLICY_DISCRETE
               : is_squashed(&m->layers) || is_named_as_actions(name) || request->log_std != NULL
                   ? POLICY_BOX
                   : 0;
    }
    if (kind == 0) {
        return REFUSE(m,
                      "it is not known whether output '%s' is for discrete or for box actions; "
                      "give --actions N, or --env, or --bounds (none: a box without bounds)",
                      name);
    }
    OCT_TRY(kind == POLICY_DISCRETE ? discrete(m) : box(m, chain));
    if (request->action_count > 0 && m->spec.action_count != request->action_count) {
        return REFUSE(m, "output '%s' has %u number%s, but there are %u actions", name,
                      m->spec.action_count, oct_text_plural(m->spec.action_count),
                      request->action_count);
    }
    if (kind == POLICY_BOX) {
        bounds_compare(m);
    }
    OCT_TRY(image_make(m));
    contract_take(m);
    return OCT_OK;
}

oct_err
import_policy_make(import_result *result, const import_model *model, const import_graph *graph,
                   const import_request *request, oct_reason *why)
{
    *result = (import_result){0};
    maker *m = oct_alloc(sizeof(*m));
    *m = (maker){.model = model, .graph = graph, .request = request, .result = result, .why = why};
    oct_err err = policy_make(m);
    if (err == OCT_OK) {
        // The result takes the order over from the layers, which are freed below.
        result->order = m->layers.obs_order;
        m->layers.obs_order = NULL;
        result->channels_first = m->layers.is_channels_first;
        result->scores = m->layers.scores;
        result->observation_clip = m->layers.observation_clip;
    } else {
        *result = (import_result){0};
    }
    import_layers_free(&m->layers);
    import_layers_free(&m->deviations);
    free(m);
    return err;
}

void
import_policy_free(import_result *result)
{
    policy_image_destroy(result->image);
    free(result->order);
    *result = (import_result){0};
}
