// The host's side of the environment ABI: checks actions and results of every call, and resets
// environments that failed.
#include "envs/env.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "envs/env_failure.h"
#include "envs/env_instance.h"
#include "envs/env_space.h"

#define FLAGS_KNOWN                                                                                \
    (OCTET_ENV_TERMINATED | OCTET_ENV_TRUNCATED | OCTET_ENV_OBS_IS_RESET | OCTET_ENV_FAILED)
#define FLAGS_END (OCTET_ENV_TERMINATED | OCTET_ENV_TRUNCATED)

struct env {
    env_instance its;
    uint32_t count;
    uint32_t obs_bytes, action_bytes;
    bool autoreset;
    uint8_t flags_known;
    uint64_t failures;
    // Rows that the guard needs, for callers that do not pass them.
    float *reward;
    uint8_t *flags;
    uint8_t *reset_flags;
    uint8_t *failed; // mask of the environments to reset
    uint8_t *one;    // mask with one environment; all 0 between calls
    uint8_t *stuck;  // mask of environments whose last reset failed; with autoreset
    uint32_t stuck_count;
    // Without autoreset: environments that stay failed.
    uint8_t *over; // flags of each; 0: it has not failed
    uint32_t over_count;
    uint8_t *kept; // their observations
    char error[256];
    char failure[256 + 32]; // of the last environment that failed: its number and an error
};

oct_err
env_open(env **out, const env_request *request, oct_reason *why)
{
    env_instance instance;
    OCT_TRY(env_instance_init(&instance, request, why));
    env *e = oct_alloc(sizeof(*e));
    e->its = instance;
    e->count = request->count;
    e->autoreset = request->autoreset;
    e->flags_known = FLAGS_KNOWN | (request->takes_begins ? ENV_BEGINS : 0);
    e->obs_bytes = env_space_bytes(&e->its.spec.obs);
    e->action_bytes = env_space_bytes(&e->its.spec.action);
    e->reward = oct_alloc(e->count * sizeof(*e->reward));
    e->flags = oct_alloc(e->count);
    e->reset_flags = oct_alloc(e->count);
    e->failed = oct_alloc(e->count);
    e->one = oct_alloc(e->count);
    e->stuck = oct_alloc(e->count);
    e->over = oct_alloc(e->count);
    e->kept = e->autoreset ? NULL : oct_alloc((size_t)e->count * e->obs_bytes);
    *out = e;
    return OCT_OK;
}

void
env_close(env *e)
{
    if (e == NULL) {
        return;
    }
    env_instance_fini(&e->its);
    free(e->reward);
    free(e->flags);
    free(e->reset_flags);
    free(e->failed);
    free(e->one);
    free(e->stuck);
    free(e->over);
    free(e->kept);
    free(e);
}

const octet_env_spec *
env_spec(const env *e)
{
    return &e->its.spec;
}

uint32_t
env_count(const env *e)
{
    return e->count;
}

uint64_t
env_failures(const env *e)
{
    return e->failures;
}

const char *
env_failure(const env *e)
{
    return e->failure;
}

const char *
env_error(const env *e)
{
    return e->error;
}

static oct_err
answered_error(env *e, const char *what)
{
    char text[200];
    env_instance_error(&e->its, text, sizeof(text));
    snprintf(e->error, sizeof(e->error), "%s: %s: %s", e->its.spec.id, what, text);
    return OCT_EINTERNAL;
}

static void *
row_at(void *base, uint32_t stride, uint32_t i)
{
    return (char *)base + (size_t)i * stride;
}

// Counts a failure that the environment itself reported.
static void
failure_count(env *e)
{
    e->failures++;
    env_instance_error(&e->its, e->failure, sizeof(e->failure));
}

static void
stuck_set(env *e, uint32_t i, bool is_stuck)
{
    e->stuck_count = e->stuck_count - e->stuck[i] + is_stuck;
    e->stuck[i] = is_stuck;
}

static void
over_set(env *e, uint32_t i, uint8_t flags)
{
    e->over_count = e->over_count - (e->over[i] != 0) + (flags != 0);
    e->over[i] = flags;
}

// Forgets what the last episode of environment i left behind.
static void
episode_begin(env *e, uint32_t i)
{
    stuck_set(e, i, false);
    over_set(e, i, 0);
}

oct_err
env_reset(env *e, const uint8_t *mask, const uint64_t *seeds, octet_env_io *io)
{
    OCT_ASSERT(io->obs == NULL || io->obs_stride >= e->obs_bytes);
    octet_env_io all = *io;
    all.size = sizeof(all);
    all.flags = e->reset_flags;
    memset(e->reset_flags, 0, e->count);
    if (e->its.api->reset(e->its.handle, mask, seeds, &all) != 0) {
        return answered_error(e, "reset");
    }
    for (uint32_t i = 0; i < e->count; i++) {
        if ((e->reset_flags[i] & OCTET_ENV_FAILED) != 0) {
            failure_count(e);
        }
    }
    for (uint32_t i = 0; io->obs != NULL && i < e->count; i++) {
        if ((mask == NULL || mask[i] != 0) &&
            !env_space_is_sound(&e->its.spec.obs, row_at(io->obs, io->obs_stride, i))) {
            snprintf(e->error, sizeof(e->error), "%s: reset: the observation of environment %u %s",
                     e->its.spec.id, i, env_space_fault(&e->its.spec.obs));
            return OCT_EINTERNAL;
        }
    }
    for (uint32_t i = 0; i < e->count; i++) {
        if (mask == NULL || mask[i] != 0) {
            episode_begin(e, i);
        }
    }
    return OCT_OK;
}

static oct_err
actions_check(env *e, const octet_env_io *io)
{
    OCT_ASSERT(io->action != NULL && io->action_stride >= e->action_bytes);
    uint32_t n = e->its.spec.action.n;
    const char *at = io->action;
    if (n == 0 && env_space_rows_are_sound(&e->its.spec.action, at, io->action_stride, e->count)) {
        return OCT_OK;
    }
    for (uint32_t i = 0; i < e->count; i++, at += io->action_stride) {
        if (n > 0 && *(const uint32_t *)(const void *)at >= n) {
            snprintf(e->error, sizeof(e->error),
                     "%s: action %d of environment %u is not in 0 .. %u", e->its.spec.id,
                     *(const int32_t *)(const void *)at, i, n - 1);
            return OCT_EINVAL;
        }
        if (n == 0 && !env_space_is_sound(&e->its.spec.action, at)) {
            snprintf(e->error, sizeof(e->error), "%s: the action of environment %u is not finite",
                     e->its.spec.id, i);
            return OCT_EINVAL;
        }
    }
    return OCT_OK;
}

// Returns what is wrong with the rows of environment i; NULL: nothing.
static const char *
step_fault(const env *e, const octet_env_io *io, uint32_t i)
{
    uint8_t flags = io->flags[i];
    if ((flags & ~e->flags_known) != 0) {
        return "unknown flags";
    }
    if (!isfinite(io->reward[i])) {
        return "the reward is not finite";
    }
    if (io->obs != NULL &&
        !env_space_is_sound(&e->its.spec.obs, row_at(io->obs, io->obs_stride, i))) {
        return e->its.spec.obs.n > 0 ? "the observation is outside its space"
                                     : "the observation is not finite";
    }
    if (io->final_obs != NULL && (flags & FLAGS_END) != 0 &&
        !env_space_is_sound(&e->its.spec.obs, row_at(io->final_obs, io->final_obs_stride, i))) {
        return e->its.spec.obs.n > 0 ? "the final observation is outside its space"
                                     : "the final observation is not finite";
    }
    return NULL;
}

// Writes the rows of a failure; the observation is unchanged.
static void
failure_put(const env *e, octet_env_io *io, uint32_t i, uint8_t flags)
{
    env_failure_put(io, i, e->its.spec.metric_count, flags);
    if (io->final_obs != NULL) {
        memset(row_at(io->final_obs, io->final_obs_stride, i), 0, e->obs_bytes);
    }
}

static void
failure_mark(env *e, octet_env_io *io, uint32_t i, const char *fault)
{
    snprintf(e->failure, sizeof(e->failure), "environment %u: %s", i, fault);
    failure_put(e, io, i,
                OCTET_ENV_FAILED | OCTET_ENV_TRUNCATED |
                    (e->autoreset ? OCTET_ENV_OBS_IS_RESET : 0));
}

static void
obs_clear(const env *e, octet_env_io *io, uint32_t i)
{
    if (io->obs != NULL) {
        memset(row_at(io->obs, io->obs_stride, i), 0, e->obs_bytes);
    }
}

void
env_reset_each(env *e, const uint8_t *mask, const uint64_t *seeds, octet_env_io *io)
{
    if ((mask != NULL && memchr(mask, 1, e->count) == NULL) ||
        env_reset(e, mask, seeds, io) == OCT_OK) {
        return;
    }
    for (uint32_t i = 0; i < e->count; i++) { // one by one, because some may be able to reset
        if (mask == NULL || mask[i] != 0) {
            e->one[i] = 1;
            if (env_reset(e, e->one, seeds, io) != OCT_OK) {
                // A step that failed counts once.
                e->failures += (io->flags[i] & OCTET_ENV_FAILED) == 0;
                failure_mark(e, io, i, e->error);
                obs_clear(e, io, i);
                io->flags[i] &= ~OCTET_ENV_OBS_IS_RESET;
                stuck_set(e, i, e->autoreset);
            }
            e->one[i] = 0;
        }
    }
}

// Checks all rows in one pass without a branch per environment. Returns true if nothing is wrong,
// as in nearly every step.
static bool
step_is_quiet(const env *e, const octet_env_io *io)
{
    unsigned strange = 0;
    for (uint32_t i = 0; i < e->count; i++) {
        strange |= io->flags[i] & (~(unsigned)e->flags_known | OCTET_ENV_FAILED);
        if (io->final_obs != NULL && (io->flags[i] & FLAGS_END) != 0) {
            const void *row = row_at(io->final_obs, io->final_obs_stride, i);
            strange |= !env_space_is_sound(&e->its.spec.obs, row);
        }
    }
    static const octet_env_space rewards = {.size = sizeof(rewards), .dtype = OCTET_ENV_F32};
    return strange == 0 &&
           env_space_rows_are_sound(&rewards, io->reward, sizeof(float), e->count) &&
           (io->obs == NULL ||
            env_space_rows_are_sound(&e->its.spec.obs, io->obs, io->obs_stride, e->count));
}

// Takes a failure that environment i itself reported, which ends its episode. If it did not set an
// end, it need not have written the rows of an end, so they are written here.
static void
failure_take(env *e, octet_env_io *io, uint32_t i)
{
    uint8_t flags = io->flags[i];
    failure_count(e);
    if ((flags & FLAGS_END) == 0) {
        failure_put(e, io, i, flags);
    }
    io->flags[i] = flags | OCTET_ENV_TRUNCATED;
}

// Keeps what environment i answers until it is reset, after a failure without autoreset.
static void
failure_keep(env *e, const octet_env_io *io, uint32_t i)
{
    over_set(e, i, io->flags[i]);
    uint8_t *kept = e->kept + (size_t)i * e->obs_bytes;
    if (io->obs != NULL) {
        memcpy(kept, row_at(io->obs, io->obs_stride, i), e->obs_bytes);
    } else {
        memset(kept, 0, e->obs_bytes);
    }
}

// Repeats the kept answer; what the environment answers now does not count, as it may not know that
// it failed.
static void
failure_repeat(env *e, octet_env_io *io, uint32_t i)
{
    failure_put(e, io, i, e->over[i]);
    if (io->obs != NULL) {
        memcpy(row_at(io->obs, io->obs_stride, i), e->kept + (size_t)i * e->obs_bytes,
               e->obs_bytes);
    }
}

// Checks the rows of environment i. Returns true if it must be reset now.
static bool
row_guard(env *e, octet_env_io *io, uint32_t i)
{
    if (e->over[i] != 0) {
        failure_repeat(e, io, i);
        return false;
    }
    const char *fault = step_fault(e, io, i);
    if (fault == NULL && (io->flags[i] & OCTET_ENV_FAILED) != 0) {
        failure_take(e, io, i); // the environment has recovered, or will
        stuck_set(e, i, false);
        return false;
    }
    if (fault == NULL && e->stuck[i] == 0) {
        return false;
    }
    bool has_begun = fault == NULL && (io->flags[i] & (OCTET_ENV_OBS_IS_RESET | ENV_BEGINS)) != 0;
    e->failures++;
    failure_mark(e, io, i, fault != NULL ? fault : "its last reset failed");
    if (has_begun) { // the episode that the reset should have left has ended
        stuck_set(e, i, false);
        return false;
    }
    obs_clear(e, io, i);
    return true;
}

// Marks the environments that failed and, with autoreset, resets them. An environment that could
// not be reset may step as if nothing had happened; its steps fail until it is reset.
static void
step_guard(env *e, octet_env_io *io)
{
    if (e->stuck_count == 0 && e->over_count == 0 && step_is_quiet(e, io)) {
        return;
    }
    for (uint32_t i = 0; i < e->count; i++) {
        e->failed[i] = row_guard(e, io, i);
        if (!e->autoreset && e->over[i] == 0 && (io->flags[i] & OCTET_ENV_FAILED) != 0) {
            failure_keep(e, io, i);
        }
    }
    if (e->autoreset) {
        env_reset_each(e, e->failed, NULL, io);
    }
}

oct_err
env_step(env *e, octet_env_io *io)
{
    OCT_ASSERT(io->obs == NULL || io->obs_stride >= e->obs_bytes);
    OCT_ASSERT(io->final_obs == NULL || io->final_obs_stride >= e->obs_bytes);
    OCT_TRY(actions_check(e, io));
    octet_env_io all = *io;
    all.size = sizeof(all);
    all.reward = io->reward != NULL ? io->reward : e->reward;
    all.flags = io->flags != NULL ? io->flags : e->flags;
    env_metrics_clear(&all, e->count, e->its.spec.metric_count);
    if (e->its.api->step(e->its.handle, &all) != 0) {
        return answered_error(e, "step");
    }
    step_guard(e, &all);
    return OCT_OK;
}

static oct_err
lacks(env *e, const char *what)
{
    snprintf(e->error, sizeof(e->error), "%s: the environment has no %s", e->its.spec.id, what);
    return OCT_EINVAL;
}

oct_err
env_save(env *e, uint32_t i, void *buf, uint32_t *length)
{
    OCT_ASSERT(i < e->count);
    if ((e->its.spec.capabilities & OCTET_ENV_CAN_SAVE) == 0) {
        return lacks(e, "save");
    }
    return e->its.api->save(e->its.handle, i, buf, length) != 0 ? answered_error(e, "save")
                                                                : OCT_OK;
}

oct_err
env_load(env *e, uint32_t i, const void *buf, uint32_t length)
{
    OCT_ASSERT(i < e->count);
    if ((e->its.spec.capabilities & OCTET_ENV_CAN_SAVE) == 0) {
        return lacks(e, "load");
    }
    if (e->its.api->load(e->its.handle, i, buf, length) != 0) {
        return answered_error(e, "load");
    }
    episode_begin(e, i);
    return OCT_OK;
}

oct_err
env_state_get(env *e, uint32_t i, double *state, uint32_t *episode_step)
{
    OCT_ASSERT(i < e->count);
    if ((e->its.spec.capabilities & OCTET_ENV_CAN_STATE) == 0) {
        return lacks(e, "get_state");
    }
    if (e->its.api->get_state(e->its.handle, i, state, episode_step) != 0) {
        return answered_error(e, "get_state");
    }
    return OCT_OK;
}

oct_err
env_state_set(env *e, uint32_t i, const double *state, uint32_t episode_step, octet_env_io *io)
{
    OCT_ASSERT(i < e->count);
    if ((e->its.spec.capabilities & OCTET_ENV_CAN_STATE) == 0) {
        return lacks(e, "set_state");
    }
    if (e->its.api->set_state(e->its.handle, i, state, episode_step, io) != 0) {
        (void)answered_error(e, "set_state");
        return OCT_EINVAL;
    }
    episode_begin(e, i);
    return OCT_OK;
}

oct_err
env_draws_set(env *e, uint32_t i, const double *draws, uint32_t count)
{
    OCT_ASSERT(i < e->count);
    if ((e->its.spec.capabilities & OCTET_ENV_CAN_DRAWS) == 0) {
        return lacks(e, "set_draws");
    }
    if (e->its.api->set_draws(e->its.handle, i, draws, count) != 0) {
        (void)answered_error(e, "set_draws");
        return OCT_EINVAL;
    }
    return OCT_OK;
}

oct_err
env_render(env *e, uint32_t i, uint32_t width, uint32_t height, uint8_t *rgb)
{
    OCT_ASSERT(i < e->count);
    if ((e->its.spec.capabilities & OCTET_ENV_CAN_RENDER) == 0) {
        return lacks(e, "render");
    }
    return e->its.api->render(e->its.handle, i, width, height, rgb) != 0
               ? answered_error(e, "render")
               : OCT_OK;
}
