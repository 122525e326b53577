// Finds out what the end of a model's chain means as actions, and makes the policy of its layers.
#include "import/import_policy.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_text.h"
#include "import/import_layers.h"
#include "policy/policy_draw.h"
#include "policy/policy_net.h"

#define AGREE_SHARE    1e-4 // of an action's range
#define DEVIATION_NONE ((double)POLICY_LOG_STD_MIN)
#define DEVIATION_LOST (-16.6) // e^it is below half a float's step at 1, the end of an action

// A policy while it is made.
typedef struct maker {
    const import_model *model;
    const import_graph *graph;
    const import_request *request;
    import_result *result;
    import_layers layers;
    import_layers deviations; // of a chain of its own
    policy_spec spec;
    // Of a Gaussian head, whose actions are in [-1, 1]: added to the model's log deviations.
    double log_scale[POLICY_ACTIONS_MAX];
    double own_deviation[POLICY_ACTIONS_MAX];
    bool has_own_deviation;
    char *reason;
    size_t reason_size;
} maker;

#define REFUSE(m, ...) oct_refuse((m)->reason, (m)->reason_size, __VA_ARGS__)

static void note(import_result *result, const char *format, ...) OCT_PRINTF(2, 3);

static void
note(import_result *result, const char *format, ...)
{
    if (result->note_count < IMPORT_NOTES_MAX) {
        va_list arguments;
        va_start(arguments, format);
        (void)vsnprintf(result->notes[result->note_count++], IMPORT_NOTE_SIZE, format, arguments);
        va_end(arguments);
    }
}

// ---- which output

static const char *
output_choose(const maker *m)
{
    static const char *const usual[] = {"action", "actions", "mean", "mu", "logits", "q_values"};
    const import_model *model = m->model;
    if (m->request->output != NULL) {
        return m->request->output;
    }
    for (size_t i = 0; i < OCT_COUNTOF(usual); i++) {
        for (size_t k = 0; k < model->output_count; k++) {
            if (strcmp(model->outputs[k].name, usual[i]) == 0) {
                return model->outputs[k].name;
            }
        }
    }
    return model->output_count > 0 ? model->outputs[0].name : "";
}

static oct_err
chain_find(const maker *m, const char *name, const import_step **chain,
           const import_tensor **constant)
{
    *chain = NULL;
    *constant = NULL;
    return import_graph_value(m->graph, name, chain, constant, m->reason, m->reason_size);
}

// ---- bounds

static bool
bounds_of(const maker *m, uint32_t i, double *low, double *high)
{
    const import_request *request = m->request;
    if (request->bound_count == 0) {
        *low = -(double)INFINITY;
        *high = (double)INFINITY;
        return false;
    }
    uint32_t at = request->bound_count == 1 ? 0 : i;
    *low = (double)request->low[at];
    *high = (double)request->high[at];
    return true;
}

// ---- discrete actions

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

static oct_err
discrete(maker *m)
{
    const import_request *request = m->request;
    const char *of_box = request->log_std != NULL   ? "--log-std"
                         : request->unit_actions    ? "--unit-actions"
                         : request->bound_count > 0 ? "--bounds"
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
        note(m->result, "its outputs are taken as values: it has no softmax; --head logits makes a "
                        "distribution of them");
    }
    return OCT_OK;
}

// ---- box: log deviations

// A constant: one number for each action, or for all. In the units of the policy's head.
static oct_err
deviation_constant(maker *m, const import_tensor *constant, uint32_t count)
{
    if (constant->floats == NULL || (constant->count != count && constant->count != 1)) {
        return REFUSE(m, "'%s' has %zu numbers, but the actions have %u", m->request->log_std,
                      constant->count, count);
    }
    bool is_cut = false;
    for (uint32_t i = 0; i < count; i++) {
        double given = (double)constant->floats[constant->count == 1 ? 0 : i];
        m->own_deviation[i] = given + m->log_scale[i];
        is_cut = is_cut || m->own_deviation[i] > (double)POLICY_LOG_STD_MAX;
    }
    if (is_cut) {
        note(m->result,
             "policies limit log deviations to %g for actions in [-1, 1]; the model's are higher, "
             "so its samples spread wider",
             (double)POLICY_LOG_STD_MAX);
    }
    m->has_own_deviation = true;
    return OCT_OK;
}

// Where the policy's limits are not those of the model: refused where the model's are narrower.
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
        note(m->result,
             "policies clip log deviations at %g for actions in [-1, 1]; the model %s, so its "
             "samples spread wider there",
             most, high != NULL ? "clips them at a higher value" : "does not clip them");
    }
    return OCT_OK;
}

static oct_err
deviation_layers(maker *m, const import_step *chain, uint32_t count)
{
    import_layers *made = &m->deviations;
    OCT_TRY(import_layers_make(made, chain, m->request->obs_shape, m->request->obs_rank, m->reason,
                               m->reason_size));
    if (made->width != count) {
        return REFUSE(m, "'%s' has %u number%s, but the actions have %u", m->request->log_std,
                      made->width, oct_text_plural(made->width), count);
    }
    OCT_TRY(deviation_clip_compare(m, made->clip_low, made->clip_high, count));
    return import_layers_settle(made);
}

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

// One layer that gives constants: log deviations where the head wants them as outputs.
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

// The model ends in tanh, scaled: its range is known then.
static bool
is_squashed(const import_layers *layers)
{
    const import_layer *last = &layers->list[layers->count - 1];
    bool is_tanh = !layers->is_open && last->layer.activation == POLICY_TANH &&
                   last->layer.kind == POLICY_DENSE && !last->layer.layer_norm;
    for (uint32_t i = 0; is_tanh && i < layers->width; i++) {
        double low = layers->b[i] - fabs(layers->a[i]), high = layers->b[i] + fabs(layers->a[i]);
        double slack = 1e-6 * (high - low);
        is_tanh = (float)low < (float)high &&
                  (layers->clip_low == NULL ||
                   (layers->clip_low[i] <= low + slack && layers->clip_high[i] >= high - slack));
    }
    return is_tanh;
}

static void
bound_set(maker *m, uint32_t i, double low, double high)
{
    m->spec.action_low[i] = (float)(m->result->unit_scale[i] * low + m->result->unit_shift[i]);
    m->spec.action_high[i] = (float)(m->result->unit_scale[i] * high + m->result->unit_shift[i]);
}

static oct_err
box_squashed(maker *m)
{
    import_layers *layers = &m->layers;
    uint32_t count = layers->width;
    double *sign = oct_alloc(count * sizeof(double)), *zero = oct_alloc(count * sizeof(double));
    for (uint32_t i = 0; i < count; i++) {
        sign[i] = layers->a[i] < 0.0 ? -1.0 : 1.0;
        bound_set(m, i, layers->b[i] - fabs(layers->a[i]), layers->b[i] + fabs(layers->a[i]));
        layers->a[i] = 1.0;
        layers->b[i] = 0.0;
    }
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

// The actions of the model are clipped: by itself, and by the bounds.
static oct_err
box_clipped(maker *m)
{
    import_layers *layers = &m->layers;
    OCT_TRY(import_layers_settle(layers));
    uint32_t count = layers->width;
    double scale[POLICY_ACTIONS_MAX], shift[POLICY_ACTIONS_MAX], one[POLICY_ACTIONS_MAX];
    for (uint32_t i = 0; i < count; i++) {
        double low = -1.0, high = 1.0;
        if (!m->request->unit_actions) {
            (void)bounds_of(m, i, &low, &high);
        }
        low = layers->clip_low != NULL ? fmax(low, layers->clip_low[i]) : low;
        high = layers->clip_low != NULL ? fmin(high, layers->clip_high[i]) : high;
        if (!isfinite(low) || !isfinite(high)) {
            return REFUSE(
                m, "action %u has bounds [%g, %g]; give finite bounds with --bounds or --env", i,
                low, high);
        }
        bound_set(m, i, low, high);
        scale[i] = 2.0 / (high - low);
        shift[i] = -low * scale[i] - 1.0;
        m->log_scale[i] = log(scale[i]);
        one[i] = 1.0;
    }
    import_layers_scale(layers, scale, shift);
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
        note(m->result, "it has no log deviations: sampled actions are the mean (deviation e^%g)",
             DEVIATION_NONE);
    }
    return OCT_OK;
}

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
    if (request->bound_count > 1 && request->bound_count != layers->width) {
        return REFUSE(m, "output '%s' has %u number%s, but there are bounds for %u actions",
                      m->result->output, layers->width, oct_text_plural(layers->width),
                      request->bound_count);
    }
    m->spec.action_kind = POLICY_BOX;
    m->spec.action_count = layers->width;
    for (uint32_t i = 0; i < layers->width; i++) {
        double low, high;
        bool is_known = bounds_of(m, i, &low, &high);
        if (request->unit_actions && (!is_known || !isfinite(low) || !isfinite(high))) {
            return REFUSE(m, "--unit-actions needs finite bounds, from --bounds or --env");
        }
        m->result->unit_scale[i] = request->unit_actions ? (high - low) / 2.0 : 1.0;
        m->result->unit_shift[i] = request->unit_actions ? (high + low) / 2.0 : 0.0;
    }
    return is_squashed(layers) ? box_squashed(m) : box_clipped(m);
}

// Where the model's actions and the environment's are known to differ.
static void
bounds_compare(maker *m)
{
    for (uint32_t i = 0; m->request->bound_count > 0 && i < m->spec.action_count; i++) {
        double low, high;
        (void)bounds_of(m, i, &low, &high);
        double l = (double)m->spec.action_low[i], h = (double)m->spec.action_high[i];
        if (fabs(l - low) + fabs(h - high) > 1e-4 * (high - low)) {
            note(m->result, "its action %u is within [%g, %g], the environment's within [%g, %g]%s",
                 i, l, h, low, high,
                 l == -1.0 && h == 1.0 ? "; --unit-actions maps one onto the other" : "");
            return;
        }
    }
}

// ---- the policy

// The numbers of a policy as they are stored.
typedef struct floats_state {
    bool is_finite; // all that were given
    bool fits;      // all that became floats
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
    OCT_TRY(policy_spec_check(spec, m->reason, m->reason_size));
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

static oct_err
spec_begin(maker *m)
{
    policy_spec *spec = &m->spec;
    const import_request *request = m->request;
    spec->obs_dtype = request->dtype != 0             ? request->dtype
                      : m->model->inputs[0].type == 2 ? POLICY_U8
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

static oct_err
policy_make(maker *m)
{
    const import_request *request = m->request;
    const import_step *chain;
    const import_tensor *constant;
    const char *name = m->result->output = output_choose(m);
    OCT_TRY(chain_find(m, name, &chain, &constant));
    if (chain == NULL) {
        return REFUSE(m, "its output '%s' does not depend on the observation", name);
    }
    OCT_TRY(import_layers_make(&m->layers, chain, request->obs_shape, request->obs_rank, m->reason,
                               m->reason_size));
    OCT_TRY(spec_begin(m));
    policy_action_kind kind = request->action_kind;
    bool is_choice = has_argmax(chain) || m->layers.is_softmax || request->action_count > 0;
    if (kind == 0) {
        kind = request->bound_count > 0  ? POLICY_BOX
               : is_choice               ? POLICY_DISCRETE
               : is_squashed(&m->layers) ? POLICY_BOX
                                         : 0;
    }
    if (kind == 0) {
        return REFUSE(m,
                      "it is not known whether output '%s' is for discrete or for box actions; "
                      "give --env, --actions or --bounds",
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
    return image_make(m);
}

oct_err
import_policy_make(import_result *result, const import_model *model, const import_graph *graph,
                   const import_request *request, char *reason, size_t reason_size)
{
    *result = (import_result){0};
    maker *m = oct_alloc(sizeof(*m));
    *m = (maker){.model = model,
                 .graph = graph,
                 .request = request,
                 .result = result,
                 .reason = reason,
                 .reason_size = reason_size};
    oct_err err = policy_make(m);
    if (err == OCT_OK) {
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

// ---- parity

typedef struct comparison {
    const import_result *result;
    const policy_spec *spec;
    double *x;    // [obs_count] in the model's order
    double *work; // of import_chain_eval
    double difference, most;
    uint64_t numbers;
    uint32_t agreed, clipped;
} comparison;

static void
difference_add(comparison *c, double d)
{
    c->difference += fabs(d);
    c->most = OCT_MAX(c->most, fabs(d));
    c->numbers++;
}

static void
scores_compare(comparison *c, const double *want, const float *y, const int32_t *action)
{
    uint32_t best = 0;
    for (uint32_t i = 0; i < c->spec->action_count; i++) {
        best = want[i] > want[best] ? i : best;
        difference_add(c, (double)y[i] - want[i]);
    }
    c->agreed += (uint32_t)*action == best;
}

static void
actions_compare(comparison *c, const double *want, const float *action)
{
    bool is_near = true;
    for (uint32_t i = 0; i < c->spec->action_count; i++) {
        double low = (double)c->spec->action_low[i], high = (double)c->spec->action_high[i];
        double a = c->result->unit_scale[i] * want[i] + c->result->unit_shift[i];
        double d = (double)action[i] - fmin(fmax(a, low), high);
        difference_add(c, d);
        is_near = is_near && fabs(d) <= AGREE_SHARE * (high - low);
    }
    c->agreed += is_near;
}

static void
row_compare(comparison *c, const float *obs, const float *y, const void *action)
{
    for (uint32_t i = 0; i < c->spec->obs_count; i++) {
        c->x[i] = (double)obs[c->result->order[i]];
    }
    const import_step *clip = c->result->observation_clip;
    c->clipped += clip != NULL && import_chain_is_clipped(clip, c->x, c->work);
    const double *want = import_chain_eval(c->result->scores, c->x, c->work);
    if (c->spec->action_kind == POLICY_DISCRETE) {
        scores_compare(c, want, y, action);
    } else {
        actions_compare(c, want, action);
    }
}

static const void *
row_read(const policy_spec *spec, const float *obs, uint8_t *bytes)
{
    for (uint32_t i = 0; spec->obs_dtype == POLICY_U8 && i < spec->obs_count; i++) {
        bytes[i] = (uint8_t)OCT_MAX(0.0f, OCT_MIN(obs[i], 255.0f));
    }
    return spec->obs_dtype == POLICY_U8 ? (const void *)bytes : obs;
}

oct_err
import_policy_parity(import_parity *out, const import_result *result, const policy_image *image,
                     const float *obs, uint32_t rows)
{
    const policy_spec *spec = &image->spec;
    policy_net *net;
    OCT_TRY(policy_net_create(&net, image, POLICY_ISA_BEST));
    policy_scratch *scratch = policy_scratch_create(spec, 1);
    size_t width = import_chain_width(result->scores);
    comparison c = {.result = result, .spec = spec};
    c.x = oct_alloc(spec->obs_count * sizeof(double));
    c.work = oct_alloc(2 * width * sizeof(double));
    uint8_t *bytes = oct_alloc(spec->obs_count);
    float *y = oct_alloc(policy_spec_outputs(spec) * sizeof(float));
    void *action = oct_alloc(policy_spec_action_bytes(spec));
    for (size_t r = 0; r < rows; r++) {
        const float *row = obs + r * spec->obs_count;
        policy_forward(net, scratch, row_read(spec, row, bytes), policy_spec_obs_bytes(spec), 1, y);
        policy_act(spec, y, 1, action);
        row_compare(&c, row, y, action);
    }
    *out = (import_parity){.rows = rows,
                           .max_abs = c.most,
                           .mean_abs = c.numbers > 0 ? c.difference / (double)c.numbers : 0.0,
                           .agreement = rows > 0 ? (double)c.agreed / rows : 1.0,
                           .clipped = rows > 0 ? (double)c.clipped / rows : 0.0};
    free(c.x);
    free(c.work);
    free(bytes);
    free(y);
    free(action);
    policy_scratch_destroy(scratch);
    policy_net_destroy(net);
    return OCT_OK;
}
