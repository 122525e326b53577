// The loops of training that are not matrix products. Compiled once per instruction set;
// NN_VEC_TABLE is the name of the table (nn/meson.build). The loops are plain, without calls and
// branches, so that the compiler vectorises them; with AVX-512 some are intrinsics
// (nn_vec_avx512.h).
#include "nn/nn_vec.h"

#include <float.h>
#include <math.h>
#include <string.h>

#if defined(__AVX512F__)
#include "nn/nn_vec_avx512.h"
#else
#include "nn/nn_lanes.h"
#endif
#include "nn/nn_vec_curves.h"
#include "nn/nn_vec_tables.h"

#define NORM_EPSILON 1e-5f // as policy_spec.h defines layer norm

// tanh(|x|) = (1 - e) / (1 + e) with e = exp(-2 |x|); within 3 ulp, and exactly 1 beyond 10. e is
// computed as in expm1_below_0.
#if !defined(__AVX512F__)
static inline float
tanh_of(float x)
{
    float down = oct_float_of(oct_bits_of(x) | 0x80000000u);
    down = down < -10.0f ? -10.0f : down; // NaN stays NaN
    float shifted = FMA(down, 2.0f * LOG2_E, ROUND_TO_EXPONENT);
    float em1 = expm1_near_0(FMA(shifted - ROUND_TO_EXPONENT, -LN2, down + down));
    float power = power_of(shifted);
    float above = FMA(-power, em1, 1.0f - power), below = FMA(power, em1, power + 1.0f);
    float y = divided_by_1_to_2(above, below);
    return oct_float_of(oct_bits_of(y) | (oct_bits_of(x) & 0x80000000u));
}

static inline float
elu_of(float x)
{
    // For x > 0 the result is unspecified and not used. Below -25 the result is exactly -1.
    float below = expm1_below_0(x < -25.0f ? -25.0f : x);
    return x <= 0.0f ? below : x; // NaN stays NaN
}
#endif

// The comparison is written so that NaN stays NaN.
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
// BIAS_CURVE is BIAS_ACTIVATION for activations of more than an instruction or two.
#if defined(__AVX512F__)
#define BIAS_CURVE(name)                                                                           \
    static void vec_bias_##name(float *restrict y, const float *restrict b, uint32_t B,            \
                                uint32_t O)                                                        \
    {                                                                                              \
        for (size_t row = 0; row < B; row++, y += O) {                                             \
            size_t o = 0;                                                                          \
            for (; o + 16 <= O; o += 16) {                                                         \
                __m512 x = _mm512_add_ps(_mm512_loadu_ps(y + o), _mm512_loadu_ps(b + o));          \
                _mm512_storeu_ps(y + o, name##16(x));                                              \
            }                                                                                      \
            if (o < O) {                                                                           \
                const __mmask16 rest = first16(O - o);                                             \
                __m512 x = _mm512_maskz_loadu_ps(rest, y + o);                                     \
                x = _mm512_add_ps(x, _mm512_maskz_loadu_ps(rest, b + o));                          \
                _mm512_mask_storeu_ps(y + o, rest, name##16(x));                                   \
            }                                                                                      \
        }                                                                                          \
    }
#else
#define BIAS_CURVE BIAS_ACTIVATION
#endif
BIAS_ACTIVATION(linear)
BIAS_ACTIVATION(relu)
BIAS_CURVE(tanh)
BIAS_CURVE(elu)

// activation'(.) * d, computed from the activation's output y.
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

// elu'(h) is 1 for h > 0, and exp(h) = y + 1 otherwise.
static inline float
elu_slope(float d, float y)
{
    return d * (y > 0.0f ? 1.0f : y + 1.0f);
}

// Four rows at a time, so that db is read and written once for four rows. The sum of a column still
// adds the rows one by one, from the first to the last.
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
#define ADD_SQUARES(sum, i, count) lanes_add_products(sum, x + (i), x + (i), count)
    LANES_SUM(total, n, ADD_SQUARES);
#undef ADD_SQUARES
    return total;
}

// The steps of a norm. They take ROWS_ASIDE rows at a time, so that the rows are in the nearest
// cache for every step, and the sums of a row do not wait for those of the previous row. Each step
// is a separate function, because gcc trusts restrict only on parameters.
#define NORM_STEP static __attribute__((noinline)) void

// Rows of a batch that are computed side by side: rows [first, first + rows), which begin at number
// `at`.
typedef struct norm_group {
    size_t first, rows, at;
} norm_group;

static inline norm_group
group_of(size_t group, size_t B, size_t O)
{
    const size_t first = group * ROWS_ASIDE;
    const size_t rows = B - first < ROWS_ASIDE ? B - first : ROWS_ASIDE;
    return (norm_group){first, rows, first * O};
}

// x += b; sum += x
static inline void
lanes_add_biased(nn_lanes16 *sum, float *x, const float *b, size_t count)
{
    nn_lanes16 a, bias;
    lanes_load(&a, x, count, 0.0f);
    lanes_load(&bias, b, count, 0.0f);
    EACH_PART
    {
        a.part[part] += bias.part[part];
        sum->part[part] += a.part[part];
    }
    lanes_store(x, &a, count);
}

// sum += (x - center)^2
static inline void
lanes_add_deviations(nn_lanes16 *sum, const float *x, float center, size_t count)
{
    nn_lanes16 a;
    lanes_load(&a, x, count, center);
    EACH_PART
    {
        a.part[part] -= center;
    }
    lanes_fma(sum, &a, &a);
}

// Adds b to rows of y and computes the mean of each row.
NORM_STEP
norm_mean(float mean[ROWS_ASIDE], float *restrict y, const float *restrict b, size_t rows, size_t O)
{
    float total[ROWS_ASIDE];
#if defined(__AVX512F__)
    if (rows == ROWS_ASIDE) {
        group_bias(total, y, b, O);
    } else
#endif
    {
        nn_lanes8 parts[ROWS_ASIDE] = {{0}};
        for (size_t row = 0; row < rows; row++) {
            float *restrict at = y + row * O;
#define ADD_BIASED(sum, i, count) lanes_add_biased(sum, at + (i), b + (i), count)
            LANES_PARTS(&parts[row], O, ADD_BIASED);
#undef ADD_BIASED
        }
        rows_totals(total, parts);
    }
    for (size_t row = 0; row < ROWS_ASIDE; row++) {
        mean[row] = total[row] / (float)O;
    }
}

// Computes 1 / sqrt(variance + epsilon) of each row.
NORM_STEP
norm_scale(float *restrict inverse_std, const float mean[ROWS_ASIDE], const float *restrict y,
           size_t rows, size_t O)
{
    float total[ROWS_ASIDE];
#if defined(__AVX512F__)
    if (rows == ROWS_ASIDE) {
        group_squares(total, mean, y, O);
    } else
#endif
    {
        nn_lanes8 parts[ROWS_ASIDE] = {{0}};
        for (size_t row = 0; row < rows; row++) {
            const float *restrict at = y + row * O;
            const float center = mean[row];
#define ADD_DEVIATIONS(sum, i, count) lanes_add_deviations(sum, at + (i), center, count)
            LANES_PARTS(&parts[row], O, ADD_DEVIATIONS);
#undef ADD_DEVIATIONS
        }
        rows_totals(total, parts);
    }
    for (size_t row = 0; row < ROWS_ASIDE; row++) {
        total[row] = 1.0f / sqrtf(total[row] / (float)O + NORM_EPSILON);
    }
    memcpy(inverse_std, total, rows * sizeof(*total));
}

// One row of the norm: u = (y - center) * scale, stored in normalised if KEPT, and y = activation(u
// * gain + offset).
#if defined(__AVX512F__)
#define NORM_VECTOR(name, keep, some, load, store)                                                 \
    {                                                                                              \
        __m512 u = _mm512_sub_ps(load(some, y + o), all16(center));                                \
        u = _mm512_mul_ps(u, all16(scale));                                                        \
        keep(store(normalised + o, some, u));                                                      \
        __m512 x = _mm512_fmadd_ps(u, load(some, gain + o), load(some, offset + o));               \
        store(y + o, some, name##16(x));                                                           \
    }
#define LOAD_ALL(some, at)     _mm512_loadu_ps(at)
#define STORE_ALL(at, some, x) _mm512_storeu_ps(at, x)
#define NORM_ROW(name, keep)                                                                       \
    size_t o = 0;                                                                                  \
    for (; o + 16 <= O; o += 16) {                                                                 \
        NORM_VECTOR(name, keep, 0, LOAD_ALL, STORE_ALL)                                            \
    }                                                                                              \
    if (o < O) {                                                                                   \
        const __mmask16 rest = first16(O - o);                                                     \
        NORM_VECTOR(name, keep, rest, _mm512_maskz_loadu_ps, _mm512_mask_storeu_ps)                \
    }
#else
#define NORM_ROW(name, keep)                                                                       \
    for (size_t o = 0; o < O; o++) {                                                               \
        float u = (y[o] - center) * scale;                                                         \
        keep(normalised[o] = u);                                                                   \
        y[o] = name##_of(FMA(u, gain[o], offset[o]));                                              \
    }
#endif
#define KEPT(store) store
#define NOT_KEPT(store)

// Three groups of rows are in work at a time, each one step behind the next: means, scales,
// activations. So no group waits for its own sums and roots. norm_apply stores the normalised rows,
// norm_finish does not.
#define BIAS_NORM(name)                                                                            \
    NORM_STEP                                                                                      \
    norm_apply_##name(float *restrict y, float *restrict normalised, const float *restrict gain,   \
                      const float *restrict offset, const float *restrict mean,                    \
                      const float *restrict inverse_std, size_t rows, size_t O)                    \
    {                                                                                              \
        for (size_t row = 0; row < rows; row++, y += O, normalised += O) {                         \
            const float center = mean[row], scale = inverse_std[row];                              \
            NORM_ROW(name, KEPT)                                                                   \
        }                                                                                          \
    }                                                                                              \
    NORM_STEP                                                                                      \
    norm_finish_##name(float *restrict y, const float *restrict gain,                              \
                       const float *restrict offset, const float *restrict mean,                   \
                       const float *restrict inverse_std, size_t rows, size_t O)                   \
    {                                                                                              \
        for (size_t row = 0; row < rows; row++, y += O) {                                          \
            const float center = mean[row], scale = inverse_std[row];                              \
            NORM_ROW(name, NOT_KEPT)                                                               \
        }                                                                                          \
    }                                                                                              \
    static void vec_bias_norm_##name(float *y, float *normalised, float *inverse_std,              \
                                     const float *b, const float *gain, const float *offset,       \
                                     uint32_t B, uint32_t O)                                       \
    {                                                                                              \
        const size_t groups = ((size_t)B + ROWS_ASIDE - 1) / ROWS_ASIDE;                           \
        float mean[3][ROWS_ASIDE];                                                                 \
        for (size_t group = 0; group < groups + 2; group++) {                                      \
            if (group < groups) {                                                                  \
                const norm_group g = group_of(group, B, O);                                        \
                norm_mean(mean[group % 3], y + g.at, b, g.rows, O);                                \
            }                                                                                      \
            if (group >= 1 && group - 1 < groups) {                                                \
                const norm_group g = group_of(group - 1, B, O);                                    \
                norm_scale(inverse_std + g.first, mean[(group - 1) % 3], y + g.at, g.rows, O);     \
            }                                                                                      \
            if (group < 2) {                                                                       \
                continue;                                                                          \
            }                                                                                      \
            const norm_group g = group_of(group - 2, B, O);                                        \
            if (normalised == NULL) {                                                              \
                norm_finish_##name(y + g.at, gain, offset, mean[(group - 2) % 3],                  \
                                   inverse_std + g.first, g.rows, O);                              \
            } else {                                                                               \
                norm_apply_##name(y + g.at, normalised + g.at, gain, offset,                       \
                                  mean[(group - 2) % 3], inverse_std + g.first, g.rows, O);        \
            }                                                                                      \
        }                                                                                          \
    }
BIAS_NORM(linear)
BIAS_NORM(relu)
BIAS_NORM(tanh)
BIAS_NORM(elu)

// The means for the backward pass of a norm. With d at the norm's output, g = d * gain and the
// normalised row u, the gradient at the norm's input is inverse_std * (g - mean(g) - u * mean(g *
// u)). mean = mean(g), along = mean(g * u).
NORM_STEP
norm_means(float mean[ROWS_ASIDE], float along[ROWS_ASIDE], const float *restrict g,
           const float *restrict unit, size_t rows, size_t O)
{
    nn_lanes8 sums[ROWS_ASIDE] = {{0}}, projections[ROWS_ASIDE] = {{0}};
    for (size_t row = 0; row < rows; row++, g += O, unit += O) {
#define ADD(sum, i, count) lanes_add(sum, g + (i), count)
        LANES_PARTS(&sums[row], O, ADD);
#undef ADD
#define ADD_PRODUCTS(sum, i, count) lanes_add_products(sum, g + (i), unit + (i), count)
        LANES_PARTS(&projections[row], O, ADD_PRODUCTS);
#undef ADD_PRODUCTS
    }
    rows_totals(mean, sums);
    rows_totals(along, projections);
    for (size_t row = 0; row < ROWS_ASIDE; row++) {
        mean[row] /= (float)O;
        along[row] /= (float)O;
    }
}

// The last step of the backward pass: applies that formula to rows of `at`, which hold g, and adds
// the rows to db.
NORM_STEP
norm_below(float *restrict at, float *restrict db, const float *restrict unit,
           const float mean[ROWS_ASIDE], const float along[ROWS_ASIDE], const float *restrict scale,
           size_t rows, size_t O)
{
    size_t row = 0;
    for (; row + 4 <= rows; row += 4) {
        float *restrict h = at + row * O;
        const float *restrict u = unit + row * O;
        const float *m = mean + row, *a = along + row, *s = scale + row;
        for (size_t o = 0, p = O, q = 2 * O, r = 3 * O; o < O; o++, p++, q++, r++) {
            h[o] = s[0] * FMA(-u[o], a[0], h[o] - m[0]);
            h[p] = s[1] * FMA(-u[p], a[1], h[p] - m[1]);
            h[q] = s[2] * FMA(-u[q], a[2], h[q] - m[2]);
            h[r] = s[3] * FMA(-u[r], a[3], h[r] - m[3]);
            db[o] = (((db[o] + h[o]) + h[p]) + h[q]) + h[r];
        }
    }
    for (; row < rows; row++) {
        float *restrict h = at + row * O;
        const float *restrict u = unit + row * O;
        for (size_t o = 0; o < O; o++) {
            h[o] = scale[row] * FMA(-u[o], along[row], h[o] - mean[row]);
            db[o] += h[o];
        }
    }
}

// A whole group takes both steps with AVX-512.
#if defined(__AVX512F__)
#define WHOLE_GROUP(name)                                                                          \
    if (rows == ROWS_ASIDE) {                                                                      \
        group_above_##name(mean, along, dy + at, sums->dgain, sums->doffset, y + at,               \
                           normalised + at, gain, O);                                              \
        for (size_t row = 0; row < ROWS_ASIDE; row++) {                                            \
            mean[row] /= (float)O;                                                                 \
            along[row] /= (float)O;                                                                \
        }                                                                                          \
        group_below(dy + at, sums->db, normalised + at, mean, along, scale, O);                    \
        continue;                                                                                  \
    }
#else
#define WHOLE_GROUP(name)
#endif

// norm_above turns dy at the activation into g = d * gain and adds to dgain and doffset.
#define NORM_BACKWARD(name)                                                                        \
    NORM_STEP                                                                                      \
    norm_above_##name(float *restrict dy, float *restrict dgain, float *restrict doffset,          \
                      const float *restrict y, const float *restrict normalised,                   \
                      const float *restrict gain, size_t rows, size_t O)                           \
    {                                                                                              \
        size_t row = 0;                                                                            \
        for (; row + 4 <= rows; row += 4) {                                                        \
            float *restrict g = dy + row * O;                                                      \
            const float *restrict h = y + row * O, *restrict u = normalised + row * O;             \
            for (size_t o = 0, p = O, q = 2 * O, r = 3 * O; o < O; o++, p++, q++, r++) {           \
                float d0 = name##_slope(g[o], h[o]), d1 = name##_slope(g[p], h[p]);                \
                float d2 = name##_slope(g[q], h[q]), d3 = name##_slope(g[r], h[r]);                \
                doffset[o] = (((doffset[o] + d0) + d1) + d2) + d3;                                 \
                dgain[o] = FMA(d3, u[r], FMA(d2, u[q], FMA(d1, u[p], FMA(d0, u[o], dgain[o]))));   \
                g[o] = d0 * gain[o];                                                               \
                g[p] = d1 * gain[o];                                                               \
                g[q] = d2 * gain[o];                                                               \
                g[r] = d3 * gain[o];                                                               \
            }                                                                                      \
        }                                                                                          \
        for (; row < rows; row++) {                                                                \
            float *restrict g = dy + row * O;                                                      \
            const float *restrict h = y + row * O, *restrict u = normalised + row * O;             \
            for (size_t o = 0; o < O; o++) {                                                       \
                float d = name##_slope(g[o], h[o]);                                                \
                doffset[o] += d;                                                                   \
                dgain[o] = FMA(d, u[o], dgain[o]);                                                 \
                g[o] = d * gain[o];                                                                \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static void vec_##name##_norm_backward(float *dy, const nn_norm_sums *sums, const float *y,    \
                                           const float *normalised, const float *inverse_std,      \
                                           const float *gain, uint32_t B, uint32_t O)              \
    {                                                                                              \
        float mean[ROWS_ASIDE], along[ROWS_ASIDE];                                                 \
        for (size_t first = 0; first < B; first += ROWS_ASIDE) {                                   \
            const size_t rows = B - first < ROWS_ASIDE ? B - first : ROWS_ASIDE, at = first * O;   \
            const float *scale = inverse_std + first;                                              \
            WHOLE_GROUP(name)                                                                      \
            norm_above_##name(dy + at, sums->dgain, sums->doffset, y + at, normalised + at, gain,  \
                              rows, O);                                                            \
            norm_means(mean, along, dy + at, normalised + at, rows, O);                            \
            norm_below(dy + at, sums->db, normalised + at, mean, along, scale, rows, O);           \
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

// Sets subnormal numbers to 0. A moment whose gradient stays 0 would otherwise decay into them and
// stay there, and many CPUs are slow with subnormal numbers.
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
vec_flush_small(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        x[i] = fabsf(x[i]) < NN_VEC_SMALL ? 0.0f : x[i];
    }
}

static void
vec_add(float *restrict to, const float *restrict from, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        to[i] += from[i];
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

#define CURVE_FUNCTION(ENUM, name, version)          vec_##name##_curve,
#define CURVE_BACKWARD_FUNCTION(ENUM, name, version) vec_##name##_curve_backward,

const nn_vec_ops NN_VEC_TABLE = {
    .name = NAME_VALUE(NN_VEC_TABLE),
    .bias = {vec_bias_linear, vec_bias_relu, vec_bias_tanh, vec_bias_elu},
    .bias_norm = {vec_bias_norm_linear, vec_bias_norm_relu, vec_bias_norm_tanh, vec_bias_norm_elu},
    .backward = {vec_linear_backward, vec_relu_backward, vec_tanh_backward, vec_elu_backward},
    .backward_sums = {vec_linear_backward_sums, vec_relu_backward_sums, vec_tanh_backward_sums,
                      vec_elu_backward_sums},
    .norm_backward = {vec_linear_norm_backward, vec_relu_norm_backward, vec_tanh_norm_backward,
                      vec_elu_norm_backward},
    .curve = {POLICY_ACTIVATIONS(CURVE_FUNCTION)},
    .curve_backward = {POLICY_ACTIVATIONS(CURVE_BACKWARD_FUNCTION)},
    .column_sums = vec_column_sums,
    .sum_of_squares = vec_sum_of_squares,
    .adam = vec_adam,
    .flush_small = vec_flush_small,
    .add = vec_add,
    .blend = vec_blend,
};
