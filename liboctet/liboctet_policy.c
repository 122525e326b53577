// Compares two policies for programs in other languages, with the learner's own measures.
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_err.h"
#include "common/oct_text.h"
#include "include/octet/octet.h"
#include "policy/policy_public.h"
#include "quantizer/quantizer_probe.h"

static const char *
difference_of(const policy_spec *a, const policy_spec *b)
{
    return a->obs_count != b->obs_count || a->obs_dtype != b->obs_dtype             ? "observations"
           : a->action_kind != b->action_kind || a->action_count != b->action_count ? "actions"
                                                                                    : NULL;
}

// Their outputs and actions, which the caller frees.
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

int
octet_policy_compare(octet_policy *policy, octet_policy *other, const void *obs, size_t count,
                     octet_policy_divergence *out, char *error, size_t error_size)
{
    const policy_spec *spec = policy_public_spec(policy);
    const char *difference = difference_of(spec, policy_public_spec(other));
    if (difference != NULL) {
        return (int)oct_refuse(error, error_size, "the policies have different %s", difference);
    }
    if (out->size < sizeof(out->size)) {
        return (int)oct_refuse(error, error_size,
                               "out.size is %u: sizeof(octet_policy_divergence) is expected",
                               out->size);
    }
    if (count < 1 || count > UINT32_MAX) {
        return (int)oct_refuse(error, error_size, "%zu observations; allowed are 1 to %u", count,
                               UINT32_MAX);
    }
    quantizer_answers got = {0}, want = {0};
    quantizer_divergence found;
    int result = answers_make(&got, policy, obs, count);
    if (result == OCTET_POLICY_OK) {
        result = answers_make(&want, other, obs, count);
    }
    if (result == OCTET_POLICY_OK) {
        quantizer_compare(&found, &got, &want, (uint32_t)count);
        octet_policy_divergence full = {.size = (uint32_t)OCT_MIN((size_t)out->size, sizeof(full)),
                                        .is_box = spec->action_kind == POLICY_BOX,
                                        .agreement = found.agreement,
                                        .kl = found.kl,
                                        .action_l2 = found.action_l2,
                                        .max_abs = found.max_abs,
                                        .relative_l2 = found.relative_l2};
        memcpy(out, &full, full.size);
    } else {
        (void)oct_refuse(error, error_size, "an observation is not finite");
    }
    answers_free(&got);
    answers_free(&want);
    return result;
}
