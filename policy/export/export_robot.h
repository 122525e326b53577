#ifndef POLICY_EXPORT_EXPORT_ROBOT_H
#define POLICY_EXPORT_EXPORT_ROBOT_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "policy/policy_draw.h"
#include "policy/policy_math.h"

// The functions of an exported header: C99, no allocation, no state. The build divides this file,
// export_codes.h, export_products.h, export_maps.h, export_probe.h, policy_math.h, policy_draw.h
// and policy_half.h into their functions (export_parts.py), and export_c99.c writes those that a
// policy needs into its header, with the policy's name. So this is the source that runs on the
// robot, and it is compiled and checked here like any other source.
//
// Bits (contract 3): integer sums are exact in any order. Codes are stored minus their zero point,
// so that no sum of the weights has to be subtracted afterwards; the result is the same integer. An
// int may have 16 bits, so numbers that need more are int32_t.
// Each function is between empty lines, and the comment above it is exported with it.

// Returns 1 if all numbers of x[n] are finite.
static inline int
export_is_finite(const float *x, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!(x[i] - x[i] == 0.0f)) {
            return 0;
        }
    }
    return 1;
}

// Subtracts the means from an observation x[n] and multiplies by the inverse deviations.
static inline void
export_normalise(const float *mean, const float *inverse, uint32_t n, float *x)
{
    for (uint32_t i = 0; i < n; i++) {
        x[i] = (x[i] - mean[i]) * inverse[i];
    }
}

// Returns the sum of 16 lanes as a tree: each time lane i + lane i + half.
static inline float
export_lanes_sum(float *lane)
{
    for (uint32_t half = POLICY_NORM_LANES / 2; half > 0; half /= 2) {
        for (uint32_t i = 0; i < half; i++) {
            lane[i] = lane[i] + lane[i + half];
        }
    }
    return lane[0];
}

// Scales y[n] to mean 0 and variance 1, then applies gain and offset.
static inline void
export_layer_norm(const float *gain, const float *offset, uint32_t n, float *y)
{
    float first[POLICY_NORM_LANES] = {0.0f}, second[POLICY_NORM_LANES] = {0.0f};
    for (uint32_t i = 0; i < n; i++) {
        first[i % POLICY_NORM_LANES] += y[i];
    }
    float mean = export_lanes_sum(first) / (float)n;
    for (uint32_t i = 0; i < n; i++) {
        float d = y[i] - mean;
        second[i % POLICY_NORM_LANES] += d * d;
    }
    float inverse = policy_norm_inverse(export_lanes_sum(second), n);
    for (uint32_t i = 0; i < n; i++) {
        y[i] = ((y[i] - mean) * inverse) * gain[i] + offset[i];
    }
}

// Returns the index of the largest number, the first of equals.
static inline int32_t
export_argmax(const float *y, uint32_t actions)
{
    uint32_t best = 0;
    for (uint32_t a = 1; a < actions; a++) {
        best = y[a] > y[best] ? a : best;
    }
    return (int32_t)best;
}

// Returns the mean of the support under softmax(logits). Sums begin with atom 0.
static inline float
export_atoms_mean(const float *logits, uint32_t atoms, float low, float step)
{
    float most = logits[0], mass = 0.0f, mean = 0.0f;
    for (uint32_t i = 1; i < atoms; i++) {
        most = logits[i] > most ? logits[i] : most;
    }
    for (uint32_t i = 0; i < atoms; i++) {
        float p = policy_exp(logits[i] - most);
        mass += p;
        mean += p * (low + (float)i * step);
    }
    return mean / mass;
}

// Returns the action with the largest expected value, the first of equals.
static inline int32_t
export_atoms_argmax(const float *y, uint32_t actions, uint32_t atoms, float low, float step)
{
    uint32_t best = 0;
    float best_mean = export_atoms_mean(y, atoms, low, step);
    for (uint32_t a = 1; a < actions; a++) {
        float mean = export_atoms_mean(y + a * atoms, atoms, low, step);
        if (mean > best_mean) {
            best = a;
            best_mean = mean;
        }
    }
    return (int32_t)best;
}

// Maps the tanh of y[n] from [-1, 1] to [low, high]. action may be y here and below.
static inline void
export_box(const float *y, const float *low, const float *high, uint32_t n, float *action)
{
    for (uint32_t i = 0; i < n; i++) {
        action[i] = policy_box_action(policy_tanh(y[i]), low[i], high[i]);
    }
}

// Clips y[n] to [-1, 1] and maps it to [low, high].
static inline void
export_clip(const float *y, const float *low, const float *high, uint32_t n, float *action)
{
    for (uint32_t i = 0; i < n; i++) {
        action[i] = policy_box_action(policy_clamp(y[i], -1.0f, 1.0f), low[i], high[i]);
    }
}

// Clips y[n] to [low, high].
static inline void
export_direct(const float *y, const float *low, const float *high, uint32_t n, float *action)
{
    for (uint32_t i = 0; i < n; i++) {
        action[i] = policy_direct_action(y[i], low[i], high[i]);
    }
}

// Turns log_prob, the log-probability of the samples y[n] of Gaussians, into that of their tanh.
static inline float
export_squash(const float *y, uint32_t n, float log_prob)
{
    for (uint32_t i = 0; i < n; i++) {
        log_prob -= policy_log_squash(y[i]);
    }
    return log_prob;
}

#endif // POLICY_EXPORT_EXPORT_ROBOT_H
