// Keeps a uniform sample of observations, and generates random ones.

#include "quantizer/quantizer_reservoir.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_rng.h"

#define RESERVOIR_STREAM 0x7062u // of the generator, so that other users of a seed are independent

struct quantizer_reservoir {
    policy_dtype dtype;
    uint32_t obs_count;
    uint32_t rows_max;
    uint32_t count; // rows that are held
    uint64_t seen;  // finite rows that were added
    oct_rng rng;
    float *rows; // [rows_max][obs_count]
    float *row;  // [obs_count], the row that is being added
};

quantizer_reservoir *
quantizer_reservoir_create(const policy_spec *spec, uint32_t rows_max, uint64_t seed)
{
    quantizer_reservoir *reservoir = oct_alloc(sizeof(*reservoir));
    reservoir->dtype = spec->obs_dtype;
    reservoir->obs_count = spec->obs_count;
    reservoir->rows_max = rows_max;
    oct_rng_init(&reservoir->rng, seed, RESERVOIR_STREAM);
    reservoir->rows = oct_alloc((size_t)rows_max * spec->obs_count * sizeof(float));
    reservoir->row = oct_alloc(spec->obs_count * sizeof(float));
    return reservoir;
}

void
quantizer_reservoir_destroy(quantizer_reservoir *reservoir)
{
    if (reservoir != NULL) {
        free(reservoir->rows);
        free(reservoir->row);
        free(reservoir);
    }
}

// Stores the current row at index at.
static void
keep(quantizer_reservoir *reservoir, uint64_t at)
{
    size_t bytes = reservoir->obs_count * sizeof(float);
    memcpy(reservoir->rows + at * reservoir->obs_count, reservoir->row, bytes);
}

// Converts one observation to the current row. Returns false if a number is not finite.
static bool
row_read(quantizer_reservoir *reservoir, const void *obs)
{
    bool finite = true;
    for (uint32_t i = 0; i < reservoir->obs_count; i++) {
        reservoir->row[i] = reservoir->dtype == POLICY_U8 ? (float)((const uint8_t *)obs)[i]
                                                          : ((const float *)obs)[i];
        finite &= isfinite(reservoir->row[i]) != 0;
    }
    return finite;
}

void
quantizer_reservoir_add(quantizer_reservoir *reservoir, const void *obs, size_t stride,
                        uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!row_read(reservoir, (const char *)obs + i * stride)) {
            continue;
        }
        reservoir->seen++;
        if (reservoir->count < reservoir->rows_max) {
            keep(reservoir, reservoir->count++);
            continue;
        }
        uint64_t at = oct_rng_below64(&reservoir->rng, reservoir->seen);
        if (at < reservoir->rows_max) {
            keep(reservoir, at);
        }
    }
}

void
quantizer_reservoir_fill(quantizer_reservoir *reservoir, const policy_image *image)
{
    while (reservoir->count < reservoir->rows_max) {
        for (uint32_t i = 0; i < reservoir->obs_count; i++) {
            float x = oct_rng_normal(&reservoir->rng);
            if (reservoir->dtype == POLICY_U8) {
                x = (float)oct_rng_below(&reservoir->rng, 256);
            } else if (image->obs_mean != NULL && image->obs_inverse_std[i] > 0) {
                x = image->obs_mean[i] + x / image->obs_inverse_std[i];
            }
            reservoir->row[i] = isfinite(x) ? x : 0.0f;
        }
        keep(reservoir, reservoir->count++);
    }
}

const float *
quantizer_reservoir_rows(const quantizer_reservoir *reservoir)
{
    return reservoir->rows;
}

uint32_t
quantizer_reservoir_count(const quantizer_reservoir *reservoir)
{
    return reservoir->count;
}
