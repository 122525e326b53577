#ifndef TESTS_QUANTIZER_QUANTIZER_PLAIN_H
#define TESTS_QUANTIZER_QUANTIZER_PLAIN_H

#include <math.h>
#include <stdlib.h>

#include "common/oct_rng.h"
#include "quantizer/quantizer_convert.h"
#include "tests/support/oct_test.h"

// The quantizer's definitions in plain double arithmetic, and specs and weights to try them on.

// One layer of the given size, then nothing.
static inline policy_spec
plain_spec(uint32_t inputs, uint32_t outputs)
{
    return (policy_spec){
        .env_id = "Test-v0",
        .obs_dtype = POLICY_F32,
        .obs_count = inputs,
        .action_kind = POLICY_DISCRETE,
        .action_count = outputs,
        .head = POLICY_HEAD_VALUES,
        .layer_count = 1,
        .layers = {{.kind = POLICY_DENSE, .inputs = inputs, .outputs = outputs}},
    };
}

static inline policy_image *
plain_image(const policy_spec *spec, policy_precision precision)
{
    policy_image *image;
    T_OK(policy_image_create(&image, spec, precision));
    return image;
}

// Normal weights of a deviation, for every parameter of spec.
static inline float *
plain_params(const policy_spec *spec, uint64_t seed, float deviation)
{
    size_t count = policy_spec_params(spec);
    float *params = oct_alloc(count * sizeof(float));
    oct_rng rng;
    oct_rng_init(&rng, seed, 1);
    for (size_t i = 0; i < count; i++) {
        params[i] = deviation * oct_rng_normal(&rng);
    }
    return params;
}

// The code of w in steps of `step`: nearest, ties to even, at most limit.
static inline int
plain_code(float w, float step, int limit)
{
    if (step == 0.0f) {
        return 0;
    }
    double code = nearbyint((double)(w / step));
    return (int)fmax(-limit, fmin(limit, code));
}

static inline int
plain_order(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline double
plain_absmax(const float *w, size_t count)
{
    double most = 0.0;
    for (size_t i = 0; i < count; i++) {
        most = fmax(most, fabs((double)w[i]));
    }
    return most;
}

// As numpy.percentile(abs(w), percentile).
static inline double
plain_percentile(const float *w, size_t count, double percentile)
{
    double *sorted = oct_alloc(count * sizeof(double));
    for (size_t i = 0; i < count; i++) {
        sorted[i] = fabs((double)w[i]);
    }
    qsort(sorted, count, sizeof(double), plain_order);
    double position = percentile / 100.0 * (double)(count - 1);
    size_t at = (size_t)floor(position), next = at + 1 < count ? at + 1 : at;
    double value = sorted[at] + (sorted[next] - sorted[at]) * (position - (double)at);
    free(sorted);
    return value;
}

// Sum of squared errors with codes of at most limit at steps of `step`.
static inline double
plain_error(const float *w, size_t count, double step, int limit)
{
    double sum = 0.0;
    for (size_t i = 0; i < count; i++) {
        double code = fmax(-limit, fmin(limit, nearbyint((double)w[i] / step)));
        double d = (double)w[i] - step * code;
        sum += d * d;
    }
    return sum;
}

// Whether two images hold the same tensors.
static inline bool
plain_is_equal(const policy_image *a, const policy_image *b)
{
    return a->per_tensor == b->per_tensor && a->block_bytes == b->block_bytes &&
           memcmp(a->block, b->block, a->block_bytes) == 0;
}

#endif // TESTS_QUANTIZER_QUANTIZER_PLAIN_H
