// Compiled once per instruction set; NN_VEC_TABLE is the name of the table (nn/meson.build). Plain
// loops without calls and branches, for the compiler to vectorise.
#include "nn/nn_vec.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "nn/nn_vec_math.h"
#include "nn/nn_vec_tables.h"

#define NORM_EPSILON 1e-5f

// tanh(|x|) = (1 - e) / (1 + e), e = exp(-2 |x|); within 3 ulp, 1 beyond 10. e - 1 as in
// expm1_below_0, but half of r: -|x| = k ln 2 / 2 + h, and r = 2 h.
static inline float
tanh_of(float x)
{
    float down = float_of(bits_of(x) | 0x80000000u);
    down = down < -10.0f ? -10.0f : down; // NaN stays NaN
    float shifted = FMA(down, 2.0f * LOG2_E, ROUND_TO_EXPONENT);
    float half = FMA(shifted - ROUND_TO_EXPONENT, -0.5f * LN2, down);
    float em1 = expm1_near_0(2.0f * half);
    float power = power_of(shifted);
    float above = FMA(-power, em1, 1.0f - power), below = FMA(power, em1, power + 1.0f);
    float y = above * inverse_from_1_to_2(below);
    return float_of(bits_of(y) | (bits_of(x) & 0x80000000u));
}

static inline float
elu_of(float x)
{
    // Any number for x > 0. At -25 it is -1 already.
    float below = expm1_below_0(x < -25.0f ? -25.0f : x);
    return x <= 0.0f ? below : x; // NaN stays NaN
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

// activation'(.) * d, told from the activation's output y.
static inline float
linear_slope(float d, float y)
{
    (void)y;
    return d;
}

static inline float
relu_slope(float d, float y)
{
    return y > 0.0f ? d : 0.0f;
}

static inline float
tanh_slope(float d, float y)
{
    return d * FMA(-y, y, 1.0f);
}

// elu'(h) = 1 above 0, exp(h) = y + 1 below.
static inline float
elu_slope(float d, float y)
{
    return d * (y > 0.0f ? 1.0f : y + 1.0f);
}

// Four rows at a time, so that db is read and written once for four; the sum of a column still runs
// from the first row to the last, one by one.
#define BACKWARD(name)                                                                             \
    static void vec_##name##_backward(float *restrict dy, const float *restrict y, size_t n)       \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            dy[i] = name##_slope(dy[i], y[i]);                                                     \
        }                                                                                          \
    }                                                                                              \
    static void vec_##name##_backward_sums(float *restrict dy, float *restrict db,                 \
                                           const float *restrict y, uint32_t B, uint32_t O)        \
    {                                                                                              \
        size_t row = 0;                                                                            \
        for (; row + 4 <= B; row += 4) {                                                           \
            float *d = dy + row * O;                                                               \
            const float *h = y + row * O;                                                          \
            for (size_t o = 0, p = O, q = 2 * (size_t)O, r = 3 * (size_t)O; o < O;                 \
                 o++, p++, q++, r++) {                                                             \
                d[o] = name##_slope(d[o], h[o]);                                                   \
                d[p] = name##_slope(d[p], h[p]);                                                   \
                d[q] = name##_slope(d[q], h[q]);                                                   \
                d[r] = name##_slope(d[r], h[r]);                                                   \
                db[o] = (((db[o] + d[o]) + d[p]) + d[q]) + d[r];                                   \
            }                                                                                      \
        }                                                                                          \
        for (; row < B; row++) {                                                                   \
            float *d = dy + row * O;                                                               \
            const float *h = y + row * O;                                                          \
            for (size_t o = 0; o < O; o++) {                                                       \
                d[o] = name##_slope(d[o], h[o]);                                                   \
                db[o] += d[o];                                                                     \
            }                                                                                      \
        }                                                                                          \
    }
BACKWARD(linear)
BACKWARD(relu)
BACKWARD(tanh)
BACKWARD(elu)

static float
vec_sum_of_squares(const float *x, size_t n)
{
    float total;
#define ADD_SQUARE(sum, i) FMA(x[i], x[i], sum)
    LANES_SUM(total, n, ADD_SQUARE);
#undef ADD_SQUARE
    return total;
}

// Some rows at a time, so that they are in the nearest cache for every step, and a row's sums need
// not wait for those of the row before. The steps are functions of their own: there the compiler
// takes restrict at its word.
#define NORM_ROWS 8
#define NORM_STEP static __attribute__((noinline)) void

// Adds b to the row; the row's mean, and 1 / sqrt(variance + epsilon).
NORM_STEP
norm_moments(float *restrict mean, float *restrict scale, float *restrict at,
             const float *restrict b, size_t O)
{
    float sum, squares;
#define ADD_BIASED(sum, i) ((sum) + (at[i] += b[i]))
    LANES_SUM(sum, O, ADD_BIASED);
#undef ADD_BIASED
    const float center = sum / (float)O;
#define ADD_SQUARE(sum, i) FMA(at[i] - center, at[i] - center, sum)
    LANES_SUM(squares, O, ADD_SQUARE);
#undef ADD_SQUARE
    *mean = center;
    *scale = 1.0f / sqrtf(squares / (float)O + NORM_EPSILON);
}

#define BIAS_NORM(name)                                                                            \
    NORM_STEP                                                                                      \
    norm_apply_##name(float *restrict at, float *restrict unit, const float *restrict gain,        \
                      const float *restrict offset, float mean, float scale, size_t O)             \
    {                                                                                              \
        for (size_t o = 0; o < O; o++) {                                                           \
            float u = (at[o] - mean) * scale;                                                      \
            unit[o] = u;                                                                           \
            at[o] = name##_of(FMA(u, gain[o], offset[o]));                                         \
        }                                                                                          \
    }                                                                                              \
    NORM_STEP                                                                                      \
    norm_finish_##name(float *restrict at, const float *restrict gain,                             \
                       const float *restrict offset, float mean, float scale, size_t O)            \
    {                                                                                              \
        for (size_t o = 0; o < O; o++) {                                                           \
            at[o] = name##_of(FMA((at[o] - mean) * scale, gain[o], offset[o]));                    \
        }                                                                                          \
    }                                                                                              \
    static void vec_bias_norm_##name(float *y, float *normalised, float *inverse_std,              \
                                     const float *b, const float *gain, const float *offset,       \
                                     uint32_t B, uint32_t O)                                       \
    {                                                                                              \
        float mean[NORM_ROWS];                                                                     \
        for (size_t first = 0; first < B; first += NORM_ROWS) {                                    \
            size_t end = B - first < NORM_ROWS ? B : first + NORM_ROWS;                            \
            for (size_t row = first; row < end; row++) {                                           \
                norm_moments(mean + row - first, inverse_std + row, y + row * O, b, O);            \
            }                                                                                      \
            for (size_t row = first; row < end && normalised == NULL; row++) {                     \
                norm_finish_##name(y + row * O, gain, offset, mean[row - first], inverse_std[row], \
                                   O);                                                             \
            }                                                                                      \
            for (size_t row = first; row < end && normalised != NULL; row++) {                     \
                norm_apply_##name(y + row * O, normalised + row * O, gain, offset,                 \
                                  mean[row - first], inverse_std[row], O);                         \
            }                                                                                      \
        }                                                                                          \
    }
BIAS_NORM(linear)
BIAS_NORM(relu)
BIAS_NORM(tanh)
BIAS_NORM(elu)

// With d at the norm's output, g = d * gain and u the normalised row:
// dh = inverse_std * (g - mean(g) - u * mean(g * u)).
NORM_STEP
norm_means(float *restrict mean, float *restrict along, const float *restrict g,
           const float *restrict unit, size_t O)
{
    float sum, projection;
#define ADD(sum, i) ((sum) + g[i])
    LANES_SUM(sum, O, ADD);
#undef ADD
#define ADD_PRODUCT(sum, i) FMA(g[i], unit[i], sum)
    LANES_SUM(projection, O, ADD_PRODUCT);
#undef ADD_PRODUCT
    *mean = sum / (float)O;
    *along = projection / (float)O;
}

NORM_STEP
norm_below(float *restrict at, float *restrict db, const float *restrict unit, float mean,
           float along, float scale, size_t O)
{
    for (size_t o = 0; o < O; o++) {
        at[o] = scale * FMA(-unit[o], along, at[o] - mean);
        db[o] += at[o];
    }
}

#define NORM_BACKWARD(name)                                                                        \
    NORM_STEP                                                                                      \
    norm_above_##name(float *restrict at, float *restrict dgain, float *restrict doffset,          \
                      const float *restrict h, const float *restrict unit,                         \
                      const float *restrict gain, size_t O)                                        \
    {                                                                                              \
        for (size_t o = 0; o < O; o++) {                                                           \
            float d = name##_slope(at[o], h[o]);                                                   \
            doffset[o] += d;                                                                       \
            dgain[o] = FMA(d, unit[o], dgain[o]);                                                  \
            at[o] = d * gain[o];                                                                   \
        }                                                                                          \
    }                                                                                              \
    static void vec_##name##_norm_backward(float *dy, const nn_norm_sums *sums, const float *y,    \
                                           const float *normalised, const float *inverse_std,      \
                                           const float *gain, uint32_t B, uint32_t O)              \
    {                                                                                              \
        float mean[NORM_ROWS], along[NORM_ROWS];                                                   \
        for (size_t first = 0; first < B; first += NORM_ROWS) {                                    \
            size_t end = B - first < NORM_ROWS ? B : first + NORM_ROWS;                            \
            for (size_t row = first; row < end; row++) {                                           \
                norm_above_##name(dy + row * O, sums->dgain, sums->doffset, y + row * O,           \
                                  normalised + row * O, gain, O);                                  \
            }                                                                                      \
            for (size_t row = first; row < end; row++) {                                           \
                norm_means(mean + row - first, along + row - first, dy + row * O,                  \
                           normalised + row * O, O);                                               \
            }                                                                                      \
            for (size_t row = first; row < end; row++) {                                           \
                norm_below(dy + row * O, sums->db, normalised + row * O, mean[row - first],        \
                           along[row - first], inverse_std[row], O);                               \
            }                                                                                      \
        }                                                                                          \
    }
NORM_BACKWARD(linear)
NORM_BACKWARD(relu)
NORM_BACKWARD(tanh)
NORM_BACKWARD(elu)

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
        float first = flush(FMA(f.beta1, m[i], one_minus_beta1 * g));
        float second = flush(FMA(f.beta2, v[i], one_minus_beta2 * (g * g)));
        m[i] = first;
        v[i] = second;
        params[i] -= f.rate * first / FMA(sqrtf(second), f.second_moment_factor, f.epsilon);
    }
}

static void
vec_blend(float *restrict to, const float *restrict from, float rate, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        to[i] = FMA(rate, from[i] - to[i], to[i]);
    }
}

#define NAME_TEXT(name)  #name
#define NAME_VALUE(name) NAME_TEXT(name)

const nn_vec_ops NN_VEC_TABLE = {
    .name = NAME_VALUE(NN_VEC_TABLE),
    .bias = {vec_bias_linear, vec_bias_relu, vec_bias_tanh, vec_bias_elu},
    .bias_norm = {vec_bias_norm_linear, vec_bias_norm_relu, vec_bias_norm_tanh, vec_bias_norm_elu},
    .backward = {vec_linear_backward, vec_relu_backward, vec_tanh_backward, vec_elu_backward},
    .backward_sums = {vec_linear_backward_sums, vec_relu_backward_sums, vec_tanh_backward_sums,
                      vec_elu_backward_sums},
    .norm_backward = {vec_linear_norm_backward, vec_relu_norm_backward, vec_tanh_norm_backward,
                      vec_elu_norm_backward},
    .column_sums = vec_column_sums,
    .sum_of_squares = vec_sum_of_squares,
    .adam = vec_adam,
    .blend = vec_blend,
};
