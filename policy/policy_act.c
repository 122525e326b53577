// Converts outputs to greedy actions. Comparisons with NaN are false, so actions stay in range for
// all outputs.
#include "policy/policy_net.h"

#include <string.h>

#include "policy/policy_math.h"

static int32_t
argmax(const float *y, uint32_t count)
{
    uint32_t best = 0;
    for (uint32_t a = 1; a < count; a++) {
        best = y[a] > y[best] ? a : best;
    }
    return (int32_t)best;
}

// Returns the mean of the support under softmax(logits). Sums begin with atom 0.
static float
atoms_mean(const policy_spec *spec, const float *logits)
{
    float most = logits[0];
    for (uint32_t i = 1; i < spec->atoms; i++) {
        most = logits[i] > most ? logits[i] : most;
    }
    float step = (spec->value_max - spec->value_min) / (float)(spec->atoms - 1);
    float mass = 0.0f, mean = 0.0f;
    for (uint32_t i = 0; i < spec->atoms; i++) {
        float p = policy_exp(logits[i] - most);
        mass += p;
        mean += p * (spec->value_min + (float)i * step);
    }
    return mean / mass;
}

static int32_t
atoms_argmax(const policy_spec *spec, const float *y)
{
    uint32_t best = 0;
    float best_mean = atoms_mean(spec, y);
    for (uint32_t a = 1; a < spec->action_count; a++) {
        float mean = atoms_mean(spec, y + (size_t)a * spec->atoms);
        if (mean > best_mean) {
            best = a;
            best_mean = mean;
        }
    }
    return (int32_t)best;
}

// Computes the action of a box head from means[action_count], which are clipped to [-1, 1],
// squashed by tanh, or actions themselves.
static void
box_act(const policy_spec *spec, const float *means, uint8_t *action)
{
    for (uint32_t i = 0; i < spec->action_count; i++) {
        float low = spec->action_low[i], high = spec->action_high[i];
        float t = spec->head == POLICY_HEAD_GAUSSIAN ? policy_clamp(means[i], -1.0f, 1.0f)
                                                     : policy_tanh(means[i]);
        float value = spec->action_direct ? policy_direct_action(means[i], low, high)
                                          : policy_box_action(t, low, high);
        memcpy(action + i * sizeof(value), &value, sizeof(value));
    }
}

void
policy_act(const policy_spec *spec, const float *y, uint32_t B, void *actions)
{
    uint32_t outputs = policy_spec_outputs(spec);
    size_t action_bytes = policy_spec_action_bytes(spec);
    for (uint32_t b = 0; b < B; b++, y += outputs) {
        uint8_t *action = (uint8_t *)actions + b * action_bytes;
        if (spec->action_kind == POLICY_BOX) {
            box_act(spec, y, action);
            continue;
        }
        int32_t choice =
            spec->head == POLICY_HEAD_ATOMS ? atoms_argmax(spec, y) : argmax(y, spec->action_count);
        memcpy(action, &choice, sizeof(choice));
    }
}
