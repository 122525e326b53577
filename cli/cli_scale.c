// The mean and deviation of observations that a policy has seen, folded into its first layer.
#include "cli/cli_scale.h"

#include <stdlib.h>

#include "common/oct_base.h"
#include "quantizer/quantizer_fold.h"
#include "quantizer/quantizer_observed.h"

oct_err
cli_scale(policy_image **out, const policy_image *fp32, const float *obs, uint32_t rows)
{
    policy_spec spec = fp32->spec;
    OCT_ASSERT(fp32->precision == POLICY_FP32 && !spec.normalise && quantizer_is_scalable(&spec));
    if (rows < QUANTIZER_OBSERVED_LEAST) {
        return OCT_EAGAIN;
    }
    spec.normalise = true;
    policy_image *made;
    OCT_TRY(policy_image_create(&made, &spec, POLICY_FP32));
    made->origin = fp32->origin;
    float *params = oct_alloc(policy_spec_params(&spec) * sizeof(float));
    quantizer_dequantize(fp32, params);
    quantizer_observed *observed = quantizer_observed_create(spec.obs_count);
    quantizer_observed_add(observed, obs, rows);
    (void)quantizer_observed_renew(observed);
    quantizer_scaling scaling = quantizer_observed_scaling(observed);
    oct_err err = quantizer_convert_folded(made, params, &scaling, &QUANTIZER_METHOD_DEFAULT);
    quantizer_observed_destroy(observed);
    free(params);
    if (err != OCT_OK) {
        policy_image_destroy(made);
        return err;
    }
    *out = made;
    return OCT_OK;
}
