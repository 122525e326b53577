// Running mean and deviation of observations, and the scaling that is published until they have
// moved away from it.
#include "quantizer/quantizer_observed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"

#define CONSTANT_SHARE      1e-4 // of the largest deviation
#define CONSTANT_MEAN_SHARE 1e-6 // of the entry's own mean: about the rounding of a float
#define EXPONENT_MAX        60   // of a deviation: products with weights stay finite
#define EXPONENT_DRIFT      0.75 // rounding leaves at most 0.5
#define MEAN_DRIFT          0.5  // deviations

struct quantizer_observed {
    uint32_t count;  // entries
    double rows;     // remembered
    double *mean;    // [count]
    double *squares; // [count] sum of squared differences from the mean
    double *batch;   // [2][count] mean and squares of a batch
    float *scale;    // [2][count] mean and deviation of the scaling
    void *block;
};

quantizer_observed *
quantizer_observed_create(uint32_t obs_count)
{
    quantizer_observed *observed = oct_alloc(sizeof(*observed));
    size_t n = obs_count;
    double *block = oct_alloc(n * (4 * sizeof(double) + 2 * sizeof(float)));
    observed->count = obs_count;
    observed->block = block;
    observed->mean = block;
    observed->squares = block + n;
    observed->batch = block + 2 * n;
    observed->scale = (float *)(block + 4 * n);
    for (size_t i = 0; i < n; i++) {
        observed->scale[n + i] = 1.0f;
    }
    return observed;
}

void
quantizer_observed_destroy(quantizer_observed *observed)
{
    if (observed != NULL) {
        free(observed->block);
        free(observed);
    }
}

// Mean and sum of squared differences of each entry of one batch.
static void
batch_measure(double *restrict mean, double *restrict squares, const float *obs, uint32_t rows,
              uint32_t count)
{
    memset(mean, 0, count * sizeof(*mean));
    memset(squares, 0, count * sizeof(*squares));
    for (uint32_t r = 0; r < rows; r++) {
        const float *restrict x = obs + (size_t)r * count;
        for (uint32_t i = 0; i < count; i++) {
            mean[i] += (double)x[i];
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        mean[i] /= rows;
    }
    for (uint32_t r = 0; r < rows; r++) {
        const float *restrict x = obs + (size_t)r * count;
        for (uint32_t i = 0; i < count; i++) {
            double d = (double)x[i] - mean[i];
            squares[i] += d * d;
        }
    }
}

void
quantizer_observed_add(quantizer_observed *observed, const float *obs, uint32_t rows)
{
    uint32_t count = observed->count;
    double *mean = observed->batch, *squares = observed->batch + count;
    batch_measure(mean, squares, obs, rows, count);
    for (uint32_t i = 0; i < count; i++) {
        if (!isfinite(mean[i]) || !isfinite(squares[i])) {
            return;
        }
    }
    double before = observed->rows, all = before + rows;
    double forget = all > QUANTIZER_OBSERVED_ROWS ? QUANTIZER_OBSERVED_ROWS / all : 1.0;
    for (uint32_t i = 0; i < count; i++) {
        double d = mean[i] - observed->mean[i];
        observed->mean[i] += d * (rows / all);
        double sum = observed->squares[i] + squares[i] + d * d * (before * rows / all);
        observed->squares[i] = sum * forget;
    }
    observed->rows = fmin(all, QUANTIZER_OBSERVED_ROWS);
}

// ---- scaling

static double
deviation_of(const quantizer_observed *observed, uint32_t i)
{
    return sqrt(observed->squares[i] / observed->rows);
}

static double
deviation_largest(const quantizer_observed *observed)
{
    double largest = 0.0;
    for (uint32_t i = 0; i < observed->count; i++) {
        largest = fmax(largest, deviation_of(observed, i));
    }
    return largest > 0.0 ? largest : 1.0;
}

// The logarithm (base 2) of the deviation that entry i is to be divided by.
static double
exponent_of(const quantizer_observed *observed, uint32_t i, double largest)
{
    double deviation = deviation_of(observed, i);
    double least = fmax(CONSTANT_SHARE * largest, CONSTANT_MEAN_SHARE * fabs(observed->mean[i]));
    double exponent = log2(deviation >= least ? deviation : largest);
    return fmax(-EXPONENT_MAX, fmin(EXPONENT_MAX, exponent));
}

static bool
is_drifted(const quantizer_observed *observed)
{
    const float *mean = observed->scale, *deviation = observed->scale + observed->count;
    double largest = deviation_largest(observed);
    for (uint32_t i = 0; i < observed->count; i++) {
        double exponent = exponent_of(observed, i, largest);
        double scale = fmax((double)deviation[i], exp2(exponent));
        if (fabs(exponent - log2((double)deviation[i])) > EXPONENT_DRIFT ||
            fabs((double)(float)observed->mean[i] - (double)mean[i]) > MEAN_DRIFT * scale) {
            return true;
        }
    }
    return false;
}

bool
quantizer_observed_renew(quantizer_observed *observed)
{
    if (observed->rows < QUANTIZER_OBSERVED_LEAST || !is_drifted(observed)) {
        return false;
    }
    double largest = deviation_largest(observed);
    for (uint32_t i = 0; i < observed->count; i++) {
        observed->scale[i] = (float)observed->mean[i];
        observed->scale[observed->count + i] =
            exp2f((float)nearbyint(exponent_of(observed, i, largest)));
    }
    return true;
}

quantizer_scaling
quantizer_observed_scaling(const quantizer_observed *observed)
{
    return (quantizer_scaling){.mean = observed->scale,
                               .deviation = observed->scale + observed->count};
}

// ---- checkpoint

void
quantizer_observed_save(const quantizer_observed *observed, oct_writer *writer)
{
    uint32_t count = observed->count;
    oct_write_u32(writer, count);
    oct_write_f64(writer, observed->rows);
    for (uint32_t i = 0; i < 2 * count; i++) {
        oct_write_f64(writer, observed->mean[i]); // and squares
    }
    for (uint32_t i = 0; i < 2 * count; i++) {
        oct_write_f32(writer, observed->scale[i]);
    }
}

static bool
is_power_of_two(float x)
{
    int exponent;
    return isfinite(x) && x > 0.0f && frexpf(x, &exponent) == 0.5f &&
           abs(exponent - 1) <= EXPONENT_MAX;
}

static bool
is_sound(const quantizer_observed *observed)
{
    uint32_t count = observed->count;
    if (!isfinite(observed->rows) || observed->rows < 0.0 ||
        observed->rows > QUANTIZER_OBSERVED_ROWS) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!isfinite(observed->mean[i]) || !isfinite(observed->squares[i]) ||
            observed->squares[i] < 0.0 || !isfinite(observed->scale[i]) ||
            !is_power_of_two(observed->scale[count + i])) {
            return false;
        }
    }
    return true;
}

oct_err
quantizer_observed_load(quantizer_observed *observed, oct_reader *reader)
{
    uint32_t count = observed->count;
    if (oct_read_u32(reader) != count) {
        return OCT_EPROTO;
    }
    quantizer_observed *loaded = quantizer_observed_create(count);
    loaded->rows = oct_read_f64(reader);
    for (uint32_t i = 0; i < 2 * count; i++) {
        loaded->mean[i] = oct_read_f64(reader);
    }
    for (uint32_t i = 0; i < 2 * count; i++) {
        loaded->scale[i] = oct_read_f32(reader);
    }
    oct_err err = !reader->failed && is_sound(loaded) ? OCT_OK : OCT_EPROTO;
    if (err == OCT_OK) {
        quantizer_observed old = *observed;
        *observed = *loaded;
        *loaded = old;
    }
    quantizer_observed_destroy(loaded);
    return err;
}
