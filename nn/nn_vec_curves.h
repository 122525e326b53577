#ifndef NN_NN_VEC_CURVES_H
#define NN_NN_VEC_CURVES_H

#include <string.h>

#include "nn/nn_slopes.h"
#include "nn/nn_vec.h"
#include "policy/policy_activations.h"

// curve and curve_backward of nn_vec_ops for every row of POLICY_ACTIVATIONS, for nn_vec.c. The
// compiler does not vectorise policy_round, so the loops take vectors of policy_simd_*.h where the
// instruction set has such a header, and single numbers otherwise. Both give the same bits.
#if defined(__AVX512F__)
#include "policy/kernels/policy_simd_avx512.h"
#elif defined(__AVX2__)
#include "policy/kernels/policy_simd_avx2.h"
#else
#include "policy/kernels/policy_simd_neon.h"
#endif

#ifdef POLICY_SIMD
#include "policy/kernels/policy_simd_curves.h"

#include "nn/nn_slopes_simd.h"
#define CURVE_LANES       16
#define CURVE_VALUE(name) v_##name
#define CURVE_SLOPE(name) v_##name##_slope

// d * slope. Small parts become 0, because slopes may be near the smallest normal number.
static inline vfloat
curve_product(vfloat d, vfloat slope)
{
    vfloat product = v_mul(d, slope);
    return v_if_greater(v_set(NN_VEC_SMALL), v_abs(product), v_set(0.0f), product);
}
#else
#define CURVE_LANES       1
#define CURVE_VALUE(name) policy_##name
#define CURVE_SLOPE(name) nn_##name##_slope

typedef float vfloat;

static inline vfloat
v_load(const float *at)
{
    return *at;
}

static inline void
v_store(float *at, vfloat x)
{
    *at = x;
}

static inline vfloat
curve_product(float d, float slope)
{
    float product = d * slope;
    return policy_abs(product) < NN_VEC_SMALL ? 0.0f : product;
}
#endif

// The last numbers, fewer than a vector, go through an array of one vector.
#define VEC_CURVE(ENUM, name, version)                                                             \
    static void vec_##name##_curve(float *restrict y, float *restrict kept, size_t n)              \
    {                                                                                              \
        float rest[CURVE_LANES] = {0};                                                             \
        size_t i = 0;                                                                              \
        if (kept != NULL) {                                                                        \
            memcpy(kept, y, n * sizeof(*kept));                                                    \
        }                                                                                          \
        for (; i + CURVE_LANES <= n; i += CURVE_LANES) {                                           \
            v_store(y + i, CURVE_VALUE(name)(v_load(y + i)));                                      \
        }                                                                                          \
        memcpy(rest, y + i, (n - i) * sizeof(*rest));                                              \
        v_store(rest, CURVE_VALUE(name)(v_load(rest)));                                            \
        memcpy(y + i, rest, (n - i) * sizeof(*rest));                                              \
    }                                                                                              \
    static void vec_##name##_curve_backward(float *restrict dy, const float *restrict kept,        \
                                            size_t n)                                              \
    {                                                                                              \
        float d[CURVE_LANES] = {0}, x[CURVE_LANES] = {0};                                          \
        size_t i = 0;                                                                              \
        for (; i + CURVE_LANES <= n; i += CURVE_LANES) {                                           \
            vfloat slope = CURVE_SLOPE(name)(v_load(kept + i));                                    \
            v_store(dy + i, curve_product(v_load(dy + i), slope));                                 \
        }                                                                                          \
        memcpy(d, dy + i, (n - i) * sizeof(*d));                                                   \
        memcpy(x, kept + i, (n - i) * sizeof(*x));                                                 \
        v_store(d, curve_product(v_load(d), CURVE_SLOPE(name)(v_load(x))));                        \
        memcpy(dy + i, d, (n - i) * sizeof(*d));                                                   \
    }
POLICY_ACTIVATIONS(VEC_CURVE)
#undef VEC_CURVE

#endif // NN_NN_VEC_CURVES_H
