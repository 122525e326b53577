#include "actor/actor_nstep.h"

#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"

// The open window of one environment: its last count <= n steps.
struct window {
    uint64_t now; // number of the current observation
    uint32_t head;
    uint32_t count;
};

struct actor_nstep {
    uint32_t envs;
    uint32_t n;
    uint32_t action_bytes;
    float reward_clip; // 0: off
    float *powers;     // [n + 1] gamma^i
    struct window *windows;
    uint64_t *obs_number; // [envs][n]
    float *reward;        // [envs][n]
    uint8_t *action;      // [envs][n][action_bytes]
};

actor_nstep *
actor_nstep_create(uint32_t envs, uint32_t n_step, double discount, double reward_clip,
                   uint32_t action_bytes)
{
    OCT_ASSERT(envs > 0 && n_step > 0);
    actor_nstep *nstep = oct_alloc(sizeof(*nstep));
    nstep->envs = envs;
    nstep->n = n_step;
    nstep->action_bytes = action_bytes;
    nstep->reward_clip = (float)reward_clip;
    nstep->powers = oct_alloc((n_step + 1) * sizeof(float));
    double power = 1;
    for (uint32_t k = 0; k <= n_step; k++) {
        nstep->powers[k] = (float)power;
        power *= discount;
    }
    size_t steps = (size_t)envs * n_step;
    nstep->windows = oct_alloc(envs * sizeof(*nstep->windows));
    nstep->obs_number = oct_alloc(steps * sizeof(uint64_t));
    nstep->reward = oct_alloc(steps * sizeof(float));
    nstep->action = oct_alloc(steps * action_bytes);
    return nstep;
}

void
actor_nstep_destroy(actor_nstep *nstep)
{
    if (nstep == NULL) {
        return;
    }
    free(nstep->powers);
    free(nstep->windows);
    free(nstep->obs_number);
    free(nstep->reward);
    free(nstep->action);
    free(nstep);
}

void
actor_nstep_begin(actor_nstep *nstep, actor_batch *batch, uint32_t i, const void *obs)
{
    nstep->windows[i] = (struct window){.now = actor_batch_add_obs(batch, obs)};
}

static uint32_t
window_slot(const actor_nstep *nstep, uint32_t i, uint32_t k)
{
    uint32_t at = nstep->windows[i].head + k;
    return i * nstep->n + (at >= nstep->n ? at - nstep->n : at);
}

// The transition from the oldest open step over the whole window to observation number next.
static void
window_emit(actor_nstep *nstep, actor_batch *batch, uint32_t i, uint64_t next, uint8_t flags)
{
    struct window *window = &nstep->windows[i];
    OCT_ASSERT(batch->count < batch->room);
    uint32_t row = batch->count++;
    uint32_t oldest = window_slot(nstep, i, 0);
    float sum = 0;
    for (uint32_t k = 0; k < window->count; k++) {
        sum += nstep->powers[k] * nstep->reward[window_slot(nstep, i, k)];
    }
    memcpy(batch->action + (size_t)row * nstep->action_bytes,
           nstep->action + (size_t)oldest * nstep->action_bytes, nstep->action_bytes);
    batch->obs_offset[row] =
        (int32_t)((int64_t)nstep->obs_number[oldest] - (int64_t)batch->obs_first);
    batch->next_offset[row] = (int32_t)((int64_t)next - (int64_t)batch->obs_first);
    batch->reward[row] = sum;
    batch->discount[row] = (flags & WIRE_TERMINATED) != 0 ? 0 : nstep->powers[window->count];
    batch->flags[row] = flags;
    window->head = window->head + 1 == nstep->n ? 0 : window->head + 1;
    window->count--;
}

void
actor_nstep_step(actor_nstep *nstep, actor_batch *batch, uint32_t i, const void *action,
                 float reward, uint8_t flags, const void *next)
{
    struct window *window = &nstep->windows[i];
    if (nstep->reward_clip > 0) {
        reward = OCT_MAX(-nstep->reward_clip, OCT_MIN(nstep->reward_clip, reward));
    }
    uint32_t slot = window_slot(nstep, i, window->count);
    nstep->obs_number[slot] = window->now;
    nstep->reward[slot] = reward;
    memcpy(nstep->action + (size_t)slot * nstep->action_bytes, action, nstep->action_bytes);
    window->count++;
    window->now = actor_batch_add_obs(batch, next);
    if (flags != 0) {
        while (window->count > 0) {
            window_emit(nstep, batch, i, window->now, flags);
        }
    } else if (window->count == nstep->n) {
        window_emit(nstep, batch, i, window->now, 0);
    }
}
