// What the five MinAtar games share behind the ABI: seeds, sticky actions, time limits, autoreset,
// save and load.
#include "envs/minatar/minatar.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "envs/env_native_option.h"
#include "envs/env_saved.h"

// Steps of an episode at most, far more than in published results, which have no limit. It ends an
// endless round of a policy under evaluation.
#define LIMIT   100000
#define OBS_MAX (MINATAR_CELLS * MINATAR_CHANNELS_MAX)

enum { OPTION_STICKY, OPTION_RAMPING };

static const env_native_option options[ENV_NATIVE_OPTIONS_MAX] = {
    [OPTION_STICKY] = {.key = "sticky_actions", .initial = 0.1, .low = 0, .high = 1},
    [OPTION_RAMPING] = {.key = "ramping", .initial = 1, .low = 0, .high = 1, .whole = true},
};

struct slot {
    minatar_state state;
    env_episode episode;
    uint8_t previous; // the action that was executed last, which a sticky step repeats
    double *tape;     // recorded draws; NULL: the generator
    uint32_t tape_count;
};

struct octet_env_handle {
    const minatar_game *game;
    octet_env_spec spec;
    double options[ENV_NATIVE_OPTIONS_MAX];
    uint8_t actions[MINATAR_ACTIONS]; // what each index of the action space does
    uint32_t obs_bytes;
    uint32_t count;
    uint32_t taped; // count of slots with a tape
    bool autoreset;
    char error[160];
    double obs_low[OBS_MAX], obs_high[OBS_MAX];
    struct slot *slots;
};

double
minatar_uniform(minatar_draws *draws)
{
    if (draws->tape == NULL) {
        return oct_pcg64_uniform(draws->rng, 0, 1);
    }
    double value = draws->used < draws->count ? draws->tape[draws->used] : -1;
    draws->used++;
    if (!(value >= 0 && value < 1)) {
        draws->failed = true;
        return 0;
    }
    return value;
}

int16_t
minatar_integer(minatar_draws *draws, int16_t low, int16_t high)
{
    if (draws->tape == NULL) {
        uint64_t count = (uint64_t)(high - low + 1);
        return (int16_t)(low + (int)((oct_pcg64_u64(draws->rng) >> 32) * count >> 32));
    }
    double value = draws->used < draws->count ? draws->tape[draws->used] : low - 1;
    draws->used++;
    if (!(value >= low && value <= high && value == floor(value))) {
        draws->failed = true;
        return low;
    }
    return (int16_t)value;
}

static void
spec_fill(octet_env_handle *handle, bool minimal)
{
    const minatar_game *game = handle->game;
    handle->obs_bytes = MINATAR_CELLS * game->channels;
    for (uint32_t k = 0; k < handle->obs_bytes; k++) {
        handle->obs_high[k] = 1;
    }
    for (uint32_t k = 0; k < MINATAR_ACTIONS; k++) {
        handle->actions[k] = minimal ? game->minimal[k] : (uint8_t)k;
    }
    handle->spec = (octet_env_spec){
        .size = sizeof(octet_env_spec),
        .id = game->ids[minimal],
        .obs = {.size = sizeof(octet_env_space),
                .dtype = OCTET_ENV_U8,
                .rank = 3,
                .shape = {MINATAR_SIDE, MINATAR_SIDE, game->channels},
                .low = handle->obs_low,
                .high = handle->obs_high},
        .action = {.size = sizeof(octet_env_space),
                   .dtype = OCTET_ENV_I32,
                   .n = minimal ? game->minimal_count : MINATAR_ACTIONS},
        .max_episode_steps = LIMIT,
        .reward_threshold = NAN,
        .reward_low = 0,
        .reward_high = game->reward_high,
        .capabilities = OCTET_ENV_CAN_SAVE | OCTET_ENV_CAN_DRAWS,
    };
}

static bool
draws_fit(const minatar_draws *draws)
{
    return draws->tape == NULL || (!draws->failed && draws->used == draws->count);
}

// Begins an episode. Returns false if the recorded draws do not fit.
static bool
slot_begin(const octet_env_handle *handle, struct slot *slot)
{
    minatar_draws draws = {
        .rng = &slot->episode.rng, .tape = slot->tape, .count = slot->tape_count};
    handle->game->reset(&slot->state, &draws);
    slot->episode.episode_return = 0;
    slot->episode.elapsed = 0;
    slot->episode.ended = 0;
    return draws_fit(&draws);
}

// Plays one turn of the game. Returns false if the recorded draws do not fit.
static bool
slot_play(const octet_env_handle *handle, struct slot *slot, int action, minatar_turn *turn)
{
    minatar_draws draws = {
        .rng = &slot->episode.rng, .tape = slot->tape, .count = slot->tape_count};
    double sticky = handle->options[OPTION_STICKY];
    if (sticky > 0 && minatar_uniform(&draws) < sticky) {
        action = slot->previous;
    }
    slot->previous = (uint8_t)action;
    *turn = (minatar_turn){
        .action = action, .ramping = handle->options[OPTION_RAMPING] != 0, .draws = &draws};
    handle->game->step(&slot->state, turn);
    turn->draws = NULL;
    slot->episode.elapsed = env_episode_steps(slot->episode.elapsed + 1);
    slot->episode.episode_return += turn->reward;
    return draws_fit(&draws);
}

int
minatar_create(const minatar_game *game, bool minimal, const octet_env_config *config,
               octet_env_handle **out, char *error, uint32_t error_size)
{
    octet_env_handle *handle = oct_alloc(sizeof(*handle));
    handle->game = game;
    handle->count = config->count;
    handle->autoreset = config->autoreset != 0;
    spec_fill(handle, minimal);
    if (env_native_options_set(handle->spec.id, options, config, handle->options,
                               &handle->spec.max_episode_steps, error, error_size) != 0) {
        free(handle);
        return 1;
    }
    double sticky = handle->options[OPTION_STICKY]; // 1: every action repeats the one before
    if (!game->random && (sticky == 0 || sticky == 1)) {
        handle->spec.capabilities |= OCTET_ENV_NO_RANDOM;
    }
    handle->slots = oct_alloc(config->count * sizeof(*handle->slots));
    for (uint32_t i = 0; i < config->count; i++) {
        struct slot *slot = &handle->slots[i];
        oct_pcg64_init(&slot->episode.rng, config->seed + i);
        oct_pcg64 rng = slot->episode.rng;
        (void)slot_begin(handle, slot);
        slot->episode.rng = rng; // the first reset begins the seed's first episode again
    }
    *out = handle;
    return 0;
}

void
minatar_destroy(octet_env_handle *handle)
{
    if (handle == NULL) {
        return;
    }
    for (uint32_t i = 0; i < handle->count; i++) {
        free(handle->slots[i].tape);
    }
    free(handle->slots);
    free(handle);
}

const octet_env_spec *
minatar_spec(const octet_env_handle *handle)
{
    return &handle->spec;
}

const char *
minatar_last_error(const octet_env_handle *handle)
{
    return handle->error;
}

int
minatar_set_draws(octet_env_handle *handle, uint32_t i, const double *draws, uint32_t count)
{
    if (i >= handle->count) {
        snprintf(handle->error, sizeof(handle->error), "set_draws: no such environment");
        return 1;
    }
    if (draws != NULL && handle->autoreset) {
        snprintf(handle->error, sizeof(handle->error), "set_draws: not with autoreset");
        return 1;
    }
    struct slot *slot = &handle->slots[i];
    handle->taped -= slot->tape != NULL;
    free(slot->tape);
    slot->tape = NULL;
    slot->tape_count = 0;
    if (draws != NULL) {
        handle->taped++;
        slot->tape = oct_alloc(OCT_MAX(count, 1u) * sizeof(*slot->tape));
        memcpy(slot->tape, draws, count * sizeof(*slot->tape));
        slot->tape_count = count;
    }
    return 0;
}

static void
observe(const octet_env_handle *handle, const struct slot *slot, void *base, uint32_t stride,
        uint32_t i)
{
    if (base != NULL) {
        uint8_t *row = (uint8_t *)base + (size_t)i * stride;
        memset(row, 0, handle->obs_bytes);
        handle->game->observe(&slot->state, row);
    }
}

static int
action_at(const octet_env_handle *handle, const octet_env_io *io, uint32_t i)
{
    const char *row = (const char *)io->action + (size_t)i * io->action_stride;
    return handle->actions[*(const int32_t *)(const void *)row];
}

// Tries recorded draws on a copy before any game moves. io NULL: checks a reset of the games in
// mask.
static int
draws_check(octet_env_handle *handle, const uint8_t *mask, const octet_env_io *io)
{
    for (uint32_t i = 0; i < handle->count; i++) {
        struct slot trial = handle->slots[i];
        if (trial.tape == NULL || (mask != NULL && mask[i] == 0) ||
            (io != NULL && trial.episode.ended != 0)) {
            continue;
        }
        minatar_turn turn;
        bool fits = io != NULL ? slot_play(handle, &trial, action_at(handle, io, i), &turn)
                               : slot_begin(handle, &trial);
        if (!fits) {
            snprintf(handle->error, sizeof(handle->error),
                     "the %u recorded random numbers are not those that the %s draws",
                     trial.tape_count, io != NULL ? "step" : "reset");
            return 1;
        }
    }
    return 0;
}

int
minatar_reset(octet_env_handle *handle, const uint8_t *mask, const uint64_t *seeds,
              octet_env_io *io)
{
    if (handle->taped > 0 && draws_check(handle, mask, NULL) != 0) {
        return 1;
    }
    for (uint32_t i = 0; i < handle->count; i++) {
        if (mask != NULL && mask[i] == 0) {
            continue;
        }
        struct slot *slot = &handle->slots[i];
        if (seeds != NULL) { // as in a new environment, the sticky action is cleared, too
            oct_pcg64_init(&slot->episode.rng, seeds[i]);
            slot->previous = MINATAR_NONE;
        }
        (void)slot_begin(handle, slot);
        if (io != NULL) {
            observe(handle, slot, io->obs, io->obs_stride, i);
        }
    }
    return 0;
}

// Checks all actions before any game is stepped, so that a refused call changes nothing.
static int
actions_check(octet_env_handle *handle, const octet_env_io *io)
{
    const char *at = io->action;
    for (uint32_t i = 0; i < handle->count; i++, at += io->action_stride) {
        uint32_t action = *(const uint32_t *)(const void *)at;
        if (action >= handle->spec.action.n) {
            snprintf(handle->error, sizeof(handle->error),
                     "action %d of environment %u is not in 0 .. %u", (int)action, i,
                     handle->spec.action.n - 1);
            return 1;
        }
    }
    return 0;
}

static void
slot_end(octet_env_handle *handle, uint32_t i, octet_env_io *io)
{
    struct slot *slot = &handle->slots[i];
    observe(handle, slot, io->final_obs, io->final_obs_stride, i);
    if (io->ep_return != NULL) {
        io->ep_return[i] = (float)slot->episode.episode_return;
    }
    if (io->ep_length != NULL) {
        io->ep_length[i] = (int32_t)slot->episode.elapsed;
    }
}

static int
slot_step(octet_env_handle *handle, uint32_t i, octet_env_io *io, uint8_t *flags)
{
    struct slot *slot = &handle->slots[i];
    *flags = slot->episode.ended;
    if (slot->episode.ended != 0) {
        return 0;
    }
    minatar_turn turn;
    (void)slot_play(handle, slot, action_at(handle, io, i), &turn);
    uint32_t limit = handle->spec.max_episode_steps;
    slot->episode.ended =
        (uint8_t)((turn.terminal ? OCTET_ENV_TERMINATED : 0) |
                  (limit > 0 && slot->episode.elapsed >= limit ? OCTET_ENV_TRUNCATED : 0));
    *flags = slot->episode.ended;
    if (slot->episode.ended != 0) {
        slot_end(handle, i, io);
        if (handle->autoreset) {
            *flags |= OCTET_ENV_OBS_IS_RESET;
            (void)slot_begin(handle, slot);
        }
    }
    return turn.reward;
}

int
minatar_step(octet_env_handle *handle, octet_env_io *io)
{
    if (actions_check(handle, io) != 0 ||
        (handle->taped > 0 && draws_check(handle, NULL, io) != 0)) {
        return 1;
    }
    for (uint32_t i = 0; i < handle->count; i++) {
        uint8_t flags;
        int reward = slot_step(handle, i, io, &flags);
        observe(handle, &handle->slots[i], io->obs, io->obs_stride, i);
        if (io->reward != NULL) {
            io->reward[i] = (float)reward;
        }
        if (io->flags != NULL) {
            io->flags[i] = flags;
        }
    }
    return 0;
}

// Writes version, identity of the environment, the game's numbers, then the rest of the slot,
// little-endian; docs/internals/environments.md lists the bytes.
static void
slot_write(const octet_env_handle *handle, const struct slot *slot, oct_writer *writer)
{
    env_saved_begin(writer, handle->spec.id);
    for (uint32_t k = 0; k < handle->game->state_bytes / sizeof(int16_t); k++) {
        oct_write_u16(writer, (uint16_t)slot->state.numbers[k]);
    }
    oct_write_u32(writer, slot->previous);
    env_saved_end(writer, &slot->episode);
}

int
minatar_save(octet_env_handle *handle, uint32_t i, void *buf, uint32_t *length)
{
    oct_writer writer = {.base = NULL, .capacity = SIZE_MAX};
    if (buf != NULL) {
        writer = (oct_writer){.base = buf, .capacity = *length};
    }
    if (i < handle->count) {
        slot_write(handle, &handle->slots[i], &writer);
    }
    if (i >= handle->count || writer.failed) {
        snprintf(handle->error, sizeof(handle->error), "save: %s",
                 writer.failed ? "the buffer is too short" : "no such environment");
        return 1;
    }
    *length = (uint32_t)writer.used;
    return 0;
}

int
minatar_load(octet_env_handle *handle, uint32_t i, const void *buf, uint32_t length)
{
    const char *id = handle->spec.id;
    oct_reader reader = {.at = buf, .left = length};
    struct slot slot = {0};
    bool sound = env_saved_is_of(&reader, id);
    for (uint32_t k = 0; k < handle->game->state_bytes / sizeof(int16_t); k++) {
        slot.state.numbers[k] = (int16_t)oct_read_u16(&reader);
    }
    uint32_t previous = oct_read_u32(&reader);
    slot.previous = (uint8_t)previous;
    sound =
        env_saved_read_end(&reader, &slot.episode, OCTET_ENV_TERMINATED | OCTET_ENV_TRUNCATED) &&
        sound;
    if (i >= handle->count || !sound || previous >= MINATAR_ACTIONS ||
        !handle->game->is_sane(&slot.state)) {
        snprintf(handle->error, sizeof(handle->error), "load: not a saved state of %s", id);
        return 1;
    }
    slot.tape = handle->slots[i].tape;
    slot.tape_count = handle->slots[i].tape_count;
    handle->slots[i] = slot;
    // The state was saved by a handle without autoreset, at an end.
    if (handle->autoreset && slot.episode.ended != 0) {
        (void)slot_begin(handle, &handle->slots[i]);
    }
    return 0;
}
