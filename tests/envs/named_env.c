// A plug-in of the tests that names the columns of its recordings: a point x on a line goes to a
// target, which "the model" holds. Options and errors are as few as the host lets pass.
#include "octet/env.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct octet_env_handle {
    uint32_t count;
    uint32_t steps;
    double x, target;
};

static const char *const state_names[] = {"qpos0", "model.target[0]"};
static const char *const obs_names[] = {"position[0]", "to_target[0]", NULL};
static const octet_env_spec the_spec = {
    .size = sizeof(octet_env_spec),
    .id = "Named-v0",
    .obs = {.size = sizeof(octet_env_space), .dtype = OCTET_ENV_F32, .rank = 1, .shape = {3}},
    .action = {.size = sizeof(octet_env_space), .dtype = OCTET_ENV_F32, .rank = 1, .shape = {1}},
    .reward_threshold = NAN,
    .reward_low = -INFINITY,
    .reward_high = INFINITY,
    .capabilities = OCTET_ENV_CAN_STATE | OCTET_ENV_HAS_REWARD64 | OCTET_ENV_NO_RANDOM,
    .state_count = 2,
    .state_names = state_names,
    .obs_names = obs_names,
    .reward_name = "r_near"};

static void
observe(const octet_env_handle *h, const octet_env_io *io)
{
    const float obs[3] = {(float)h->x, (float)(h->target - h->x), 7};
    if (io != NULL && io->obs != NULL) {
        memcpy(io->obs, obs, sizeof(obs));
    }
}

static int
create(const octet_env_config *config, octet_env_handle **out, char *error, uint32_t error_size)
{
    (void)error;
    (void)error_size;
    *out = calloc(1, sizeof(**out));
    (*out)->count = config->count;
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
    return &the_spec;
}

static int
reset(octet_env_handle *h, const uint8_t *mask, const uint64_t *seeds, octet_env_io *io)
{
    (void)mask;
    (void)seeds;
    h->x = h->target = 0;
    h->steps = 0;
    observe(h, io);
    return 0;
}

static int
step(octet_env_handle *h, octet_env_io *io)
{
    h->x += (double)*(const float *)io->action;
    h->steps++;
    *io->reward64 = -fabs(h->target - h->x);
    *io->reward = (float)*io->reward64;
    *io->flags = 0;
    observe(h, io);
    return 0;
}

static const char *
last_error(const octet_env_handle *h)
{
    (void)h;
    return "none";
}

static int
get_state(const octet_env_handle *h, uint32_t i, double *state, uint32_t *episode_step)
{
    (void)i;
    state[0] = h->x;
    state[1] = h->target;
    *episode_step = h->steps;
    return 0;
}

static int
set_state(octet_env_handle *h, uint32_t i, const double *state, uint32_t episode_step,
          octet_env_io *io)
{
    (void)i;
    h->x = state[0];
    h->target = state[1];
    h->steps = episode_step;
    observe(h, io);
    return 0;
}

const octet_env_api *
octet_env_api_get(uint32_t host_abi)
{
    static const octet_env_api api = {.size = sizeof(api),
                                      .abi = OCTET_ENV_ABI,
                                      .create = create,
                                      .destroy = destroy,
                                      .spec = spec,
                                      .reset = reset,
                                      .step = step,
                                      .last_error = last_error,
                                      .get_state = get_state,
                                      .set_state = set_state};
    return host_abi == OCTET_ENV_ABI ? &api : NULL;
}
