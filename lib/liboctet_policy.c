// Implements octet_policy_compare of include/octet/octet.h with the learner's own measures
// (quantizer/quantizer_probe.h). Outputs and actions of both policies for all observations are in
// memory during the call.
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_err.h"
#include "include/octet/octet.h"
#include "policy/policy_public.h"
#include "quantizer/quantizer_probe.h"

// Returns what prevents a comparison, or NULL.
static const char *
difference_of(const policy_spec *a, const policy_spec *b)
{
    return a->obs_count != b->obs_count || a->obs_dtype != b->obs_dtype             ? "observations"
           : a->action_kind != b->action_kind || a->action_count != b->action_count ? "actions"
                                                                                    : NULL;
}

// Computes outputs and actions of count observations; the caller frees them (answers_free), also
// after an error.
static int
answers_make(quantizer_answers *out, octet_policy *policy, const void *obs, size_t count)
{
    const policy_spec *spec = policy_public_spec(policy);
    float *outputs = oct_alloc(count * policy_spec_outputs(spec) * sizeof(float));
    void *actions = oct_alloc(count * policy_spec_action_bytes(spec));
    *out = (quantizer_answers){.spec = spec, .outputs = outputs, .actions = actions};
    int result = octet_policy_outputs_batch(policy, obs, count, outputs);
    return result == OCTET_POLICY_OK ? octet_policy_act_batch(policy, obs, count, actions) : result;
}

static void
answers_free(quantizer_answers *answers)
{
    free((void *)(uintptr_t)answers->outputs);
    free((void *)(uintptr_t)answers->actions);
}

// other is the reference of the measures. A caller with an older header has a shorter struct, and
// only its bytes are written.
static int
policies_compare(octet_policy *policy, octet_policy *other, const void *obs, size_t count,
                 octet_policy_divergence *out, oct_reason *why)
{
    const policy_spec *spec = policy_public_spec(policy);
    const char *difference = difference_of(spec, policy_public_spec(other));
    if (difference != NULL) {
        return (int)oct_refuse(why, "the policies have different %s", difference);
    }
    if (out->size < sizeof(out->size)) {
        return (int)oct_refuse(why, "out.size is %u: sizeof(octet_policy_divergence) is expected",
                               out->size);
    }
    if (count < 1 || count > UINT32_MAX) {
        return (int)oct_refuse(why, "%zu observations; allowed are 1 to %u", count, UINT32_MAX);
    }
    quantizer_answers got = {0}, want = {0};
    quantizer_divergence found;
    int result = answers_make(&got, policy, obs, count);
    if (result == OCTET_POLICY_OK) {
        result = answers_make(&want, other, obs, count);
    }
    if (result == OCTET_POLICY_OK) {
        quantizer_compare(&found, &got, &want, (uint32_t)count);
        // Fields beyond the caller's size are cut off.
        octet_policy_divergence full = {.size = (uint32_t)OCT_MIN((size_t)out->size, sizeof(full)),
                                        .is_box = spec->action_kind == POLICY_BOX,
                                        .agreement = found.agreement,
                                        .kl = found.kl,
                                        .action_l2 = found.action_l2,
                                        .max_abs = found.max_abs,
                                        .relative_l2 = found.relative_l2};
        memcpy(out, &full, full.size);
    } else {
        (void)oct_refuse(why, "an observation is not finite");
    }
    answers_free(&got);
    answers_free(&want);
    return result;
}

int
octet_policy_compare(octet_policy *policy, octet_policy *other, const void *obs, size_t count,
                     octet_policy_divergence *out, char *error, size_t error_size)
{
    oct_reason why = {""};
    int result = policies_compare(policy, other, obs, count, out, &why);
    if (result != 0) {
        oct_reason_copy(&why, error, error_size);
    }
    return result;
}
