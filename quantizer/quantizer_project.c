// Fake quantisation: folds, quantises, dequantises and unfolds parameters for quantisation-aware
// training.
#include "quantizer/quantizer_project.h"

#include <stdlib.h>

#include "common/oct_base.h"

struct quantizer_projector {
    policy_image *image;
    quantizer_fold *fold;
};

oct_err
quantizer_projector_create(quantizer_projector **out, const policy_spec *spec,
                           policy_precision precision)
{
    policy_image *image;
    OCT_TRY(policy_image_create(&image, spec, precision));
    quantizer_projector *projector = oct_alloc(sizeof(*projector));
    projector->image = image;
    projector->fold = quantizer_fold_create(spec, precision);
    quantizer_scaling_set(image, NULL);
    *out = projector;
    return OCT_OK;
}

void
quantizer_projector_destroy(quantizer_projector *projector)
{
    if (projector != NULL) {
        policy_image_destroy(projector->image);
        quantizer_fold_destroy(projector->fold);
        free(projector);
    }
}

oct_err
quantizer_project(quantizer_projector *projector, const quantizer_method *method,
                  const quantizer_scaling *scaling, const float *params, float *out)
{
    quantizer_layers layers = quantizer_fold_layers(projector->fold, params, scaling);
    quantizer_scaling_set(projector->image, scaling);
    OCT_TRY(quantizer_convert_layers(projector->image, &layers, method));
    quantizer_dequantize(projector->image, out);
    quantizer_unfold(projector->fold, scaling, out);
    return OCT_OK;
}

const policy_image *
quantizer_projector_image(const quantizer_projector *projector)
{
    return projector->image;
}
