// Calls an environment with poisoned, guarded buffers, so that stray and missing writes show.
#include "envs/env_check_rig.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "envs/env_space.h"

#define GUARD       0xC5 // differs from every poison byte
#define GAP_BYTES   256  // between rows, and around the small buffers
#define ENDS_BYTES  65536
#define ACTION_SEED 20u

// Makes rows with bytes before and after them, which absorb what an environment writes too far.
static uint8_t *
block_make(uint8_t **block, uint32_t count, uint32_t stride)
{
    size_t bytes = (size_t)count * stride + 2 * (size_t)ENDS_BYTES;
    *block = oct_alloc(bytes);
    memset(*block, GUARD, bytes);
    return *block + ENDS_BYTES;
}

static void *
guarded_make(size_t bytes)
{
    uint8_t *block = oct_alloc(bytes + 2 * (size_t)GAP_BYTES);
    memset(block, GUARD, bytes + 2 * (size_t)GAP_BYTES);
    return block + GAP_BYTES;
}

static void
guarded_free(void *rows)
{
    if (rows != NULL) {
        free((uint8_t *)rows - GAP_BYTES);
    }
}

static bool
is_all(const uint8_t *bytes, size_t count, uint8_t value)
{
    for (size_t k = 0; k < count; k++) {
        if (bytes[k] != value) {
            return false;
        }
    }
    return true;
}

static bool
guarded_is_intact(const void *rows, size_t bytes)
{
    const uint8_t *at = rows;
    return is_all(at - GAP_BYTES, GAP_BYTES, GUARD) && is_all(at + bytes, GAP_BYTES, GUARD);
}

static bool
block_is_intact(const env_check_rig *rig, const uint8_t *rows)
{
    bool intact = is_all(rows - ENDS_BYTES, ENDS_BYTES, GUARD);
    for (uint32_t i = 0; i < rig->count; i++) {
        const uint8_t *gap = rows + (size_t)i * rig->obs_stride + rig->obs_bytes;
        intact = intact && is_all(gap, rig->obs_stride - rig->obs_bytes, GUARD);
    }
    return intact && is_all(rows + (size_t)rig->count * rig->obs_stride, ENDS_BYTES, GUARD);
}

static uint32_t
metrics_count(const env_check_rig *rig)
{
    return rig->count * rig->its.spec.metric_count;
}

oct_err
env_check_rig_init(env_check_rig *out, const env_request *request, uint8_t poison, oct_reason *why)
{
    env_check_rig rig = {.count = request->count, .poison = poison};
    OCT_TRY(env_instance_init(&rig.its, request, why));
    rig.obs_bytes = env_space_bytes(&rig.its.spec.obs);
    rig.action_bytes = env_space_bytes(&rig.its.spec.action);
    rig.obs_stride = (rig.obs_bytes + GAP_BYTES + 15) & ~15u;
    rig.action_stride = (rig.action_bytes + GAP_BYTES + 15) & ~15u;
    rig.obs = block_make(&rig.obs_block, rig.count, rig.obs_stride);
    rig.final_obs = block_make(&rig.final_block, rig.count, rig.obs_stride);
    rig.action = block_make(&rig.action_block, rig.count, rig.action_stride);
    rig.reward = guarded_make(rig.count * sizeof(*rig.reward));
    rig.ep_return = guarded_make(rig.count * sizeof(*rig.ep_return));
    rig.metrics = guarded_make(metrics_count(&rig) * sizeof(*rig.metrics));
    rig.flags = guarded_make(rig.count * sizeof(*rig.flags));
    rig.ep_length = guarded_make(rig.count * sizeof(*rig.ep_length));
    rig.reward64 = guarded_make(rig.count * sizeof(*rig.reward64));
    rig.io = (octet_env_io){.size = sizeof(rig.io),
                            .action = rig.action,
                            .action_stride = rig.action_stride,
                            .obs = rig.obs,
                            .obs_stride = rig.obs_stride,
                            .final_obs = rig.final_obs,
                            .final_obs_stride = rig.obs_stride,
                            .reward = rig.reward,
                            .flags = rig.flags,
                            .ep_return = rig.ep_return,
                            .ep_length = rig.ep_length,
                            .metrics = rig.metrics,
                            .reward64 = rig.reward64};
    oct_rng_init(&rig.rng, ACTION_SEED, 0);
    *out = rig;
    return OCT_OK;
}

void
env_check_rig_fini(env_check_rig *rig)
{
    env_instance_fini(&rig->its);
    free(rig->obs_block);
    free(rig->final_block);
    free(rig->action_block);
    guarded_free(rig->reward);
    guarded_free(rig->ep_return);
    guarded_free(rig->metrics);
    guarded_free(rig->flags);
    guarded_free(rig->ep_length);
    guarded_free(rig->reward64);
    *rig = (env_check_rig){0};
}

static void
rows_poison(env_check_rig *rig)
{
    for (uint32_t i = 0; i < rig->count; i++) {
        memset(rig->obs + (size_t)i * rig->obs_stride, rig->poison, rig->obs_bytes);
        memset(rig->final_obs + (size_t)i * rig->obs_stride, rig->poison, rig->obs_bytes);
    }
    memset(rig->reward, rig->poison, rig->count * sizeof(*rig->reward));
    memset(rig->reward64, rig->poison, rig->count * sizeof(*rig->reward64));
    memset(rig->flags, rig->poison, rig->count * sizeof(*rig->flags));
    memset(rig->ep_return, rig->poison, rig->count * sizeof(*rig->ep_return));
    memset(rig->ep_length, rig->poison, rig->count * sizeof(*rig->ep_length));
    memset(rig->metrics, rig->poison, metrics_count(rig) * sizeof(*rig->metrics));
}

int
env_check_rig_reset(env_check_rig *rig, const uint8_t *mask, const uint64_t *seeds)
{
    rows_poison(rig);
    return rig->its.api->reset(rig->its.handle, mask, seeds, &rig->io);
}

int
env_check_rig_step(env_check_rig *rig)
{
    rows_poison(rig);
    return rig->its.api->step(rig->its.handle, &rig->io);
}

static double
action_draw(env_check_rig *rig, uint32_t k)
{
    const octet_env_space *space = &rig->its.spec.action;
    double low = space->low != NULL && isfinite(space->low[k]) ? space->low[k] : -1;
    double high = space->high != NULL && isfinite(space->high[k]) ? space->high[k] : low + 2;
    return low + (high - low) * oct_rng_double(&rig->rng);
}

void
env_check_rig_draw(env_check_rig *rig)
{
    const octet_env_space *space = &rig->its.spec.action;
    for (uint32_t i = 0; i < rig->count; i++) {
        void *row = rig->action + (size_t)i * rig->action_stride;
        if (space->n > 0) {
            env_space_put(space, row, 0, oct_rng_below(&rig->rng, space->n));
            continue;
        }
        for (uint32_t k = 0; k < env_space_count(space); k++) {
            env_space_put(space, row, k, action_draw(rig, k));
        }
    }
}

const uint8_t *
env_check_rig_obs(const env_check_rig *rig, uint32_t i)
{
    return rig->obs + (size_t)i * rig->obs_stride;
}

const uint8_t *
env_check_rig_final(const env_check_rig *rig, uint32_t i)
{
    return rig->final_obs + (size_t)i * rig->obs_stride;
}

const char *
env_check_rig_trespass(const env_check_rig *rig)
{
    const struct {
        const char *name;
        bool intact;
    } buffers[] = {
        {"obs", block_is_intact(rig, rig->obs)},
        {"final_obs", block_is_intact(rig, rig->final_obs)},
        {"reward", guarded_is_intact(rig->reward, rig->count * sizeof(*rig->reward))},
        {"flags", guarded_is_intact(rig->flags, rig->count * sizeof(*rig->flags))},
        {"ep_return", guarded_is_intact(rig->ep_return, rig->count * sizeof(*rig->ep_return))},
        {"ep_length", guarded_is_intact(rig->ep_length, rig->count * sizeof(*rig->ep_length))},
        {"metrics", guarded_is_intact(rig->metrics, metrics_count(rig) * sizeof(*rig->metrics))},
        {"reward64", guarded_is_intact(rig->reward64, rig->count * sizeof(*rig->reward64))},
    };
    for (size_t k = 0; k < OCT_COUNTOF(buffers); k++) {
        if (!buffers[k].intact) {
            return buffers[k].name;
        }
    }
    return NULL;
}
