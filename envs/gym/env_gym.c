// Environments of Gymnasium behind the environment ABI: one Python process for each handle, with
// rows in shared memory.
//
// 1. create starts the process (env_gym_worker.py), which makes the environments and a memory
//    file. The file begins with a header: spaces, time limit, metrics, and the offsets of its
//    parts. Everything in it is checked against the file's size, because user code runs in the
//    process.
// 2. reset and step write masks, seeds and actions into the memory, send one letter, and wait for
//    the reply; then they copy rows into the caller's buffers.
// 3. If an environment raises an exception, the worker marks its step as failed; the reason is in
//    TEXT. The other environments are not affected.
// 4. If the process crashes, hangs or uses too much memory, a new one is started, with the same
//    spaces and with seeds that follow from the old ones. All environments have failed in that
//    step. A reset that finds the process lost remembers the interrupted episodes, and the next
//    step reports them.
// 5. If no process can be started, the call is an error, and the next call tries again.
#include "envs/gym/env_gym.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_metric.h"
#include "common/oct_reason.h"
#include "common/oct_rng.h"
#include "common/oct_text.h"
#include "envs/env.h"
#include "envs/gym/env_gym_process.h"

#define PREFIX     "gym:"
#define MAGIC      0x4D594731u // "1GYM"; also in env_gym_worker.py
#define TEXT_BYTES 256         // of the last failure's reason
#define SEPARATOR  "\x1f"      // between options; their values may contain commas

// Parts of the shared memory, in the order of the header's offsets. env_gym_worker.py (HEADER,
// reserve) has the same order.
enum {
    OBS_LOW, // double [numbers of an observation], unless discrete
    OBS_HIGH,
    ACTION_LOW, // double [numbers of an action], unless discrete
    ACTION_HIGH,
    ACTION,       // [n] rows of the action space
    OBS,          // [n] rows of the observation space
    FINAL,        // [n] the same, valid after an end
    REWARD,       // double [n]
    RETURNS,      // double [n], valid after an end
    SEEDS,        // uint64_t [n], read where SEEDED is 1
    LENGTHS,      // int32_t [n], valid after an end
    FLAGS,        // uint8_t [n]
    MASK,         // uint8_t [n] of a reset
    SEEDED,       // uint8_t [n] of a reset: 1: SEEDS has a seed
    TEXT,         // char [TEXT_BYTES], ends with zeros
    METRICS,      // float [n][metrics], valid after an end; NaN: none
    METRIC_NAMES, // char [metrics][OCT_METRIC_NAME_BYTES]
    PARTS
};

// A space as the header has it; n > 0: discrete.
struct space_words {
    uint32_t dtype, rank, shape[OCTET_ENV_RANK_MAX], n;
};

// The header, after its magic number.
struct header {
    struct space_words obs, action;
    uint32_t limit, metrics; // steps of an episode, 0: no limit; number of metrics
    double threshold;        // reward_threshold; NaN: none
    uint64_t offsets[PARTS]; // from the beginning of the memory, multiples of 64
};

// A handle with its process.
struct octet_env_handle {
    env_gym_process process;
    struct header at; // of the current process
    octet_env_spec spec;
    char *id, *name, *options; // options: keyword arguments, with SEPARATOR between them
    char metric_names[OCT_METRICS_MAX][OCT_METRIC_NAME_BYTES];
    const char *metrics[OCT_METRICS_MAX]; // [i] points to metric_names[i]
    double *bounds[4]; // low and high of observations, then of actions; NULL: discrete
    uint32_t count;
    uint64_t *seeds;              // [count] the last seed that each environment was given
    uint32_t autoreset, restarts; // autoreset: 0, 1 or ENV_GYM_BEGINS
    uint32_t obs_bytes, action_bytes;
    bool is_interrupted; // a loss ended all episodes, and the next step reports it
    char error[ENV_GYM_REASON_BYTES + 200];
};

bool
env_gym_has(const char *id)
{
    return strncmp(id, PREFIX, strlen(PREFIX)) == 0;
}

const char *
env_gym_name(const char *id)
{
    return id + strlen(PREFIX);
}

// Without bounds; a discrete space has rank 0.
static octet_env_space
space_of(const struct space_words *words)
{
    octet_env_space space = {.size = sizeof(space), .dtype = words->dtype, .n = words->n};
    space.rank = words->n > 0 ? 0 : words->rank;
    memcpy(space.shape, words->shape, sizeof(space.shape));
    return space;
}

// Sets the bytes that each part must have for n environments.
static void
parts_sizes(const struct header *at, size_t n, size_t sizes[PARTS])
{
    octet_env_space obs = space_of(&at->obs), action = space_of(&at->action);
    for (int k = 0; k < PARTS; k++) {
        sizes[k] = n; // of bytes, one for each environment
    }
    sizes[OBS_LOW] = sizes[OBS_HIGH] = obs.n > 0 ? 0 : env_space_count(&obs) * sizeof(double);
    sizes[ACTION_LOW] = sizes[ACTION_HIGH] =
        action.n > 0 ? 0 : env_space_count(&action) * sizeof(double);
    sizes[ACTION] = n * env_space_bytes(&action);
    sizes[OBS] = sizes[FINAL] = n * env_space_bytes(&obs);
    sizes[REWARD] = sizes[RETURNS] = n * sizeof(double);
    sizes[SEEDS] = n * sizeof(uint64_t);
    sizes[LENGTHS] = n * sizeof(int32_t);
    sizes[TEXT] = TEXT_BYTES;
    sizes[METRICS] = n * at->metrics * sizeof(float);
    sizes[METRIC_NAMES] = (size_t)at->metrics * OCT_METRIC_NAME_BYTES;
}

// True if the space has at most 2^24 numbers and a known type.
static bool
space_is_sound(const struct space_words *words)
{
    uint64_t numbers = 1;
    for (uint32_t d = 0; words->n == 0 && d < OCT_MIN(words->rank, OCTET_ENV_RANK_MAX); d++) {
        numbers = words->shape[d] > 1u << 24 ? 0 : numbers * words->shape[d];
        if (numbers == 0 || numbers > 1u << 24) {
            return false;
        }
    }
    return words->rank <= OCTET_ENV_RANK_MAX && words->dtype >= OCTET_ENV_F32 &&
           words->dtype <= OCTET_ENV_I32;
}

// Copies the header and checks every part against the memory's size. Copied first: the process
// could change it between check and use.
static bool
header_read(const octet_env_handle *h, struct header *out)
{
    uint32_t words[21]; // magic, 9 of each space, limit, metrics
    const uint8_t *memory = h->process.memory;
    size_t sizes[PARTS], fixed = sizeof(words) + sizeof(double) + sizeof(out->offsets);
    if (h->process.size < fixed) {
        return false;
    }
    memcpy(words, memory, sizeof(words));
    memcpy(&out->obs, words + 1, sizeof(out->obs));
    memcpy(&out->action, words + 10, sizeof(out->action));
    out->limit = words[19];
    out->metrics = words[20];
    memcpy(&out->threshold, memory + sizeof(words), sizeof(double));
    memcpy(out->offsets, memory + sizeof(words) + sizeof(double), sizeof(out->offsets));
    if (words[0] != MAGIC || !space_is_sound(&out->obs) || !space_is_sound(&out->action) ||
        out->metrics > OCT_METRICS_MAX) {
        return false;
    }
    parts_sizes(out, h->count, sizes);
    for (int k = 0; k < PARTS; k++) {
        if (out->offsets[k] % 64 != 0 || out->offsets[k] > h->process.size ||
            sizes[k] > h->process.size - out->offsets[k]) {
            return false;
        }
    }
    return true;
}

// Part k of the memory, which header_read has checked.
static void *
part(const octet_env_handle *h, int k)
{
    return h->process.memory + h->at.offsets[k];
}

// Starts a process. A later one must have the spaces and metrics of the first, for which the rows
// were made.
static oct_err
process_start(octet_env_handle *h, oct_reason *why)
{
    char count[16], seed[24], autoreset[2] = {(char)('0' + h->autoreset), '\0'};
    snprintf(count, sizeof(count), "%u", h->count);
    snprintf(seed, sizeof(seed), "%" PRIu64, h->seeds[0]);
    const char *arguments[] = {h->name, count, seed, autoreset, h->options};
    struct header at;
    OCT_TRY(env_gym_process_start(&h->process, arguments, why));
    if (!header_read(h, &at)) {
        oct_reason_set(why, "the worker's memory is not sound");
    } else if (h->restarts > 0 && (memcmp(&at.obs, &h->at.obs, sizeof(at.obs)) != 0 ||
                                   memcmp(&at.action, &h->at.action, sizeof(at.action)) != 0)) {
        oct_reason_set(why, "its spaces have changed");
    } else if (h->restarts > 0 && at.metrics != h->at.metrics) {
        oct_reason_set(why, "its metrics have changed");
    } else {
        h->at = at;
        return OCT_OK;
    }
    env_gym_process_stop(&h->process);
    return OCT_EINVAL;
}

// Copies bounds: the memory is replaced with the process, the spec stays.
static double *
bounds_copy(octet_env_handle *h, int k, const octet_env_space *space)
{
    if (space->n > 0) {
        return NULL;
    }
    size_t bytes = env_space_count(space) * sizeof(double);
    h->bounds[k] = oct_alloc(bytes);
    memcpy(h->bounds[k], part(h, OBS_LOW + k), bytes);
    return h->bounds[k];
}

// Makes the spec, which stays the same for later processes.
static void
spec_fill(octet_env_handle *h)
{
    octet_env_space obs = space_of(&h->at.obs), action = space_of(&h->at.action);
    memcpy(h->metric_names, part(h, METRIC_NAMES), h->at.metrics * sizeof(*h->metric_names));
    for (uint32_t k = 0; k < h->at.metrics; k++) {
        h->metric_names[k][OCT_METRIC_NAME_BYTES - 1] = '\0';
        h->metrics[k] = h->metric_names[k];
    }
    h->obs_bytes = env_space_bytes(&obs);
    h->action_bytes = env_space_bytes(&action);
    obs.low = bounds_copy(h, 0, &obs);
    obs.high = bounds_copy(h, 1, &obs);
    action.low = bounds_copy(h, 2, &action);
    action.high = bounds_copy(h, 3, &action);
    h->spec = (octet_env_spec){.size = sizeof(h->spec),
                               .id = h->id,
                               .obs = obs,
                               .action = action,
                               .max_episode_steps = h->at.limit,
                               .reward_threshold = h->at.threshold,
                               .reward_low = -INFINITY,
                               .reward_high = INFINITY,
                               .metric_count = h->at.metrics,
                               .metric_names = h->metrics,
                               .capabilities = OCTET_ENV_HAS_REWARD64};
}

static void
gym_destroy(octet_env_handle *h)
{
    env_gym_process_stop(&h->process);
    for (size_t k = 0; k < OCT_COUNTOF(h->bounds); k++) {
        free(h->bounds[k]);
    }
    free(h->id);
    free(h->name);
    free(h->options);
    free(h->seeds);
    free(h);
}

// Joins the keyword arguments into one text; the option with the name becomes name and id.
static void
options_take(octet_env_handle *h, const octet_env_config *config)
{
    size_t bytes = 1;
    for (uint32_t k = 0; k < config->option_count; k++) {
        bytes += strlen(config->options[k].key) + strlen(config->options[k].value) + 2;
    }
    h->options = oct_alloc(bytes);
    for (uint32_t k = 0; k < config->option_count; k++) {
        const octet_env_option *option = &config->options[k];
        size_t used = strlen(h->options);
        if (strcmp(option->key, ENV_GYM_NAME_KEY) == 0) {
            size_t length = strlen(option->value) + 1;
            h->name = oct_alloc(length);
            memcpy(h->name, option->value, length);
            h->id = oct_alloc(length + strlen(PREFIX));
            snprintf(h->id, length + strlen(PREFIX), PREFIX "%s", option->value);
        } else {
            snprintf(h->options + used, bytes - used, "%s%s=%s", used > 0 ? SEPARATOR : "",
                     option->key, option->value);
        }
    }
}

static int
gym_create(const octet_env_config *config, octet_env_handle **out, char *error, uint32_t error_size)
{
    octet_env_handle *h = oct_alloc(sizeof(*h));
    h->count = config->count;
    h->seeds = oct_alloc(config->count * sizeof(*h->seeds));
    for (uint32_t i = 0; i < config->count; i++) {
        h->seeds[i] = config->seed + i;
    }
    h->autoreset = config->autoreset;
    options_take(h, config);
    oct_reason why;
    if (h->name == NULL || process_start(h, &why) != OCT_OK) {
        snprintf(error, error_size, "%s: %s", h->id != NULL ? h->id : PREFIX,
                 h->name != NULL ? why.text : "no name");
        gym_destroy(h);
        return 1;
    }
    spec_fill(h);
    *out = h;
    return 0;
}

static const octet_env_spec *
gym_spec(const octet_env_handle *h)
{
    return &h->spec;
}

static const char *
gym_last_error(const octet_env_handle *h)
{
    return h->error;
}

// Copies an observation, unless the caller has no rows for it.
static void
rows_copy(octet_env_handle *h, void *rows, uint32_t stride, int from, uint32_t i)
{
    if (rows != NULL) {
        memcpy((char *)rows + (size_t)i * stride,
               (const char *)part(h, from) + (size_t)i * h->obs_bytes, h->obs_bytes);
    }
}

// Seeds all environments of a new process from their last seeds and the number of restarts: runs
// differ from each other, and the same run repeats.
static void
renewed_seed(octet_env_handle *h)
{
    uint64_t *seeds = part(h, SEEDS);
    for (uint32_t i = 0; i < h->count; i++) {
        seeds[i] = oct_rng_mix(oct_rng_mix(0, h->seeds[i]), h->restarts);
    }
    memset(part(h, SEEDED), 1, h->count);
    memset(part(h, MASK), 1, h->count);
}

// Starts a new process after a loss and begins all episodes. how says how the process was lost,
// and may be reason itself.
//   OCT_EINVAL  some episodes could not begin; reason says why
//   OCT_ECLOSED  no process can be started; h->error says why
static oct_err
process_renew(octet_env_handle *h, const char *how, oct_reason *why)
{
    char lost[181];
    snprintf(lost, sizeof(lost), "%s", how); // how may be the text in why
    h->restarts++;
    snprintf(h->error, sizeof(h->error), "%s; it was restarted", lost);
    if (process_start(h, why) == OCT_OK) {
        renewed_seed(h);
        oct_err err = env_gym_process_call(&h->process, 'r', why);
        if (err != OCT_ECLOSED) {
            return err;
        }
    }
    snprintf(h->error, sizeof(h->error), "%s; it cannot be restarted: %.900s", lost, why->text);
    return OCT_ECLOSED;
}

// Writes mask and seeds, and calls the worker.
static oct_err
reset_call(octet_env_handle *h, const uint8_t *mask, const uint64_t *seeds, oct_reason *why)
{
    uint8_t *wanted = part(h, MASK);
    for (uint32_t i = 0; i < h->count; i++) {
        wanted[i] = mask == NULL || mask[i] != 0;
        h->seeds[i] = seeds != NULL && wanted[i] != 0 ? seeds[i] : h->seeds[i];
    }
    memset(part(h, SEEDED), seeds != NULL, h->count);
    if (seeds != NULL) {
        memcpy(part(h, SEEDS), seeds, h->count * sizeof(*seeds));
    }
    return env_gym_process_call(&h->process, 'r', why);
}

// If the process was lost, environments outside the mask have lost their episodes, too; the next
// step reports them as failed.
static int
gym_reset(octet_env_handle *h, const uint8_t *mask, const uint64_t *seeds, octet_env_io *io)
{
    oct_reason why = {""};
    oct_err err = h->process.memory == NULL ? OCT_ECLOSED : reset_call(h, mask, seeds, &why);
    bool is_lost = err == OCT_ECLOSED, is_full = mask == NULL || memchr(mask, 0, h->count) == NULL;
    if (is_lost) {
        err = process_renew(h, why.text, &why);
        if (err == OCT_ECLOSED) {
            return 1;
        }
        h->is_interrupted = !is_full;
        if (seeds != NULL) { // process_renew used other seeds
            err = reset_call(h, mask, seeds, &why);
        }
    }
    if (err != OCT_OK) {
        snprintf(h->error, sizeof(h->error), "%s", why.text);
        return 1;
    }
    h->is_interrupted = h->is_interrupted && !is_full;
    for (uint32_t i = 0; i < h->count; i++) {
        if (mask == NULL || mask[i] != 0) {
            rows_copy(h, io->obs, io->obs_stride, OBS, i);
            if (is_lost && !h->is_interrupted && io->flags != NULL) {
                io->flags[i] = OCTET_ENV_FAILED;
            }
        }
    }
    return 0;
}

// Writes the result of a step that the process did not survive: all have failed. The flags of the
// resets since then say which episodes have begun.
static void
all_failed(octet_env_handle *h)
{
    uint8_t *flags = part(h, FLAGS);
    for (uint32_t i = 0; i < h->count; i++) {
        flags[i] = OCTET_ENV_FAILED | OCTET_ENV_TRUNCATED |
                   (h->autoreset != 0 ? flags[i] & OCTET_ENV_OBS_IS_RESET : 0);
    }
    memset(part(h, FINAL), 0, (size_t)h->count * h->obs_bytes);
    memset(part(h, REWARD), 0, h->count * sizeof(double));
    memset(part(h, RETURNS), 0, h->count * sizeof(double));
    memset(part(h, LENGTHS), 0, h->count * sizeof(int32_t));
    float *metrics = part(h, METRICS);
    for (uint32_t k = 0; k < h->count * h->at.metrics; k++) {
        metrics[k] = NAN;
    }
}

// Copies the result of a step into the caller's buffers. The reason of a failure becomes the last
// error.
static void
step_read(octet_env_handle *h, octet_env_io *io)
{
    const uint8_t *flags = part(h, FLAGS);
    const double *reward = part(h, REWARD), *returns = part(h, RETURNS);
    const int32_t *lengths = part(h, LENGTHS);
    const float *metrics = part(h, METRICS);
    uint32_t count = h->at.metrics;
    for (uint32_t i = 0; i < h->count; i++) {
        bool ended = (flags[i] & (OCTET_ENV_TERMINATED | OCTET_ENV_TRUNCATED)) != 0;
        rows_copy(h, io->obs, io->obs_stride, OBS, i);
        rows_copy(h, ended ? io->final_obs : NULL, io->final_obs_stride, FINAL, i);
        if (io->flags != NULL) {
            io->flags[i] = flags[i];
        }
        if (io->reward != NULL) {
            io->reward[i] = (float)reward[i];
        }
        if (OCTET_ENV_HAS(octet_env_io, io, reward64) && io->reward64 != NULL) {
            io->reward64[i] = reward[i];
        }
        if (ended && io->ep_return != NULL) {
            io->ep_return[i] = (float)returns[i];
        }
        if (ended && io->ep_length != NULL) {
            io->ep_length[i] = lengths[i];
        }
        if (ended && io->metrics != NULL) {
            memcpy(io->metrics + (size_t)i * count, metrics + (size_t)i * count,
                   count * sizeof(*metrics));
        }
        if ((flags[i] & OCTET_ENV_FAILED) != 0 && h->error[0] == '\0') {
            snprintf(h->error, sizeof(h->error), "%.*s", TEXT_BYTES, (const char *)part(h, TEXT));
        }
    }
}

// Copies the actions. False: a discrete action is outside its space, and nothing is stepped.
static bool
actions_write(octet_env_handle *h, const octet_env_io *io)
{
    for (uint32_t i = 0; i < h->count; i++) {
        const char *row = (const char *)io->action + (size_t)i * io->action_stride;
        uint32_t index = 0;
        memcpy(&index, row, h->spec.action.n > 0 ? sizeof(index) : 0);
        if (h->spec.action.n > 0 && index >= h->spec.action.n) {
            snprintf(h->error, sizeof(h->error), "action %d is not in 0 .. %u", (int)index,
                     h->spec.action.n - 1);
            return false;
        }
        memcpy((char *)part(h, ACTION) + (size_t)i * h->action_bytes, row, h->action_bytes);
    }
    return true;
}

// Without a process, a new one is started, and this step reports the lost episodes as failed.
static int
gym_step(octet_env_handle *h, octet_env_io *io)
{
    oct_reason why;
    if (!h->is_interrupted) { // else the error is the reason of the interruption
        h->error[0] = '\0';
    }
    if (h->process.memory == NULL) { // lost, and not replaced yet
        if (process_renew(h, "the worker was not running", &why) == OCT_ECLOSED) {
            return 1;
        }
        h->is_interrupted = true;
    }
    if (!actions_write(h, io)) {
        return 1;
    }
    oct_err err = h->is_interrupted ? OCT_OK : env_gym_process_call(&h->process, 's', &why);
    if (err == OCT_ECLOSED && process_renew(h, why.text, &why) == OCT_ECLOSED) {
        return 1;
    }
    if (err == OCT_ECLOSED || h->is_interrupted) {
        all_failed(h);
        h->is_interrupted = false;
    } else if (err != OCT_OK) {
        oct_text_copy(h->error, sizeof(h->error), why.text);
        return 1;
    }
    step_read(h, io);
    return 0;
}

const octet_env_api env_gym_api = {
    .size = sizeof(octet_env_api),
    .abi = OCTET_ENV_ABI,
    .create = gym_create,
    .destroy = gym_destroy,
    .spec = gym_spec,
    .reset = gym_reset,
    .step = gym_step,
    .last_error = gym_last_error,
};
