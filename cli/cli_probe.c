// Plays a few episodes with a policy and keeps what it observed.

#include "cli/cli_probe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actor/actor_evaluate.h"
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

static void
probe_watch(void *arg, const void *obs, size_t stride, uint32_t rows, uint32_t counted)
{
    (void)counted;
    cli_probe_add(arg, obs, stride, rows);
}

oct_err
cli_probe_play(cli_probe *probe, const policy_image *fp32, const char *env_id,
               const char *env_options, uint64_t seed, char *reason, size_t reason_size)
{
    policy_net *net;
    oct_err err = policy_net_create(&net, fp32, POLICY_ISA_BEST);
    if (err != OCT_OK) {
        (void)snprintf(reason, reason_size,
                       "cannot run policies here: %s (OCTET_ISA: " POLICY_ISA_NAMES ", or unset)",
                       oct_strerror(err));
        return err;
    }
    actor_evaluate_request request = {
        .env_id = env_id,
        .options = env_options,
        .episodes = CLI_PROBE_EPISODES,
        .envs = CLI_PROBE_EPISODES,
        .seed = seed,
        .watch = probe_watch,
        .watch_arg = probe,
    };
    actor_evaluate_result result = {0};
    err = actor_evaluate(net, &request, &result, reason, reason_size);
    policy_net_destroy(net);
    return err;
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
