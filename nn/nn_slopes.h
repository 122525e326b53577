#ifndef NN_NN_SLOPES_H
#define NN_NN_SLOPES_H

#include "policy/policy_curves.h"

// The derivatives of the activations: nn_NAME_slope(x) is that of policy_NAME at x, its input.
// curves.py translates the functions to SIMD, so they use only the C that policy_curves.h allows.
//
// Errors are below 2e-6 absolute; tests/nn/test_nn_vec.c bounds them. Where the exponential is
// clamped (|x| > 87), slopes that approach 0 stay at about 1e-38 |x|. A slope at NaN is NaN or a
// finite number.

#define NN_NORMAL_PEAK 0x1.988454p-2f // 1 / sqrt(2 pi)

static inline float
nn_linear_slope(float x)
{
    return 0.0f * x + 1.0f;
}

static inline float
nn_relu_slope(float x)
{
    return x > 0.0f ? 1.0f : 0.0f;
}

static inline float
nn_tanh_slope(float x)
{
    float y = policy_tanh(x);
    return 1.0f - y * y;
}

static inline float
nn_elu_slope(float x)
{
    return x > 0.0f ? 1.0f : policy_exp(x);
}

// s + x s (1 - s), where s = sigmoid(x)
static inline float
nn_silu_slope(float x)
{
    float e = policy_exp(-policy_abs(x));
    float below = 1.0f + e;
    float s = (x > 0.0f ? 1.0f : e) / below;
    return s + x * (e / (below * below));
}

// Phi(x) + x phi(x), where phi is the density of the standard normal distribution. Both are 0 or 1
// beyond |x| = 13.5.
static inline float
nn_gelu_slope(float x)
{
    float a = policy_abs(x);
    a = 13.5f < a ? 13.5f : a;
    float e = policy_exp(-0.5f * (a * a));
    float tail = policy_normal_tail(a) * e;
    float cumulated = x > 0.0f ? 1.0f - tail : tail;
    return cumulated + policy_signed(NN_NORMAL_PEAK * (a * e), x);
}

// s + x s (1 - s) u', where s = sigmoid(u) and u = C3 x^3 + C1 x. x is clamped so that x u' stays
// finite; s is 0 or 1 there.
static inline float
nn_gelu_tanh_slope(float x)
{
    x = -16.0f > x ? -16.0f : x;
    x = 16.0f < x ? 16.0f : x;
    float square = x * x;
    float u = x * (POLICY_GELU_C3 * square + POLICY_GELU_C1);
    float e = policy_exp(-policy_abs(u));
    float below = 1.0f + e;
    float s = (u > 0.0f ? 1.0f : e) / below;
    float along = x * (3.0f * POLICY_GELU_C3 * square + POLICY_GELU_C1);
    return s + along * (e / (below * below));
}

static inline float
nn_sigmoid_slope(float x)
{
    float e = policy_exp(-policy_abs(x));
    float below = 1.0f + e;
    return e / (below * below);
}

static inline float
nn_softplus_slope(float x)
{
    return policy_sigmoid(x);
}

// t + x (1 - t^2) sigmoid(x), where t = tanh(softplus(x)) = n / (n + 2) as in policy_mish, and
// 1 - t^2 = 4 (n + 1) / (n + 2)^2 with n + 1 = (exp(x) + 1)^2.
static inline float
nn_mish_slope(float x)
{
    float e = policy_exp(-policy_abs(x));
    float above = x > 0.0f ? 1.0f + (e + e) : e * (e + 2.0f);
    float square = x > 0.0f ? e * e : 1.0f;
    float below = above + (square + square);
    float rest = x > 0.0f ? square : e;
    return above / below + x * (4.0f * (rest * (1.0f + e)) / (below * below));
}

static inline float
nn_leaky_relu_slope(float x)
{
    return x > 0.0f ? 1.0f : 0.01f;
}

static inline float
nn_relu6_slope(float x)
{
    float slope = x > 0.0f ? 1.0f : 0.0f;
    return x < 6.0f ? slope : 0.0f;
}

// 0 up to -3, 1 from 3 on, and (2 x + 3) / 6 between them.
static inline float
nn_hard_swish_slope(float x)
{
    float slope = (x + x + 3.0f) / 6.0f;
    slope = x > -3.0f ? slope : 0.0f;
    return x < 3.0f ? slope : 1.0f;
}

#endif // NN_NN_SLOPES_H
