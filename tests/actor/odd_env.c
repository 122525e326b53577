/* An environment that does what its options say, for the tests of actor/. It observes its first
 * seed, the number of its episode and of its step, so that every row tells where it came from. The
 * reward of a step is that step's number, plus a tenth of the action.
 *   length    steps of an episode; 0: it never ends
 *   spread    environment i takes length + i * spread steps
 *   truncate  1: episodes end by truncation, 2: by both at once, 0: by termination
 *   nan_at    the reward of this step of each episode is NaN; 0: never
 *   nan_once  1: only in the first episode of each environment
 *   error_at  the step function answers an error at this call; 0: never
 *   reset_errors  so many calls of reset after the first answer an error
 *   shut      so many calls of reset that have the last environment in them answer an error
 *   shut_from shut begins with the call after so many
 *   lost      so many steps of environment 0 fail and begin no episode; the next does not fail
 *   begins    1: an episode begins in a step of its own after the end, which does nothing else
 *   no_sums   1: it forgets to write ep_return and ep_length
 *   forgets   1: it forgets to write what it did not measure
 *   gate      each step reads this descriptor to its end; 0: none does
 * It measures the steps of an episode, and in every second one, from the first on, its number. */
#include "octet/env.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LENGTH,
    SPREAD,
    TRUNCATE,
    NAN_AT,
    NAN_ONCE,
    ERROR_AT,
    RESET_ERRORS,
    SHUT,
    SHUT_FROM,
    LOST,
    BEGINS,
    NO_SUMS,
    FORGETS,
    GATE,
    OPTIONS
};

static const char *const names[OPTIONS] = {
    "length", "spread",    "truncate", "nan_at", "nan_once", "error_at", "reset_errors",
    "shut",   "shut_from", "lost",     "begins", "no_sums",  "forgets",  "gate"};

struct line {
    float seed, episode, reward_sum;
    int32_t step;
    bool has_ended; // its next step begins an episode
};

struct octet_env_handle {
    uint32_t count;
    int32_t calls, resets;
    int32_t options[OPTIONS];
    struct line lines[];
};

enum { STEPS, NUMBER, METRICS };

static const char *const measured[METRICS] = {[STEPS] = "steps", [NUMBER] = "number"};

static const octet_env_spec odd_spec = {
    .size = sizeof(octet_env_spec),
    .id = "Odd-v0",
    .obs = {.size = sizeof(octet_env_space), .dtype = OCTET_ENV_F32, .rank = 1, .shape = {3}},
    .action = {.size = sizeof(octet_env_space), .dtype = OCTET_ENV_I32, .n = 2},
    .reward_threshold = NAN,
    .reward_low = 0,
    .reward_high = 1000000,
    .metric_count = METRICS,
    .metric_names = measured,
};

static void
observe(const struct line *line, void *rows, uint32_t stride, uint32_t i)
{
    if (rows != NULL) {
        float row[3] = {line->seed, line->episode, (float)line->step};
        memcpy((char *)rows + (size_t)i * stride, row, sizeof(row));
    }
}

static int
create(const octet_env_config *config, octet_env_handle **out, char *error, uint32_t error_size)
{
    octet_env_handle *h = calloc(1, sizeof(*h) + config->count * sizeof(h->lines[0]));
    h->count = config->count;
    h->options[LENGTH] = 5;
    for (uint32_t k = 0; k < config->option_count; k++) {
        int which = 0;
        while (which < OPTIONS && strcmp(names[which], config->options[k].key) != 0) {
            which++;
        }
        if (which == OPTIONS) {
            snprintf(error, error_size, "no option %s", config->options[k].key);
            free(h);
            return 1;
        }
        h->options[which] = (int32_t)strtol(config->options[k].value, NULL, 10);
    }
    for (uint32_t i = 0; i < h->count; i++) {
        h->lines[i].seed = (float)(config->seed + i);
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
    (void)h;
    return &odd_spec;
}

static void
begin(struct line *line)
{
    line->episode++;
    line->step = 0;
    line->has_ended = false;
    line->reward_sum = 0;
}

static int
reset(octet_env_handle *h, const uint8_t *mask, const uint64_t *seeds, octet_env_io *io)
{
    h->resets++;
    if (h->resets > 1 && h->resets <= 1 + h->options[RESET_ERRORS]) {
        return 1;
    }
    if (h->options[SHUT] > 0 && h->resets > h->options[SHUT_FROM] &&
        (mask == NULL || mask[h->count - 1] != 0)) {
        h->options[SHUT]--;
        return 1;
    }
    for (uint32_t i = 0; i < h->count; i++) {
        if (mask == NULL || mask[i] != 0) {
            if (seeds != NULL) {
                h->lines[i].seed = (float)(seeds[i] % 65536);
            }
            begin(&h->lines[i]);
            observe(&h->lines[i], io->obs, io->obs_stride, i);
        }
    }
    return 0;
}

static uint8_t
line_step(octet_env_handle *h, uint32_t i, int32_t action, octet_env_io *io)
{
    static const uint8_t ends[] = {OCTET_ENV_TERMINATED, OCTET_ENV_TRUNCATED,
                                   OCTET_ENV_TERMINATED | OCTET_ENV_TRUNCATED};
    struct line *line = &h->lines[i];
    if (i == 0 && h->options[LOST] > 0) {
        h->options[LOST]--;
        io->reward[i] = 0;
        return OCTET_ENV_FAILED;
    }
    if (line->has_ended) {
        begin(line);
        io->reward[i] = 0;
        return 16; // ENV_BEGINS
    }
    line->step++;
    float reward = (float)line->step + 0.1f * (float)action;
    line->reward_sum += reward;
    int fails = h->options[NAN_AT] == line->step && h->options[NAN_AT] > 0 &&
                (h->options[NAN_ONCE] == 0 || line->episode == 1);
    io->reward[i] = fails ? NAN : reward;
    if (h->options[LENGTH] == 0 ||
        line->step < h->options[LENGTH] + (int32_t)i * h->options[SPREAD]) {
        return 0;
    }
    observe(line, io->final_obs, io->final_obs_stride, i);
    if (io->ep_return != NULL && h->options[NO_SUMS] == 0) {
        io->ep_return[i] = line->reward_sum;
    }
    if (io->ep_length != NULL && h->options[NO_SUMS] == 0) {
        io->ep_length[i] = line->step;
    }
    if (io->metrics != NULL) {
        io->metrics[i * METRICS + STEPS] = (float)line->step;
        bool is_measured = (int32_t)line->episode % 2 == 1;
        if (is_measured || h->options[FORGETS] == 0) {
            io->metrics[i * METRICS + NUMBER] = is_measured ? line->episode : NAN;
        }
    }
    line->has_ended = h->options[BEGINS] != 0;
    if (line->has_ended) {
        return ends[h->options[TRUNCATE]];
    }
    begin(line);
    return ends[h->options[TRUNCATE]] | OCTET_ENV_OBS_IS_RESET;
}

static int
step(octet_env_handle *h, octet_env_io *io)
{
    h->calls++;
    char byte;
    while (h->options[GATE] > 0 && read(h->options[GATE], &byte, 1) > 0) {
    }
    if (h->options[ERROR_AT] == h->calls) {
        return 1;
    }
    for (uint32_t i = 0; i < h->count; i++) {
        int32_t action;
        memcpy(&action, (const char *)io->action + (size_t)i * io->action_stride, sizeof(action));
        io->flags[i] = line_step(h, i, action, io);
        observe(&h->lines[i], io->obs, io->obs_stride, i);
    }
    return 0;
}

static int
save(octet_env_handle *h, uint32_t i, void *buf, uint32_t *length)
{
    (void)h, (void)i, (void)buf, (void)length;
    return 1;
}

static int
load(octet_env_handle *h, uint32_t i, const void *buf, uint32_t length)
{
    (void)h, (void)i, (void)buf, (void)length;
    return 1;
}

static const char *
last_error(const octet_env_handle *h)
{
    (void)h;
    return "the odd environment is broken";
}

static const octet_env_api api = {
    .size = sizeof(octet_env_api),
    .abi = OCTET_ENV_ABI,
    .create = create,
    .destroy = destroy,
    .spec = spec,
    .reset = reset,
    .step = step,
    .save = save,
    .load = load,
    .last_error = last_error,
};

const octet_env_api *
octet_env_api_get(uint32_t host_abi)
{
    return host_abi == OCTET_ENV_ABI ? &api : NULL;
}
