// Compiled once per instruction set; NN_VEC_TABLE is the name of the table (nn/meson.build). Plain
// loops without calls and branches, for the compiler to vectorise.
#include "nn/nn_vec.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "nn/nn_vec_math.h"
#include "nn/nn_vec_tables.h"

#define NORM_EPSILON 1e-5f

// tanh(x) = t / (t + 2), t = exp(2x) - 1; within 3 ulp, +-1 beyond 10.
static inline float
tanh_of(float x)
{
    x = x < -10.0f ? -10.0f : x;
    x = x > 10.0f ? 10.0f : x;
    float t = expm1_of(2.0f * x);
    return t / (t + 2.0f);
}

static inline float
elu_of(float x)
{
    float below = expm1_of(x);
    return x > 0.0f ? x : below;
}

// Written so that NaN stays NaN.
static inline float
relu_of(float x)
{
    return x < 0.0f ? 0.0f : x;
}

static inline float
linear_of(float x)
{
    return x;
}

#define BIAS_ACTIVATION(name)                                                                      \
    static void vec_bias_##name(float *restrict y, const float *restrict b, uint32_t B,            \
                                uint32_t O)                                                        \
    {                                                                                              \
        for (size_t row = 0; row < B; row++) {                                                     \
            float *restrict at = y + row * O;                                                      \
            for (size_t o = 0; o < O; o++) {                                                       \
                at[o] = name##_of(at[o] + b[o]);                                                   \
            }                                                                                      \
        }                                                                                          \
    }
BIAS_ACTIVATION(linear)
BIAS_ACTIVATION(relu)
BIAS_ACTIVATION(tanh)
BIAS_ACTIVATION(elu)

#define ACTIVATION(name)                                                                           \
    static void vec_##name(float *y, size_t n)                                                     \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            y[i] = name##_of(y[i]);                                                                \
        }                                                                                          \
    }
ACTIVATION(relu)
ACTIVATION(tanh)
ACTIVATION(elu)

static void
vec_relu_backward(float *restrict dy, const float *restrict y, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        dy[i] = y[i] > 0.0f ? dy[i] : 0.0f;
    }
}

static void
vec_tanh_backward(float *restrict dy, const float *restrict y, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        dy[i] *= 1.0f - y[i] * y[i];
    }
}

// elu'(h) = 1 above 0, exp(h) = y + 1 below.
static void
vec_elu_backward(float *restrict dy, const float *restrict y, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float slope = y[i] > 0.0f ? 1.0f : y[i] + 1.0f;
        dy[i] *= slope;
    }
}

static float
vec_sum_of_squares(const float *x, size_t n)
{
    float total;
#define SQUARE(i) (x[i] * x[i])
    LANES_SUM(total, n, SQUARE);
#undef SQUARE
    return total;
}

static void
vec_bias_norm(float *restrict y, float *restrict normalised, float *restrict inverse_std,
              const float *restrict b, const float *restrict gain, const float *restrict offset,
              uint32_t B, uint32_t O)
{
    for (size_t row = 0; row < B; row++) {
        float *restrict at = y + row * O;
        float *restrict unit = normalised + row * O;
        for (size_t o = 0; o < O; o++) {
            at[o] += b[o];
        }
        float sum, squares;
#define VALUE(i) at[i]
        LANES_SUM(sum, O, VALUE);
#undef VALUE
        float mean = sum / (float)O;
        for (size_t o = 0; o < O; o++) {
            unit[o] = at[o] - mean;
        }
#define SQUARE(i) (unit[i] * unit[i])
        LANES_SUM(squares, O, SQUARE);
#undef SQUARE
        float scale = 1.0f / sqrtf(squares / (float)O + NORM_EPSILON);
        inverse_std[row] = scale;
        for (size_t o = 0; o < O; o++) {
            unit[o] *= scale;
            at[o] = unit[o] * gain[o] + offset[o];
        }
    }
}

// With g = dy * gain and u the normalised row: dh = inverse_std * (g - mean(g) - u * mean(g * u)).
static void
vec_norm_backward(float *restrict dy, float *restrict dgain, float *restrict doffset,
                  const float *restrict normalised, const float *restrict inverse_std,
                  const float *restrict gain, uint32_t B, uint32_t O)
{
    memset(dgain, 0, O * sizeof(*dgain));
    memset(doffset, 0, O * sizeof(*doffset));
    for (size_t row = 0; row < B; row++) {
        float *restrict at = dy + row * O;
        const float *restrict unit = normalised + row * O;
        for (size_t o = 0; o < O; o++) {
            doffset[o] += at[o];
            dgain[o] += at[o] * unit[o];
            at[o] *= gain[o];
        }
        float sum, projection;
#define VALUE(i) at[i]
        LANES_SUM(sum, O, VALUE);
#undef VALUE
#define PRODUCT(i) (at[i] * unit[i])
        LANES_SUM(projection, O, PRODUCT);
#undef PRODUCT
        float mean = sum / (float)O;
        float along = projection / (float)O;
        float scale = inverse_std[row];
        for (size_t o = 0; o < O; o++) {
            at[o] = scale * (at[o] - mean - unit[o] * along);
        }
    }
}

static void
vec_column_sums(float *restrict db, const float *restrict dy, uint32_t B, uint32_t O)
{
    memset(db, 0, O * sizeof(*db));
    for (size_t row = 0; row < B; row++) {
        const float *restrict at = dy + row * O;
        for (size_t o = 0; o < O; o++) {
            db[o] += at[o];
        }
    }
}

// A moment whose gradient stays 0 would decay into subnormal numbers and stay there, where many
// CPUs are slow: below the smallest normal number it becomes 0.
static inline float
flush(float x)
{
    return fabsf(x) < FLT_MIN ? 0.0f : x;
}

static void
vec_adam(float *restrict params, float *restrict m, float *restrict v,
         const float *restrict gradient, size_t n, const nn_adam_factors *restrict factors)
{
    const nn_adam_factors f = *factors;
    const float one_minus_beta1 = 1.0f - f.beta1;
    const float one_minus_beta2 = 1.0f - f.beta2;
    for (size_t i = 0; i < n; i++) {
        float g = gradient[i] * f.gradient_scale;
        float first = flush(f.beta1 * m[i] + one_minus_beta1 * g);
        float second = flush(f.beta2 * v[i] + one_minus_beta2 * (g * g));
        m[i] = first;
        v[i] = second;
        params[i] -= f.rate * first / (sqrtf(second) * f.second_moment_factor + f.epsilon);
    }
}

static void
vec_blend(float *restrict to, const float *restrict from, float rate, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        to[i] += rate * (from[i] - to[i]);
    }
}

#define NAME_TEXT(name)  #name
#define NAME_VALUE(name) NAME_TEXT(name)

const nn_vec_ops NN_VEC_TABLE = {
    .name = NAME_VALUE(NN_VEC_TABLE),
    .bias_linear = vec_bias_linear,
    .bias_relu = vec_bias_relu,
    .bias_tanh = vec_bias_tanh,
    .bias_elu = vec_bias_elu,
    .bias_norm = vec_bias_norm,
    .relu = vec_relu,
    .tanh = vec_tanh,
    .elu = vec_elu,
    .relu_backward = vec_relu_backward,
    .tanh_backward = vec_tanh_backward,
    .elu_backward = vec_elu_backward,
    .norm_backward = vec_norm_backward,
    .column_sums = vec_column_sums,
    .sum_of_squares = vec_sum_of_squares,
    .adam = vec_adam,
    .blend = vec_blend,
};
