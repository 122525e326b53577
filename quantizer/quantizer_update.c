// Updates a policy image to new weights. A scale stays until the range of its weights drifts; a
// code stays while its weight is near. So few scales and codes change from one publication to the
// next, and changes are short.
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_bits.h"
#include "quantizer/quantizer_convert.h"
#include "quantizer/quantizer_copy.h"
#include "quantizer/quantizer_int4.h"
#include "quantizer/quantizer_range.h"

typedef struct update {
    policy_image *next;
    const policy_image *previous;
    const quantizer_rows *rows;
    const quantizer_method *method;
    float band; // dead band in steps; below 0: every code becomes the nearest
    quantizer_changes changes;
} update;

// Returns the next scale of w[count], whose largest |w| has the bits most: old, unless it has
// drifted.
static float
scale_next(const update *u, const float *w, size_t count, uint32_t most, float old)
{
    const quantizer_weights of = {w, count, oct_float_of(most)};
    bool is_kept = most > 0 && old > 0.0f && !quantizer_drifted8(u->rows, u->method, of, old);
    return is_kept ? old : quantizer_scale8(u->rows, u->method, w, count, most);
}

// Updates scale and codes of row j of layer l. With a new scale, a change counts against the
// prediction.
static void
row8_move(update *u, uint32_t l, size_t j, const float *row, float scale)
{
    const quantizer_rows *rows = u->rows;
    size_t inputs = policy_layer_columns(&u->next->spec.layers[l]);
    int8_t *codes = u->next->codes[l] + j * inputs;
    float old = u->previous->scales[l][j];
    memcpy(codes, u->previous->codes[l] + j * inputs, inputs);
    u->next->scales[l][j] = scale;
    if (scale != old) {
        rows->predict(codes, inputs, old, scale, 127.0f);
        u->changes.scales++;
    }
    if (scale > 0.0f) {
        u->changes.codes += rows->move8(codes, row, inputs, scale, u->band);
    }
}

static oct_err
int8_update(update *u, uint32_t l, const float *w)
{
    const policy_layer *layer = &u->next->spec.layers[l];
    size_t inputs = policy_layer_columns(layer), count = inputs * policy_layer_rows(layer);
    float scale = 0.0f;
    if (u->next->per_tensor && count > 0) {
        uint32_t most = u->rows->most(w, count);
        if (!quantizer_is_finite(most)) {
            return OCT_EINVAL;
        }
        scale = scale_next(u, w, count, most, u->previous->scales[l][0]);
    }
    for (size_t j = 0; j < policy_layer_rows(layer); j++) {
        const float *row = w + j * inputs;
        if (!u->next->per_tensor) {
            uint32_t most = u->rows->most(row, inputs);
            if (!quantizer_is_finite(most)) {
                return OCT_EINVAL;
            }
            scale = scale_next(u, row, inputs, most, u->previous->scales[l][j]);
        }
        row8_move(u, l, j, row, scale);
    }
    return OCT_OK;
}

// Returns the scale of a row that is not all zeros and sets its multipliers, which hold the earlier
// ones on entry. old is the earlier scale, 0 if the row was all zeros.
static float
row4_refit(update *u, const quantizer_row4 *row, float old, uint8_t *multipliers)
{
    if (old > 0.0f) {
        uint32_t changed = quantizer_refit4(u->rows, u->method, row, old, multipliers);
        if (changed != UINT32_MAX) {
            return old;
        }
    }
    return quantizer_fit4(u->rows, u->method, row, multipliers);
}

// Replaces the codes of row j, which are the earlier ones, by the predicted codes in each group
// whose step has changed, and counts new scales and multipliers.
static void
row4_predict(update *u, uint32_t l, size_t j)
{
    size_t inputs = policy_layer_columns(&u->next->spec.layers[l]);
    size_t groups = policy_int4_groups((uint32_t)inputs);
    const uint8_t *before = u->previous->multipliers[l] + j * groups;
    const uint8_t *now = u->next->multipliers[l] + j * groups;
    float from = u->previous->scales[l][j], to = u->next->scales[l][j];
    if (from == to && memcmp(before, now, groups) == 0) {
        return;
    }
    u->changes.scales += from != to;
    for (size_t g = 0; g < groups; g++) {
        size_t at = g * POLICY_INT4_GROUP;
        u->changes.scales += before[g] != now[g];
        if (from != to || before[g] != now[g]) {
            u->rows->predict(u->next->codes[l] + j * inputs + at,
                             OCT_MIN(inputs - at, (size_t)POLICY_INT4_GROUP),
                             from * (float)before[g], to * (float)now[g],
                             (float)POLICY_INT4_CODE_MAX);
        }
    }
}

static oct_err
int4_update(update *u, uint32_t l, const float *w)
{
    const policy_layer *layer = &u->next->spec.layers[l];
    size_t inputs = policy_layer_columns(layer),
           groups = policy_int4_groups(policy_layer_columns(layer));
    uint32_t bits[POLICY_WIDTH_MAX / POLICY_INT4_GROUP];
    for (size_t j = 0; j < policy_layer_rows(layer); j++) {
        quantizer_row4 row = {.w = w + j * inputs, .inputs = inputs, .groups = bits};
        int8_t *codes = u->next->codes[l] + j * inputs;
        uint8_t *multipliers = u->next->multipliers[l] + j * groups;
        float scale = 0.0f;
        row.most = u->rows->most4(bits, row.w, inputs);
        if (!quantizer_is_finite(row.most)) {
            return OCT_EINVAL;
        }
        memcpy(codes, u->previous->codes[l] + j * inputs, inputs);
        memcpy(multipliers, u->previous->multipliers[l] + j * groups, groups);
        if (row.most == 0) {
            memset(multipliers, 0, groups);
        } else {
            scale = row4_refit(u, &row, u->previous->scales[l][j], multipliers);
        }
        u->next->scales[l][j] = scale;
        row4_predict(u, l, j);
        u->changes.codes += u->rows->move4(codes, row.w, inputs, scale, multipliers, u->band);
    }
    return OCT_OK;
}

static void
statistics_copy(policy_image *next, const policy_image *previous)
{
    if (next->spec.normalise) {
        size_t bytes = next->spec.obs_count * sizeof(float);
        memcpy(next->obs_mean, previous->obs_mean, bytes);
        memcpy(next->obs_inverse_std, previous->obs_inverse_std, bytes);
    }
}

oct_err
quantizer_update_layers(policy_image *next, const policy_image *previous,
                        const quantizer_layers *layers, const quantizer_method *method,
                        quantizer_changes *changes)
{
    const policy_spec *spec = &next->spec;
    update u = {
        .next = next,
        .previous = previous,
        .rows = quantizer_rows_best(),
        .method = method,
        .band = method->dead_band > 0.5f ? method->dead_band : -1.0f,
    };
    OCT_ASSERT(next != previous && next->precision == previous->precision &&
               next->block_bytes == previous->block_bytes);
    statistics_copy(next, previous);
    for (uint32_t l = 0; l < spec->layer_count; l++) {
        u.changes.weights += policy_layer_weights(&spec->layers[l]);
    }
    if (!policy_is_integer(next->precision)) {
        u.changes.codes = u.changes.weights;
        OCT_TRY(quantizer_convert_layers(next, layers, method));
    } else {
        next->per_tensor = previous->per_tensor;
        for (uint32_t l = 0; l < spec->layer_count; l++) {
            const float *w = layers->at[l];
            OCT_TRY(next->precision == POLICY_INT8 ? int8_update(&u, l, w) : int4_update(&u, l, w));
            OCT_TRY(quantizer_copy_vectors(next, l, w, u.rows));
        }
        OCT_TRY(quantizer_copy_deviation(next, layers->deviation, u.rows));
    }
    if (changes != NULL) {
        *changes = u.changes;
    }
    return OCT_OK;
}

oct_err
quantizer_update(policy_image *next, const policy_image *previous, const float *params,
                 const quantizer_method *method, quantizer_changes *changes)
{
    quantizer_layers layers = quantizer_layers_of(&next->spec, params);
    return quantizer_update_layers(next, previous, &layers, method, changes);
}
