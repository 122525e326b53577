// Implements include/octet/vector.h: environments by name, in parts that threads step together,
// with three ways in which episodes follow each other.
//
// A vector has one handle of envs/env.h for each thread (a part) and steps all parts as one job of
// a crew. A job's arguments lie in the vector; each part takes its rows of the caller's buffers,
// so nothing is copied. The handles check numbers and implement DISABLED and SAME_STEP.
//
// NEXT_STEP is made here from environments that stay at their end. In the step after an end, such
// an environment gets a zero action, because the caller may pass anything there, and repeats its
// end. Then it is reset, and reward, flags and observation of the reset replace what the step
// wrote.
//
// If one part fails, the others have been stepped already. Therefore all actions, which are the
// caller's responsibility, are checked before any part is stepped. Failures of single environments
// are not errors: they are flags (OCTET_ENV_FAILED), counted by the handles.
#include "include/octet/octet.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "envs/env.h"
#include "envs/env_space.h"
#include "envs/gym/env_gym_process.h"
#include "envs/render/render_scene.h"
#include "lib/liboctet_crew.h"

// The public codes equal those of oct_err.
#define AGREE(public, ours) static_assert((int)(public) == (int)(ours), #public)
AGREE(OCTET_VECTOR_OK, OCT_OK);
AGREE(OCTET_VECTOR_EINVAL, OCT_EINVAL);
AGREE(OCTET_VECTOR_ENOTFOUND, OCT_ENOTFOUND);
AGREE(OCTET_VECTOR_EINTERNAL, OCT_EINTERNAL);
#undef AGREE

#define FLAGS_END (OCTET_ENV_TERMINATED | OCTET_ENV_TRUNCATED)

// Environments first … first + env_count(its) - 1 of the vector. The parts are in order and leave
// no gap.
struct part {
    env *its;
    uint32_t first;
    oct_err err; // of its last job
};

struct octet_vector {
    uint32_t count, parts_count, autoreset; // autoreset: OCTET_VECTOR_DISABLED …
    uint32_t obs_bytes, action_bytes;       // of one row
    bool has_reward64;                      // false: copied from the float rewards
    struct part *parts;                     // [parts_count]
    liboctet_crew *crew;
    // Arguments of the current job.
    octet_env_io io;
    const uint8_t *mask;
    const uint64_t *seeds;
    // [count] each; for NEXT_STEP, and in place of buffers that the caller does not have.
    uint8_t *ended; // 1: the next step resets the environment
    uint8_t *flags;
    float *reward;
    uint8_t *actions;                   // copies of the caller's, with zeros for ended environments
    render_scene *scene;                // of the last picture's size; NULL: none yet
    uint32_t suits_width, suits_height; // of octet_vector_picture; 0: not known yet
    oct_reason error;
};

const char *
octet_version(void)
{
    return OCTET_VERSION;
}

// Keeps the error of a call with wrong arguments.
static int
refused(octet_vector *vector, const char *why)
{
    oct_reason_set(&vector->error, "%s", why);
    return OCTET_VECTOR_EINVAL;
}

void
octet_vector_on_wait(int (*take_interrupt)(void))
{
    env_gym_process_on_wait(take_interrupt);
}

// False: error has the reason.
static bool
config_is_sound(const octet_vector_config *config, oct_reason *why)
{
    if (config->size < sizeof(*config) || config->id == NULL) {
        oct_reason_set(why, "config.size or config.id is not set");
    } else if (config->autoreset > OCTET_VECTOR_NEXT_STEP) {
        oct_reason_set(why, "autoreset %u; allowed are 0 (disabled), 1 (same step), 2 (next)",
                       config->autoreset);
    } else if (config->threads > LIBOCTET_CREW_PARTS_MAX ||
               (config->threads > 1 && config->threads > config->count)) {
        oct_reason_set(why, "%u threads; allowed are 1 .. %u, and no more than environments",
                       config->threads, LIBOCTET_CREW_PARTS_MAX);
    } else {
        return true;
    }
    return false;
}

// Divides the environments evenly. Environment i of the vector has seed + i for any number of
// parts.
static oct_err
parts_open(octet_vector *vector, const octet_vector_config *config, oct_reason *why)
{
    env_request request = {.id = config->id,
                           .options = config->options != NULL ? config->options : "",
                           .autoreset = config->autoreset == OCTET_VECTOR_SAME_STEP};
    if (config->count == 0) { // env_open refuses this with the allowed range
        env *none;
        return env_open(&none, &request, why);
    }
    uint32_t first = 0;
    for (uint32_t p = 0; p < vector->parts_count; p++) {
        // Parts differ by at most one environment.
        uint32_t end = (uint32_t)((uint64_t)config->count * (p + 1) / vector->parts_count);
        request.count = end - first;
        request.seed = config->seed + first;
        OCT_TRY(env_open(&vector->parts[p].its, &request, why));
        vector->parts[p].first = first;
        first = end;
    }
    return OCT_OK;
}

static int
vector_open(octet_vector **out, const octet_vector_config *config, oct_reason *why)
{
    if (!config_is_sound(config, why)) {
        return OCTET_VECTOR_EINVAL;
    }
    octet_vector *vector = oct_alloc(sizeof(*vector));
    vector->count = config->count;
    vector->autoreset = config->autoreset;
    vector->parts_count = OCT_MAX(1u, config->threads);
    vector->parts = oct_alloc(vector->parts_count * sizeof(*vector->parts));
    oct_err err = parts_open(vector, config, why);
    if (err != OCT_OK) {
        octet_vector_close(vector);
        return (int)err;
    }
    const octet_env_spec *spec = env_spec(vector->parts[0].its);
    vector->obs_bytes = env_space_bytes(&spec->obs);
    vector->action_bytes = env_space_bytes(&spec->action);
    vector->has_reward64 = (spec->capabilities & OCTET_ENV_HAS_REWARD64) != 0;
    vector->ended = oct_alloc(vector->count);
    vector->flags = oct_alloc(vector->count);
    vector->reward = oct_alloc(vector->count * sizeof(*vector->reward));
    vector->actions = oct_alloc((size_t)vector->count * vector->action_bytes);
    err = liboctet_crew_create(&vector->crew, vector->parts_count, env_gym_process_ask);
    if (err != OCT_OK) {
        oct_reason_set(why, "%u threads: the system cannot start another: %s", config->threads,
                       strerror(errno));
        octet_vector_close(vector);
        return (int)err;
    }
    *out = vector;
    return OCTET_VECTOR_OK;
}

int
octet_vector_open(octet_vector **out, const octet_vector_config *config, char *error,
                  size_t error_size)
{
    oct_reason why = {""};
    int result = vector_open(out, config, &why);
    if (result != 0) {
        oct_reason_copy(&why, error, error_size);
    }
    return result;
}

// Also called by a failed open, when some fields are still NULL. The threads end before the
// environments that they step are closed.
void
octet_vector_close(octet_vector *vector)
{
    if (vector == NULL) {
        return;
    }
    liboctet_crew_destroy(vector->crew);
    for (uint32_t p = 0; p < vector->parts_count; p++) {
        env_close(vector->parts[p].its);
    }
    render_scene_close(vector->scene);
    free(vector->parts);
    free(vector->ended);
    free(vector->flags);
    free(vector->reward);
    free(vector->actions);
    free(vector);
}

const octet_env_spec *
octet_vector_spec(const octet_vector *vector)
{
    return env_spec(vector->parts[0].its);
}

const char *
octet_vector_error(const octet_vector *vector)
{
    return vector->error.text;
}

// Sum over the parts.
uint64_t
octet_vector_failures(const octet_vector *vector)
{
    uint64_t sum = 0;
    for (uint32_t p = 0; p < vector->parts_count; p++) {
        sum += env_failures(vector->parts[p].its);
    }
    return sum;
}

// Returns the last failure of the last part that had one: parts have no common order in time.
const char *
octet_vector_failure(const octet_vector *vector)
{
    const char *failure = "";
    for (uint32_t p = 0; p < vector->parts_count; p++) {
        const char *its = env_failure(vector->parts[p].its);
        failure = its[0] != '\0' ? its : failure;
    }
    return failure;
}

// Returns the part's rows of the job's buffers.
static octet_env_io
part_io(const octet_vector *vector, const struct part *part)
{
    octet_env_io io = vector->io;
    size_t first = part->first, metrics = octet_vector_spec(vector)->metric_count;
// Moves a buffer to the part's first row; NULL stays NULL.
#define FORWARD(pointer, count)                                                                    \
    ((pointer) = (pointer) != NULL ? (void *)((char *)(uintptr_t)(pointer) + (count)) : NULL)
    FORWARD(io.action, first * io.action_stride);
    FORWARD(io.obs, first * io.obs_stride);
    FORWARD(io.final_obs, first * io.final_obs_stride);
    FORWARD(io.reward, first * sizeof(*io.reward));
    FORWARD(io.flags, first);
    FORWARD(io.ep_return, first * sizeof(*io.ep_return));
    FORWARD(io.ep_length, first * sizeof(*io.ep_length));
    FORWARD(io.metrics, first * metrics * sizeof(*io.metrics));
    FORWARD(io.reward64, first * sizeof(*io.reward64));
#undef FORWARD
    return io;
}

// Copies the caller's struct; fields that a smaller struct lacks become NULL. False: a size or
// stride is too small.
static bool
io_take(octet_vector *vector, const octet_env_io *io)
{
    vector->io = (octet_env_io){0};
    if (io->size < offsetof(octet_env_io, flags)) {
        return false;
    }
    memcpy(&vector->io, io, OCT_MIN((size_t)io->size, sizeof(*io)));
    vector->io.size = sizeof(vector->io);
    return (vector->io.obs == NULL || vector->io.obs_stride >= vector->obs_bytes) &&
           (vector->io.final_obs == NULL || vector->io.final_obs_stride >= vector->obs_bytes);
}

// Runs the job in all parts. Of several errors, the first part's is returned.
static int
job_run(octet_vector *vector, void (*work)(void *context, uint32_t part))
{
    liboctet_crew_run(vector->crew, work, vector);
    for (uint32_t p = 0; p < vector->parts_count; p++) {
        if (vector->parts[p].err != OCT_OK) {
            oct_reason_set(&vector->error, "%s", env_error(vector->parts[p].its));
            return (int)vector->parts[p].err;
        }
    }
    return OCTET_VECTOR_OK;
}

// A part's share of octet_vector_reset.
static void
part_reset(void *context, uint32_t p)
{
    octet_vector *vector = context;
    struct part *part = &vector->parts[p];
    octet_env_io io = part_io(vector, part);
    part->err = env_reset(part->its, vector->mask != NULL ? vector->mask + part->first : NULL,
                          vector->seeds != NULL ? vector->seeds + part->first : NULL, &io);
}

// Environments that are reset here are not reset by the next step again.
int
octet_vector_reset(octet_vector *vector, const uint8_t *mask, const uint64_t *seeds,
                   octet_env_io *io)
{
    if (!io_take(vector, io)) {
        return refused(vector, "io.size, io.obs_stride or io.final_obs_stride is too small");
    }
    vector->mask = mask;
    vector->seeds = seeds;
    int result = job_run(vector, part_reset);
    for (uint32_t i = 0; result == OCTET_VECTOR_OK && i < vector->count; i++) {
        // Environments outside the mask stay at their end.
        vector->ended[i] = mask != NULL && mask[i] == 0 ? vector->ended[i] : 0;
    }
    return result;
}

// Replaces the actions of environments that will be reset by zeros, because the caller may leave
// anything there. The other actions are copied.
static void
actions_without_ended(octet_vector *vector, const struct part *part, octet_env_io *io)
{
    uint8_t *own = vector->actions + (size_t)part->first * vector->action_bytes;
    uint32_t count = env_count(part->its);
    if (io->action_stride == vector->action_bytes) {
        memcpy(own, io->action, (size_t)count * vector->action_bytes);
    }
    for (uint32_t i = 0; i < count; i++) {
        uint8_t *row = own + (size_t)i * vector->action_bytes;
        if (vector->ended[part->first + i] != 0) {
            memset(row, 0, vector->action_bytes);
        } else if (io->action_stride != vector->action_bytes) {
            memcpy(row, (const char *)io->action + (size_t)i * io->action_stride,
                   vector->action_bytes);
        }
    }
    io->action = own;
    io->action_stride = vector->action_bytes;
}

// Resets the environments that ended one step ago. The step just made only repeated their end; its
// outcome is replaced by that of the reset.
static void
ended_begin(octet_vector *vector, const struct part *part, octet_env_io *io)
{
    const uint8_t *ended = vector->ended + part->first;
    for (uint32_t i = 0; i < env_count(part->its); i++) {
        if (ended[i] != 0) {
            io->flags[i] = OCTET_ENV_OBS_IS_RESET;
            io->reward[i] = 0;
            if (io->reward64 != NULL) {
                io->reward64[i] = 0;
            }
        }
    }
    env_reset_each(part->its, ended, NULL, io);
}

// Steps a part with NEXT_STEP.
static oct_err
part_step_next(octet_vector *vector, struct part *part, octet_env_io *io)
{
    uint8_t *ended = vector->ended + part->first;
    uint32_t count = env_count(part->its);
    bool any = memchr(ended, 1, count) != NULL;
    if (any) {
        actions_without_ended(vector, part, io);
    }
    OCT_TRY(env_step(part->its, io));
    if (any) {
        ended_begin(vector, part, io);
    }
    for (uint32_t i = 0; i < count; i++) {
        // An environment that could not begin has failed, and is reset again by the next step.
        ended[i] = (io->flags[i] & FLAGS_END) != 0;
    }
    return OCT_OK;
}

// Environments without rewards in double get them from the float rewards.
static void
part_step(void *context, uint32_t p)
{
    octet_vector *vector = context;
    struct part *part = &vector->parts[p];
    octet_env_io io = part_io(vector, part);
    double *reward64 = io.reward64;
    io.reward64 = vector->has_reward64 ? reward64 : NULL;
    part->err = vector->autoreset == OCTET_VECTOR_NEXT_STEP ? part_step_next(vector, part, &io)
                                                            : env_step(part->its, &io);
    for (uint32_t i = 0; reward64 != NULL && !vector->has_reward64 && i < env_count(part->its);
         i++) {
        reward64[i] = (double)io.reward[i];
    }
}

// Checks all actions before any part is stepped, so that an error leaves the whole vector
// unchanged. Actions of environments that will be reset are not checked.
static int
actions_check(octet_vector *vector)
{
    const octet_env_space *space = &octet_vector_spec(vector)->action;
    const char *row = vector->io.action;
    if (vector->parts_count == 1 || // with one part, env_step checks
        env_space_rows_are_sound(space, row, vector->io.action_stride, vector->count)) {
        return OCTET_VECTOR_OK;
    }
    for (uint32_t i = 0; i < vector->count; i++, row += vector->io.action_stride) {
        if (vector->ended[i] == 0 && !env_space_is_sound(space, row)) {
            oct_reason_set(&vector->error, "%s: the action of environment %u %s",
                           octet_vector_spec(vector)->id, i,
                           space->n > 0 ? "is outside its space" : "is not finite");
            return OCTET_VECTOR_EINVAL;
        }
    }
    return OCTET_VECTOR_OK;
}

// Flags and rewards get own buffers if the caller has none: the checks and NEXT_STEP read them.
int
octet_vector_step(octet_vector *vector, octet_env_io *io)
{
    if (!io_take(vector, io)) {
        return refused(vector, "io.size, io.obs_stride or io.final_obs_stride is too small");
    }
    if (io->action == NULL || io->action_stride < vector->action_bytes) {
        return refused(vector, "io.action is not set, or io.action_stride is too small");
    }
    vector->io.flags = vector->io.flags != NULL ? vector->io.flags : vector->flags;
    vector->io.reward = vector->io.reward != NULL ? vector->io.reward : vector->reward;
    int result = actions_check(vector);
    return result == OCTET_VECTOR_OK ? job_run(vector, part_step) : result;
}

// Returns the part's handle for environment i, and makes *i its number there. NULL, with an error:
// there is no such environment.
static env *
part_with(octet_vector *vector, uint32_t *i)
{
    if (*i >= vector->count) {
        (void)refused(vector, "no environment has that number");
        return NULL;
    }
    uint32_t p = vector->parts_count - 1;
    while (vector->parts[p].first > *i) {
        p--;
    }
    *i -= vector->parts[p].first;
    return vector->parts[p].its;
}

// Keeps the error of a part's call.
static int
answer(octet_vector *vector, const env *its, oct_err err)
{
    if (err != OCT_OK) {
        oct_reason_set(&vector->error, "%s", env_error(its));
    }
    return (int)err;
}

// i is the vector's number of the environment until part_with, then the part's.
int
octet_vector_get_state(octet_vector *vector, uint32_t i, double *state, uint32_t *episode_step)
{
    env *its = part_with(vector, &i);
    return its == NULL ? OCTET_VECTOR_EINVAL
                       : answer(vector, its, env_state_get(its, i, state, episode_step));
}

// The environment is no longer at an end, so that NEXT_STEP does not reset it.
int
octet_vector_set_state(octet_vector *vector, uint32_t i, const double *state, uint32_t episode_step,
                       octet_env_io *io)
{
    uint32_t k = i;
    env *its = part_with(vector, &k);
    if (its == NULL || (io != NULL && !io_take(vector, io))) {
        return its == NULL ? OCTET_VECTOR_EINVAL
                           : refused(vector, "io.size or io.obs_stride is too small");
    }
    octet_env_io rows = {.size = sizeof(rows)};
    if (io != NULL && io->obs != NULL) {
        // env_state_set writes row k of the part, which is row i of the vector.
        rows.obs = (char *)io->obs + (size_t)(i - k) * io->obs_stride;
        rows.obs_stride = io->obs_stride;
    }
    int result = answer(vector, its, env_state_set(its, k, state, episode_step, &rows));
    if (result == OCTET_VECTOR_OK) {
        vector->ended[i] = 0;
    }
    return result;
}

// Opens a scene of this size, unless the last one has it. 0: the size that suits the environment,
// which is remembered.
static int
scene_open(octet_vector *vector, uint32_t width, uint32_t height)
{
    const render_scene *scene = vector->scene;
    width = width > 0 ? width : vector->suits_width;
    height = height > 0 ? height : vector->suits_height;
    if (scene != NULL && width == render_scene_width(scene) &&
        height == render_scene_height(scene)) {
        return OCTET_VECTOR_OK;
    }
    render_scene *opened;
    oct_err err = render_scene_open(&opened, vector->parts[0].its, width, height, &vector->error);
    if (err != OCT_OK) {
        return (int)err;
    }
    render_scene_close(vector->scene);
    vector->scene = opened;
    vector->suits_width = width > 0 ? vector->suits_width : render_scene_width(opened);
    vector->suits_height = height > 0 ? vector->suits_height : render_scene_height(opened);
    return OCTET_VECTOR_OK;
}

// The scene is opened to find its size, and kept for the pictures that follow.
int
octet_vector_picture(octet_vector *vector, uint32_t *width, uint32_t *height,
                     double *frames_per_second)
{
    int result = scene_open(vector, 0, 0);
    if (result == OCTET_VECTOR_OK) {
        *width = render_scene_width(vector->scene);
        *height = render_scene_height(vector->scene);
        *frames_per_second = render_scene_steps_per_second(vector->scene);
    }
    return result;
}

int
octet_vector_render(octet_vector *vector, uint32_t i, const void *obs, uint32_t width,
                    uint32_t height, uint8_t *rgb)
{
    env *its = part_with(vector, &i);
    int result = its == NULL ? OCTET_VECTOR_EINVAL : scene_open(vector, width, height);
    if (result != OCTET_VECTOR_OK) {
        return result;
    }
    return (int)render_scene_draw(vector->scene, its, i, obs, rgb, &vector->error);
}

// Without the module of the Control Suite, the list has the other ids alone.
size_t
octet_vector_ids(const char **ids, size_t room)
{
    const char *suite[ENV_MODULE_TASKS_MAX + 1] = {NULL}, *const * lists[] = {env_ids(), suite};
    oct_reason why;
    if (env_module_ids(suite, &why) != OCT_OK) {
        suite[0] = NULL;
    }
    size_t count = 0;
    for (size_t l = 0; l < OCT_COUNTOF(lists); l++) {
        for (const char *const *id = lists[l]; *id != NULL; id++, count++) {
            if (count < room) {
                ids[count] = *id;
            }
        }
    }
    return count;
}
