/* An environment that keeps every rule and is of the shape that its options say: what policies can
 * be trained on, and what not. It counts the steps of an episode, and a step earns 0.5.
 *   obs, obs_dtype       numbers that it observes, and their octet_env_dtype
 *   side                 it observes pictures of side x side, with obs channels; 0: numbers
 *   states               it observes one of as many states; 0: numbers
 *   n                    discrete actions; 0: a box of
 *   actions, dtype       numbers and their octet_env_dtype,
 *   low, high, bounds    in [low, high]; bounds=0: NULL
 *   length               steps of an episode; 0: it never ends
 *   terminates           1: it ends of itself then, and is not truncated
 *   limit, threshold     max_episode_steps and reward_threshold of the spec
 *   sums                 0: it forgets to write ep_return and ep_length
 *   exit_at, abort_at    the call of step in which it ends the process; 0: none
 *   segv_at              or writes to an address that is not there
 *   deep_at              or calls itself until its stack is full
 *   spawn_at             or starts "sleep 1000" and leaves it
 *   claims               0: it has render, but does not claim it
 *   fails                in so many episodes the reward of the second step is NaN
 *   clips                it observes its last action, clipped to so many times its bounds; 0: not
 *   metrics              so many numbers are measured: the steps, those of environment 0 alone,
 *                        and, under names as long as they may be, nothing */
#include "octet/env.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OBS, OBS_DTYPE, N, ACTIONS, DTYPE, LOW, HIGH, BOUNDS, LENGTH, LIMIT, THRESHOLD, SUMS };
enum {
    CLAIMS = SUMS + 1,
    EXIT_AT,
    ABORT_AT,
    SEGV_AT,
    DEEP_AT,
    SPAWN_AT,
    METRICS,
    FAILS,
    TERMINATES,
    CLIPS,
    SIDE,
    STATES,
    OPTIONS
};

static const char *const names[OPTIONS] = {
    "obs",     "obs_dtype", "n",         "actions", "dtype",      "low",     "high",     "bounds",
    "length",  "limit",     "threshold", "sums",    "claims",     "exit_at", "abort_at", "segv_at",
    "deep_at", "spawn_at",  "metrics",   "fails",   "terminates", "clips",   "side",     "states"};

#define METRICS_MAX 64

struct octet_env_handle {
    uint32_t count, autoreset;
    uint32_t calls; /* of step */
    double options[OPTIONS];
    octet_env_spec spec;
    char metric_text[METRICS_MAX][64];
    const char *metric_names[METRICS_MAX];
    double *low, *high;
    uint32_t *steps; /* of each environment's episode */
    uint32_t *ended; /* its flags at its end */
    float *acted;    /* its last action, clipped */
};

static uint32_t
bytes_of(uint32_t dtype)
{
    return dtype == OCTET_ENV_F64 ? 8 : dtype == OCTET_ENV_U8 ? 1 : 4;
}

static octet_env_space
observed(const double *o)
{
    octet_env_space space = {.size = sizeof(space),
                             .dtype = (uint32_t)o[OBS_DTYPE],
                             .rank = 1,
                             .shape = {(uint32_t)o[OBS]},
                             .n = (uint32_t)o[STATES]};
    if (o[SIDE] > 0) {
        space.rank = 3;
        space.shape[0] = space.shape[1] = (uint32_t)o[SIDE];
        space.shape[2] = (uint32_t)o[OBS];
    }
    if (space.n > 0) {
        space.dtype = OCTET_ENV_I32;
        space.shape[0] = 1;
    }
    return space;
}

static void
describe(octet_env_handle *h)
{
    const double *o = h->options;
    uint32_t actions = (uint32_t)o[ACTIONS];
    for (int k = 0; k < METRICS_MAX; k++) {
        const char *name = k == 0 ? "all steps" : k == 1 ? "steps_of_0" : "never";
        snprintf(h->metric_text[k], sizeof(h->metric_text[k]), "%s", name);
        if (k > 2) {
            snprintf(h->metric_text[k], sizeof(h->metric_text[k]), "never_%057d", k);
        }
        h->metric_names[k] = h->metric_text[k];
    }
    h->low = calloc(actions, sizeof(double));
    h->high = calloc(actions, sizeof(double));
    for (uint32_t i = 0; i < actions; i++) {
        h->low[i] = o[LOW];
        h->high[i] = o[HIGH];
    }
    h->spec = (octet_env_spec){
        .size = sizeof(h->spec),
        .id = "Shape-v0",
        .obs = observed(o),
        .action = {.size = sizeof(octet_env_space),
                   .dtype = (uint32_t)o[DTYPE],
                   .rank = 1,
                   .shape = {actions},
                   .n = (uint32_t)o[N],
                   .low = o[BOUNDS] != 0 ? h->low : NULL,
                   .high = o[BOUNDS] != 0 ? h->high : NULL},
        .max_episode_steps = (uint32_t)o[LIMIT],
        .reward_threshold = o[THRESHOLD],
        .reward_high = 1,
        .metric_count = (uint32_t)o[METRICS],
        .metric_names = h->metric_names,
        .capabilities = OCTET_ENV_NO_RANDOM | (o[CLAIMS] != 0 ? OCTET_ENV_CAN_RENDER : 0),
    };
}

static void
destroy(octet_env_handle *h)
{
    free(h->low);
    free(h->high);
    free(h->steps);
    free(h->ended);
    free(h->acted);
    free(h);
}

static int
create(const octet_env_config *config, octet_env_handle **out, char *error, uint32_t error_size)
{
    static const double usual[OPTIONS] = {[OBS] = 3,     [OBS_DTYPE] = OCTET_ENV_F32,
                                          [ACTIONS] = 1, [DTYPE] = OCTET_ENV_F32,
                                          [LOW] = -1,    [HIGH] = 1,
                                          [BOUNDS] = 1,  [LENGTH] = 20,
                                          [LIMIT] = 20,  [THRESHOLD] = NAN,
                                          [SUMS] = 1,    [CLAIMS] = 1};
    octet_env_handle *h = calloc(1, sizeof(*h));
    memcpy(h->options, usual, sizeof(usual));
    h->count = config->count;
    h->autoreset = config->autoreset;
    h->steps = calloc(h->count, sizeof(*h->steps));
    h->ended = calloc(h->count, sizeof(*h->ended));
    h->acted = calloc(h->count, sizeof(*h->acted));
    for (uint32_t k = 0; k < config->option_count; k++) {
        int which = 0;
        while (which < OPTIONS && strcmp(names[which], config->options[k].key) != 0) {
            which++;
        }
        if (which == OPTIONS) {
            snprintf(error, error_size, "no option %s", config->options[k].key);
            destroy(h);
            return 1;
        }
        h->options[which] = strtod(config->options[k].value, NULL);
    }
    describe(h);
    *out = h;
    return 0;
}

static const octet_env_spec *
spec(const octet_env_handle *h)
{
    return &h->spec;
}

static void
observe(const octet_env_handle *h, void *rows, uint32_t stride, uint32_t i)
{
    const octet_env_space *space = &h->spec.obs;
    if (rows == NULL) {
        return;
    }
    char *row = (char *)rows + (size_t)i * stride;
    size_t numbers = space->shape[0];
    for (uint32_t k = 1; k < space->rank; k++) {
        numbers *= space->shape[k];
    }
    memset(row, 0, numbers * bytes_of(space->dtype));
    if (space->dtype == OCTET_ENV_F32) {
        memcpy(row, &(float){(float)h->steps[i]}, sizeof(float));
        if (h->options[CLIPS] != 0) {
            memcpy(row + sizeof(float), &h->acted[i], sizeof(float));
        }
    } else if (space->dtype == OCTET_ENV_F64) {
        memcpy(row, &(double){h->steps[i]}, sizeof(double));
    } else {
        row[0] = (char)h->steps[i]; /* of a little-endian number, too */
    }
}

static int
reset(octet_env_handle *h, const uint8_t *mask, const uint64_t *seeds, octet_env_io *io)
{
    (void)seeds;
    for (uint32_t i = 0; i < h->count; i++) {
        if (mask == NULL || mask[i] != 0) {
            h->steps[i] = h->ended[i] = 0;
            h->acted[i] = 0;
            observe(h, io->obs, io->obs_stride, i);
        }
    }
    return 0;
}

static uint32_t
end(octet_env_handle *h, octet_env_io *io, uint32_t i)
{
    observe(h, io->final_obs, io->final_obs_stride, i);
    if (io->ep_return != NULL && h->options[SUMS] != 0) {
        io->ep_return[i] = 0.5f * (float)h->steps[i];
    }
    if (io->ep_length != NULL && h->options[SUMS] != 0) {
        io->ep_length[i] = (int32_t)h->steps[i];
    }
    if (io->metrics != NULL && h->spec.metric_count > 0) {
        for (uint32_t k = 0; k < h->spec.metric_count; k++) {
            int is_measured = k == 0 || (k == 1 && i == 0);
            io->metrics[i * h->spec.metric_count + k] = is_measured ? (float)h->steps[i] : NAN;
        }
    }
    uint8_t end = h->options[TERMINATES] != 0 ? OCTET_ENV_TERMINATED : OCTET_ENV_TRUNCATED;
    h->ended[i] = end;
    if (h->autoreset) {
        h->steps[i] = h->ended[i] = 0;
        h->acted[i] = 0;
        return end | OCTET_ENV_OBS_IS_RESET;
    }
    return end;
}

static void
act(octet_env_handle *h, const octet_env_io *io, uint32_t i)
{
    const char *row = (const char *)io->action + (size_t)i * io->action_stride;
    double action = h->spec.action.dtype == OCTET_ENV_F64 ? *(const double *)(const void *)row
                                                          : *(const float *)(const void *)row;
    double low = h->options[LOW] * h->options[CLIPS], high = h->options[HIGH] * h->options[CLIPS];
    h->acted[i] = (float)fmin(fmax(action, low), high);
}

/* Ends never, as all that lies there is 0; volatile, so that no compiler sees it. */
static int
deep(volatile char *above)
{
    volatile char frame[4096];
    frame[0] = *above;
    return *above == 0 ? deep(frame) + frame[0] : 0;
}

static int
step(octet_env_handle *h, octet_env_io *io)
{
    h->calls++;
    if (h->calls == (uint32_t)h->options[EXIT_AT]) {
        exit(0);
    } else if (h->calls == (uint32_t)h->options[ABORT_AT]) {
        abort();
    } else if (h->calls == (uint32_t)h->options[SEGV_AT]) {
        *(volatile char *)(uintptr_t)h->calls = 0;
    } else if (h->calls == (uint32_t)h->options[DEEP_AT]) {
        volatile char top = 0;
        h->calls += (uint32_t)deep(&top);
    }
    if (h->calls == (uint32_t)h->options[SPAWN_AT] &&
        system("setsid sleep 1000 </dev/null >/dev/null 2>&1 &") != 0) {
        return 1;
    }
    for (uint32_t i = 0; h->spec.action.n > 0 && i < h->count; i++) {
        const char *row = (const char *)io->action + (size_t)i * io->action_stride;
        if (*(const uint32_t *)(const void *)row >= h->spec.action.n) {
            return 1;
        }
    }
    for (uint32_t i = 0; i < h->count; i++) {
        uint32_t flags = h->ended[i];
        io->reward[i] = flags == 0 ? 0.5f : 0;
        if (flags == 0) {
            h->steps[i]++;
            if (h->options[CLIPS] != 0) {
                act(h, io, i);
            }
            if (h->steps[i] == 2 && h->options[FAILS] > 0) {
                h->options[FAILS]--;
                io->reward[i] = NAN;
            }
            flags = h->steps[i] == (uint32_t)h->options[LENGTH] ? end(h, io, i) : 0;
        }
        io->flags[i] = (uint8_t)flags;
        observe(h, io->obs, io->obs_stride, i);
    }
    return 0;
}

static const char *
last_error(const octet_env_handle *h)
{
    (void)h;
    return "an action is outside its space";
}

static int
render(octet_env_handle *h, uint32_t i, uint32_t width, uint32_t height, uint8_t *rgb)
{
    memset(rgb, (int)h->steps[i], (size_t)width * height * 3);
    return 0;
}

static const octet_env_api api = {
    .size = sizeof(octet_env_api),
    .abi = OCTET_ENV_ABI,
    .create = create,
    .destroy = destroy,
    .spec = spec,
    .reset = reset,
    .step = step,
    .last_error = last_error,
    .render = render,
};

const octet_env_api *
octet_env_api_get(uint32_t host_abi)
{
    return host_abi == OCTET_ENV_ABI ? &api : NULL;
}
