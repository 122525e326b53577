// What the native environments share behind the ABI: handles, seeds, time limits, autoreset, save
// and load.
#include "envs/env_native.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "envs/env_saved.h"

struct slot {
    double state[ENV_NATIVE_STATE_MAX];
    env_episode episode;
};

struct octet_env_handle {
    const env_native_class *class;
    octet_env_spec spec;
    env_native_task task;
    uint32_t count;
    bool autoreset;
    char error[160];
    struct slot *slots;
};

double
env_native_pow2(double x)
{
    static const volatile double two = 2.0;
    return pow(x, two);
}

float
env_native_pow2f(float x)
{
    static const volatile float two = 2.0f;
    return powf(x, two);
}

double
env_native_clip(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

int
env_native_create(const env_native_class *class, const octet_env_config *config,
                  octet_env_handle **out, char *error, uint32_t error_size)
{
    OCT_ASSERT(class->spec.state_count <= ENV_NATIVE_STATE_MAX);
    octet_env_handle *handle = oct_alloc(sizeof(*handle));
    handle->class = class;
    handle->spec = class->spec;
    handle->count = config->count;
    handle->autoreset = config->autoreset != 0;
    if (env_native_options_set(class->spec.id, class->options, config, handle->task.options,
                               &handle->spec.max_episode_steps, error, error_size) != 0 ||
        (class->configure != NULL &&
         class->configure(config, &handle->task, &handle->spec, error, error_size) != 0)) {
        free(handle);
        return 1;
    }
    handle->slots = oct_alloc(config->count * sizeof(*handle->slots));
    for (uint32_t i = 0; i < config->count; i++) {
        // A copy of the generator draws, so that the first reset begins the seed's first episode
        // again.
        oct_pcg64 rng;
        oct_pcg64_init(&rng, config->seed + i);
        handle->slots[i].episode.rng = rng;
        class->reset(&handle->task, &rng, handle->slots[i].state);
    }
    *out = handle;
    return 0;
}

void
env_native_destroy(octet_env_handle *handle)
{
    if (handle != NULL) {
        free((void *)(uintptr_t)handle->task.model);
        free(handle->slots);
        free(handle);
    }
}

const octet_env_spec *
env_native_spec(const octet_env_handle *handle)
{
    return &handle->spec;
}

const env_native_task *
env_native_task_of(const octet_env_handle *handle)
{
    return &handle->task;
}

const char *
env_native_last_error(const octet_env_handle *handle)
{
    return handle->error;
}

static void *
obs_row(const octet_env_io *io, uint32_t i)
{
    return (char *)io->obs + (size_t)i * io->obs_stride;
}

static void
slot_begin(const octet_env_handle *handle, struct slot *slot)
{
    handle->class->reset(&handle->task, &slot->episode.rng, slot->state);
    slot->episode.episode_return = 0;
    slot->episode.elapsed = 0;
    slot->episode.ended = 0;
}

int
env_native_reset(octet_env_handle *handle, const uint8_t *mask, const uint64_t *seeds,
                 octet_env_io *io)
{
    for (uint32_t i = 0; i < handle->count; i++) {
        if (mask != NULL && mask[i] == 0) {
            continue;
        }
        struct slot *slot = &handle->slots[i];
        if (seeds != NULL) {
            oct_pcg64_init(&slot->episode.rng, seeds[i]);
        }
        slot_begin(handle, slot);
        if (io != NULL && io->obs != NULL) {
            handle->class->observe(slot->state, obs_row(io, i));
        }
    }
    return 0;
}

// Checks all actions before any environment is stepped, so that a refused call changes nothing.
static int
actions_check(octet_env_handle *handle, const octet_env_io *io)
{
    const char *at = io->action;
    uint32_t n = handle->spec.action.n;
    for (uint32_t i = 0; i < handle->count; i++, at += io->action_stride) {
        if (n > 0 && *(const uint32_t *)at >= n) {
            snprintf(handle->error, sizeof(handle->error),
                     "action %d of environment %u is not in 0 .. %u", *(const int32_t *)at, i,
                     n - 1);
            return 1;
        }
        if (n == 0 && !isfinite(*(const float *)at)) {
            snprintf(handle->error, sizeof(handle->error),
                     "the action of environment %u is not a finite number", i);
            return 1;
        }
    }
    return 0;
}

static void
slot_end(octet_env_handle *handle, struct slot *slot, uint32_t i, octet_env_io *io)
{
    if (io->final_obs != NULL) {
        char *row = (char *)io->final_obs + (size_t)i * io->final_obs_stride;
        handle->class->observe(slot->state, row);
    }
    if (io->ep_return != NULL) {
        io->ep_return[i] = (float)slot->episode.episode_return;
    }
    if (io->ep_length != NULL) {
        io->ep_length[i] = (int32_t)slot->episode.elapsed;
    }
    if (handle->autoreset) {
        slot_begin(handle, slot);
    }
}

static double
slot_step(octet_env_handle *handle, uint32_t i, const char *action_row, octet_env_io *io,
          uint8_t *flags)
{
    struct slot *slot = &handle->slots[i];
    if (slot->episode.ended != 0) {
        *flags = slot->episode.ended;
        return 0;
    }
    env_native_turn turn = {.elapsed = slot->episode.elapsed};
    if (handle->spec.action.n > 0) {
        turn.index = *(const int32_t *)(const void *)action_row;
    } else {
        turn.value = *(const float *)(const void *)action_row;
    }
    double reward = handle->class->step(&handle->task, &slot->episode.rng, slot->state, &turn);
    slot->episode.elapsed = env_episode_steps(slot->episode.elapsed + 1);
    slot->episode.episode_return += reward;
    uint32_t limit = handle->spec.max_episode_steps;
    uint8_t ended =
        (uint8_t)((turn.terminated ? OCTET_ENV_TERMINATED : 0) |
                  (limit > 0 && slot->episode.elapsed >= limit ? OCTET_ENV_TRUNCATED : 0));
    if (ended != 0) {
        slot->episode.ended = ended;
        slot_end(handle, slot, i, io);
        ended |= handle->autoreset ? OCTET_ENV_OBS_IS_RESET : 0;
    }
    *flags = ended;
    return reward;
}

int
env_native_step(octet_env_handle *handle, octet_env_io *io)
{
    if (actions_check(handle, io) != 0) {
        return 1;
    }
    double *reward64 = OCTET_ENV_HAS(octet_env_io, io, reward64) ? io->reward64 : NULL;
    const char *action = io->action;
    for (uint32_t i = 0; i < handle->count; i++, action += io->action_stride) {
        uint8_t flags;
        double reward = slot_step(handle, i, action, io, &flags);
        if (io->obs != NULL) {
            handle->class->observe(handle->slots[i].state, obs_row(io, i));
        }
        if (io->reward != NULL) {
            io->reward[i] = (float)reward;
        }
        if (reward64 != NULL) {
            reward64[i] = reward;
        }
        if (io->flags != NULL) {
            io->flags[i] = flags;
        }
    }
    return 0;
}

// Writes version, identity of the class, then the slot, little-endian;
// docs/internals/environments.md lists the bytes.
static void
slot_write(const octet_env_handle *handle, const struct slot *slot, oct_writer *writer)
{
    const octet_env_spec *spec = &handle->spec;
    env_saved_begin(writer, spec->id);
    for (uint32_t k = 0; k < spec->state_count; k++) {
        oct_write_f64(writer, slot->state[k]);
    }
    env_saved_end(writer, &slot->episode);
}

int
env_native_save(octet_env_handle *handle, uint32_t i, void *buf, uint32_t *length)
{
    oct_writer writer = {.base = NULL, .capacity = SIZE_MAX};
    if (buf != NULL) {
        writer = (oct_writer){.base = buf, .capacity = *length};
    }
    if (i < handle->count) {
        slot_write(handle, &handle->slots[i], &writer);
    }
    if (i >= handle->count || writer.failed) {
        snprintf(handle->error, sizeof(handle->error), "save: %s",
                 writer.failed ? "the buffer is too short" : "no such environment");
        return 1;
    }
    *length = (uint32_t)writer.used;
    return 0;
}

static bool
state_is_finite(const octet_env_handle *handle, const double *state)
{
    for (uint32_t k = 0; k < handle->spec.state_count; k++) {
        if (!isfinite(state[k])) {
            return false;
        }
    }
    return true;
}

static bool
state_is_sane(const octet_env_handle *handle, const double *state, bool has_ended)
{
    return state_is_finite(handle, state) &&
           (handle->class->is_sane == NULL ||
            handle->class->is_sane(&handle->task, state, has_ended));
}

int
env_native_load(octet_env_handle *handle, uint32_t i, const void *buf, uint32_t length)
{
    const octet_env_spec *spec = &handle->spec;
    oct_reader reader = {.at = buf, .left = length};
    struct slot slot = {0};
    bool sound = env_saved_is_of(&reader, spec->id);
    for (uint32_t k = 0; k < spec->state_count; k++) {
        slot.state[k] = oct_read_f64(&reader);
    }
    sound =
        env_saved_read_end(&reader, &slot.episode, OCTET_ENV_TERMINATED | OCTET_ENV_TRUNCATED) &&
        sound;
    if (i >= handle->count || !sound ||
        !state_is_sane(handle, slot.state, slot.episode.ended != 0)) {
        snprintf(handle->error, sizeof(handle->error), "load: not a saved state of %s", spec->id);
        return 1;
    }
    handle->slots[i] = slot;
    // The state was saved by a handle without autoreset, at an end.
    if (handle->autoreset && slot.episode.ended != 0) {
        slot_begin(handle, &handle->slots[i]);
    }
    return 0;
}

int
env_native_get_state(const octet_env_handle *handle, uint32_t i, double *state,
                     uint32_t *episode_step)
{
    if (i >= handle->count) {
        return 1;
    }
    memcpy(state, handle->slots[i].state, handle->spec.state_count * sizeof(*state));
    *episode_step = handle->slots[i].episode.elapsed;
    return 0;
}

int
env_native_set_state(octet_env_handle *handle, uint32_t i, const double *state,
                     uint32_t episode_step, octet_env_io *io)
{
    if (i >= handle->count || !state_is_sane(handle, state, false)) {
        snprintf(handle->error, sizeof(handle->error), "%s",
                 i >= handle->count                ? "no such environment"
                 : !state_is_finite(handle, state) ? "a number is not finite"
                                                   : "these numbers are not a state");
        return 1;
    }
    struct slot *slot = &handle->slots[i];
    memcpy(slot->state, state, handle->spec.state_count * sizeof(*state));
    slot->episode.episode_return = 0;
    slot->episode.elapsed = env_episode_steps(episode_step);
    slot->episode.ended = 0;
    if (io != NULL && io->obs != NULL) {
        handle->class->observe(slot->state, obs_row(io, i));
    }
    return 0;
}
