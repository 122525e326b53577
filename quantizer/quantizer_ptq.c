// Post-training quantisation: converts a finished fp32 policy, scales its observations, and
// measures the error of its weights.
#include "quantizer/quantizer_ptq.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "quantizer/quantizer_calibrate.h"
#include "quantizer/quantizer_fold.h"
#include "quantizer/quantizer_observed.h"

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

oct_err
quantizer_ptq_scale(policy_image **image, const policy_image *fp32,
                    const quantizer_reservoir *observed)
{
    policy_spec spec = fp32->spec;
    OCT_ASSERT(!spec.normalise && quantizer_is_scalable(&spec));
    if (quantizer_reservoir_count(observed) < QUANTIZER_OBSERVED_LEAST) {
        return OCT_EAGAIN;
    }
    spec.normalise = true;
    policy_image *made;
    OCT_TRY(policy_image_create(&made, &spec, POLICY_FP32));
    made->origin = fp32->origin;
    float *params = params_of(fp32);
    quantizer_observed *statistics = quantizer_observed_create(spec.obs_count);
    quantizer_observed_add(statistics, quantizer_reservoir_rows(observed),
                           quantizer_reservoir_count(observed));
    (void)quantizer_observed_renew(statistics);
    quantizer_scaling scaling = quantizer_observed_scaling(statistics);
    oct_err err = quantizer_convert_folded(made, params, &scaling, &QUANTIZER_METHOD_DEFAULT);
    quantizer_observed_destroy(statistics);
    free(params);
    if (err != OCT_OK) {
        policy_image_destroy(made);
        return err;
    }
    *image = made;
    return OCT_OK;
}

void
quantizer_ptq_errors(const policy_image *image, const policy_image *fp32,
                     quantizer_layer_error *errors)
{
    float *params = params_of(fp32);
    quantizer_report_folded(image, params, errors);
    free(params);
}
