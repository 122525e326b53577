// Post-training quantisation: converts a finished fp32 policy, scales its observations, and
// measures the errors of its weights.
#include "quantizer/quantizer_ptq.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "policy/policy_contract.h"
#include "quantizer/quantizer_calibrate.h"
#include "quantizer/quantizer_fold.h"
#include "quantizer/quantizer_observed.h"

// Returns the parameters of an fp32 policy as one block; the caller frees them.
static float *
params_of(const policy_image *fp32)
{
    OCT_ASSERT(fp32->precision == POLICY_FP32);
    float *params = oct_alloc(policy_spec_params(&fp32->spec) * sizeof(float));
    quantizer_dequantize(fp32, params);
    return params;
}

oct_err
quantizer_ptq_convert(policy_image **image, const policy_image *fp32, policy_precision precision,
                      const quantizer_method *method, const quantizer_reservoir *calibration)
{
    policy_image *made;
    OCT_TRY(policy_image_create(&made, &fp32->spec, precision));
    float *params = params_of(fp32);
    made->origin = fp32->origin;
    policy_contract_copy(made, fp32);
    made->origin.eval_return = NAN;
    if (fp32->spec.normalise) {
        size_t bytes = fp32->spec.obs_count * sizeof(float);
        memcpy(made->obs_mean, fp32->obs_mean, bytes);
        memcpy(made->obs_inverse_std, fp32->obs_inverse_std, bytes);
    }
    oct_err err = quantizer_convert_folded(made, params, NULL, method);
    free(params);
    if (err != OCT_OK) {
        policy_image_destroy(made);
        return err;
    }
    if (calibration != NULL && precision != POLICY_FP32) {
        quantizer_calibrate(made, fp32, quantizer_reservoir_rows(calibration),
                            quantizer_reservoir_count(calibration));
    }
    *image = made;
    return OCT_OK;
}

// *image = fp32 with normalise and this scaling.
static oct_err
scale(policy_image **image, const policy_image *fp32, const quantizer_scaling *scaling)
{
    policy_spec spec = fp32->spec;
    OCT_ASSERT(!spec.normalise && quantizer_is_scalable(&spec));
    spec.normalise = true;
    policy_image *made;
    OCT_TRY(policy_image_create(&made, &spec, POLICY_FP32));
    made->origin = fp32->origin;
    policy_contract_copy(made, fp32);
    float *params = params_of(fp32);
    oct_err err = quantizer_convert_folded(made, params, scaling, &QUANTIZER_METHOD_DEFAULT);
    free(params);
    if (err != OCT_OK) {
        policy_image_destroy(made);
        return err;
    }
    *image = made;
    return OCT_OK;
}

oct_err
quantizer_ptq_scale(policy_image **image, const policy_image *fp32,
                    const quantizer_reservoir *observed)
{
    if (quantizer_reservoir_count(observed) < QUANTIZER_OBSERVED_LEAST) {
        return OCT_EAGAIN;
    }
    quantizer_observed *statistics = quantizer_observed_create(fp32->spec.obs_count);
    quantizer_observed_add(statistics, quantizer_reservoir_rows(observed),
                           quantizer_reservoir_count(observed));
    (void)quantizer_observed_renew(statistics);
    quantizer_scaling scaling = quantizer_observed_scaling(statistics);
    oct_err err = scale(image, fp32, &scaling);
    quantizer_observed_destroy(statistics);
    return err;
}

bool
quantizer_ptq_is_scaled(const policy_spec *spec, const policy_spec *fp32)
{
    policy_spec scaled = *fp32;
    scaled.normalise = true;
    return !fp32->normalise && quantizer_is_scalable(fp32) && policy_spec_equal(spec, &scaled);
}

oct_err
quantizer_ptq_scale_as(policy_image **image, const policy_image *fp32, const policy_image *scaled)
{
    OCT_ASSERT(quantizer_ptq_is_scaled(&scaled->spec, &fp32->spec));
    uint32_t count = fp32->spec.obs_count;
    float *deviation = oct_alloc(count * sizeof(float));
    for (uint32_t i = 0; i < count; i++) {
        deviation[i] = 1.0f / scaled->obs_inverse_std[i];
    }
    oct_err err =
        scale(image, fp32, &(quantizer_scaling){.mean = scaled->obs_mean, .deviation = deviation});
    free(deviation);
    return err;
}

void
quantizer_ptq_errors(const policy_image *image, const policy_image *fp32,
                     quantizer_layer_error *errors)
{
    float *params = params_of(fp32);
    quantizer_report_folded(image, params, errors);
    free(params);
}
