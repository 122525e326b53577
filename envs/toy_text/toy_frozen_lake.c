// FrozenLake-v1 as Gymnasium 1.4 defines it: over a frozen lake from S to the goal G, around the
// holes H. State: row * columns + column. On slippery ice a step follows the action with
// success_rate; otherwise it goes to the left or the right of that direction, both equally often.
#include <stdio.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_text.h"
#include "envs/env_registry.h"
#include "envs/toy_text/toy_text.h"

#define ACTIONS  4  // left, down, right, up
#define SIDE_MAX 64 // rows and columns of a map

enum { MAP_NAME, SLIPPERY, SUCCESS_RATE, REWARD_SCHEDULE, DESC };
enum { REWARD_GOAL, REWARD_HOLE, REWARD_ICE, REWARDS };

static const char *const maps[] = {
    "SFFF/FHFH/FFFH/HFFG",
    "SFFFFFFF/FFFFFFFF/FFFHFFFF/FFFFFHFF/FFFHFFFF/FHHFFFHF/FHFFHFHF/FFFHFFFG",
};

typedef struct lake {
    int rows, columns;
    const char *map; // rows of letters, with one letter between two rows
    double rewards[REWARDS];
} lake;

static char
letter_at(const lake *l, toy_cell at)
{
    return l->map[at.row * (l->columns + 1) + at.column];
}

// Reads a map: rows of S, F, H and G, of equal length, with / between them, and at least one S.
static int
map_read(lake *l, const char *map, char *error, uint32_t error_size)
{
    size_t length = strlen(map), columns = strcspn(map, "/");
    bool sound = columns >= 1 && columns <= SIDE_MAX && (length + 1) % (columns + 1) == 0 &&
                 (length + 1) / (columns + 1) <= SIDE_MAX && strchr(map, 'S') != NULL;
    for (size_t i = 0; sound && i < length; i++) {
        bool is_between = i % (columns + 1) == columns;
        sound = is_between ? map[i] == '/' : strchr("SFHG", map[i]) != NULL;
    }
    if (!sound) {
        snprintf(error, error_size,
                 "option desc=%.80s is not a map: rows of S, F, H and G, all of one length up to "
                 "%d, at most %d, separated by /, with an S to start from",
                 map, SIDE_MAX, SIDE_MAX);
        return 1;
    }
    l->map = map;
    l->columns = (int)columns;
    l->rows = (int)((length + 1) / (columns + 1));
    return 0;
}

// Reads "1/0/0": rewards of goal, hole, ice.
static int
rewards_read(lake *l, const char *text, char *error, uint32_t error_size)
{
    const char *at = text;
    bool sound = true;
    for (size_t i = 0; sound && i < REWARDS; i++) {
        char *end = NULL;
        l->rewards[i] = oct_text_number(at, &end);
        sound = end != at && l->rewards[i] >= -1e12 && l->rewards[i] <= 1e12 &&
                *end == (i + 1 < REWARDS ? '/' : '\0');
        at = end + 1;
    }
    if (!sound) {
        snprintf(error, error_size,
                 "option reward_schedule=%.80s is not three numbers separated by /, from -1e12 to "
                 "1e12: of goal, hole and ice",
                 text);
        return 1;
    }
    return 0;
}

// Returns the outcome of one step without slipping.
static toy_outcome
arrive(const lake *l, toy_cell from, uint32_t action)
{
    static const toy_cell moves[ACTIONS] = {{0, -1}, {1, 0}, {0, 1}, {-1, 0}};
    toy_cell to = toy_cell_move(from, moves[action].row, moves[action].column, l->rows, l->columns);
    char letter = letter_at(l, to);
    return (toy_outcome){
        .next = (uint32_t)(to.row * l->columns + to.column),
        .terminated = letter == 'G' || letter == 'H',
        .reward = l->rewards[letter == 'G'   ? REWARD_GOAL
                             : letter == 'H' ? REWARD_HOLE
                                             : REWARD_ICE],
    };
}

static void
cell_fill(toy_model *model, const lake *l, toy_cell at, const double *options)
{
    uint32_t state = (uint32_t)(at.row * l->columns + at.column);
    char letter = letter_at(l, at);
    for (uint32_t a = 0; a < ACTIONS; a++) {
        if (letter == 'G' || letter == 'H') {
            toy_model_add(model, state, a,
                          (toy_outcome){.probability = 1, .next = state, .terminated = true});
        } else if (options[SLIPPERY] == 0) {
            toy_outcome outcome = arrive(l, at, a);
            outcome.probability = 1;
            toy_model_add(model, state, a, outcome);
        } else {
            for (uint32_t turn = ACTIONS - 1; turn <= ACTIONS + 1; turn++) {
                toy_outcome outcome = arrive(l, at, (a + turn) % ACTIONS);
                double success = options[SUCCESS_RATE];
                outcome.probability = turn == ACTIONS ? success : (1.0 - success) / 2.0;
                toy_model_add(model, state, a, outcome);
            }
        }
    }
}

static void
first_fill(toy_model *model, const lake *l)
{
    double starts = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int k = 0; k < l->rows * l->columns; k++) {
            toy_cell at = {k / l->columns, k % l->columns};
            bool is_start = letter_at(l, at) == 'S';
            starts += pass == 0 && is_start;
            model->first[k] = is_start ? 1 / starts : 0;
        }
    }
}

static toy_model *
model_make(const octet_env_config *config, const double *options, char *error, uint32_t error_size)
{
    lake l = {.rewards = {[REWARD_GOAL] = 1}};
    const char *desc = options[DESC] != 0 ? env_native_option_text(config, "desc")
                                          : maps[(size_t)options[MAP_NAME]];
    const char *rewards =
        options[REWARD_SCHEDULE] != 0 ? env_native_option_text(config, "reward_schedule") : NULL;
    if (map_read(&l, desc, error, error_size) != 0 ||
        (rewards != NULL && rewards_read(&l, rewards, error, error_size) != 0)) {
        return NULL;
    }
    toy_model *model = toy_model_create((uint32_t)(l.rows * l.columns), ACTIONS);
    first_fill(model, &l);
    for (int k = 0; k < l.rows * l.columns; k++) {
        cell_fill(model, &l, (toy_cell){k / l.columns, k % l.columns}, options);
    }
    return model;
}

static int
configure(const octet_env_config *config, env_native_task *task, octet_env_spec *spec, char *error,
          uint32_t error_size)
{
    toy_model *model = model_make(config, task->options, error, error_size);
    if (model == NULL) {
        return 1;
    }
    task->model = model;
    toy_text_describe(model, spec);
    return 0;
}

#define CLASS(name, map, limit, solved)                                                            \
    {                                                                                              \
        .spec = {.size = sizeof(octet_env_spec),                                                   \
                 .id = (name),                                                                     \
                 .obs = TOY_DISCRETE(1),                                                           \
                 .action = TOY_DISCRETE(ACTIONS),                                                  \
                 .max_episode_steps = (limit),                                                     \
                 .reward_threshold = (solved),                                                     \
                 .capabilities = ENV_NATIVE_CAPABILITIES,                                          \
                 .state_count = 1},                                                                \
        .options =                                                                                 \
            {                                                                                      \
                [MAP_NAME] = {.key = "map_name", .initial = (map), .words = "4x4 8x8"},            \
                [SLIPPERY] =                                                                       \
                    {.key = "is_slippery", .initial = 1, .low = 0, .high = 1, .whole = true},      \
                [SUCCESS_RATE] = {.key = "success_rate",                                           \
                                  .initial = 1.0 / 3.0,                                            \
                                  .low = 0,                                                        \
                                  .high = 1},                                                      \
                [REWARD_SCHEDULE] = {.key = "reward_schedule", .text = true},                      \
                [DESC] = {.key = "desc", .text = true},                                            \
            },                                                                                     \
        .configure = configure, .reset = toy_text_reset, .step = toy_text_step,                    \
        .observe = toy_text_observe, .is_sane = toy_text_is_sane                                   \
    }

static const env_native_class small = CLASS("FrozenLake-v1", 0, 100, 0.7);
static const env_native_class large = CLASS("FrozenLake8x8-v1", 1, 200, 0.85);

ENV_NATIVE_API(env_frozen_lake_api, small);
ENV_NATIVE_API(env_frozen_lake8x8_api, large);
