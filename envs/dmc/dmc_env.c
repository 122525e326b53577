// The Control Suite behind the environment ABI: create, reset, step, save, load and render any
// task.
#include "envs/dmc/dmc_env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "envs/dmc/dmc_guard.h"
#include "envs/dmc/dmc_model.h"
#include "envs/dmc/dmc_options.h"
#include "envs/dmc/dmc_render.h"
#include "envs/env_saved.h"

#define RESET_TRIES    10 // starts that are drawn before a reset fails
#define ENDED          (OCTET_ENV_TERMINATED | OCTET_ENV_TRUNCATED | OCTET_ENV_FAILED)
#define OBSERVED_MAX   128 // numbers of an observation
#define STATE_NAME_MAX 16

struct slot {
    dmc_sim sim;
    env_episode episode;
};

struct octet_env_handle {
    const dmc_task *task;
    octet_env_spec spec;
    uint32_t count;
    bool autoreset;
    oct_reason error;
    struct slot *slots;
    dmc_render *render; // NULL until a picture is drawn
    double *bounds;     // low[nu], high[nu] of the actions
    const char **state_names;
    char (*joint_names)[STATE_NAME_MAX]; // qpos0.., qvel0..
};

const dmc_sim *
dmc_env_sim(const octet_env_handle *handle, uint32_t i)
{
    return i < handle->count ? &handle->slots[i].sim : NULL;
}

static void
names_write(octet_env_handle *handle, const mjModel *m)
{
    const dmc_task *task = handle->task;
    uint32_t nq = (uint32_t)m->nq, nv = (uint32_t)m->nv;
    handle->joint_names = oct_alloc((nq + nv) * sizeof(*handle->joint_names));
    handle->state_names = oct_alloc((nq + nv + task->value_count) * sizeof(char *));
    for (uint32_t k = 0; k < nq + nv; k++) {
        snprintf(handle->joint_names[k], STATE_NAME_MAX, k < nq ? "qpos%u" : "qvel%u",
                 k < nq ? k : k - nq);
        handle->state_names[k] = handle->joint_names[k];
    }
    for (uint32_t k = 0; k < task->value_count; k++) {
        handle->state_names[nq + nv + k] = task->value_names[k];
    }
}

static void
spec_write(octet_env_handle *handle, const mjModel *m, uint32_t max_episode_steps)
{
    const dmc_task *task = handle->task;
    uint32_t nu = (uint32_t)m->nu;
    handle->bounds = oct_alloc((size_t)2 * nu * sizeof(double));
    for (uint32_t k = 0; k < nu; k++) {
        handle->bounds[k] = -1;
        handle->bounds[nu + k] = 1;
    }
    names_write(handle, m);
    handle->spec = (octet_env_spec){
        .size = sizeof(octet_env_spec),
        .id = task->id,
        .obs = {.size = sizeof(octet_env_space),
                .dtype = OCTET_ENV_F32,
                .rank = 1,
                .shape = {task->obs_count}},
        .action = {.size = sizeof(octet_env_space),
                   .dtype = OCTET_ENV_F32,
                   .rank = 1,
                   .shape = {nu},
                   .low = handle->bounds,
                   .high = handle->bounds + nu},
        .max_episode_steps = max_episode_steps,
        .reward_threshold = NAN,
        .reward_low = 0,
        .reward_high = 1,
        .capabilities = OCTET_ENV_CAN_SAVE | OCTET_ENV_CAN_STATE | OCTET_ENV_HAS_REWARD64 |
                        OCTET_ENV_CAN_RENDER,
        .state_count = (uint32_t)(m->nq + m->nv) + task->value_count,
        .state_names = handle->state_names,
        .obs_names = task->obs_names,
        .reward_name = task->reward_name,
        .step_seconds = m->opt.timestep * task->substeps,
    };
}

static void
dmc_destroy(octet_env_handle *handle)
{
    if (handle == NULL) {
        return;
    }
    for (uint32_t i = 0; handle->slots != NULL && i < handle->count; i++) {
        dmc_sim_fini(&handle->slots[i].sim);
    }
    dmc_render_destroy(handle->render);
    free(handle->slots);
    free(handle->bounds);
    free(handle->state_names);
    free(handle->joint_names);
    free(handle);
}

// Begins an episode. A start that MuJoCo cannot compute is drawn again; a model that has only such
// starts is an error.
static int
slot_begin(octet_env_handle *handle, uint32_t i)
{
    struct slot *slot = &handle->slots[i];
    slot->episode.episode_return = 0;
    slot->episode.elapsed = 0;
    slot->episode.ended = 0;
    for (int k = 0; k < RESET_TRIES; k++) {
        if (dmc_sim_reset(&slot->sim)) {
            return 0;
        }
    }
    slot->episode.ended = OCTET_ENV_FAILED | OCTET_ENV_TRUNCATED;
    oct_reason_set(&handle->error, "%s: environment %u cannot be reset: %s", handle->task->id, i,
                   dmc_sim_fault());
    return 1;
}

static int
slots_create(octet_env_handle *handle, const octet_env_config *config, const mjModel *m)
{
    handle->slots = oct_alloc(config->count * sizeof(*handle->slots));
    for (uint32_t i = 0; i < config->count; i++) {
        struct slot *slot = &handle->slots[i];
        if (!dmc_sim_init(&slot->sim, handle->task, m, &slot->episode.rng, &handle->error)) {
            return 1;
        }
        oct_pcg64_init(&slot->episode.rng, config->seed + i);
        oct_pcg64 fresh = slot->episode.rng;
        if (slot_begin(handle, i) != 0) {
            return 1;
        }
        slot->episode.rng = fresh; // the first reset begins the seed's first episode again
    }
    return 0;
}

static int
dmc_create(const octet_env_config *config, octet_env_handle **out, char *error, uint32_t error_size)
{
    dmc_options options;
    mjModel *m;
    oct_reason why;
    if (!dmc_options_read(&options, config, error, error_size)) {
        return 1;
    }
    if (!dmc_model_load(&m, options.task->model, options.mjcf_dir, &why)) {
        oct_reason_copy(&why, error, error_size);
        return 1;
    }
    octet_env_handle *handle = oct_alloc(sizeof(*handle));
    handle->task = options.task;
    handle->count = config->count;
    handle->autoreset = config->autoreset != 0;
    OCT_ASSERT(handle->task->obs_count <= OBSERVED_MAX);
    spec_write(handle, m, options.max_episode_steps);
    int failed = slots_create(handle, config, m);
    mj_deleteModel(m);
    if (failed != 0) {
        snprintf(error, error_size, "%s", handle->error.text);
        dmc_destroy(handle);
        return 1;
    }
    *out = handle;
    return 0;
}

static const octet_env_spec *
dmc_spec(const octet_env_handle *handle)
{
    return &handle->spec;
}

static const char *
dmc_last_error(const octet_env_handle *handle)
{
    return handle->error.text;
}

static void
slot_observe(const octet_env_handle *handle, uint32_t i, void *rows, uint32_t stride)
{
    if (rows == NULL) {
        return;
    }
    const struct slot *slot = &handle->slots[i];
    uint32_t count = handle->task->obs_count;
    double numbers[OBSERVED_MAX];
    float *row = (float *)(void *)((char *)rows + (size_t)i * stride);
    if ((slot->episode.ended & OCTET_ENV_FAILED) != 0) {
        memset(row, 0, count * sizeof(*row));
        return;
    }
    handle->task->observe(&slot->sim, numbers);
    for (uint32_t k = 0; k < count; k++) {
        row[k] = (float)numbers[k];
    }
}

static int
dmc_reset(octet_env_handle *handle, const uint8_t *mask, const uint64_t *seeds, octet_env_io *io)
{
    for (uint32_t i = 0; i < handle->count; i++) {
        if (mask != NULL && mask[i] == 0) {
            continue;
        }
        if (seeds != NULL) {
            oct_pcg64_init(&handle->slots[i].episode.rng, seeds[i]);
        }
        if (slot_begin(handle, i) != 0) {
            return 1;
        }
        if (io != NULL) {
            slot_observe(handle, i, io->obs, io->obs_stride);
        }
    }
    return 0;
}

static int
action_refuse(octet_env_handle *handle, uint32_t i)
{
    oct_reason_set(&handle->error, "the action of environment %u has a number that is not finite",
                   i);
    return 1;
}

// Checks all actions before any environment is stepped, so that a refused call changes nothing.
static int
actions_check(octet_env_handle *handle, const octet_env_io *io)
{
    const char *at = io->action;
    uint32_t nu = handle->spec.action.shape[0];
    for (uint32_t i = 0; i < handle->count; i++, at += io->action_stride) {
        const float *action = (const float *)(const void *)at;
        float zero = 0; // becomes NaN if an action is not finite
        for (uint32_t k = 0; k < nu; k++) {
            zero += action[k] * 0;
        }
        if (zero != 0) {
            return action_refuse(handle, i);
        }
    }
    return 0;
}

// Writes the rows of an episode's end, or of a failed attempt to begin one.
static void
slot_end_write(const octet_env_handle *handle, uint32_t i, octet_env_io *io)
{
    const struct slot *slot = &handle->slots[i];
    bool failed = (slot->episode.ended & OCTET_ENV_FAILED) != 0;
    slot_observe(handle, i, io->final_obs, io->final_obs_stride);
    if (io->ep_return != NULL) {
        io->ep_return[i] = failed ? 0 : (float)slot->episode.episode_return;
    }
    if (io->ep_length != NULL) {
        io->ep_length[i] = failed ? 0 : (int32_t)slot->episode.elapsed;
    }
}

// Returns the flags of an environment whose episode has ended; with autoreset the next one begins.
// If that fails, the step counts as a failure whatever its result was, and the next step tries
// again.
static uint8_t
slot_end(octet_env_handle *handle, uint32_t i, octet_env_io *io)
{
    struct slot *slot = &handle->slots[i];
    uint8_t flags = slot->episode.ended;
    slot_end_write(handle, i, io);
    if (!handle->autoreset) {
        return flags;
    }
    if (slot_begin(handle, i) == 0) {
        return flags | OCTET_ENV_OBS_IS_RESET;
    }
    slot_end_write(handle, i, io);
    return slot->episode.ended;
}

// Writes the rows of a step. fault: why it failed; NULL: it did not.
static void
slot_finish(octet_env_handle *handle, uint32_t i, const char *fault, octet_env_io *io)
{
    struct slot *slot = &handle->slots[i];
    double reward = 0;
    uint8_t flags = slot->episode.ended;
    if (slot->episode.ended == 0 && fault == NULL) {
        reward = handle->task->reward(&slot->sim);
        slot->episode.episode_return += reward;
        slot->episode.elapsed = env_episode_steps(slot->episode.elapsed + 1);
        uint32_t limit = handle->spec.max_episode_steps;
        slot->episode.ended = limit > 0 && slot->episode.elapsed >= limit ? OCTET_ENV_TRUNCATED : 0;
    } else if (slot->episode.ended == 0) {
        slot->episode.ended = OCTET_ENV_FAILED | OCTET_ENV_TRUNCATED;
        oct_reason_set(&handle->error, "environment %u failed: %s", i, fault);
    }
    if (slot->episode.ended != 0 && (flags == 0 || handle->autoreset)) {
        flags = slot_end(handle, i, io);
        reward = (flags & OCTET_ENV_FAILED) != 0 ? 0 : reward;
    }
    slot_observe(handle, i, io->obs, io->obs_stride);
    if (io->reward != NULL) {
        io->reward[i] = (float)reward;
    }
    if (OCTET_ENV_HAS(octet_env_io, io, reward64) && io->reward64 != NULL) {
        io->reward64[i] = reward;
    }
    if (io->flags != NULL) {
        io->flags[i] = flags;
    }
}

struct steps {
    octet_env_handle *handle;
    octet_env_io *io;
    uint32_t i; // the next environment to step
};

static void
steps_work(void *arg)
{
    struct steps *steps = arg;
    octet_env_handle *handle = steps->handle;
    const octet_env_io *io = steps->io;
    for (; steps->i < handle->count; steps->i++) {
        struct slot *slot = &handle->slots[steps->i];
        const char *row = (const char *)io->action + (size_t)steps->i * io->action_stride;
        bool good = slot->episode.ended != 0 ||
                    dmc_sim_step_guarded(&slot->sim, (const float *)(const void *)row);
        slot_finish(handle, steps->i, good ? NULL : dmc_sim_fault(), steps->io);
    }
}

// One guard covers all environments. An environment that raises an error leaves the guard, is
// finished outside it, and the next one follows.
static int
dmc_step(octet_env_handle *handle, octet_env_io *io)
{
    if (actions_check(handle, io) != 0) {
        return 1;
    }
    struct steps steps = {.handle = handle, .io = io};
    while (steps.i < handle->count) {
        char fault[200];
        if (!dmc_guard_run(steps_work, &steps, fault, sizeof(fault))) {
            slot_finish(handle, steps.i, fault, io);
            steps.i++;
        }
    }
    return 0;
}

static int
no_such(octet_env_handle *handle, const char *what)
{
    oct_reason_set(&handle->error, "%s: no such environment", what);
    return 1;
}

// Saves version, identity, numbers of the sim, episode, generator; little-endian.
static int
dmc_save(octet_env_handle *handle, uint32_t i, void *buf, uint32_t *length)
{
    if (i >= handle->count) {
        return no_such(handle, "save");
    }
    const struct slot *slot = &handle->slots[i];
    uint32_t count = dmc_sim_memory_count(&slot->sim);
    double *memory = oct_alloc(count * sizeof(*memory));
    dmc_sim_memory_get(&slot->sim, memory);
    oct_writer writer = {.base = buf, .capacity = buf != NULL ? *length : SIZE_MAX};
    env_saved_begin(&writer, handle->task->id);
    oct_write_u32(&writer, count);
    for (uint32_t k = 0; k < count; k++) {
        oct_write_f64(&writer, memory[k]);
    }
    free(memory);
    env_saved_end(&writer, &slot->episode);
    if (writer.failed) {
        oct_reason_set(&handle->error, "save: the buffer is too short");
        return 1;
    }
    *length = (uint32_t)writer.used;
    return 0;
}

// Reads everything without setting the sim. False: not a saved state of this task.
static bool
saved_read(const octet_env_handle *handle, oct_reader *reader, double *memory, uint32_t count,
           env_episode *out)
{
    bool sound = env_saved_is_of(reader, handle->task->id);
    sound = oct_read_u32(reader) == count && sound;
    for (uint32_t k = 0; k < count; k++) {
        memory[k] = oct_read_f64(reader);
    }
    return env_saved_read_end(reader, out, ENDED) && sound;
}

// Runs after load or set_state. With autoreset no environment stays at an end: one that was loaded
// there, or broke, begins its next episode. An error's message is kept.
static void
slot_go_on(octet_env_handle *handle, uint32_t i)
{
    struct slot *slot = &handle->slots[i];
    if (slot->sim.broken) {
        slot->episode.ended = OCTET_ENV_FAILED | OCTET_ENV_TRUNCATED;
    }
    if (handle->autoreset && slot->episode.ended != 0) {
        oct_reason error = handle->error;
        if (slot_begin(handle, i) == 0) {
            handle->error = error;
        }
    }
}

static int
dmc_load(octet_env_handle *handle, uint32_t i, const void *buf, uint32_t length)
{
    if (i >= handle->count) {
        return no_such(handle, "load");
    }
    struct slot *slot = &handle->slots[i];
    env_episode read;
    uint32_t count = dmc_sim_memory_count(&slot->sim);
    double *memory = oct_alloc(count * sizeof(*memory));
    oct_reader reader = {.at = buf, .left = length};
    bool sound = saved_read(handle, &reader, memory, count, &read);
    if (!sound) {
        oct_reason_set(&handle->error, "load: not a saved state of %s", handle->task->id);
    } else if (!dmc_sim_memory_set(&slot->sim, memory)) {
        oct_reason_set(&handle->error, "load: %s", dmc_sim_fault());
        sound = false;
    } else {
        slot->episode = read;
    }
    slot_go_on(handle, i);
    free(memory);
    return sound ? 0 : 1;
}

static int
dmc_get_state(const octet_env_handle *handle, uint32_t i, double *state, uint32_t *episode_step)
{
    if (i >= handle->count) {
        return 1;
    }
    const struct slot *slot = &handle->slots[i];
    const dmc_sim *sim = &slot->sim;
    size_t nq = (size_t)sim->m->nq, nv = (size_t)sim->m->nv;
    memcpy(state, dmc_sim_qpos(sim), nq * sizeof(*state));
    memcpy(state + nq, sim->d->qvel, nv * sizeof(*state));
    memcpy(state + nq + nv, sim->drawn, handle->task->value_count * sizeof(*state));
    *episode_step = slot->episode.elapsed;
    return 0;
}

static int
dmc_set_state(octet_env_handle *handle, uint32_t i, const double *state, uint32_t episode_step,
              octet_env_io *io)
{
    if (i >= handle->count) {
        return no_such(handle, "set_state");
    }
    struct slot *slot = &handle->slots[i];
    if (!dmc_sim_place(&slot->sim, state, episode_step == 0)) {
        oct_reason_set(&handle->error, "%s", dmc_sim_fault());
        slot_go_on(handle, i);
        return 1;
    }
    slot->episode.episode_return = 0;
    slot->episode.elapsed = env_episode_steps(episode_step);
    slot->episode.ended = 0;
    if (io != NULL) {
        slot_observe(handle, i, io->obs, io->obs_stride);
    }
    return 0;
}

static int
dmc_picture(octet_env_handle *handle, uint32_t i, uint32_t width, uint32_t height, uint8_t *rgb)
{
    if (i >= handle->count) {
        return no_such(handle, "render");
    }
    dmc_sim *sim = &handle->slots[i].sim;
    dmc_sim_cameras(sim, true);
    bool drawn = dmc_render_draw(&handle->render, sim, width, height, rgb, &handle->error);
    dmc_sim_cameras(sim, false);
    return drawn ? 0 : 1;
}

const octet_env_api *
dmc_env_api(void)
{
    static const octet_env_api api = {.size = sizeof(api),
                                      .abi = OCTET_ENV_ABI,
                                      .create = dmc_create,
                                      .destroy = dmc_destroy,
                                      .spec = dmc_spec,
                                      .reset = dmc_reset,
                                      .step = dmc_step,
                                      .save = dmc_save,
                                      .load = dmc_load,
                                      .last_error = dmc_last_error,
                                      .get_state = dmc_get_state,
                                      .set_state = dmc_set_state,
                                      .render = dmc_picture};
    return &api;
}
