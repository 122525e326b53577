// A policy in memory: one block that is divided into tensors (first measured, then filled), copies,
// names of precisions, and the codes of a row as int8.
#include "policy/policy_format.h"

#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "policy/policy_block.h"
#include "policy/policy_header.h"

static const char *const names[] = {
    [POLICY_FP32] = "fp32", [POLICY_INT8] = "int8", [POLICY_BF16] = "bf16",
    [POLICY_FP16] = "fp16", [POLICY_INT4] = "int4",
};

const char *
policy_precision_name(policy_precision precision)
{
    bool known = (size_t)precision < OCT_COUNTOF(names) && names[precision] != NULL;
    return known ? names[precision] : "unknown";
}

bool
policy_precision_parse(policy_precision *out, const char *name)
{
    for (size_t i = POLICY_FP32; i < OCT_COUNTOF(names); i++) {
        if (strcmp(names[i], name) == 0) {
            *out = (policy_precision)i;
            return true;
        }
    }
    return false;
}

// Takes the tensors of the spec from block, in the order of the layers.
static void
image_cut(policy_image *image, policy_block *block)
{
    const policy_spec *spec = &image->spec;
    bool has_codes = policy_is_integer(image->precision);
    if (spec->normalise) {
        image->obs_mean = policy_block_take(block, spec->obs_count * sizeof(float));
        image->obs_inverse_std = policy_block_take(block, spec->obs_count * sizeof(float));
    }
    for (uint32_t l = 0; l < spec->layer_count; l++) {
        const policy_layer *layer = &spec->layers[l];
        size_t rows = policy_layer_rows(layer), count = policy_layer_weights(layer);
        size_t row = rows * sizeof(float);
        if (has_codes) {
            image->codes[l] = policy_block_take(block, count);
            image->scales[l] = policy_block_take(block, row);
        } else if (image->precision == POLICY_FP32) {
            image->weights[l] = policy_block_take(block, count * sizeof(float));
        } else {
            image->halves[l] = policy_block_take(block, count * sizeof(uint16_t));
        }
        if (image->precision == POLICY_INT4) {
            size_t groups = policy_int4_groups(policy_layer_columns(layer));
            image->multipliers[l] = policy_block_take(block, rows * groups);
        }
        image->bias[l] = policy_block_take(block, row);
        if (layer->layer_norm) {
            image->gain[l] = policy_block_take(block, row);
            image->offset[l] = policy_block_take(block, row);
        }
    }
    if (policy_spec_has_deviation(spec)) {
        image->deviation = policy_block_take(block, spec->action_count * sizeof(float));
    }
}

oct_err
policy_image_reserve(policy_image **out, const policy_spec *spec, policy_precision precision)
{
    OCT_TRY(policy_spec_check(spec, NULL));
    if ((size_t)precision >= OCT_COUNTOF(names) || names[precision] == NULL) {
        return OCT_EINVAL;
    }
    policy_image measured = {.spec = *spec, .precision = precision};
    if (policy_complete_bytes(&measured) > POLICY_BYTES_MAX) {
        return OCT_EINVAL;
    }
    policy_block block = {0};
    image_cut(&measured, &block);
    policy_image *image = oct_alloc(sizeof(*image));
    *image = measured;
    image->block_bytes = block.used;
    image->block = oct_reserve(64, block.used);
    block = (policy_block){.base = image->block};
    image_cut(image, &block);
    *out = image;
    return OCT_OK;
}

oct_err
policy_image_create(policy_image **out, const policy_spec *spec, policy_precision precision)
{
    policy_image *image;
    OCT_TRY(policy_image_reserve(&image, spec, precision));
    memset(image->block, 0, image->block_bytes);
    *out = image;
    return OCT_OK;
}

void
policy_image_destroy(policy_image *image)
{
    if (image != NULL) {
        free(image->contract);
        free(image->block);
        free(image);
    }
}

void
policy_image_copy(policy_image *to, const policy_image *from)
{
    OCT_ASSERT(to->block_bytes == from->block_bytes && to->precision == from->precision);
    to->origin = from->origin;
    to->per_tensor = from->per_tensor;
    memcpy(to->block, from->block, from->block_bytes);
}

void
policy_image_row(const policy_image *image, uint32_t l, uint32_t j, int8_t *out)
{
    uint32_t inputs = policy_layer_columns(&image->spec.layers[l]);
    const int8_t *codes = image->codes[l] + (size_t)j * inputs;
    if (image->precision == POLICY_INT8) {
        memcpy(out, codes, inputs);
        return;
    }
    const uint8_t *multipliers = image->multipliers[l] + (size_t)j * policy_int4_groups(inputs);
    for (uint32_t begin = 0; begin < inputs; begin += POLICY_INT4_GROUP) {
        uint32_t end = OCT_MIN(begin + POLICY_INT4_GROUP, inputs);
        int16_t multiplier = *multipliers++;
        for (uint32_t k = begin; k < end; k++) {
            out[k] = (int8_t)(multiplier * codes[k]);
        }
    }
}
