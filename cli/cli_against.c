// Measures how far a policy is from its fp32 policy on played observations, for octet inspect
// --against.

#include "cli/cli_against.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "cli/cli_observe.h"
#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "policy/policy_net.h"
#include "quantizer/quantizer_probe.h"
#include "quantizer/quantizer_ptq.h"

#define PROBE_ROWS 4096 // observations that are compared

// Both policies have the same layers, which the caller has checked.
static void
print_weights(const policy_image *image, const policy_image *fp32)
{
    quantizer_layer_error errors[POLICY_LAYERS_MAX];
    quantizer_ptq_errors(image, fp32, errors);
    for (uint32_t l = 0; l < image->spec.layer_count; l++) {
        printf("  %2u  error of the weights %.3g (relative L2), %.3g at most\n", l,
               (double)errors[l].relative_l2, (double)errors[l].max_abs);
    }
}

// Prints the comparison of outputs. far->kl is NaN where the head is no distribution.
static void
print_divergence(const policy_image *image, const cli_against_options *options,
                 const cli_observed *observed, const quantizer_divergence *far)
{
    if (options->env_id != NULL) {
        bool has_options = options->options[0] != '\0';
        printf("observed    %u observations of %s of %s%s%s, seed %" PRIu64
               ", played by the fp32 policy\n",
               far->rows, observed->text, options->env_id, has_options ? ", options " : "",
               options->options, options->seed);
    } else {
        printf("observed    %u random observations (%s), seed %" PRIu64
               "; --env ID takes them from an environment\n",
               far->rows,
               image->spec.obs_dtype == POLICY_U8 ? "uniform bytes"
               : image->spec.normalise            ? "normal, by the policy's mean and deviation"
                                                  : "normal, mean 0, deviation 1",
               options->seed);
    }
    if (isnan(far->relative_l2)) {
        printf("outputs     some are not finite\n");
    } else {
        printf("outputs     differ by %.3g (relative L2), %.3g at most\n", far->relative_l2,
               far->max_abs);
    }
    printf("actions     %.2f %% agree", 100 * far->agreement);
    if (image->spec.action_kind == POLICY_BOX) {
        printf(", mean distance %.3g standard deviations", far->action_l2);
    } else if (!isnan(far->kl)) {
        printf(", KL %.3g", far->kl);
    }
    printf("\n");
}

// The two policies read observations in the same way.
static oct_err
against(const policy_image *image, const policy_image *fp32, const cli_against_options *options,
        oct_reason *why)
{
    quantizer_reservoir *obs = quantizer_reservoir_create(&fp32->spec, PROBE_ROWS, options->seed);
    quantizer_divergence far;
    cli_observed observed = {.text = ""};
    oct_err err = OCT_OK;
    if (options->env_id != NULL) {
        err = cli_observe(&observed, obs, fp32, options->env_id, options->options, options->seed,
                          why);
    } else {
        quantizer_reservoir_fill(obs, fp32);
    }
    if (err == OCT_OK) {
        err = quantizer_probe(&far, image, fp32, quantizer_reservoir_rows(obs),
                              quantizer_reservoir_count(obs));
    }
    if (err == OCT_OK) {
        bool same = image->origin.run_id == fp32->origin.run_id &&
                    image->origin.version == fp32->origin.version;
        printf("against     %s%s\n", options->fp32_path,
               same ? "" : ", another version or run: the errors are not due to rounding alone");
        print_weights(image, fp32);
        print_divergence(image, options, &observed, &far);
    } else if (why->text[0] == '\0') {
        oct_reason_set(why, "cannot run policies here: %s", policy_isa_refused().text);
    }
    quantizer_reservoir_destroy(obs);
    return err;
}

// Returns OCT_EINVAL if the two policies cannot be compared; reason says why.
oct_err
cli_against(const policy_image *image, const cli_against_options *options, oct_reason *why)
{
    const policy_image *fp32 = options->fp32;
    OCT_ASSERT(fp32->precision == POLICY_FP32);
    if (policy_spec_equal(&image->spec, &fp32->spec)) {
        return against(image, fp32, options, why);
    }
    if (!quantizer_ptq_is_scaled(&image->spec, &fp32->spec)) {
        return oct_refuse(why, "'%s' belongs to another network or environment",
                          options->fp32_path);
    }
    // The fp32 policy from before the observations were scaled is scaled like the image.
    policy_image *scaled;
    oct_err err = quantizer_ptq_scale_as(&scaled, fp32, image);
    if (err != OCT_OK) {
        oct_reason_set(why,
                       "'%s' has a weight that is not finite when its observations are scaled as "
                       "those of this policy",
                       options->fp32_path);
        return err;
    }
    err = against(image, scaled, options, why);
    policy_image_destroy(scaled);
    return err;
}
