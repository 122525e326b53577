/* Environments whose every row says which one it is (chaos_row.h). Actions change nothing. Option
 * pause_us: how long each step of all of them takes. */
#include "chaos_row.h"
#include "octet/env.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

struct octet_env_handle {
    uint64_t tag;
    long pause_us;
    uint32_t count, autoreset;
    uint32_t number[]; /* of the row that is shown */
};

static const octet_env_spec chaos_spec = {
    .size = sizeof(octet_env_spec),
    .id = "Chaos-v0",
    .obs = {.size = sizeof(octet_env_space),
            .dtype = OCTET_ENV_U8,
            .rank = 1,
            .shape = {CHAOS_ROW_BYTES}},
    .action = {.size = sizeof(octet_env_space), .dtype = OCTET_ENV_I32, .n = 2},
    .reward_threshold = 1e6,
    .reward_low = 0,
    .reward_high = 25,
    .capabilities = OCTET_ENV_NO_RANDOM};

static void
show(const octet_env_handle *h, uint32_t i, void *rows, uint32_t stride)
{
    chaos_row row = chaos_row_make(h->tag, i, h->number[i]);
    if (rows != NULL)
        memcpy((char *)rows + (size_t)i * stride, &row, sizeof(row));
}

static int
create(const octet_env_config *config, octet_env_handle **out, char *error, uint32_t error_size)
{
    long pause_us = 0;
    for (uint32_t k = 0; k < config->option_count; k++) {
        if (strcmp(config->options[k].key, "pause_us") != 0) {
            snprintf(error, error_size, "Chaos-v0 has no option \"%s\"", config->options[k].key);
            return 1;
        }
        pause_us = strtol(config->options[k].value, NULL, 10);
    }
    octet_env_handle *h = calloc(1, sizeof(*h) + config->count * sizeof(h->number[0]));
    if (h == NULL || getrandom(&h->tag, sizeof(h->tag), 0) != sizeof(h->tag)) {
        free(h);
        return 1;
    }
    h->count = config->count, h->autoreset = config->autoreset, h->pause_us = pause_us;
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
    return &chaos_spec;
}

static const char *
last_error(const octet_env_handle *h)
{
    (void)h;
    return "";
}

/* An episode that has not had a step goes on; another one is left, and its numbers with it. */
static int
reset(octet_env_handle *h, const uint8_t *mask, const uint64_t *seeds, octet_env_io *io)
{
    (void)seeds;
    for (uint32_t i = 0; i < h->count; i++) {
        if (mask != NULL && !mask[i])
            continue;
        uint32_t episode = chaos_row_episode(i);
        h->number[i] = (h->number[i] + episode - 1) / episode * episode;
        show(h, i, io->obs, io->obs_stride);
    }
    return 0;
}

static void
step_one(octet_env_handle *h, uint32_t i, octet_env_io *io)
{
    chaos_row row = chaos_row_make(h->tag, i, h->number[i]);
    uint8_t flags = 0;
    float reward = 0;
    if (!chaos_row_is_end(&row)) { /* else it stays there until the reset */
        reward = chaos_row_reward(&row);
        h->number[i]++;
    }
    row = chaos_row_make(h->tag, i, h->number[i]);
    if (chaos_row_is_end(&row)) {
        flags = chaos_row_is_truncated(&row) ? OCTET_ENV_TRUNCATED : OCTET_ENV_TERMINATED;
        show(h, i, io->final_obs, io->final_obs_stride);
        if (io->ep_return != NULL)
            io->ep_return[i] = 1;
        if (io->ep_length != NULL)
            io->ep_length[i] = (int32_t)chaos_row_episode(i) - 1;
        if (h->autoreset) {
            h->number[i]++;
            flags |= OCTET_ENV_OBS_IS_RESET;
        }
    }
    show(h, i, io->obs, io->obs_stride);
    if (io->reward != NULL)
        io->reward[i] = reward;
    if (io->flags != NULL)
        io->flags[i] = flags;
}

static int
step(octet_env_handle *h, octet_env_io *io)
{
    struct timespec pause = {h->pause_us / 1000000, h->pause_us % 1000000 * 1000};
    if (h->pause_us > 0)
        (void)nanosleep(&pause, NULL);
    for (uint32_t i = 0; i < h->count; i++)
        step_one(h, i, io);
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
