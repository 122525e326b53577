// Takes layers of other networks into an algorithm's, where they fit.
//
// networks_take goes through the networks of the algorithm, and network_take through their layers.
// layer_fits compares a layer with that of the source; layer_take copies it, with the target's and
// with deviations of noise; inputs_take then converts a first layer to what this run's networks
// read: another unit of bytes, and normalised observations or not. Every layer is reported, taken
// or not. At the end statistics_take settles the statistics and algo_renew recomputes what depends
// on parameters.
//
// The source may be another algorithm, or parameters alone (a policy file, an external algorithm),
// which become a network of their own first. Nothing here fails: a layer that does not fit is
// reported with the reason and keeps its first weights.
#include "algos/algo_transfer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algos/algo_external.h"
#include "algos/algo_ops.h"
#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "common/oct_text.h"
#include "policy/policy_words.h"

// The two sides of a transfer, and the function that is called for each report.
typedef struct transfer {
    const policy_spec *spec;
    const policy_spec *from_spec;
    const algo_normaliser *statistics; // come with first layers; NULL: the source has none that fit
    algo_taken_fn tell;
    void *arg;
    uint32_t taken; // layers
} transfer;

static const char *
head_name(policy_head head)
{
    static const char *const names[] = {
        [POLICY_HEAD_VALUES] = "values",       [POLICY_HEAD_LOGITS] = "logits",
        [POLICY_HEAD_TANH] = "tanh",           [POLICY_HEAD_ATOMS] = "atoms",
        [POLICY_HEAD_GAUSSIAN] = "a Gaussian", [POLICY_HEAD_TANH_GAUSSIAN] = "a squashed Gaussian",
    };
    return names[head];
}

// Writes a description of a layer, such as "4 -> 64, relu".
static void
shape_words(const nn_layer *layer, char *out, size_t size)
{
    const char *norm = layer->skip_end     ? ", layer norm, residual"
                       : layer->layer_norm ? ", layer norm"
                                           : "";
    if (layer->kind != POLICY_DENSE) {
        const policy_layer kernel = {.kind = layer->kind, .conv = layer->conv};
        (void)snprintf(out, size, "%s of %u channels, %s", policy_layer_word(&kernel).text,
                       layer->conv.channels, policy_activation_name(layer->activation));
    } else {
        (void)snprintf(out, size, "%u -> %u%s, %s", layer->inputs, layer->outputs, norm,
                       policy_activation_name(layer->activation));
    }
}

// ---- what fits

// The size of a map may differ: a kernel fits maps of any size.
static bool
axes_alike(const policy_axis *a, const policy_axis *b)
{
    return a->kernel == b->kernel && a->stride == b->stride && a->before == b->before &&
           a->after == b->after;
}

// OCT_EINVAL: the layers differ, and why says how.
static oct_err
layers_alike(const nn_layer *to, const nn_layer *from, oct_reason *why)
{
    if (to->kind != from->kind) {
        return oct_refuse(why, "a %s layer in the source", policy_kind_name(from->kind));
    }
    if (!axes_alike(&to->conv.rows, &from->conv.rows) ||
        !axes_alike(&to->conv.columns, &from->conv.columns) ||
        to->conv.channels != from->conv.channels || to->units != from->units ||
        to->columns != from->columns) {
        char shape[128];
        shape_words(from, shape, sizeof(shape));
        return oct_refuse(why, "%s in the source", shape);
    }
    if (to->activation != from->activation) {
        return oct_refuse(why, "%s in the source", policy_activation_name(from->activation));
    }
    if (to->layer_norm != from->layer_norm) {
        return oct_refuse(why, "%s layer norm in the source",
                          from->layer_norm ? "with" : "without");
    }
    return OCT_OK;
}

// Compares the inputs of first layers.
static oct_err
inputs_alike(const transfer *t, const nn_layer *to, oct_reason *why)
{
    const policy_spec *own = t->spec, *its = t->from_spec;
    bool sees_actions = to->inputs != own->obs_count && to->kind == POLICY_DENSE;
    if (own->obs_dtype != its->obs_dtype) {
        return oct_refuse(why, "%s observations in the source",
                          its->obs_dtype == POLICY_U8 ? "uint8" : "float32");
    }
    if (its->normalise) {
        return oct_refuse(why, "observations are scaled one by one in the source");
    }
    if (to->kind == POLICY_DENSE && own->obs_count != its->obs_count) {
        return oct_refuse(why, "observations of %u number%s in the source, of %u in this run",
                          its->obs_count, oct_text_plural(its->obs_count), own->obs_count);
    }
    if (sees_actions && own->action_count != its->action_count) {
        return oct_refuse(why, "actions of %u number%s in the source, of %u in this run",
                          its->action_count, oct_text_plural(its->action_count), own->action_count);
    }
    return OCT_OK;
}

// Returns true if all bounds are [-1, 1]: then actions are the same with and without mapping onto
// bounds.
static bool
has_unit_bounds(const policy_spec *spec)
{
    bool is_unit = true;
    for (uint32_t i = 0; i < spec->action_count; i++) {
        is_unit = is_unit && spec->action_low[i] == -1.0f && spec->action_high[i] == 1.0f;
    }
    return is_unit;
}

// Compares the meaning of output layers.
static oct_err
outputs_alike(const transfer *t, const algo_network *to, const algo_network *from, oct_reason *why)
{
    const nn_support *own = to->support, *its = from->support;
    bool is_dueling = to->reparam != NULL && to->reparam->dueling;
    bool was_dueling = from->reparam != NULL && from->reparam->dueling;
    if (to->acts && (t->spec->head != t->from_spec->head ||
                     t->spec->state_deviation != t->from_spec->state_deviation)) {
        return oct_refuse(why, "%s in the source, %s in this run", head_name(t->from_spec->head),
                          head_name(t->spec->head));
    }
    if (to->acts && t->from_spec->action_direct && !has_unit_bounds(t->from_spec)) {
        return oct_refuse(why, "actions that are not mapped onto bounds in the source");
    }
    if ((own != NULL) != (its != NULL)) {
        return oct_refuse(why, "%s atoms in the source", its != NULL ? "with" : "without");
    }
    if (own != NULL && (own->low != its->low || own->high != its->high || own->N != its->N)) {
        return oct_refuse(why, "%u atoms over [%g, %g] in the source, %u over [%g, %g] in this run",
                          its->N, (double)its->low, (double)its->high, own->N, (double)own->low,
                          (double)own->high);
    }
    if (is_dueling != was_dueling) {
        return oct_refuse(why, "%s streams in the source, which are stored differently",
                          was_dueling ? "dueling" : "no dueling");
    }
    return OCT_OK;
}

// Describes in why how the bounds differ onto which outputs are mapped, for an output layer that is
// taken.
static void
bounds_compare(const transfer *t, oct_reason *why)
{
    const policy_spec *own = t->spec, *its = t->from_spec;
    for (uint32_t i = 0; own->action_kind == POLICY_BOX && i < own->action_count; i++) {
        if (own->action_low[i] != its->action_low[i] ||
            own->action_high[i] != its->action_high[i]) {
            oct_reason_set(why, "action %u is in [%g, %g] in the source, in [%g, %g] in this run",
                           i, (double)its->action_low[i], (double)its->action_high[i],
                           (double)own->action_low[i], (double)own->action_high[i]);
            return;
        }
    }
}

// Returns the layer of from that corresponds to layer l of to, or NULL if there is none.
static const nn_layer *
layer_beside(const nn_net *to, const nn_net *from, uint32_t l)
{
    if (l == to->layer_count - 1) {
        return &from->layers[from->layer_count - 1];
    }
    return l < from->layer_count - 1 ? &from->layers[l] : NULL;
}

static oct_err
layer_fits(const transfer *t, const algo_network *to, const algo_network *from, uint32_t l,
           oct_reason *why)
{
    const nn_layer *own = &to->net->layers[l], *its = layer_beside(to->net, from->net, l);
    if (its == NULL) {
        return oct_refuse(why, "no such hidden layer in the source");
    }
    if (l == 0) {
        OCT_TRY(inputs_alike(t, own, why));
    }
    OCT_TRY(layers_alike(own, its, why));
    return l == to->net->layer_count - 1 ? outputs_alike(t, to, from, why) : OCT_OK;
}

// ---- taking layers

static void
floats_copy(float *to, const float *from, nn_range at, nn_range from_at)
{
    OCT_ASSERT(at.end - at.at == from_at.end - from_at.at);
    memcpy(to + at.at, from + from_at.at, (at.end - at.at) * sizeof(*to));
}

// Copies a range of learned parameters, and the target's from the source's target, or from its
// network if it has none.
static void
range_take(const algo_network *to, const algo_network *from, nn_range at, nn_range from_at)
{
    const nn_net *its_target = from->target != NULL ? from->target : from->net;
    floats_copy(to->net->params, from->net->params, at, from_at);
    if (to->target != NULL) {
        floats_copy(to->target->params, its_target->params, at, from_at);
    }
}

// Converts the columns that read observations, at[units][columns], from the source's unit of bytes
// to this run's.
static void
bytes_take(const transfer *t, const nn_layer *first, float *at)
{
    float factor = policy_byte_unit(t->from_spec->obs_high) / policy_byte_unit(t->spec->obs_high);
    uint32_t columns = first->kind == POLICY_CONV ? first->columns : t->spec->obs_count;
    for (uint32_t u = 0; u < first->units; u++) {
        for (uint32_t i = 0; i < columns; i++) {
            at[(size_t)u * first->columns + i] *= factor;
        }
    }
}

// Converts a first layer, just taken, to what this run's network reads.
static void
inputs_take(const transfer *t, const algo_network *to, const algo_network *from, bool is_noisy)
{
    nn_net *nets[] = {to->net, to->target};
    const algo_normaliser *its = from->inside, *own = to->inside != NULL ? t->statistics : NULL;
    size_t at = nn_learned_layer(to->net, to->reparam, 0).at;
    for (size_t i = 0; i < OCT_COUNTOF(nets) && nets[i] != NULL; i++) {
        bytes_take(t, &to->net->layers[0], nets[i]->params + at);
        if (is_noisy) {
            bytes_take(t, &to->net->layers[0], nets[i]->params + to->reparam->mean_count + at);
        }
        if (its != NULL && its != own) {
            algo_normaliser_leave(its, nets[i], nets[i]->params);
        }
        if (own != NULL && its != own) {
            algo_normaliser_enter(own, nets[i], nets[i]->params);
        }
    }
}

static void
layer_take(const transfer *t, const algo_network *to, const algo_network *from, uint32_t l)
{
    bool is_noisy =
        to->reparam != NULL && to->reparam->noisy && from->reparam != NULL && from->reparam->noisy;
    uint32_t its = (uint32_t)(layer_beside(to->net, from->net, l) - from->net->layers);
    nn_range at = nn_learned_layer(to->net, to->reparam, l);
    nn_range from_at = nn_learned_layer(from->net, from->reparam, its);
    range_take(to, from, at, from_at);
    if (is_noisy) { // and the deviations
        size_t means = to->reparam->mean_count, from_means = from->reparam->mean_count;
        range_take(to, from, (nn_range){means + at.at, means + at.end},
                   (nn_range){from_means + from_at.at, from_means + from_at.end});
    }
    if (l == 0) {
        inputs_take(t, to, from, is_noisy);
    }
}

// Takes what fits of a network and reports each layer. from NULL: the source has no such network,
// and why says so. Returns true if the first layer was taken.
static bool
network_take(transfer *t, const algo_network *to, const algo_network *from, const char *why)
{
    bool is_first_taken = false;
    for (uint32_t l = 0; l < to->net->layer_count; l++) {
        algo_taken line = {.network = to->name, .layer = l};
        shape_words(&to->net->layers[l], line.shape, sizeof(line.shape));
        (void)snprintf(line.why, sizeof(line.why), "%s", why);
        oct_reason how = {""};
        line.is_taken = from != NULL && layer_fits(t, to, from, l, &how) == OCT_OK;
        if (from != NULL) {
            oct_reason_copy(&how, line.why, sizeof(line.why));
        }
        if (line.is_taken) {
            line.why[0] = '\0';
            if (to->acts && l == to->net->layer_count - 1) {
                bounds_compare(t, &how);
                oct_reason_copy(&how, line.why, sizeof(line.why));
            }
            layer_take(t, to, from, l);
            t->taken++;
            is_first_taken |= l == 0;
        }
        t->tell(t->arg, &line);
    }
    return is_first_taken;
}

// Takes the log deviations of a head, but only together with a layer of the policy: otherwise they
// would be the deviations of other actions.
static void
deviation_take(transfer *t, const algo_network *to, const algo_network *from)
{
    const policy_spec *own = t->spec, *its = t->from_spec;
    if (!to->acts || !policy_spec_has_deviation(own)) {
        return;
    }
    algo_taken line = {
        .network = to->name, .layer = own->layer_count, .part = ALGO_TAKEN_DEVIATION};
    (void)snprintf(line.shape, sizeof(line.shape), "%u", own->action_count);
    bool is_alike = policy_spec_has_deviation(its) && its->action_count == own->action_count;
    line.is_taken = is_alike && t->taken > 0;
    if (line.is_taken) {
        size_t at = policy_spec_deviation(own), from_at = policy_spec_deviation(its);
        range_take(to, from, (nn_range){at, at + own->action_count},
                   (nn_range){from_at, from_at + own->action_count});
    } else {
        (void)snprintf(line.why, sizeof(line.why), "%s",
                       is_alike                         ? "no layer of the policy is taken"
                       : policy_spec_has_deviation(its) ? "another number of them in the source"
                                                        : "none in the source");
    }
    t->tell(t->arg, &line);
}

// Settles the statistics after a transfer. firsts: one bit per network whose first layer was taken.
// The other networks have first weights, which are meant for normalised observations; if networks
// read raw observations between updates, they are converted here.
static void
statistics_take(transfer *t, algo_normaliser *n, const algo_network *networks, uint32_t count,
                uint32_t firsts)
{
    algo_taken line = {.part = ALGO_TAKEN_STATISTICS, .network = "statistics"};
    line.is_taken = firsts != 0 && t->statistics != NULL;
    n->keeps = firsts;
    if (line.is_taken) {
        algo_normaliser_follow(n, t->statistics);
        (void)snprintf(line.shape, sizeof(line.shape), "%.0f rows", n->seen.rows);
    } else {
        (void)snprintf(line.shape, sizeof(line.shape), "no rows");
        (void)snprintf(line.why, sizeof(line.why),
                       firsts == 0 ? "no layer 0 is taken"
                                   : "none in the source; layer 0 computes the same for %u rows",
                       ALGO_NORMALISER_SETTLED);
    }
    for (uint32_t i = 0; line.is_taken && i < count; i++) {
        if ((firsts >> i & 1) == 0 && networks[i].inside == NULL) {
            algo_normaliser_leave(n, networks[i].net, networks[i].net->params);
        }
    }
    t->tell(t->arg, &line);
}

static algo_normaliser *
normaliser_of(algo *a)
{
    return a->ops->normaliser != NULL ? a->ops->normaliser(a) : NULL;
}

static uint32_t
networks_take(transfer *t, algo *a, const algo_network *from, uint32_t from_count, const char *why)
{
    algo_network own[ALGO_NETWORKS_MAX];
    uint32_t count = a->ops->networks(a, own), firsts = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool is_first = network_take(t, &own[i], i < from_count ? &from[i] : NULL, why);
        firsts |= (uint32_t)is_first << i;
        deviation_take(t, &own[i], &from[0]);
    }
    if (t->taken > 0) {
        if (normaliser_of(a) != NULL) {
            statistics_take(t, normaliser_of(a), own, count, firsts);
        }
        algo_renew(a);
    }
    return t->taken;
}

// Takes layers from the network with these parameters alone; why says that there are no others.
static uint32_t
params_take(transfer *t, algo *a, const float *params, const char *why)
{
    const policy_spec *spec = t->from_spec;
    nn_context *context = nn_context_create(NULL);
    nn_net net;
    nn_net_init(&net, context, spec, 1);
    memcpy(net.params, params, policy_spec_params(spec) * sizeof(*params));
    const nn_support support = {.low = spec->value_min, .high = spec->value_max, .N = spec->atoms};
    const algo_network its = {
        .name = "policy", .acts = true, .net = &net, .support = spec->atoms > 0 ? &support : NULL};
    uint32_t taken = networks_take(t, a, &its, 1, why);
    nn_net_fini(&net);
    nn_context_destroy(context);
    return taken;
}

static uint32_t
algorithm_take(transfer *t, algo *a, algo *from)
{
    algo_network its[ALGO_NETWORKS_MAX];
    const algo_normaliser *statistics = normaliser_of(from);
    char why[64];
    if (normaliser_of(a) != NULL && statistics != NULL && statistics->seen.rows > 0 &&
        t->spec->obs_count == t->from_spec->obs_count) {
        t->statistics = statistics;
    }
    (void)snprintf(why, sizeof(why), "learned by %s in the source", from->ops->name);
    if (from->ops->networks == NULL) { // external: the parameters are here
        return params_take(t, a, algo_external_params(from), why);
    }
    uint32_t count = from->ops->networks(from, its);
    if (a->ops != from->ops) {
        count = 1;
        its[0].target = NULL; // the target followed by another rule
    }
    return networks_take(t, a, its, count, why);
}

uint32_t
algo_take(algo *a, const policy_spec *spec, const algo_source *source, algo_taken_fn tell,
          void *arg)
{
    transfer t = {.spec = spec, .from_spec = source->spec, .tell = tell, .arg = arg};
    OCT_ASSERT(a->ops->networks != NULL);
    return source->from != NULL ? algorithm_take(&t, a, source->from)
                                : params_take(&t, a, source->params, "not in a policy file");
}

bool
algo_set_policy(algo *a, const float *params)
{
    algo_network networks[ALGO_NETWORKS_MAX];
    uint32_t count = a->ops->networks != NULL ? a->ops->networks(a, networks) : 0;
    if (count == 0 || networks[0].reparam != NULL) {
        return false;
    }
    nn_net *net = networks[0].net;
    memcpy(net->params, params, net->param_count * sizeof(*params));
    algo_bytes_learn(&a->bytes, net->params);
    if (networks[0].inside != NULL) {
        algo_normaliser_enter(networks[0].inside, net, net->params);
    }
    algo_renew(a);
    return true;
}
