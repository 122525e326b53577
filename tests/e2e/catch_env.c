/* Catch, for tests of networks with convolutions: a ball falls through a board of 6 x 5, a paddle
 * in the last row moves left, stays or moves right. Caught: reward 1. An episode is four balls.
 * Observation: [6][5][2] bytes, the ball in channel 0, the paddle in channel 1. */
#include "octet/env.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS    6
#define COLUMNS 5
#define BALLS   4

struct board {
    uint64_t random;
    int32_t row, column, paddle, balls, caught, steps;
    uint32_t ended;
};

struct octet_env_handle {
    uint32_t count, autoreset;
    struct board boards[];
};

static const octet_env_spec catch_spec = {
    .size = sizeof(octet_env_spec),
    .id = "Catch-v0",
    .obs = {.size = sizeof(octet_env_space),
            .dtype = OCTET_ENV_U8,
            .rank = 3,
            .shape = {ROWS, COLUMNS, 2}},
    .action = {.size = sizeof(octet_env_space), .dtype = OCTET_ENV_I32, .n = 3},
    .max_episode_steps = 0,
    .reward_threshold = 3.8,
    .reward_low = 0,
    .reward_high = 1};

/* Uniform in 0 .. n - 1: splitmix64. */
static int32_t
draw(struct board *b, uint32_t n)
{
    uint64_t z = (b->random += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (int32_t)((z ^ (z >> 31)) % n);
}

static void
begin(struct board *b)
{
    b->row = 0, b->column = draw(b, COLUMNS), b->paddle = COLUMNS / 2;
    b->balls = b->caught = b->steps = 0, b->ended = 0;
}

static void
observe(const struct board *b, void *rows, uint32_t stride, uint32_t i)
{
    uint8_t obs[ROWS][COLUMNS][2] = {{{0}}};
    obs[b->row][b->column][0] = 1;
    obs[ROWS - 1][b->paddle][1] = 1;
    if (rows != NULL)
        memcpy((char *)rows + (size_t)i * stride, obs, sizeof(obs));
}

static int
create(const octet_env_config *config, octet_env_handle **out, char *error, uint32_t error_size)
{
    if (config->option_count > 0) {
        snprintf(error, error_size, "Catch-v0 has no option \"%s\"", config->options[0].key);
        return 1;
    }
    octet_env_handle *h = calloc(1, sizeof(*h) + config->count * sizeof(h->boards[0]));
    if (h == NULL)
        return 1;
    h->count = config->count, h->autoreset = config->autoreset;
    for (uint32_t i = 0; i < h->count; i++)
        h->boards[i].random = config->seed + i;
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
    (void)h;
    return &catch_spec;
}
static const char *
last_error(const octet_env_handle *h)
{
    return h != NULL ? "an action is 0, 1 or 2" : NULL;
}

static int
reset(octet_env_handle *h, const uint8_t *mask, const uint64_t *seeds, octet_env_io *io)
{
    for (uint32_t i = 0; i < h->count; i++) {
        if (mask != NULL && !mask[i])
            continue;
        if (seeds != NULL)
            h->boards[i].random = seeds[i];
        begin(&h->boards[i]);
        observe(&h->boards[i], io->obs, io->obs_stride, i);
    }
    return 0;
}

static int32_t
action_of(const octet_env_io *io, uint32_t i)
{
    int32_t a;
    memcpy(&a, (const char *)io->action + (size_t)i * io->action_stride, sizeof(a));
    return a;
}

/* The board after an action; gives the reward. */
static float
move(struct board *b, int32_t action)
{
    int32_t paddle = b->paddle + action - 1;
    b->paddle = paddle < 0 ? 0 : paddle >= COLUMNS ? COLUMNS - 1 : paddle;
    b->row++, b->steps++;
    if (b->row < ROWS - 1)
        return 0;
    int32_t caught = b->column == b->paddle;
    b->caught += caught, b->balls++;
    if (b->balls == BALLS) {
        b->ended = OCTET_ENV_TERMINATED;
    } else {
        b->row = 0, b->column = draw(b, COLUMNS);
    }
    return (float)caught;
}

static int
step(octet_env_handle *h, octet_env_io *io)
{
    for (uint32_t i = 0; i < h->count; i++) /* before anything moves */
        if (action_of(io, i) < 0 || action_of(io, i) > 2)
            return 1;
    for (uint32_t i = 0; i < h->count; i++) {
        struct board *b = &h->boards[i];
        uint32_t flags = b->ended;
        float reward = 0;
        if (flags == 0) {
            reward = move(b, action_of(io, i));
            flags = b->ended;
            if (flags != 0) {
                observe(b, io->final_obs, io->final_obs_stride, i);
                if (io->ep_return != NULL)
                    io->ep_return[i] = (float)b->caught;
                if (io->ep_length != NULL)
                    io->ep_length[i] = b->steps;
            }
            if (flags != 0 && h->autoreset) {
                begin(b);
                flags |= OCTET_ENV_OBS_IS_RESET;
            }
        }
        observe(b, io->obs, io->obs_stride, i);
        if (io->reward != NULL)
            io->reward[i] = reward;
        if (io->flags != NULL)
            io->flags[i] = (uint8_t)flags;
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

const octet_env_api *
octet_env_api_get(uint32_t host_abi)
{
    return host_abi == OCTET_ENV_ABI ? &api : NULL;
}
