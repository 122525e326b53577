/* An environment for Octet in one file: a point in the plane moves to a goal.
 *
 *     gcc -O2 -shared -fPIC -I include -o point.so examples/env/point.c -lm
 *     octet env check ./point.so
 *
 *     octet train examples/env/point.yaml --set env.id=./point.so
 *
 * Observation: x, y, goal x, goal y. Action: 0.1 left, right, down or up; reward: minus the
 * distance. An episode ends within 0.1 of the goal (terminated) or after 100 steps (truncated). */
#include "octet/env.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT 100 /* steps */

struct point {
    double x, y, goal_x, goal_y, episode_return;
    uint64_t random;
    int32_t steps;
    uint32_t ended; /* flags of the end, while it waits for a reset */
};

struct octet_env_handle {
    uint32_t count, autoreset;
    struct point points[];
};

static const double low[4] = {-2, -2, -2, -2}, high[4] = {2, 2, 2, 2};
static const double left_right[4] = {-0.1, 0.1, 0, 0}, down_up[4] = {0, 0, -0.1, 0.1};
static const octet_env_spec point_spec = {
    .size = sizeof(octet_env_spec),
    .id = "Point-v0",
    .obs = {.size = sizeof(octet_env_space),
            .dtype = OCTET_ENV_F32,
            .rank = 1,
            .shape = {4},
            .low = low,
            .high = high},
    .action = {.size = sizeof(octet_env_space), .dtype = OCTET_ENV_I32, .n = 4},
    .max_episode_steps = LIMIT,
    .reward_threshold = NAN,
    .reward_low = -6,
    .reward_high = 0};

/* Uniform in [-1, 1): splitmix64. Each environment has its own state; nothing is global. */
static double draw(struct point *p)
{
    uint64_t z = (p->random += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-52 - 1;
}

static void begin(struct point *p)
{
    p->x = draw(p), p->y = draw(p), p->goal_x = draw(p), p->goal_y = draw(p);
    p->episode_return = 0, p->steps = 0, p->ended = 0;
}

static void observe(const struct point *p, void *rows, uint32_t stride, uint32_t i)
{
    const float obs[4] = {(float)p->x, (float)p->y, (float)p->goal_x, (float)p->goal_y};
    if (rows != NULL) memcpy((char *)rows + (size_t)i * stride, obs, sizeof(obs));
}

static int create(const octet_env_config *config, octet_env_handle **out, char *error,
                  uint32_t error_size)
{
    if (config->option_count > 0) {
        snprintf(error, error_size, "Point-v0 has no option \"%s\"", config->options[0].key);
        return 1;
    }
    octet_env_handle *h = calloc(1, sizeof(*h) + config->count * sizeof(h->points[0]));
    if (h == NULL) return 1;
    h->count = config->count, h->autoreset = config->autoreset;
    for (uint32_t i = 0; i < h->count; i++) h->points[i].random = config->seed + i;
    *out = h;
    return 0;
}

static void destroy(octet_env_handle *h) { free(h); }
static const octet_env_spec *spec(const octet_env_handle *h)
{
    (void)h;
    return &point_spec;
}
static const char *last_error(const octet_env_handle *h)
{
    return h != NULL ? "an action is 0, 1, 2 or 3" : NULL; /* nothing else can fail here */
}

static int reset(octet_env_handle *h, const uint8_t *mask, const uint64_t *seeds, octet_env_io *io)
{
    for (uint32_t i = 0; i < h->count; i++) {
        if (mask != NULL && !mask[i]) continue;
        if (seeds != NULL) h->points[i].random = seeds[i];
        begin(&h->points[i]);
        observe(&h->points[i], io->obs, io->obs_stride, i);
    }
    return 0;
}

static int32_t action_of(const octet_env_io *io, uint32_t i)
{
    int32_t a;
    memcpy(&a, (const char *)io->action + (size_t)i * io->action_stride, sizeof(a));
    return a;
}

static int step(octet_env_handle *h, octet_env_io *io)
{
    for (uint32_t i = 0; i < h->count; i++) /* before anything moves */
        if (action_of(io, i) < 0 || action_of(io, i) > 3) return 1;
    for (uint32_t i = 0; i < h->count; i++) {
        struct point *p = &h->points[i];
        double reward = 0;
        uint32_t flags = p->ended;
        if (flags == 0) {
            int32_t a = action_of(io, i);
            p->x = fmin(2, fmax(-2, p->x + left_right[a]));
            p->y = fmin(2, fmax(-2, p->y + down_up[a]));
            reward = -hypot(p->x - p->goal_x, p->y - p->goal_y);
            p->episode_return += reward, p->steps++;
            p->ended = flags = (reward > -0.1 ? OCTET_ENV_TERMINATED : 0) |
                               (p->steps == LIMIT ? OCTET_ENV_TRUNCATED : 0);
            if (flags != 0) { /* the true last observation, and the episode's sums */
                observe(p, io->final_obs, io->final_obs_stride, i);
                if (io->ep_return != NULL) io->ep_return[i] = (float)p->episode_return;
                if (io->ep_length != NULL) io->ep_length[i] = p->steps;
            }
            if (flags != 0 && h->autoreset) { /* the next episode begins in the same step */
                begin(p);
                flags |= OCTET_ENV_OBS_IS_RESET;
            }
        }
        observe(p, io->obs, io->obs_stride, i);
        if (io->reward != NULL) io->reward[i] = (float)reward;
        if (io->flags != NULL) io->flags[i] = (uint8_t)flags;
    }
    return 0;
}

static const octet_env_api api = {.size = sizeof(api),
                                  .abi = OCTET_ENV_ABI,
                                  .create = create,
                                  .destroy = destroy,
                                  .spec = spec,
                                  .reset = reset,
                                  .step = step,
                                  .last_error = last_error};

const octet_env_api *octet_env_api_get(uint32_t host_abi)
{
    return host_abi == OCTET_ENV_ABI ? &api : NULL;
}
