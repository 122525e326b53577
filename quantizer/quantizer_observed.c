// The running mean and deviation of observations, and the scaling that is published until they have
// moved away from it.
#include "quantizer/quantizer_observed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_columns.h"

// Rounding to a power of two moves an exponent by at most 0.5, so a scaling is stable against small
// changes of a deviation.
#define EXPONENT_DRIFT 0.75
#define MEAN_DRIFT     0.5 // deviations

struct quantizer_observed {
    oct_columns all;   // of all rows that are remembered
    oct_columns batch; // of the rows that are being added
    double *exponent;  // [count] log2 of the deviations that a new scaling would have
    float *scale;      // [2][count] mean and deviation of the current scaling
    void *block;       // the allocation that contains all arrays
};

quantizer_observed *
quantizer_observed_create(uint32_t obs_count)
{
    quantizer_observed *observed = oct_alloc(sizeof(*observed));
    size_t n = obs_count;
    double *block = oct_alloc(n * (5 * sizeof(double) + 2 * sizeof(float)));
    observed->block = block;
    observed->all = (oct_columns){.count = obs_count, .mean = block, .squares = block + n};
    observed->batch =
        (oct_columns){.count = obs_count, .mean = block + 2 * n, .squares = block + 3 * n};
    observed->exponent = block + 4 * n;
    observed->scale = (float *)(block + 5 * n);
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

void
quantizer_observed_add(quantizer_observed *observed, const float *obs, uint32_t rows)
{
    oct_columns *all = &observed->all, *batch = &observed->batch;
    oct_columns_measure(batch, obs, rows);
    for (uint32_t i = 0; i < batch->count; i++) {
        if (!isfinite(batch->mean[i]) || !isfinite(batch->squares[i])) {
            return;
        }
    }
    oct_columns_join(all, batch);
    double forget = all->rows > QUANTIZER_OBSERVED_ROWS ? QUANTIZER_OBSERVED_ROWS / all->rows : 1.0;
    for (uint32_t i = 0; i < all->count; i++) {
        all->squares[i] *= forget;
    }
    all->rows = fmin(all->rows, QUANTIZER_OBSERVED_ROWS);
}

// ---- scaling

// Sets exponent to log2 of the divisors of a new scaling, before they are rounded.
static void
exponents_find(quantizer_observed *observed)
{
    oct_columns_scales(&observed->all, observed->exponent);
    for (uint32_t i = 0; i < observed->all.count; i++) {
        observed->exponent[i] = log2(observed->exponent[i]);
    }
}

// Returns true if an entry has moved away from the current scaling.
static bool
is_drifted(const quantizer_observed *observed)
{
    const float *mean = observed->scale, *deviation = observed->scale + observed->all.count;
    for (uint32_t i = 0; i < observed->all.count; i++) {
        double exponent = observed->exponent[i];
        double scale = fmax((double)deviation[i], exp2(exponent));
        if (fabs(exponent - log2((double)deviation[i])) > EXPONENT_DRIFT ||
            fabs((double)(float)observed->all.mean[i] - (double)mean[i]) > MEAN_DRIFT * scale) {
            return true;
        }
    }
    return false;
}

bool
quantizer_observed_renew(quantizer_observed *observed)
{
    if (observed->all.rows < QUANTIZER_OBSERVED_LEAST) {
        return false;
    }
    exponents_find(observed);
    if (!is_drifted(observed)) {
        return false;
    }
    for (uint32_t i = 0; i < observed->all.count; i++) {
        observed->scale[i] = (float)observed->all.mean[i];
        observed->scale[observed->all.count + i] = exp2f((float)nearbyint(observed->exponent[i]));
    }
    return true;
}

quantizer_scaling
quantizer_observed_scaling(const quantizer_observed *observed)
{
    return (quantizer_scaling){.mean = observed->scale,
                               .deviation = observed->scale + observed->all.count};
}

double
quantizer_observed_rows(const quantizer_observed *observed)
{
    return observed->all.rows;
}

uint32_t
quantizer_observed_left_out(const quantizer_observed *observed, oct_text *text)
{
    return oct_columns_left_out(&observed->all, text);
}

// ---- checkpoint

void
quantizer_observed_save(const quantizer_observed *observed, oct_writer *writer)
{
    uint32_t count = observed->all.count;
    oct_write_u32(writer, count);
    oct_write_f64(writer, observed->all.rows);
    for (uint32_t i = 0; i < 2 * count; i++) {
        oct_write_f64(writer, observed->all.mean[i]); // then squares, which follow mean in block
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
           abs(exponent - 1) <= OCT_COLUMNS_EXPONENT_MAX;
}

static bool
is_sound(const quantizer_observed *observed)
{
    uint32_t count = observed->all.count;
    if (!isfinite(observed->all.rows) || observed->all.rows < 0.0 ||
        observed->all.rows > QUANTIZER_OBSERVED_ROWS) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!isfinite(observed->all.mean[i]) || !isfinite(observed->all.squares[i]) ||
            observed->all.squares[i] < 0.0 || !isfinite(observed->scale[i]) ||
            !is_power_of_two(observed->scale[count + i])) {
            return false;
        }
    }
    return true;
}

oct_err
quantizer_observed_load(quantizer_observed *observed, oct_reader *reader)
{
    uint32_t count = observed->all.count;
    if (oct_read_u32(reader) != count) {
        return OCT_EPROTO;
    }
    quantizer_observed *loaded = quantizer_observed_create(count);
    loaded->all.rows = oct_read_f64(reader);
    for (uint32_t i = 0; i < 2 * count; i++) {
        loaded->all.mean[i] = oct_read_f64(reader);
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
