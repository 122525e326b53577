#ifndef ENVS_MINATAR_MINATAR_H
#define ENVS_MINATAR_MINATAR_H

#include <stdbool.h>
#include <stdint.h>

#include "common/oct_pcg64.h"
#include "include/octet/env.h"

// What the five MinAtar games share (Young & Tian 2019, arXiv:1903.03176): a handle of n games,
// seeds, sticky actions, recorded draws, time limit, same-step autoreset, save and load. A game is
// one const minatar_game, which says how it resets, steps and is observed.
//
// A board has 10 x 10 cells, row y from the top and column x from the left, each with the channels
// of its game: u8 [10][10][channels], 0 or 1.
//
// Threads: a handle is used by one thread at a time. Owns: its handle; nothing of the io.

#define MINATAR_SIDE         10
#define MINATAR_LAST         9
#define MINATAR_CELLS        (MINATAR_SIDE * MINATAR_SIDE)
#define MINATAR_CHANNELS_MAX 10
#define MINATAR_ACTIONS      6

enum { MINATAR_NONE, MINATAR_LEFT, MINATAR_UP, MINATAR_RIGHT, MINATAR_DOWN, MINATAR_FIRE };

// The source of random numbers: a generator, or a tape of recorded ones.
typedef struct minatar_draws {
    oct_pcg64 *rng;
    const double *tape; // NULL: the generator is used
    uint32_t used, count;
    bool failed; // a draw found no number left, or a number of another kind
} minatar_draws;

double minatar_uniform(minatar_draws *draws); // in [0, 1)
// Draws an integer from low to high, both included.
int16_t minatar_integer(minatar_draws *draws, int16_t low, int16_t high);

// The states of the games hold only int16_t, so that one loop saves them all.
typedef struct minatar_breakout {
    int16_t paddle, x, y, dx, dy, trail_x, trail_y, strike;
    int16_t bricks[3]; // rows 1 to 3; bit x is column x
} minatar_breakout;

typedef struct minatar_asterix {
    int16_t x, y;
    int16_t spawn_speed, spawn_timer, move_speed, move_timer, ramp_timer, ramp_index;
    struct {
        int16_t present, x, right, gold;
    } slots[8]; // slot k is row k + 1
} minatar_asterix;

typedef struct minatar_freeway {
    int16_t row, move_timer, left;
    struct {
        int16_t x, timer, speed; // speed below 0 drives to the left
    } cars[8];                   // car k is in row k + 1
} minatar_freeway;

typedef struct minatar_invaders {
    int16_t x, direction, interval, move_timer, shot_timer, cooldown, ramp_index;
    // Rows of the board; bit x is column x.
    int16_t aliens[MINATAR_SIDE], friendly[MINATAR_SIDE], enemy[MINATAR_SIDE];
} minatar_invaders;

#define MINATAR_SWIMMERS_MAX 64
#define MINATAR_BULLETS_MAX  96
#define MINATAR_DIVERS_MAX   8

typedef struct minatar_thing {
    int16_t x, y, right, timer, shot_timer; // not all things have timers
} minatar_thing;

typedef struct minatar_seaquest {
    int16_t oxygen, divers_aboard, x, y, right, enemy_speed, enemy_timer, diver_timer, move_speed;
    int16_t ramp_index, cooldown, surface;
    int16_t friendly_count, bullet_count, fish_count, sub_count, diver_count;
    // Each list is in order of age, the oldest first.
    minatar_thing friendly[MINATAR_DIVERS_MAX];
    minatar_thing bullets[MINATAR_BULLETS_MAX];
    minatar_thing fish[MINATAR_SWIMMERS_MAX];
    minatar_thing subs[MINATAR_SWIMMERS_MAX];
    minatar_thing divers[MINATAR_DIVERS_MAX];
} minatar_seaquest;

typedef union minatar_state {
    minatar_breakout breakout;
    minatar_asterix asterix;
    minatar_freeway freeway;
    minatar_invaders invaders;
    minatar_seaquest seaquest;
    int16_t numbers[sizeof(minatar_seaquest) / sizeof(int16_t)];
} minatar_state;

typedef struct minatar_turn {
    int action; // one of the six actions
    bool ramping;
    minatar_draws *draws;
    int reward;    // out; 0 before the step
    bool terminal; // out; false before the step
} minatar_turn;

typedef struct minatar_game {
    const char *ids[2]; // v0 with all six actions, v1 with the minimal set
    uint32_t channels;
    uint32_t minimal_count;
    uint8_t minimal[MINATAR_ACTIONS];
    int reward_high; // highest reward of one step; the lowest is 0
    bool random;     // the game draws random numbers, besides those of sticky actions
    uint32_t state_bytes;
    void (*reset)(minatar_state *state, minatar_draws *draws);
    void (*step)(minatar_state *state, minatar_turn *turn);
    // Sets cells of obs[10][10][channels], which is all 0 before.
    void (*observe)(const minatar_state *state, uint8_t *obs);
    // Returns true if a loaded state is possible: everything that indexes a board or a list is in
    // range.
    bool (*is_sane)(const minatar_state *state);
} minatar_game;

int minatar_create(const minatar_game *game, bool minimal, const octet_env_config *config,
                   octet_env_handle **out, char *error, uint32_t error_size);

// Entries of the table; all but create are the same for all games.
void minatar_destroy(octet_env_handle *handle);
const octet_env_spec *minatar_spec(const octet_env_handle *handle);
int minatar_reset(octet_env_handle *handle, const uint8_t *mask, const uint64_t *seeds,
                  octet_env_io *io);
int minatar_step(octet_env_handle *handle, octet_env_io *io);
int minatar_save(octet_env_handle *handle, uint32_t i, void *buf, uint32_t *length);
int minatar_load(octet_env_handle *handle, uint32_t i, const void *buf, uint32_t length);
const char *minatar_last_error(const octet_env_handle *handle);
int minatar_set_draws(octet_env_handle *handle, uint32_t i, const double *draws, uint32_t count);

#define MINATAR_TABLE(create_function)                                                             \
    {                                                                                              \
        .size = sizeof(octet_env_api), .abi = OCTET_ENV_ABI, .create = (create_function),          \
        .destroy = minatar_destroy, .spec = minatar_spec, .reset = minatar_reset,                  \
        .step = minatar_step, .save = minatar_save, .load = minatar_load,                          \
        .last_error = minatar_last_error, .set_draws = minatar_set_draws                           \
    }

// Defines env_minatar_NAME_v0_api and env_minatar_NAME_v1_api of a game.
#define MINATAR_APIS(name, game)                                                                   \
    static int create_v0(const octet_env_config *config, octet_env_handle **out, char *error,      \
                         uint32_t error_size)                                                      \
    {                                                                                              \
        return minatar_create(&(game), false, config, out, error, error_size);                     \
    }                                                                                              \
    static int create_v1(const octet_env_config *config, octet_env_handle **out, char *error,      \
                         uint32_t error_size)                                                      \
    {                                                                                              \
        return minatar_create(&(game), true, config, out, error, error_size);                      \
    }                                                                                              \
    const octet_env_api env_minatar_##name##_v0_api = MINATAR_TABLE(create_v0);                    \
    const octet_env_api env_minatar_##name##_v1_api = MINATAR_TABLE(create_v1)

// Returns the offset of a cell's channels in obs.
static inline uint32_t
minatar_cell(int y, int x, uint32_t channels)
{
    return (uint32_t)(y * MINATAR_SIDE + x) * channels;
}

static inline bool
minatar_is_on_board(int at)
{
    return at >= 0 && at <= MINATAR_LAST;
}

static inline int16_t
minatar_clamp(int value, int low, int high)
{
    return (int16_t)(value < low ? low : value > high ? high : value);
}

#endif // ENVS_MINATAR_MINATAR_H
