#include "policy/policy_format.h"

#include <stdlib.h>

#include "common/oct_base.h"
#include "policy/policy_block.h"

static void
image_cut(policy_image *image, policy_block *block)
{
    const policy_spec *spec = &image->spec;
    bool is_int8 = image->precision == POLICY_INT8;
    if (spec->normalise) {
        image->obs_mean = policy_block_take(block, spec->obs_count * sizeof(float));
        image->obs_inverse_std = policy_block_take(block, spec->obs_count * sizeof(float));
    }
    for (uint32_t l = 0; l < spec->layer_count; l++) {
        const policy_layer *layer = &spec->layers[l];
        size_t count = (size_t)layer->inputs * layer->outputs;
        size_t row = layer->outputs * sizeof(float);
        if (is_int8) {
            image->codes[l] = policy_block_take(block, count);
            image->scales[l] = policy_block_take(block, row);
        } else {
            image->weights[l] = policy_block_take(block, count * sizeof(float));
        }
        image->bias[l] = policy_block_take(block, row);
        if (layer->layer_norm) {
            image->gain[l] = policy_block_take(block, row);
            image->offset[l] = policy_block_take(block, row);
        }
    }
}

oct_err
policy_image_create(policy_image **out, const policy_spec *spec, policy_precision precision)
{
    OCT_TRY(policy_spec_check(spec, NULL, 0));
    if (precision != POLICY_INT8 && precision != POLICY_FP32) {
        return OCT_EINVAL;
    }
    policy_image measured = {.spec = *spec, .precision = precision};
    if (policy_encoded_size(&measured) > POLICY_BYTES_MAX) {
        return OCT_EINVAL;
    }
    policy_block block = {0};
    image_cut(&measured, &block);
    policy_image *image = oct_alloc(sizeof(*image));
    *image = measured;
    image->block = oct_alloc(block.used);
    block = (policy_block){.base = image->block};
    image_cut(image, &block);
    *out = image;
    return OCT_OK;
}

void
policy_image_destroy(policy_image *image)
{
    if (image != NULL) {
        free(image->block);
        free(image);
    }
}
