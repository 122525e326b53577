/* An environment that keeps every rule, and with -DBAD_... one that breaks a single one: what the
 * host and `octet env check` have to notice. A walk on a line: position and step are observed. */
#include "octet/env.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIMIT 20
#define WIDTH 4

struct walk {
    float position;
    float reward_sum;
    uint64_t random;
    int32_t steps;
    uint32_t ended;
};

struct octet_env_handle {
    uint32_t count, autoreset;
    uint32_t resets; /* asked of environment 0 */
    char error[80];
    struct walk walks[];
};

static const double low[2] = {-2 * WIDTH, 0}, high[2] = {2 * WIDTH, LIMIT + 1};
static const octet_env_spec walk_spec = {
    .size = sizeof(octet_env_spec),
#ifdef BAD_ID
    .id = "two words",
#else
    .id = "Walk-v0",
#endif
    .obs = {.size = sizeof(octet_env_space),
#ifdef BAD_DTYPE
            .dtype = 9,
#else
            .dtype = OCTET_ENV_F32,
#endif
#ifdef BAD_RANK
            .rank = OCTET_ENV_RANK_MAX + 1,
#else
            .rank = 1,
#endif
#ifdef BAD_EMPTY_SHAPE
            .shape = {0},
#elif defined(BAD_HUGE_SHAPE)
            .shape = {1u << 30},
#else
            .shape = {2},
#endif
#ifdef BAD_BOUNDS
            .low = high,
            .high = low},
#else
            .low = low,
            .high = high},
#endif
    .action = {.size = sizeof(octet_env_space), .dtype = OCTET_ENV_I32, .n = 2},
    .max_episode_steps = LIMIT,
    .reward_threshold = NAN,
    .reward_low = -1,
    .reward_high = 1,
#ifdef BAD_CLAIMS_STATE
    .capabilities = OCTET_ENV_CAN_SAVE | OCTET_ENV_CAN_STATE,
#elif defined(BAD_CLAIMS_RENDER)
    .capabilities = OCTET_ENV_CAN_SAVE | OCTET_ENV_CAN_RENDER,
#elif defined(BAD_CLAIMS_DRAWS)
    .capabilities = OCTET_ENV_CAN_SAVE | OCTET_ENV_CAN_DRAWS,
#else
    .capabilities = OCTET_ENV_CAN_SAVE,
#endif
#ifdef BAD_STATE_NAME
    .state_count = 2,
    .state_names = (const char *const[]){"x", NULL},
#elif defined(BAD_STEP_SECONDS)
    .step_seconds = 1e-300,
#elif defined(BAD_STEP_SECONDS_NAN)
    .step_seconds = NAN,
#endif
#ifdef BAD_METRIC_NAME
    .metric_count = 2,
    .metric_names = (const char *const[]){"success rate", "lap\ntime"},
#elif defined(BAD_METRIC_NAME_TWICE)
    .metric_count = 3,
    .metric_names = (const char *const[]){"laps", "distance", "laps"},
#elif defined(BAD_METRIC_NAME_LENGTH)
    .metric_count = 1,
    .metric_names =
        (const char *const[]){"a234567890123456789012345678901234567890123456789012345678901234"},
#else
    .metric_count = 1,
    .metric_names = (const char *const[]){"distance"},
#endif
};

static float
draw(struct walk *w)
{
#ifdef BAD_GLOBAL_RANDOM
    static uint64_t global;
    w->random += global++;
#endif
    uint64_t z = (w->random += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (float)(z >> 40) * 0x1p-23f - 1;
}

static void
begin(struct walk *w)
{
    w->position = draw(w);
    w->reward_sum = 0;
    w->steps = 0;
    w->ended = 0;
}

static void
observe(const struct walk *w, void *rows, uint32_t stride, uint32_t i)
{
    if (rows == NULL) {
        return;
    }
    float *row = (float *)(void *)((char *)rows + (size_t)i * stride);
    row[0] = w->position;
#ifndef BAD_UNWRITTEN
    row[1] = (float)w->steps;
#endif
#ifdef BAD_SHAPE
    row[2] = 7;
#endif
#if defined(BAD_OBS_NAN) || defined(BAD_RESET_FAILS) || defined(BAD_RESET_FAILS_TWICE)
    row[0] = w->steps == 3 ? NAN : row[0];
#endif
#ifdef BAD_RESET_NAN
    row[0] = NAN;
#endif
#ifdef BAD_OBS_RANGE
    row[0] = w->steps == 3 ? 100 : row[0];
#endif
}

static int
create(const octet_env_config *config, octet_env_handle **out, char *error, uint32_t error_size)
{
#ifdef BAD_CREATE
    snprintf(error, error_size, "the walk is\nclosed today");
    return 1;
#endif
#ifdef BAD_CREATE_CRASH
    abort();
#endif
#ifdef BAD_CREATE_EXIT
    exit(0);
#endif
#ifdef BAD_CREATE_HANG
    for (volatile int spin = 1; spin != 0;) {
    }
#endif
#ifdef BAD_NO_HANDLE
    return 0;
#endif
#ifndef BAD_TAKES_OPTIONS
    if (config->option_count > 0) {
        snprintf(error, error_size, "no option %s", config->options[0].key);
        return 1;
    }
#endif
    octet_env_handle *h = calloc(1, sizeof(*h) + config->count * sizeof(h->walks[0]));
    h->count = config->count;
    h->autoreset = config->autoreset;
    for (uint32_t i = 0; i < h->count; i++) {
#ifdef BAD_SEED_SPREAD
        h->walks[i].random = config->seed + 2 * i;
#else
        h->walks[i].random = config->seed + i;
#endif
    }
    *out = h;
    return 0;
}

static void
destroy(octet_env_handle *h)
{
    free(h);
}

static const octet_env_spec *
spec(const octet_env_handle *h)
{
    return h != NULL ? &walk_spec : NULL;
}

static int
reset_refuse(octet_env_handle *h, const uint8_t *mask)
{
    h->resets += mask == NULL || mask[0] != 0;
    int refuses = h->resets > 1 && (mask == NULL || mask[0] != 0);
#ifdef BAD_RESET_FAILS_TWICE
    refuses = refuses && h->resets <= 5; /* the host asks twice a step */
#elif !defined(BAD_RESET_FAILS)
    refuses = 0;
#endif
    if (refuses) {
        snprintf(h->error, sizeof(h->error), "the line is closed");
    }
    return refuses;
}

static int
reset(octet_env_handle *h, const uint8_t *mask, const uint64_t *seeds, octet_env_io *io)
{
#ifdef BAD_RESET_HANG
    for (volatile int spin = 1; spin != 0;) {
    }
#endif
    if (reset_refuse(h, mask)) {
        return 1;
    }
    for (uint32_t i = 0; i < h->count; i++) {
#ifndef BAD_MASK
        if (mask != NULL && mask[i] == 0) {
            continue;
        }
#endif
#ifdef BAD_SEED_IGNORED
        h->walks[i].random = seeds != NULL ? 5 : h->walks[i].random;
#else
        h->walks[i].random = seeds != NULL ? seeds[i] : h->walks[i].random;
#endif
        begin(&h->walks[i]);
        observe(&h->walks[i], io->obs, io->obs_stride, i);
    }
    return 0;
}

static void
end(octet_env_handle *h, struct walk *w, octet_env_io *io, uint32_t i, uint32_t *flags)
{
#if !defined(BAD_NO_FINAL) && !defined(BAD_FINAL_IS_NEXT)
    observe(w, io->final_obs, io->final_obs_stride, i);
#endif
#ifdef BAD_WRITES_NULL
    if (io->ep_length == NULL) {
        abort(); /* as the write would, but for the handlers of the test's own framework */
    }
#endif
    if (io->ep_return != NULL) {
#ifdef BAD_SUM
        io->ep_return[i] = w->reward_sum + 1;
#else
        io->ep_return[i] = w->reward_sum;
#endif
    }
    if (io->ep_length != NULL) {
#ifdef BAD_LENGTH
        io->ep_length[i] = w->steps - 1;
#else
        io->ep_length[i] = w->steps;
#endif
    }
#ifdef BAD_METRIC_UNWRITTEN
    int is_measured = fabsf(w->position) > WIDTH; /* else it says nothing */
#else
    int is_measured = 1;
#endif
    if (io->metrics != NULL && is_measured) {
#ifdef BAD_METRIC_INFINITE
        io->metrics[i] = INFINITY;
#else
        io->metrics[i] = fabsf(w->position);
#endif
    }
    if (h->autoreset) {
#ifdef BAD_NOT_RESET
        struct walk last = *w;
        begin(w);
        w->position = last.position;
#else
        begin(w);
#endif
#ifndef BAD_NO_RESET_FLAG
        *flags |= OCTET_ENV_OBS_IS_RESET;
#endif
    }
#ifdef BAD_FINAL_IS_NEXT
    observe(w, io->final_obs, io->final_obs_stride, i);
#endif
}

static float
walk_step(octet_env_handle *h, uint32_t i, int32_t action, octet_env_io *io, uint32_t *flags)
{
    struct walk *w = &h->walks[i];
    *flags = w->ended;
#ifdef BAD_MOVES_ON
    *flags = 0;
#endif
    if (*flags != 0) {
        return 0;
    }
    w->position += (action == 1 ? 0.5f : -0.5f) + 0.1f * draw(w);
    float reward = fabsf(w->position) < 1 ? 1 : -0.25f;
    w->steps++;
#ifdef BAD_FAILED
    if (w->steps == 3) { /* says no more than that, and writes no rows of an end */
        snprintf(h->error, sizeof(h->error), "the walker fell");
        *flags = w->ended = OCTET_ENV_FAILED;
        if (h->autoreset) {
            begin(w);
            *flags |= OCTET_ENV_OBS_IS_RESET;
        }
        return 1;
    }
#endif
#ifdef BAD_REWARD_NAN
    reward = w->steps == 3 ? NAN : reward;
#endif
#ifdef BAD_REWARD_RANGE
    reward = w->steps == 3 ? 9 : reward;
#endif
    w->reward_sum += reward;
    *flags = fabsf(w->position) > WIDTH ? OCTET_ENV_TERMINATED : 0;
#ifdef BAD_NO_LIMIT
    *flags |= w->steps == LIMIT + 1 ? OCTET_ENV_TRUNCATED : 0;
#else
    *flags |= w->steps >= LIMIT ? OCTET_ENV_TRUNCATED : 0;
#endif
    w->ended = *flags;
    if (*flags != 0) {
        end(h, w, io, i, flags);
    }
#ifdef BAD_FLAGS
    *flags |= 0x40;
#endif
    return reward;
}

static int
step(octet_env_handle *h, octet_env_io *io)
{
#ifdef BAD_PRINTS
    printf("%d\tresets\n", (int)h->resets);
#endif
#ifdef BAD_FLOODS
    for (int i = 0; i < 20000; i++) {
        fputs("a line that nobody needs, again and again\n", stderr);
    }
#endif
#ifdef BAD_STEP_ERROR
    snprintf(h->error, sizeof(h->error), "the line is cut");
    return 7;
#endif
#ifdef BAD_CRASH
    abort();
#endif
#ifdef BAD_EXIT
    exit(0);
#endif
#ifdef BAD_HANG_FILE /* while this file is there */
    for (const char *file = getenv("BAD_HANG_FILE"); file != NULL && access(file, F_OK) == 0;) {
        (void)usleep(10000);
    }
#endif
#ifdef BAD_HANG
    for (volatile int spin = 1; spin != 0;) {
    }
#endif
#ifndef BAD_TAKES_ACTIONS
    for (uint32_t i = 0; i < h->count; i++) {
        if (*(const uint32_t *)((const char *)io->action + (size_t)i * io->action_stride) >= 2) {
#ifndef BAD_SILENT_ERROR
            snprintf(h->error, sizeof(h->error), "an action is neither 0 nor 1");
#endif
            return 1;
        }
    }
#endif
    for (uint32_t i = 0; i < h->count; i++) {
        uint32_t flags;
        const char *action = (const char *)io->action + (size_t)i * io->action_stride;
        float reward = walk_step(h, i, *(const int32_t *)(const void *)action, io, &flags);
        observe(&h->walks[i], io->obs, io->obs_stride, i);
        if (io->reward != NULL) {
            io->reward[i] = reward;
        }
        if (io->flags != NULL) {
            io->flags[i] = (uint8_t)flags;
        }
    }
    return 0;
}

static int
save(octet_env_handle *h, uint32_t i, void *buf, uint32_t *length)
{
    uint32_t room = *length;
    *length = sizeof(h->walks[i]);
    if (buf != NULL && room < sizeof(h->walks[i])) {
        return 1;
    }
    if (buf != NULL) {
        memcpy(buf, &h->walks[i], sizeof(h->walks[i]));
    }
    return 0;
}

static int
load(octet_env_handle *h, uint32_t i, const void *buf, uint32_t length)
{
#ifndef BAD_LOAD_SHORT
    if (length != sizeof(h->walks[i])) {
        return 1;
    }
#endif
#ifdef BAD_LOAD_FORGETS
    uint64_t random = h->walks[i].random;
#endif
    memcpy(&h->walks[i], buf, length);
#ifdef BAD_LOAD_FORGETS
    h->walks[i].random = random;
#endif
    return 0;
}

static const char *
last_error(const octet_env_handle *h)
{
    return h->error;
}

static const octet_env_api api = {
#ifdef BAD_OLD_TABLE
    .size = offsetof(octet_env_api, get_state), // as of the first version: not bad at all
#elif defined(BAD_SHORT_TABLE)
    .size = offsetof(octet_env_api, reset),
#else
    .size = sizeof(octet_env_api),
#endif
#ifdef BAD_ABI
    .abi = OCTET_ENV_ABI + 1,
#else
    .abi = OCTET_ENV_ABI,
#endif
    .create = create,
    .destroy = destroy,
    .spec = spec,
    .reset = reset,
#ifndef BAD_NO_STEP
    .step = step,
#endif
    .save = save,
    .load = load,
    .last_error = last_error,
};

#ifdef BAD_NO_SYMBOL
const octet_env_api *octet_env_other(uint32_t host_abi);
#define octet_env_api_get octet_env_other
#endif

const octet_env_api *
octet_env_api_get(uint32_t host_abi)
{
#ifdef BAD_REFUSES
    return host_abi == 99 ? &api : NULL;
#else
#ifdef BAD_NO_STEP
    (void)step;
#endif
    return host_abi == OCTET_ENV_ABI ? &api : NULL;
#endif
}
