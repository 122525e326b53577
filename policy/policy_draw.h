#ifndef POLICY_POLICY_DRAW_H
#define POLICY_POLICY_DRAW_H

#include <stdint.h>

#include "policy/policy_math.h"

// Samples from the distributions of a policy with the arithmetic of policy_math.h: the same numbers
// of a generator give the same actions and log-probabilities on every machine (contract 3). An
// exported header has the text of these functions.
//
// Generator: PCG32 (O'Neill 2014, XSH-RR 64/32), the sequence of common/oct_rng.h. It is a plain
// value; a copy saves it. Streams of one seed are independent.
// Draws: a softmax takes 64 bits for each row, a Gaussian 32 bits for each dimension, dimension 0
// first.
//
// Softmax: the weight of action a is floor(exp(y_a - max y) * 2^32), a whole number. The 64 bits
// modulo the sum of the weights select the action. An action with a probability below 2^-32 of the
// likeliest is never drawn. The log-probability is (y_a - max y) - log(sum of exp), where the sum
// begins with action 0.
// Normal: the inverse of the distribution function (Wichura 1988, AS 241, PPND7) at (k + 1/2) /
// 2^32, where k has 31 bits; the 32nd bit is the sign. The magnitude is at most 6.24, the relative
// error below 1e-6.
// The log-probability of a Gaussian is that of the stored, rounded number: z = (y - mean) / s.
// tests/policy/test_policy_sample.c has bounds of the errors against double for the same inputs.

#define POLICY_LOG_STD_MIN  -20.0f
#define POLICY_LOG_STD_MAX  2.0f
#define POLICY_LN_2         0x1.62e430p-1f
#define POLICY_LOG_SQRT_2PI 0x1.d67f1cp-1f // log(2 pi) / 2

typedef struct policy_rng {
    uint64_t state;
    uint64_t stream;
} policy_rng;

static inline uint32_t
policy_rng_u32(policy_rng *rng)
{
    uint64_t old = rng->state;
    rng->state = old * 6364136223846793005u + rng->stream;
    uint32_t shifted = (uint32_t)(((old >> 18) ^ old) >> 27);
    uint32_t rotate = (uint32_t)(old >> 59);
    return (shifted >> rotate) | (shifted << ((0u - rotate) & 31u));
}

static inline void
policy_rng_init(policy_rng *rng, uint64_t seed, uint64_t stream)
{
    rng->state = 0;
    rng->stream = (stream << 1) | 1;
    (void)policy_rng_u32(rng);
    rng->state += seed;
    (void)policy_rng_u32(rng);
}

static inline float
policy_rng_normal(policy_rng *rng)
{
    uint32_t bits = policy_rng_u32(rng);
    float p = ((float)(bits & 0x7fffffffu) + 0.5f) * 0x1p-32f, z;
    float q = 0.5f - p;
    if (q <= 0.425f) {
        float r = 0.180625f - q * q;
        float over = ((59.109374720f * r + 159.29113202f) * r + 50.434271938f) * r + 3.3871327179f;
        float under = ((67.187563600f * r + 78.757757664f) * r + 17.895169469f) * r + 1.0f;
        z = q * over / under;
    } else {
        float r = sqrtf(-policy_log(p)) - 1.6f;
        float over = ((0.17023821103f * r + 1.3067284816f) * r + 2.7568153900f) * r + 1.4234372777f;
        z = over / ((0.12021132975f * r + 0.73700164250f) * r + 1.0f);
    }
    return (bits >> 31) != 0 ? z : -z;
}

// Returns the weight of an action with exp(y - max y) = e, which is at most 1. The weight of NaN is
// 0.
static inline uint64_t
policy_draw_weight(float e)
{
    return (uint64_t)(policy_clamp(e, 0.0f, 1.0f) * 0x1p32f);
}

// Samples an action from the softmax of y[n], or returns 0 if a number is NaN; *log_prob is the
// log-probability of the action.
static inline int32_t
policy_draw_softmax(const float *y, uint32_t n, policy_rng *rng, float *log_prob)
{
    float most = y[0], mass = 0.0f;
    for (uint32_t a = 1; a < n; a++) {
        most = y[a] > most ? y[a] : most;
    }
    uint64_t total = 0, at = policy_rng_u32(rng);
    at = at << 32 | policy_rng_u32(rng);
    for (uint32_t a = 0; a < n; a++) {
        float e = policy_exp(y[a] - most);
        mass += e;
        total += policy_draw_weight(e);
    }
    uint32_t action = 0;
    at = total > 0 ? at % total : 0;
    for (uint32_t a = 0; a < n; a++) {
        uint64_t weight = policy_draw_weight(policy_exp(y[a] - most));
        if (at < weight) {
            action = a;
            break;
        }
        at -= weight;
    }
    *log_prob = (y[action] - most) - policy_log(mass);
    return (int32_t)action;
}

// Samples y[n] from N(mean, s) with s = exp(log_std), where log_std is clamped to
// [POLICY_LOG_STD_MIN, POLICY_LOG_STD_MAX]. Returns the log-probability; the sum begins with
// dimension 0.
static inline float
policy_draw_gaussian(const float *mean, const float *log_std, uint32_t n, policy_rng *rng, float *y)
{
    float log_prob = 0.0f;
    for (uint32_t i = 0; i < n; i++) {
        float log_s = policy_clamp(log_std[i], POLICY_LOG_STD_MIN, POLICY_LOG_STD_MAX);
        float s = policy_exp(log_s);
        y[i] = mean[i] + s * policy_rng_normal(rng);
        float z = (y[i] - mean[i]) / s;
        log_prob += (-0.5f * (z * z) - log_s) - POLICY_LOG_SQRT_2PI;
    }
    return log_prob;
}

// Returns what squashing subtracts from a log-probability: log(1 - tanh(u)^2) = 2 (log 2 - |u| -
// log(1 + exp(-2 |u|))). The direct form is inaccurate for |u| >= 5.
static inline float
policy_log_squash(float u)
{
    float a = u < 0.0f ? -u : u;
    return 2.0f * ((POLICY_LN_2 - a) - policy_log(1.0f + policy_exp(-2.0f * a)));
}

#endif // POLICY_POLICY_DRAW_H
