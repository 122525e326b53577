// Implements include/octet/policy.h, the public C interface, with the functions of this folder.
#include "policy/policy_public.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "policy/policy_contract.h"
#include "policy/policy_file.h"
#include "policy/policy_net.h"

#define AGREE(public, ours) static_assert((int)(public) == (int)(ours), #public)
AGREE(OCTET_POLICY_OK, OCT_OK);
AGREE(OCTET_POLICY_EINVAL, OCT_EINVAL);
AGREE(OCTET_POLICY_EDAMAGED, OCT_EPROTO);
AGREE(OCTET_POLICY_ENOTFOUND, OCT_ENOTFOUND);
AGREE(OCTET_POLICY_EIO, OCT_EIO);
AGREE(OCTET_POLICY_NAME_MAX, POLICY_NAME_MAX);
AGREE(OCTET_POLICY_F32, POLICY_F32);
AGREE(OCTET_POLICY_U8, POLICY_U8);
AGREE(OCTET_POLICY_DISCRETE, POLICY_DISCRETE);
AGREE(OCTET_POLICY_BOX, POLICY_BOX);
AGREE(OCTET_POLICY_FP32, POLICY_FP32);
AGREE(OCTET_POLICY_INT8, POLICY_INT8);
AGREE(OCTET_POLICY_BF16, POLICY_BF16);
AGREE(OCTET_POLICY_FP16, POLICY_FP16);
AGREE(OCTET_POLICY_INT4, POLICY_INT4);
#undef AGREE

#define ROWS_MAX 64 // rows of a batch that pass through the network in one call

struct octet_policy {
    policy_net *net;
    policy_scratch *scratch;
    float *outputs;   // [ROWS_MAX][outputs]
    float *extra;     // [policy_spec_extra_dim] of one row
    char *contract;   // the strings to which keys and texts point
    uint32_t entries; // count of keys and of texts
    const char *keys[POLICY_CONTRACT_ENTRIES_MAX], *texts[POLICY_CONTRACT_ENTRIES_MAX];
};

// Copies keys and texts of the contract, each with a zero byte after it. The zero bytes take less
// room than the lengths in the contract.
static void
contract_keep(octet_policy *policy, const policy_image *image)
{
    policy_contract_entry entry;
    char *to = policy->contract = oct_alloc(image->contract_bytes + 1);
    for (size_t at = 0; policy_contract_next(image, &at, &entry); policy->entries++) {
        policy->keys[policy->entries] = memcpy(to, entry.key, entry.key_length);
        to += entry.key_length + 1;
        policy->texts[policy->entries] = memcpy(to, entry.text, entry.text_length);
        to += entry.text_length + 1;
    }
}

static int
policy_from_image(octet_policy **out, const policy_image *image, char *error, size_t error_size)
{
    policy_net *net;
    oct_err err = policy_net_create(&net, image, POLICY_ISA_BEST);
    if (err != OCT_OK) {
        if (error_size > 0) {
            (void)snprintf(error, error_size, "%s", policy_isa_refused().text);
        }
        return (int)err;
    }
    octet_policy *policy = oct_alloc(sizeof(*policy));
    policy->net = net;
    policy->scratch = policy_scratch_create(&image->spec, ROWS_MAX);
    policy->outputs = oct_alloc(ROWS_MAX * policy_spec_outputs(&image->spec) * sizeof(float));
    policy->extra = oct_alloc((policy_spec_extra_dim(&image->spec) + 1) * sizeof(float));
    contract_keep(policy, image);
    *out = policy;
    return OCTET_POLICY_OK;
}

int
octet_policy_load(octet_policy **out, const char *path, char *error, size_t error_size)
{
    oct_reason why;
    policy_image *image;
    oct_err err = policy_file_load(&image, path, &why);
    if (err != OCT_OK) {
        if (error_size > 0) {
            (void)snprintf(error, error_size, "%s: %s", path, why.text);
        }
        return (int)err;
    }
    int result = policy_from_image(out, image, error, error_size);
    policy_image_destroy(image);
    return result;
}

int
octet_policy_load_bytes(octet_policy **out, const void *bytes, size_t length, char *error,
                        size_t error_size)
{
    oct_reason why;
    policy_image *image;
    oct_err err = policy_decode(&image, bytes, length, &why);
    if (err != OCT_OK) {
        oct_reason_copy(&why, error, error_size);
        return (int)err;
    }
    int result = policy_from_image(out, image, error, error_size);
    policy_image_destroy(image);
    return result;
}

void
octet_policy_free(octet_policy *policy)
{
    if (policy != NULL) {
        policy_net_destroy(policy->net);
        policy_scratch_destroy(policy->scratch);
        free(policy->outputs);
        free(policy->extra);
        free(policy->contract);
        free(policy);
    }
}

const policy_spec *
policy_public_spec(const octet_policy *policy)
{
    return policy_net_spec(policy->net);
}

int
octet_policy_get_info(const octet_policy *policy, octet_policy_info *info)
{
    const policy_spec *spec = policy_net_spec(policy->net);
    const policy_origin *origin = policy_net_origin(policy->net);
    octet_policy_info full = {
        .size = (uint32_t)OCT_MIN((size_t)info->size, sizeof(full)),
        .run_id = origin->run_id,
        .version = origin->version,
        .updates = origin->updates,
        .env_steps = origin->env_steps,
        .eval_return = origin->eval_return,
        .precision = (uint32_t)policy_net_precision(policy->net),
        .obs_dtype = (uint32_t)spec->obs_dtype,
        .obs_count = spec->obs_count,
        .obs_bytes = (uint32_t)policy_spec_obs_bytes(spec),
        .action_kind = (uint32_t)spec->action_kind,
        .action_count = spec->action_count,
        .action_bytes = (uint32_t)policy_spec_action_bytes(spec),
        .output_count = policy_spec_outputs(spec),
        .isa = policy_isa_name(policy_net_isa(policy->net)),
        .obs_height = spec->layers[0].conv.rows.size, // 0 without a convolution
        .obs_width = spec->layers[0].conv.columns.size,
        .obs_channels = spec->layers[0].conv.channels,
        .action_low = spec->action_kind == POLICY_BOX ? spec->action_low : NULL,
        .action_high = spec->action_kind == POLICY_BOX ? spec->action_high : NULL,
        .metadata_count = policy->entries,
        .metadata_keys = policy->keys,
        .metadata_texts = policy->texts,
    };
    if (info->size < sizeof(info->size)) {
        return OCTET_POLICY_EINVAL;
    }
    memcpy(full.env_id, spec->env_id, sizeof(full.env_id));
    memcpy(full.run_name, origin->run_name, sizeof(full.run_name));
    memcpy(info, &full, full.size);
    return OCTET_POLICY_OK;
}

// Returns true if all numbers of count observations are finite.
static bool
is_obs_finite(const policy_spec *spec, const void *obs, size_t count)
{
    size_t numbers = spec->obs_dtype == POLICY_F32 ? count * spec->obs_count : 0;
    for (size_t i = 0; i < numbers; i++) {
        float x;
        memcpy(&x, (const uint8_t *)obs + i * sizeof(x), sizeof(x));
        if (!isfinite(x)) {
            return false;
        }
    }
    return true;
}

int
octet_policy_outputs_batch(octet_policy *policy, const void *obs, size_t count, float *outputs)
{
    const policy_spec *spec = policy_net_spec(policy->net);
    size_t stride = policy_spec_obs_bytes(spec), width = policy_spec_outputs(spec);
    if (!is_obs_finite(spec, obs, count)) {
        return OCTET_POLICY_EINVAL;
    }
    for (size_t row = 0; row < count; row += ROWS_MAX) {
        uint32_t rows = (uint32_t)OCT_MIN(count - row, (size_t)ROWS_MAX);
        policy_forward(policy->net, policy->scratch, (const uint8_t *)obs + row * stride, stride,
                       rows, outputs + row * width);
    }
    return OCTET_POLICY_OK;
}

int
octet_policy_act_batch(octet_policy *policy, const void *obs, size_t count, void *actions)
{
    const policy_spec *spec = policy_net_spec(policy->net);
    size_t stride = policy_spec_obs_bytes(spec), action_bytes = policy_spec_action_bytes(spec);
    if (!is_obs_finite(spec, obs, count)) {
        return OCTET_POLICY_EINVAL;
    }
    for (size_t row = 0; row < count; row += ROWS_MAX) {
        uint32_t rows = (uint32_t)OCT_MIN(count - row, (size_t)ROWS_MAX);
        policy_forward(policy->net, policy->scratch, (const uint8_t *)obs + row * stride, stride,
                       rows, policy->outputs);
        policy_act(spec, policy->outputs, rows, (uint8_t *)actions + row * action_bytes);
    }
    return OCTET_POLICY_OK;
}

int
octet_policy_outputs(octet_policy *policy, const void *obs, float *outputs)
{
    return octet_policy_outputs_batch(policy, obs, 1, outputs);
}

int
octet_policy_act(octet_policy *policy, const void *obs, void *action)
{
    return octet_policy_act_batch(policy, obs, 1, action);
}

void
octet_policy_seed(octet_policy_rng *rng, uint64_t seed, uint64_t stream)
{
    policy_rng own;
    policy_rng_init(&own, seed, stream);
    *rng = (octet_policy_rng){own.state, own.stream};
}

// Samples actions for rows <= ROWS_MAX finite observations. log_probs may be NULL.
static void
sample_rows(octet_policy *policy, const uint8_t *obs, uint32_t rows, octet_policy_rng *rngs,
            uint8_t *actions, float *log_probs)
{
    const policy_spec *spec = policy_net_spec(policy->net);
    size_t width = policy_spec_outputs(spec), action_bytes = policy_spec_action_bytes(spec);
    policy_forward(policy->net, policy->scratch, obs, policy_spec_obs_bytes(spec), rows,
                   policy->outputs);
    for (uint32_t row = 0; row < rows; row++) {
        policy_rng own = {rngs[row].state, rngs[row].stream};
        policy_sample(spec, policy_net_deviation(policy->net), policy->outputs + row * width, 1,
                      &own, actions + row * action_bytes, policy->extra);
        rngs[row] = (octet_policy_rng){own.state, own.stream};
        if (log_probs != NULL) {
            log_probs[row] = policy->extra[0];
        }
    }
}

int
octet_policy_sample_batch(octet_policy *policy, const void *obs, size_t count,
                          octet_policy_rng *rngs, void *actions, float *log_probs)
{
    const policy_spec *spec = policy_net_spec(policy->net);
    size_t stride = policy_spec_obs_bytes(spec), action_bytes = policy_spec_action_bytes(spec);
    if (policy_spec_extra_dim(spec) == 0 || !is_obs_finite(spec, obs, count)) {
        return OCTET_POLICY_EINVAL;
    }
    for (size_t row = 0; row < count; row += ROWS_MAX) {
        sample_rows(policy, (const uint8_t *)obs + row * stride,
                    (uint32_t)OCT_MIN(count - row, (size_t)ROWS_MAX), rngs + row,
                    (uint8_t *)actions + row * action_bytes,
                    log_probs != NULL ? log_probs + row : NULL);
    }
    return OCTET_POLICY_OK;
}

int
octet_policy_sample(octet_policy *policy, const void *obs, octet_policy_rng *rng, void *action,
                    float *log_prob)
{
    return octet_policy_sample_batch(policy, obs, 1, rng, action, log_prob);
}
