#ifndef TESTS_POLICY_EXACT_ACTIVATION_H
#define TESTS_POLICY_EXACT_ACTIVATION_H

#include <math.h>

#include "policy/policy_activations.h"

// The activations and their derivatives in double precision, by the formulas of their papers, for
// tests that compare with them. A new row of POLICY_ACTIVATIONS does not compile without both.

#define EXACT(name, value, derivative)                                                             \
    static inline double exact_##name(double x)                                                    \
    {                                                                                              \
        return value;                                                                              \
    }                                                                                              \
    static inline double exact_##name##_slope(double x)                                            \
    {                                                                                              \
        return derivative;                                                                         \
    }

#define EXACT_ROOT   0.79788456080286535588 // sqrt(2 / pi)
#define EXACT_NORMAL 0.39894228040143267794 // 1 / sqrt(2 pi)
#define EXACT_HALF   0.70710678118654752440 // sqrt(1 / 2)

static inline double
exact_twice(double x) // the argument of gelu_tanh's sigmoid
{
    return 2 * EXACT_ROOT * (x + 0.044715 * x * x * x);
}

static inline double
exact_part(double x) // tanh(softplus(x)), without overflow
{
    double e = exp(-fabs(x));
    double up = x > 0 ? 1 + 2 * e : e * (e + 2);
    return up / (up + 2 * (x > 0 ? e * e : 1));
}

EXACT(linear, x, 0 * x + 1)
EXACT(relu, x > 0 ? x : 0, x > 0 ? 1 : 0)
EXACT(tanh, tanh(x), 1 - tanh(x) * tanh(x))
EXACT(elu, x > 0 ? x : expm1(x), x > 0 ? 1 : exp(x))
EXACT(sigmoid, 1 / (1 + exp(-x)), exact_sigmoid(x) * exact_sigmoid(-x))
EXACT(silu, x *exact_sigmoid(x), exact_sigmoid(x) * (1 + x * exact_sigmoid(-x)))
EXACT(gelu, x / 2 * erfc(-x * EXACT_HALF),
      erfc(-x *EXACT_HALF) / 2 + x * EXACT_NORMAL * exp(-x * x / 2))
EXACT(gelu_tanh, x *exact_sigmoid(exact_twice(x)),
      exact_sigmoid(exact_twice(x)) *
          (1 + exact_sigmoid(-exact_twice(x)) * 2 * EXACT_ROOT * (x + 3 * 0.044715 * x * x * x)))
EXACT(softplus, fmax(x, 0) + log1p(exp(-fabs(x))), exact_sigmoid(x))
EXACT(mish, x *exact_part(x),
      exact_part(x) + x * (1 - exact_part(x) * exact_part(x)) * exact_sigmoid(x))
EXACT(leaky_relu, x > 0 ? x : 0.01 * x, x > 0 ? 1 : 0.01)
EXACT(relu6, fmin(fmax(x, 0), 6), x > 0 && x < 6 ? 1 : 0)
EXACT(hard_swish, x *exact_relu6(x + 3) / 6, x <= -3 ? 0 : x < 3 ? (2 * x + 3) / 6 : 1)

static inline double
exact_activation(policy_activation activation, double x)
{
#define EXACT_VALUE(ENUM, name, version) exact_##name,
    static double (*const values[])(double) = {POLICY_ACTIVATIONS(EXACT_VALUE)};
#undef EXACT_VALUE
    return values[activation](x);
}

static inline double
exact_slope(policy_activation activation, double x)
{
#define EXACT_SLOPE(ENUM, name, version) exact_##name##_slope,
    static double (*const slopes[])(double) = {POLICY_ACTIVATIONS(EXACT_SLOPE)};
#undef EXACT_SLOPE
    return slopes[activation](x);
}

#endif // TESTS_POLICY_EXACT_ACTIVATION_H
