// Writes the tensors of a policy as constant C arrays.
#include "policy/export/export_arrays.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define LINE_COLUMNS 96

// The state of writing arrays; bytes counts the bytes of their numbers.
typedef struct export_arrays {
    FILE *out;
    const policy_image *image;
    const char *name;
    size_t bytes;
} export_arrays;

static void
array_begin(export_arrays *w, const char *type, const char *what, uint32_t l, size_t count,
            size_t size)
{
    (void)fprintf(w->out, "\nstatic const %s %s_x_%s%u[%zu] = {", type, w->name, what, l, count);
    w->bytes += count * size;
}

// Adds a number to an array and breaks lines at LINE_COLUMNS. *column is 0 at first.
static void
array_add(export_arrays *w, uint32_t *column, const char *text)
{
    uint32_t length = (uint32_t)strlen(text) + 1;
    if (*column == 0 || *column + length > LINE_COLUMNS) {
        (void)fputs("\n    ", w->out);
        *column = 4;
    }
    (void)fprintf(w->out, "%s,", text);
    *column += length;
}

static void
array_add_integer(export_arrays *w, uint32_t *column, int value)
{
    char text[16];
    (void)snprintf(text, sizeof(text), "%d", value);
    array_add(w, column, text);
}

// Adds a float in hexadecimal, which every compiler reads exactly.
static void
array_add_float(export_arrays *w, uint32_t *column, float value)
{
    char text[40];
    (void)snprintf(text, sizeof(text), "%af", (double)value);
    array_add(w, column, text);
}

static void
floats_write(export_arrays *w, const char *what, uint32_t l, const float *values, size_t count)
{
    uint32_t column = 0;
    array_begin(w, "float", what, l, count, sizeof(float));
    for (size_t i = 0; i < count; i++) {
        array_add_float(w, &column, values[i]);
    }
    (void)fputs("\n};\n", w->out);
}

// Writes the bounds of actions. An infinite bound becomes the largest float, as in
// policy_direct_action.
static void
bounds_write(export_arrays *w, const char *what, const float *bounds, size_t count)
{
    float finite[POLICY_ACTIONS_MAX];
    for (size_t i = 0; i < count; i++) {
        finite[i] = fminf(fmaxf(bounds[i], -FLT_MAX), FLT_MAX);
    }
    floats_write(w, what, 0, finite, count);
}

static void
halves_write(export_arrays *w, uint32_t l, const uint16_t *values, size_t count)
{
    uint32_t column = 0;
    array_begin(w, "uint16_t", "w", l, count, sizeof(uint16_t));
    for (size_t i = 0; i < count; i++) {
        array_add_integer(w, &column, values[i]);
    }
    (void)fputs("\n};\n", w->out);
}

// Writes pairs of codes as one number each, in the layout of export_dense_int8.
static void
pairs_write(export_arrays *w, uint32_t l, const int8_t *codes, uint32_t inputs, uint32_t outputs)
{
    uint32_t column = 0;
    size_t count = (size_t)outputs / 2 * inputs, odd = outputs % 2 == 1 ? (inputs + 1) / 2 : 0;
    array_begin(w, "int16_t", "w", l, count + odd, sizeof(int16_t));
    for (size_t i = 0; i < count; i++) {
        const int8_t *first = codes + i / inputs * 2 * inputs + i % inputs;
        array_add_integer(w, &column, 256 * first[0] + first[inputs]);
    }
    codes += 2 * count;
    for (uint32_t k = 0; odd > 0 && k < inputs; k += 2) {
        array_add_integer(w, &column, 256 * codes[k] + (k + 1 < inputs ? codes[k + 1] : 0));
    }
    (void)fputs("\n};\n", w->out);
}

// Writes two codes in a byte, in the layout of export_dense_int4. Each row begins with a new byte.
static void
nibbles_write(export_arrays *w, uint32_t l, const int8_t *codes, uint32_t inputs, uint32_t outputs)
{
    uint32_t column = 0;
    array_begin(w, "uint8_t", "w", l, (size_t)outputs * ((inputs + 1) / 2), 1);
    for (uint32_t j = 0; j < outputs; j++, codes += inputs) {
        for (uint32_t k = 0; k < inputs; k += 2) {
            int high = k + 1 < inputs ? codes[k + 1] + 8 : 0;
            array_add_integer(w, &column, high << 4 | (codes[k] + 8));
        }
    }
    (void)fputs("\n};\n", w->out);
}

static void
multipliers_write(export_arrays *w, uint32_t l, const uint8_t *values, size_t count)
{
    uint32_t column = 0;
    array_begin(w, "uint8_t", "m", l, count, 1);
    for (size_t i = 0; i < count; i++) {
        array_add_integer(w, &column, values[i]);
    }
    (void)fputs("\n};\n", w->out);
}

static void
layer_arrays_write(export_arrays *w, uint32_t l)
{
    const policy_image *image = w->image;
    const policy_layer *layer = &image->spec.layers[l];
    size_t count = policy_layer_weights(layer);
    switch (image->precision) {
    case POLICY_FP32:
        floats_write(w, "w", l, image->weights[l], count);
        break;
    case POLICY_BF16:
    case POLICY_FP16:
        halves_write(w, l, image->halves[l], count);
        break;
    case POLICY_INT8:
        pairs_write(w, l, image->codes[l], policy_layer_columns(layer), policy_layer_rows(layer));
        break;
    case POLICY_INT4:
        nibbles_write(w, l, image->codes[l], policy_layer_columns(layer), policy_layer_rows(layer));
        multipliers_write(w, l, image->multipliers[l],
                          (size_t)policy_layer_rows(layer) *
                              policy_int4_groups(policy_layer_columns(layer)));
        break;
    }
    if (policy_is_integer(image->precision)) {
        floats_write(w, "s", l, image->scales[l], image->per_tensor ? 1 : policy_layer_rows(layer));
    }
    floats_write(w, "b", l, image->bias[l], policy_layer_rows(layer));
    if (layer->layer_norm) {
        floats_write(w, "g", l, image->gain[l], policy_layer_rows(layer));
        floats_write(w, "o", l, image->offset[l], policy_layer_rows(layer));
    }
}

size_t
export_arrays_write(FILE *out, const policy_image *image, const char *name, bool with_sampling)
{
    export_arrays arrays = {.out = out, .image = image, .name = name}, *w = &arrays;
    const policy_spec *spec = &w->image->spec;
    if (spec->normalise) {
        floats_write(w, "mean", 0, w->image->obs_mean, spec->obs_count);
        floats_write(w, "inverse", 0, w->image->obs_inverse_std, spec->obs_count);
    }
    for (uint32_t l = 0; l < spec->layer_count; l++) {
        if (!policy_is_pool(spec->layers[l].kind)) {
            layer_arrays_write(w, l);
        }
    }
    if (spec->action_kind == POLICY_BOX) {
        bounds_write(w, "low", spec->action_low, spec->action_count);
        bounds_write(w, "high", spec->action_high, spec->action_count);
    }
    if (with_sampling && policy_spec_has_deviation(spec)) {
        floats_write(w, "d", 0, image->deviation, spec->action_count);
    }
    return arrays.bytes;
}
