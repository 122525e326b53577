#ifndef TESTS_ENVS_MINATAR_BOARD_H
#define TESTS_ENVS_MINATAR_BOARD_H

#include "tests/envs/env_test.h"

// One MinAtar game for a test.

enum { NONE, LEFT, UP, RIGHT, DOWN, FIRE };
#define OBS_MAX   1000
#define SAVED_MAX 4096

struct board {
    env *e;
    uint32_t channels;
    int32_t action;
    uint8_t obs[OBS_MAX], final_obs[OBS_MAX];
    float reward, ep_return;
    uint8_t flags;
    int32_t ep_length;
    octet_env_io io;
};

__attribute__((unused)) static inline void
board_open(struct board *b, const char *id, const char *options, uint64_t seed, bool autoreset)
{
    memset(b, 0, sizeof(*b));
    b->e = env_opened(id, options, 1, seed, autoreset);
    b->channels = env_spec(b->e)->obs.shape[2];
    b->io = (octet_env_io){.size = sizeof(b->io),
                           .action = &b->action,
                           .action_stride = sizeof(b->action),
                           .obs = b->obs,
                           .obs_stride = sizeof(b->obs),
                           .final_obs = b->final_obs,
                           .final_obs_stride = sizeof(b->final_obs),
                           .reward = &b->reward,
                           .flags = &b->flags,
                           .ep_return = &b->ep_return,
                           .ep_length = &b->ep_length};
    T_OK(env_reset(b->e, NULL, NULL, &b->io));
}

__attribute__((unused)) static inline void
board_step(struct board *b, int action)
{
    b->action = action;
    T_OK(env_step(b->e, &b->io));
}

__attribute__((unused)) static inline bool
cell(const uint8_t *obs, uint32_t channels, uint32_t y, uint32_t x, uint32_t channel)
{
    return obs[(y * 10 + x) * channels + channel] != 0;
}

// The column of the only cell of a row that is set, -1: none.
__attribute__((unused)) static inline int
column_of(const uint8_t *obs, uint32_t channels, uint32_t y, uint32_t channel)
{
    int found = -1;
    for (uint32_t x = 0; x < 10; x++) {
        if (cell(obs, channels, y, x, channel)) {
            assert_int_equal(found, -1);
            found = (int)x;
        }
    }
    return found;
}

__attribute__((unused)) static inline void
saved(struct board *b, uint8_t *bytes, uint32_t *length)
{
    *length = SAVED_MAX;
    T_OK(env_save(b->e, 0, bytes, length));
}

// Number k of the game in its saved state (docs/internals/environments.md has the order).
__attribute__((unused)) static inline int
saved_number(struct board *b, uint32_t k)
{
    uint8_t bytes[SAVED_MAX];
    uint32_t length;
    saved(b, bytes, &length);
    assert_true(length > 8 + 2 * k + 1);
    return (int16_t)(bytes[8 + 2 * k] | bytes[8 + 2 * k + 1] << 8);
}

struct place {
    uint32_t k;
    int value;
};

// Changes numbers of the game; the rest stays.
__attribute__((unused)) static inline void
board_place(struct board *b, const struct place *places, size_t count)
{
    uint8_t bytes[SAVED_MAX];
    uint32_t length;
    saved(b, bytes, &length);
    for (size_t i = 0; i < count; i++) {
        uint16_t value = (uint16_t)(int16_t)places[i].value;
        bytes[8 + 2 * places[i].k] = (uint8_t)value;
        bytes[8 + 2 * places[i].k + 1] = (uint8_t)(value >> 8);
    }
    T_OK(env_load(b->e, 0, bytes, length));
}

#define PLACE(board, ...)                                                                          \
    board_place((board), (const struct place[]){__VA_ARGS__},                                      \
                sizeof((const struct place[]){__VA_ARGS__}) / sizeof(struct place))

#endif // TESTS_ENVS_MINATAR_BOARD_H
