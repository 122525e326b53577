// Action repeat: an environment whose step is several steps of an inner environment, with one
// action.
#include "envs/env_repeat.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "envs/env_failure.h"
#include "envs/env_space.h"

#define FLAGS_END (OCTET_ENV_TERMINATED | OCTET_ENV_TRUNCATED)

// The current episode of one environment.
typedef struct episode {
    double sum;     // of rewards
    int32_t length; // steps of the outer environment
    uint32_t ended; // 1: the episode has ended, and the environment waits for its reset
} episode;

struct octet_env_handle {
    env_instance its;
    octet_env_spec spec;
    uint32_t repeat, count, obs_bytes;
    bool autoreset, has_reward64;
    episode *episodes;
    // Rows of one inner step.
    uint8_t *obs;
    float *reward, *metrics;
    double *reward64;
    uint8_t *flags;
    // Rows of the whole step.
    double *sum;
    uint8_t *all_flags; // for an environment that has ended: the flags of its end, where it has one
    uint8_t *mask;      // environments that had ended before the step; later those to be reset
    // Last observations of environments that have ended. The inner environment may not stay there:
    // one whose process was lost begins other episodes.
    uint8_t *end_obs;
    uint8_t *has_end;  // 0: no end yet, or it is not known; the next inner step shows it
    const char *error; // of the last call; NULL: the inner environment has the error
    // Reason of the last failure; the inner environment forgets it.
    char failure[ENV_REASON_BYTES];
};

static void
repeat_destroy(octet_env_handle *h)
{
    env_instance_fini(&h->its);
    free(h->episodes);
    free(h->obs);
    free(h->reward);
    free(h->metrics);
    free(h->reward64);
    free(h->flags);
    free(h->sum);
    free(h->all_flags);
    free(h->mask);
    free(h->end_obs);
    free(h->has_end);
    free(h);
}

static const octet_env_spec *
repeat_spec(const octet_env_handle *h)
{
    return &h->spec;
}

static const char *
repeat_last_error(const octet_env_handle *h)
{
    return h->error != NULL ? h->error : h->its.api->last_error(h->its.handle);
}

// Keeps the reason of a failure inside, because the next inner call may have another reason or
// none. The first failure of a step is kept, as later ones may follow from it.
static void
failure_keep(octet_env_handle *h)
{
    if (h->error == NULL) {
        env_instance_error(&h->its, h->failure, sizeof(h->failure));
        h->error = h->failure;
    }
}

static int
inside_reset(octet_env_handle *h, const uint8_t *mask, const uint64_t *seeds, octet_env_io *io)
{
    int failed = h->its.api->reset(h->its.handle, mask, seeds, io);
    for (uint32_t i = 0; i < h->count; i++) {
        if (mask == NULL || mask[i] != 0) {
            h->has_end[i] = 0;
            h->episodes[i] = failed == 0 ? (episode){0} : h->episodes[i];
        }
    }
    if (failed != 0) {
        failure_keep(h);
    }
    return failed;
}

static int
repeat_reset(octet_env_handle *h, const uint8_t *mask, const uint64_t *seeds, octet_env_io *io)
{
    h->error = NULL;
    return inside_reset(h, mask, seeds, io);
}

// ---- a step

static void *
row_at(void *base, uint32_t stride, uint32_t i)
{
    return (char *)base + (size_t)i * stride;
}

// Copies an observation of environment i into the caller's row.
static void
obs_put(const octet_env_handle *h, const uint8_t *from, void *base, uint32_t stride, uint32_t i)
{
    if (base != NULL) {
        memcpy(row_at(base, stride, i), from + (size_t)i * h->obs_bytes, h->obs_bytes);
    }
}

// Returns the flags of an inner step; a failure ends the episode, even if the flags do not say so.
static uint8_t
flags_of(const octet_env_handle *h, uint32_t i)
{
    bool has_failed = (h->flags[i] & OCTET_ENV_FAILED) != 0;
    return h->flags[i] | (has_failed ? OCTET_ENV_TRUNCATED : 0);
}

// Keeps the rows of an inner step that ended the episode of environment i, until it is reset.
static void
end_take(octet_env_handle *h, uint32_t i)
{
    h->has_end[i] = 1;
    h->all_flags[i] = flags_of(h, i);
    obs_put(h, h->obs, h->end_obs, h->obs_bytes, i);
}

// Adds the result of one inner step to environment i.
static void
step_take(octet_env_handle *h, octet_env_io *io, uint32_t i)
{
    episode *at = &h->episodes[i];
    uint32_t metrics = h->spec.metric_count;
    if (at->ended != 0) {
        if (h->has_end[i] == 0) { // it was loaded there, or could not be reset
            end_take(h, i);
        }
        return;
    }
    h->sum[i] += h->has_reward64 ? h->reward64[i] : (double)h->reward[i];
    h->all_flags[i] = flags_of(h, i);
    at->ended = (h->all_flags[i] & FLAGS_END) != 0;
    if (at->ended == 0) {
        return;
    }
    end_take(h, i);
    if ((h->all_flags[i] & OCTET_ENV_FAILED) != 0) {
        failure_keep(h);
    }
    if (io->metrics != NULL && metrics > 0) {
        memcpy(io->metrics + (size_t)i * metrics, h->metrics + (size_t)i * metrics,
               metrics * sizeof(float));
    }
}

// The caller sees only the last observations and those of ends. An unsound observation in between
// is a failure of the step, too.
static void
between_check(octet_env_handle *h)
{
    const octet_env_space *obs = &h->spec.obs;
    if (env_space_rows_are_sound(obs, h->obs, h->obs_bytes, h->count)) {
        return;
    }
    for (uint32_t i = 0; i < h->count; i++) {
        uint8_t *row = h->obs + (size_t)i * h->obs_bytes;
        bool continues = h->episodes[i].ended == 0 && (flags_of(h, i) & FLAGS_END) == 0;
        if (!continues || env_space_is_sound(obs, row)) {
            continue;
        }
        memset(row, 0, h->obs_bytes);
        h->flags[i] |= OCTET_ENV_FAILED;
        if (h->error == NULL) {
            snprintf(h->failure, sizeof(h->failure), "environment %u: the observation %s", i,
                     env_space_fault(obs));
            h->error = h->failure;
        }
    }
}

// Writes the rows of the whole step for environment i.
static void
step_end(octet_env_handle *h, octet_env_io *io, uint32_t i, bool had_ended)
{
    episode *at = &h->episodes[i];
    obs_put(h, at->ended != 0 ? h->end_obs : h->obs, io->obs, io->obs_stride, i);
    if (io->reward != NULL) {
        io->reward[i] = (float)h->sum[i];
    }
    if (io->reward64 != NULL) {
        io->reward64[i] = h->sum[i];
    }
    if (!had_ended) {
        at->sum += h->sum[i];
        at->length += at->length < INT32_MAX; // a state that was set may have INT32_MAX steps
    }
    if (io->flags != NULL) {
        io->flags[i] = h->all_flags[i];
    }
    if (at->ended == 0) {
        return;
    }
    obs_put(h, h->end_obs, io->final_obs, io->final_obs_stride, i);
    if (had_ended && h->autoreset) { // it could not be reset before
        h->all_flags[i] = OCTET_ENV_FAILED | OCTET_ENV_TRUNCATED;
    }
    // A failure does not count the steps before it either.
    if ((h->all_flags[i] & OCTET_ENV_FAILED) != 0) {
        env_failure_put(io, i, h->spec.metric_count, h->all_flags[i]);
        return;
    }
    if (io->ep_return != NULL) {
        io->ep_return[i] = (float)at->sum;
    }
    if (io->ep_length != NULL) {
        io->ep_length[i] = at->length;
    }
}

// Resets the environments in h->mask. A reset that had to recover from an error reports that in the
// flags of the step, because a reset has no flags of its own.
static int
masked_reset(octet_env_handle *h, octet_env_io *io)
{
    octet_env_io rows = *io;
    rows.flags = h->flags; // those of io belong to the step
    memset(h->flags, 0, h->count);
    if (inside_reset(h, h->mask, NULL, &rows) != 0) {
        return 1;
    }
    for (uint32_t i = 0; i < h->count; i++) {
        if (h->mask[i] != 0 && (h->flags[i] & OCTET_ENV_FAILED) != 0) {
            failure_keep(h);
            env_failure_put(io, i, h->spec.metric_count, OCTET_ENV_FAILED | OCTET_ENV_TRUNCATED);
        }
        if (h->mask[i] != 0 && io->flags != NULL) {
            io->flags[i] |= OCTET_ENV_OBS_IS_RESET;
        }
    }
    return 0;
}

// Resets the environments that have ended. One that cannot be reset has failed, and the next step
// tries again.
static void
ended_reset(octet_env_handle *h, octet_env_io *io)
{
    bool has_ended = false;
    for (uint32_t i = 0; i < h->count; i++) {
        bool has_failed = (h->all_flags[i] & OCTET_ENV_FAILED) != 0;
        h->mask[i] = h->episodes[i].ended != 0 && !has_failed;
        has_ended = has_ended || h->mask[i] != 0;
    }
    if (has_ended) {
        (void)masked_reset(h, io); // those that failed are tried one by one below
    }
    memset(h->mask, 0, h->count);
    for (uint32_t i = 0; i < h->count; i++) {
        if (h->episodes[i].ended != 0) {
            h->mask[i] = 1;
            if (masked_reset(h, io) != 0) {
                env_failure_put(io, i, h->spec.metric_count,
                                OCTET_ENV_FAILED | OCTET_ENV_TRUNCATED);
            }
            h->mask[i] = 0;
        }
    }
}

static int
repeat_step(octet_env_handle *h, octet_env_io *io)
{
    octet_env_io inside = {
        .size = sizeof(inside),
        .action = io->action,
        .action_stride = io->action_stride,
        .obs = h->obs,
        .obs_stride = h->obs_bytes,
        .reward = h->reward,
        .flags = h->flags,
        .metrics = h->metrics,
        .reward64 = h->has_reward64 ? h->reward64 : NULL,
    };
    h->error = NULL;
    for (uint32_t i = 0; i < h->count; i++) {
        h->mask[i] = (uint8_t)h->episodes[i].ended;
        h->sum[i] = 0;
    }
    for (uint32_t k = 0; k < h->repeat; k++) {
        env_metrics_clear(&inside, h->count, h->spec.metric_count);
        if (h->its.api->step(h->its.handle, &inside) != 0) {
            h->error = NULL;
            return 1;
        }
        if (k + 1 < h->repeat) {
            between_check(h);
        }
        for (uint32_t i = 0; i < h->count; i++) {
            step_take(h, io, i);
        }
    }
    bool has_waited = false;
    for (uint32_t i = 0; i < h->count; i++) {
        has_waited = has_waited || h->mask[i] != 0;
        step_end(h, io, i, h->mask[i] != 0);
    }
    if (h->autoreset) {
        ended_reset(h, io);
        h->error = has_waited && h->error == NULL ? h->failure : h->error;
    }
    return 0;
}

// ---- state

static int
repeat_save(octet_env_handle *h, uint32_t i, void *buf, uint32_t *length)
{
    h->error = NULL;
    uint32_t inner = *length - OCT_MIN(*length, (uint32_t)sizeof(episode));
    int failed = h->its.api->save(h->its.handle, i, buf, &inner);
    if (failed == 0 && buf != NULL) {
        memcpy((char *)buf + inner, &h->episodes[i], sizeof(episode));
    }
    *length = inner + (uint32_t)sizeof(episode);
    return failed;
}

static int
repeat_load(octet_env_handle *h, uint32_t i, const void *buf, uint32_t length)
{
    h->error = "load: not a saved state of an environment with action_repeat";
    if (length < sizeof(episode)) {
        return 1;
    }
    episode at;
    uint32_t inner = length - (uint32_t)sizeof(at);
    memcpy(&at, (const char *)buf + inner, sizeof(at));
    if (!isfinite(at.sum) || at.length < 0 || at.ended > 1) {
        return 1;
    }
    h->error = NULL;
    if (h->its.api->load(h->its.handle, i, buf, inner) != 0) {
        return 1;
    }
    h->episodes[i] = at;
    h->has_end[i] = 0;
    if (h->episodes[i].ended == 0 || !h->autoreset) {
        return 0;
    }
    octet_env_io nothing = {.size = sizeof(nothing)};
    memset(h->mask, 0, h->count);
    h->mask[i] = 1;
    return repeat_reset(h, h->mask, NULL, &nothing);
}

// The state is the inner environment's; the step of the episode counts outer steps.
static int
repeat_get_state(const octet_env_handle *h, uint32_t i, double *state, uint32_t *episode_step)
{
    int failed = h->its.api->get_state(h->its.handle, i, state, episode_step);
    if (failed == 0) {
        *episode_step = (uint32_t)h->episodes[i].length;
    }
    return failed;
}

static int
repeat_set_state(octet_env_handle *h, uint32_t i, const double *state, uint32_t episode_step,
                 octet_env_io *io)
{
    h->error = NULL;
    uint64_t inside = (uint64_t)episode_step * h->repeat;
    int failed = h->its.api->set_state(h->its.handle, i, state,
                                       (uint32_t)OCT_MIN(inside, (uint64_t)INT32_MAX), io);
    if (failed == 0) {
        h->episodes[i] = (episode){.length = (int32_t)OCT_MIN(episode_step, (uint32_t)INT32_MAX)};
        h->has_end[i] = 0;
    }
    return failed;
}

static int
repeat_render(octet_env_handle *h, uint32_t i, uint32_t width, uint32_t height, uint8_t *rgb)
{
    h->error = NULL;
    return h->its.api->render(h->its.handle, i, width, height, rgb);
}

static const octet_env_api repeat_api = {
    .size = sizeof(repeat_api),
    .abi = OCTET_ENV_ABI,
    .destroy = repeat_destroy,
    .spec = repeat_spec,
    .reset = repeat_reset,
    .step = repeat_step,
    .save = repeat_save,
    .load = repeat_load,
    .last_error = repeat_last_error,
    .get_state = repeat_get_state,
    .set_state = repeat_set_state,
    .render = repeat_render,
};

static octet_env_spec
spec_around(const octet_env_spec *its, uint32_t repeat)
{
    octet_env_spec spec = *its;
    spec.max_episode_steps = its->max_episode_steps / repeat;
    spec.max_episode_steps += its->max_episode_steps % repeat != 0;
    spec.reward_low = fmin(its->reward_low, its->reward_low * repeat);
    spec.reward_high = fmax(its->reward_high, its->reward_high * repeat);
    spec.step_seconds = its->step_seconds * repeat;
    spec.capabilities &= ~OCTET_ENV_CAN_DRAWS;
    return spec;
}

void
env_repeat_around(env_instance *instance, uint32_t repeat, uint32_t count, bool autoreset)
{
    OCT_ASSERT(repeat >= 1 && count >= 1);
    octet_env_handle *h = oct_alloc(sizeof(*h));
    h->its = *instance;
    h->spec = spec_around(&instance->spec, repeat);
    h->repeat = repeat;
    h->count = count;
    h->autoreset = autoreset;
    h->has_reward64 = (h->spec.capabilities & OCTET_ENV_HAS_REWARD64) != 0;
    h->obs_bytes = env_space_bytes(&h->spec.obs);
    h->episodes = oct_alloc(count * sizeof(*h->episodes));
    h->obs = oct_alloc((size_t)count * h->obs_bytes);
    h->reward = oct_alloc(count * sizeof(*h->reward));
    h->metrics = oct_alloc(((size_t)count * h->spec.metric_count + 1) * sizeof(*h->metrics));
    h->reward64 = oct_alloc(count * sizeof(*h->reward64));
    h->flags = oct_alloc(count);
    h->sum = oct_alloc(count * sizeof(*h->sum));
    h->all_flags = oct_alloc(count);
    h->mask = oct_alloc(count);
    h->end_obs = oct_alloc((size_t)count * h->obs_bytes);
    h->has_end = oct_alloc(count);
    *instance = (env_instance){.api = &repeat_api, .handle = h, .spec = h->spec};
}
