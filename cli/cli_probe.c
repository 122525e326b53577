#include "cli/cli_probe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_rng.h"

#define PROBE_STREAM 0x7062u

struct cli_probe {
    policy_dtype dtype;
    uint32_t obs_count;
    uint32_t rows_max;
    uint32_t count;
    uint64_t seen;
    oct_rng rng;
    float *rows;
    float *row; // the one in hand
};

cli_probe *
cli_probe_create(const policy_spec *spec, uint32_t rows_max, uint64_t seed)
{
    cli_probe *probe = oct_alloc(sizeof(*probe));
    probe->dtype = spec->obs_dtype;
    probe->obs_count = spec->obs_count;
    probe->rows_max = rows_max;
    oct_rng_init(&probe->rng, seed, PROBE_STREAM);
    probe->rows = oct_alloc((size_t)rows_max * spec->obs_count * sizeof(float));
    probe->row = oct_alloc(spec->obs_count * sizeof(float));
    return probe;
}

void
cli_probe_destroy(cli_probe *probe)
{
    if (probe != NULL) {
        free(probe->rows);
        free(probe->row);
        free(probe);
    }
}

static void
keep(cli_probe *probe, uint64_t at)
{
    size_t bytes = probe->obs_count * sizeof(float);
    memcpy(probe->rows + at * probe->obs_count, probe->row, bytes);
}

static bool
row_read(cli_probe *probe, const void *obs)
{
    bool finite = true;
    for (uint32_t i = 0; i < probe->obs_count; i++) {
        probe->row[i] =
            probe->dtype == POLICY_U8 ? (float)((const uint8_t *)obs)[i] : ((const float *)obs)[i];
        finite &= isfinite(probe->row[i]) != 0;
    }
    return finite;
}

void
cli_probe_add(cli_probe *probe, const void *obs, size_t stride, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!row_read(probe, (const char *)obs + i * stride)) {
            continue;
        }
        probe->seen++;
        if (probe->count < probe->rows_max) {
            keep(probe, probe->count++);
            continue;
        }
        uint64_t at = oct_rng_below64(&probe->rng, probe->seen);
        if (at < probe->rows_max) {
            keep(probe, at);
        }
    }
}

void
cli_probe_fill(cli_probe *probe, const policy_image *image)
{
    while (probe->count < probe->rows_max) {
        for (uint32_t i = 0; i < probe->obs_count; i++) {
            float x = oct_rng_normal(&probe->rng);
            if (probe->dtype == POLICY_U8) {
                x = (float)oct_rng_below(&probe->rng, 256);
            } else if (image->obs_mean != NULL && image->obs_inverse_std[i] > 0) {
                x = image->obs_mean[i] + x / image->obs_inverse_std[i];
            }
            probe->row[i] = isfinite(x) ? x : 0.0f;
        }
        keep(probe, probe->count++);
    }
}

const float *
cli_probe_rows(const cli_probe *probe)
{
    return probe->rows;
}

uint32_t
cli_probe_count(const cli_probe *probe)
{
    return probe->count;
}
