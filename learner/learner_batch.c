#include "learner/learner_batch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"

learner_batch *
learner_batch_create(const policy_spec *spec, uint32_t B, uint32_t extra_dim)
{
    learner_batch *batch = oct_alloc(sizeof(*batch));
    batch->extra_dim = extra_dim;
    size_t obs = (size_t)B * spec->obs_count;
    batch->obs = oct_alloc(obs * sizeof(float));
    batch->next = oct_alloc(obs * sizeof(float));
    batch->action = oct_alloc(B * policy_spec_action_bytes(spec));
    batch->reward = oct_alloc(B * sizeof(float));
    batch->discount = oct_alloc(B * sizeof(float));
    batch->weight = oct_alloc(B * sizeof(float));
    batch->extra = oct_alloc((size_t)B * extra_dim * sizeof(float));
    batch->key = oct_alloc(B * sizeof(uint64_t));
    batch->priority = oct_alloc(B * sizeof(float));
    batch->view = (algo_batch){
        .B = B,
        .obs = batch->obs,
        .next = batch->next,
        .action = batch->action,
        .reward = batch->reward,
        .discount = batch->discount,
        .weight = batch->weight,
        .extra = batch->extra,
    };
    return batch;
}

void
learner_batch_destroy(learner_batch *batch)
{
    if (batch == NULL) {
        return;
    }
    free(batch->obs);
    free(batch->next);
    free(batch->action);
    free(batch->reward);
    free(batch->discount);
    free(batch->weight);
    free(batch->extra);
    free(batch->key);
    free(batch->priority);
    free(batch);
}

static void
copy_obs(float *out, const uint8_t *rows, const policy_spec *spec, uint32_t first, uint32_t B)
{
    size_t count = (size_t)B * spec->obs_count;
    const uint8_t *at = rows + (size_t)first * policy_spec_obs_bytes(spec);
    if (spec->obs_dtype == POLICY_F32) {
        memcpy(out, at, count * sizeof(float));
        return;
    }
    for (size_t i = 0; i < count; i++) {
        out[i] = at[i];
    }
}

oct_err
learner_batch_fill(learner_batch *batch, const policy_spec *spec, const wire_sampled *sampled,
                   uint32_t first, double importance_exponent)
{
    uint32_t B = batch->view.B;
    size_t action_bytes = policy_spec_action_bytes(spec);
    if (sampled->count < first || sampled->count - first < B ||
        sampled->obs_bytes != policy_spec_obs_bytes(spec) ||
        sampled->action_bytes != action_bytes || sampled->extra_dim != batch->extra_dim) {
        return OCT_EPROTO;
    }
    copy_obs(batch->obs, sampled->obs, spec, first, B);
    copy_obs(batch->next, sampled->next, spec, first, B);
    memcpy(batch->action, sampled->action + first * action_bytes, B * action_bytes);
    memcpy(batch->reward, sampled->reward + first, B * sizeof(float));
    memcpy(batch->discount, sampled->discount + first, B * sizeof(float));
    memcpy(batch->key, sampled->key + first, B * sizeof(uint64_t));
    if (batch->extra_dim > 0) {
        memcpy(batch->extra, sampled->extra + (size_t)first * batch->extra_dim,
               (size_t)B * batch->extra_dim * sizeof(float));
    }
    batch->incarnation = sampled->incarnation;
    // An action index reaches into arrays: the one thing that no later check would catch.
    for (uint32_t i = 0; spec->action_kind == POLICY_DISCRETE && i < B; i++) {
        int32_t action;
        memcpy(&action, batch->action + i * action_bytes, sizeof(action));
        if ((uint32_t)action >= spec->action_count) { // also the negative ones
            return OCT_EPROTO;
        }
    }
    float max_weight = 0;
    for (uint32_t i = 0; i < B; i++) {
        double scaled = (double)sampled->size * sampled->probability[first + i];
        float weight = importance_exponent > 0 ? (float)pow(scaled, -importance_exponent) : 1;
        batch->weight[i] = isfinite(weight) ? weight : 1;
        max_weight = OCT_MAX(max_weight, batch->weight[i]);
    }
    for (uint32_t i = 0; i < B; i++) {
        batch->weight[i] = max_weight > 0 ? batch->weight[i] / max_weight : 1;
    }
    return OCT_OK;
}

double
learner_importance_exponent(const oct_config *config, uint64_t env_steps)
{
    if (config->replay.sampler != OCT_SAMPLER_PRIORITIZED) {
        return 0;
    }
    double first = config->replay.importance_exponent;
    double share = OCT_MIN(1.0, (double)env_steps / (double)OCT_MAX(1u, config->run.env_steps));
    return first + (config->replay.importance_exponent_final - first) * share;
}
