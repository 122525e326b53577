// Samples actions from a policy's outputs, with their log-probabilities, row by row. The arithmetic
// is in policy_draw.h.
#include "policy/policy_net.h"

#include <string.h>

#include "common/oct_base.h"

// Samples one action. extra[1 + dim] = the log-probability, then the sampled numbers before they
// are clipped or squashed.
static void
gaussian_sample(const policy_spec *spec, const float *mean, const float *log_std, policy_rng *rng,
                uint8_t *action, float *extra)
{
    uint32_t dim = spec->action_count;
    float *drawn = extra + 1;
    extra[0] = policy_draw_gaussian(mean, log_std, dim, rng, drawn);
    for (uint32_t i = 0; i < dim; i++) {
        float t = policy_clamp(drawn[i], -1.0f, 1.0f);
        if (spec->head == POLICY_HEAD_TANH_GAUSSIAN) {
            t = policy_tanh(drawn[i]);
            extra[0] -= policy_log_squash(drawn[i]);
        }
        float low = spec->action_low[i], high = spec->action_high[i];
        float value = spec->action_direct ? policy_direct_action(drawn[i], low, high)
                                          : policy_box_action(t, low, high);
        memcpy(action + i * sizeof(value), &value, sizeof(value));
    }
}

void
policy_sample(const policy_spec *spec, const float *deviation, const float *y, uint32_t B,
              policy_rng *rng, void *actions, float *extra)
{
    uint32_t outputs = policy_spec_outputs(spec), extra_dim = policy_spec_extra_dim(spec);
    size_t action_bytes = policy_spec_action_bytes(spec);
    OCT_ASSERT((deviation != NULL) == policy_spec_has_deviation(spec));
    if (extra_dim == 0) {
        policy_act(spec, y, B, actions);
        return;
    }
    for (uint32_t b = 0; b < B; b++, y += outputs, extra += extra_dim) {
        uint8_t *action = (uint8_t *)actions + b * action_bytes;
        if (spec->head == POLICY_HEAD_LOGITS) {
            int32_t choice = policy_draw_softmax(y, spec->action_count, &rng[b], extra);
            memcpy(action, &choice, sizeof(choice));
        } else {
            gaussian_sample(spec, y, deviation != NULL ? deviation : y + spec->action_count,
                            &rng[b], action, extra);
        }
    }
}
