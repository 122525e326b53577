/* An environment for Octet in one file: a point in the plane moves to a goal.
 *
 *     cc -O2 -shared -fPIC -I ../../include -o point.so point.c -lm
 *     octet env check ./point.so
 *     octet train point.yaml
 *
 * Observation: x, y, goal x, goal y. Action: 0.1 left, right, down or up. Reward: minus the
 * distance. An episode ends within 0.1 of the goal (terminated) or after 100 steps (truncated).
 *
 * To make it yours, change the first part: what an environment holds, its spec, and how an episode
 * begins, is observed and advances. The second part serves most environments as it is. */
#include "octet/env.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the environment */

#define ID      "Point-v0"
#define LIMIT   100 /* steps of an episode */
#define ACTIONS 4
#define NUMBERS 4 /* of an observation */

struct state {
    double x, y, goal_x, goal_y;
};

static const double low[NUMBERS] = {-2, -2, -2, -2}, high[NUMBERS] = {2, 2, 2, 2};
static const octet_env_spec env_spec = {
    .size = sizeof(octet_env_spec),
    .id = ID,
    .obs = {.size = sizeof(octet_env_space),
            .dtype = OCTET_ENV_F32,
            .rank = 1,
            .shape = {NUMBERS},
            .low = low,
            .high = high},
    .action = {.size = sizeof(octet_env_space), .dtype = OCTET_ENV_I32, .n = ACTIONS},
    .max_episode_steps = LIMIT,
    .reward_threshold = NAN, /* none is agreed on */
    .reward_low = -6,
    .reward_high = 0};

/* Uniform in [-1, 1), by splitmix64. Each environment has its own generator; nothing is global. */
static double draw(uint64_t *random)
{
    uint64_t z = (*random += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-52 - 1;
}

static void begin(struct state *s, uint64_t *random)
{
    s->x = draw(random), s->y = draw(random);
    s->goal_x = draw(random), s->goal_y = draw(random);
}

static void observe(const struct state *s, float obs[NUMBERS])
{
    obs[0] = (float)s->x, obs[1] = (float)s->y;
    obs[2] = (float)s->goal_x, obs[3] = (float)s->goal_y;
}

/* One step. Returns the reward; *terminated becomes 1 at the goal. */
static double advance(struct state *s, int32_t action, int *terminated)
{
    static const double left_right[ACTIONS] = {-0.1, 0.1, 0, 0},
                        down_up[ACTIONS] = {0, 0, -0.1, 0.1};
    s->x = fmin(2, fmax(-2, s->x + left_right[action]));
    s->y = fmin(2, fmax(-2, s->y + down_up[action]));
    double distance = hypot(s->x - s->goal_x, s->y - s->goal_y);
    *terminated = distance < 0.1;
    return -distance;
}

/* ---- what Octet asks for: config->count environments in one handle */

struct slot {
    struct state state;
    double episode_return;
    uint64_t random;
    int32_t steps;
    uint32_t ended; /* flags of the end, while the environment waits for a reset */
};

struct octet_env_handle {
    uint32_t count, autoreset;
    struct slot slots[];
};

static void slot_begin(struct slot *p)
{
    begin(&p->state, &p->random);
    p->episode_return = 0, p->steps = 0, p->ended = 0;
}

/* Rows that Octet does not need are NULL. */
static void slot_observe(const struct slot *p, void *rows, uint32_t stride, uint32_t i)
{
    float obs[NUMBERS];
    observe(&p->state, obs);
    if (rows != NULL) memcpy((char *)rows + (size_t)i * stride, obs, sizeof(obs));
}

static int create(const octet_env_config *config, octet_env_handle **out, char *error,
                  uint32_t error_size)
{
    if (config->option_count > 0) {
        snprintf(error, error_size, ID " has no option \"%s\"", config->options[0].key);
        return 1;
    }
    octet_env_handle *h = calloc(1, sizeof(*h) + config->count * sizeof(h->slots[0]));
    if (h == NULL) return 1;
    h->count = config->count, h->autoreset = config->autoreset;
    for (uint32_t i = 0; i < h->count; i++) h->slots[i].random = config->seed + i;
    *out = h;
    return 0;
}

static void destroy(octet_env_handle *h) { free(h); }
static const octet_env_spec *spec(const octet_env_handle *h)
{
    (void)h;
    return &env_spec;
}
static const char *last_error(const octet_env_handle *h)
{
    return h != NULL ? "an action is out of range" : NULL; /* nothing else can fail here */
}

static int reset(octet_env_handle *h, const uint8_t *mask, const uint64_t *seeds, octet_env_io *io)
{
    for (uint32_t i = 0; i < h->count; i++) {
        if (mask != NULL && !mask[i]) continue;
        if (seeds != NULL) h->slots[i].random = seeds[i];
        slot_begin(&h->slots[i]);
        slot_observe(&h->slots[i], io->obs, io->obs_stride, i);
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
        if (action_of(io, i) < 0 || action_of(io, i) >= ACTIONS) return 1;
    for (uint32_t i = 0; i < h->count; i++) {
        struct slot *p = &h->slots[i];
        double reward = 0;
        uint32_t flags = p->ended;
        if (flags == 0) {
            int terminated;
            reward = advance(&p->state, action_of(io, i), &terminated);
            p->episode_return += reward, p->steps++;
            p->ended = flags = (terminated ? OCTET_ENV_TERMINATED : 0) |
                               (p->steps == LIMIT ? OCTET_ENV_TRUNCATED : 0);
            if (flags != 0) { /* the true last observation, and the episode's sums */
                slot_observe(p, io->final_obs, io->final_obs_stride, i);
                if (io->ep_return != NULL) io->ep_return[i] = (float)p->episode_return;
                if (io->ep_length != NULL) io->ep_length[i] = p->steps;
            }
            if (flags != 0 && h->autoreset) { /* the next episode begins in the same step */
                slot_begin(p);
                flags |= OCTET_ENV_OBS_IS_RESET;
            }
        }
        slot_observe(p, io->obs, io->obs_stride, i);
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
