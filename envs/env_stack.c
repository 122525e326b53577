// A stack of frames: an environment that shows the newest observations of an inner environment.
#include "envs/env_stack.h"

#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "envs/env_space.h"

#define FLAGS_END    (OCTET_ENV_TERMINATED | OCTET_ENV_TRUNCATED | OCTET_ENV_FAILED)
#define FLAGS_BEGINS (OCTET_ENV_OBS_IS_RESET | ENV_BEGINS)

#define BYTES_MAX (1u << 26) // bytes of a stack

struct octet_env_handle {
    env_instance its;
    octet_env_spec spec;
    uint32_t frames, count;
    bool autoreset;
    // An inner observation is planes of cells of that many bytes: one plane, or its channels. A row
    // has the cells of all planes of all frames side by side.
    uint32_t planes, cells, cell_bytes, number_bytes;
    size_t frame_bytes;
    uint8_t *history;    // [count][frames][frame_bytes], from the oldest to the newest
    uint8_t *ended;      // [count], 1: the episode has ended, and the environment was not reset
    uint8_t *obs, *last; // [count][frame_bytes], rows of the inner obs and final_obs
    uint8_t *flags;      // [count]
    double *low, *high;  // bounds of spec.obs; NULL: none
};

static void
stack_destroy(octet_env_handle *h)
{
    env_instance_fini(&h->its);
    free(h->history);
    free(h->ended);
    free(h->obs);
    free(h->last);
    free(h->flags);
    free(h->low);
    free(h->high);
    free(h);
}

static const octet_env_spec *
stack_spec(const octet_env_handle *h)
{
    return &h->spec;
}

static const char *
stack_last_error(const octet_env_handle *h)
{
    return h->its.api->last_error(h->its.handle);
}

static uint8_t *
history_of(const octet_env_handle *h, uint32_t i)
{
    return h->history + (size_t)i * h->frames * h->frame_bytes;
}

// Makes a frame the whole stack of environment i.
static void
history_fill(const octet_env_handle *h, uint32_t i, const uint8_t *frame)
{
    for (uint32_t k = 0; k < h->frames; k++) {
        memcpy(history_of(h, i) + k * h->frame_bytes, frame, h->frame_bytes);
    }
}

static void
history_push(const octet_env_handle *h, uint32_t i, const uint8_t *frame)
{
    uint8_t *frames = history_of(h, i);
    memmove(frames, frames + h->frame_bytes, (h->frames - 1) * h->frame_bytes);
    memcpy(frames + (h->frames - 1) * h->frame_bytes, frame, h->frame_bytes);
}

// Writes the stack of environment i to its row.
static void
row_write(const octet_env_handle *h, uint32_t i, void *base, uint32_t stride)
{
    if (base == NULL) {
        return;
    }
    uint8_t *row = (uint8_t *)base + (size_t)i * stride;
    const size_t size = h->cell_bytes, step = h->frames * h->planes * size;
    for (uint32_t k = 0; k < h->frames * h->planes; k++) {
        const uint8_t *frame = history_of(h, i) + k * h->cells * size;
        uint8_t *to = row + k * size;
        if (size == 1) {
            for (size_t cell = 0; cell < h->cells; cell++) {
                to[cell * step] = frame[cell];
            }
        } else {
            for (size_t cell = 0; cell < h->cells; cell++) {
                memcpy(to + cell * step, frame + cell * size, size);
            }
        }
    }
}

static int
stack_reset(octet_env_handle *h, const uint8_t *mask, const uint64_t *seeds, octet_env_io *io)
{
    octet_env_io inside = *io;
    inside.obs = h->obs;
    inside.obs_stride = (uint32_t)h->frame_bytes;
    int failed = h->its.api->reset(h->its.handle, mask, seeds, &inside);
    for (uint32_t i = 0; failed == 0 && i < h->count; i++) {
        if (mask == NULL || mask[i] != 0) {
            h->ended[i] = 0;
            history_fill(h, i, h->obs + i * h->frame_bytes);
            row_write(h, i, io->obs, io->obs_stride);
        }
    }
    return failed;
}

static int
stack_step(octet_env_handle *h, octet_env_io *io)
{
    octet_env_io inside = *io;
    inside.obs = h->obs;
    inside.final_obs = h->last;
    inside.obs_stride = inside.final_obs_stride = (uint32_t)h->frame_bytes;
    inside.flags = h->flags;
    if (h->its.api->step(h->its.handle, &inside) != 0) {
        return 1;
    }
    for (uint32_t i = 0; i < h->count; i++) {
        const uint8_t flags = h->flags[i], *frame = h->obs + i * h->frame_bytes;
        const bool begins = (flags & FLAGS_BEGINS) != 0, has_end = (flags & FLAGS_END) != 0;
        if (has_end && h->ended[i] == 0) {
            history_push(h, i, h->last + i * h->frame_bytes);
        }
        if (has_end) {
            row_write(h, i, io->final_obs, io->final_obs_stride);
        }
        if (begins) {
            history_fill(h, i, frame);
        } else if (!has_end) {
            history_push(h, i, frame);
        }
        h->ended[i] = has_end && !begins;
        row_write(h, i, io->obs, io->obs_stride);
        if (io->flags != NULL) {
            io->flags[i] = flags;
        }
    }
    return 0;
}

// ---- state

static size_t
saved_bytes(const octet_env_handle *h)
{
    return h->frames * h->frame_bytes + 1;
}

static int
stack_save(octet_env_handle *h, uint32_t i, void *buf, uint32_t *length)
{
    const uint32_t own = (uint32_t)saved_bytes(h);
    uint32_t inner = *length - OCT_MIN(*length, own);
    int failed = h->its.api->save(h->its.handle, i, buf, &inner);
    if (failed == 0 && buf != NULL) {
        memcpy((uint8_t *)buf + inner, history_of(h, i), own - 1);
        ((uint8_t *)buf)[inner + own - 1] = h->ended[i];
    }
    *length = inner + own;
    return failed;
}

static int
stack_load(octet_env_handle *h, uint32_t i, const void *buf, uint32_t length)
{
    const uint32_t own = (uint32_t)saved_bytes(h);
    // A state that is too short is refused by the inner environment, which cannot be empty.
    const uint32_t inner = length - OCT_MIN(length, own);
    if (h->its.api->load(h->its.handle, i, buf, inner) != 0) {
        return 1;
    }
    memcpy(history_of(h, i), (const uint8_t *)buf + inner, own - 1);
    h->ended[i] = ((const uint8_t *)buf)[inner + own - 1] != 0;
    if (h->ended[i] == 0 || !h->autoreset) {
        return 0;
    }
    // The inner environment has begun an episode and did not show its first observation.
    octet_env_io nothing = {.size = sizeof(nothing)};
    uint8_t *mask = oct_alloc(h->count);
    mask[i] = 1;
    int failed = stack_reset(h, mask, NULL, &nothing);
    free(mask);
    return failed;
}

static int
stack_render(octet_env_handle *h, uint32_t i, uint32_t width, uint32_t height, uint8_t *rgb)
{
    return h->its.api->render(h->its.handle, i, width, height, rgb);
}

static int
stack_set_draws(octet_env_handle *h, uint32_t i, const double *draws, uint32_t count)
{
    return h->its.api->set_draws(h->its.handle, i, draws, count);
}

static const octet_env_api stack_api = {
    .size = sizeof(stack_api),
    .abi = OCTET_ENV_ABI,
    .destroy = stack_destroy,
    .spec = stack_spec,
    .reset = stack_reset,
    .step = stack_step,
    .save = stack_save,
    .load = stack_load,
    .last_error = stack_last_error,
    .render = stack_render,
    .set_draws = stack_set_draws,
};

// Returns the bounds of a view, or NULL if the inner observation has none.
static double *
bounds_of(const octet_env_handle *h, const double *its)
{
    const size_t numbers = h->frame_bytes / h->number_bytes;
    const size_t channels = numbers / h->cells / h->planes; // that stand together
    if (its == NULL) {
        return NULL;
    }
    double *all = oct_alloc(numbers * h->frames * sizeof(*all)), *to = all;
    for (size_t cell = 0; cell < h->cells; cell++) {
        for (size_t k = 0; k < (size_t)h->frames * h->planes; k++, to += channels) {
            const double *from = its + (k % h->planes * h->cells + cell) * channels;
            memcpy(to, from, channels * sizeof(*to));
        }
    }
    return all;
}

// Sets the sizes of the inner observation, and the shape of the view.
static void
view_shape(octet_env_handle *h, const octet_env_space *its, bool is_channels_first)
{
    octet_env_space *obs = &h->spec.obs;
    uint32_t numbers = 1, channels = 1; // that stand together
    for (uint32_t d = 0; d < its->rank; d++) {
        numbers *= its->shape[d];
    }
    h->planes = 1;
    if (is_channels_first) {
        h->planes = its->shape[0];
        obs->shape[0] = its->shape[1];
        obs->shape[1] = its->shape[2];
    } else if (its->rank != 2) {
        channels = its->rank == 1 ? numbers : its->shape[2];
    }
    obs->rank = its->rank == 1 ? 1 : 3;
    obs->shape[obs->rank - 1] = channels * h->planes * h->frames;
    h->cells = numbers / channels / h->planes;
    h->frame_bytes = env_space_bytes(its);
    h->number_bytes = (uint32_t)(h->frame_bytes / numbers);
    h->cell_bytes = channels * h->number_bytes;
}

oct_err
env_stack_around(env_instance *instance, env_stack_view view, uint32_t count, bool autoreset,
                 oct_reason *why)
{
    const octet_env_space *its = &instance->spec.obs;
    if (view.is_channels_first && (its->n > 0 || its->rank != 3)) {
        return oct_refuse(why,
                          "option " ENV_CHANNELS_KEY ": observations of %s are not channels x rows "
                          "x columns",
                          instance->spec.id);
    }
    if (its->n > 0 || its->rank < 1 || its->rank > 3) {
        return oct_refuse(why,
                          "option " ENV_STACK_KEY ": %s has %s observations; allowed are vectors "
                          "and pictures",
                          instance->spec.id, its->n > 0 ? "discrete" : "other");
    }
    if (env_space_bytes(its) > BYTES_MAX / view.frames) {
        return oct_refuse(why, "option " ENV_STACK_KEY ": %u observations of %u bytes are too many",
                          view.frames, env_space_bytes(its));
    }
    octet_env_handle *h = oct_alloc(sizeof(*h));
    h->its = *instance;
    h->spec = instance->spec;
    h->spec.obs_names = NULL;
    h->spec.capabilities &= ~OCTET_ENV_CAN_STATE;
    h->spec.state_count = 0;
    h->spec.state_names = NULL;
    h->frames = view.frames;
    h->count = count;
    h->autoreset = autoreset;
    view_shape(h, its, view.is_channels_first);
    h->history = oct_alloc(count * h->frames * h->frame_bytes);
    h->ended = oct_alloc(count);
    h->obs = oct_alloc(count * h->frame_bytes);
    h->last = oct_alloc(count * h->frame_bytes);
    h->flags = oct_alloc(count);
    h->spec.obs.low = h->low = bounds_of(h, its->low);
    h->spec.obs.high = h->high = bounds_of(h, its->high);
    *instance = (env_instance){.api = &stack_api, .handle = h, .spec = h->spec};
    return OCT_OK;
}
