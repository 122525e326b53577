// Taxi-v4 as Gymnasium 1.4 defines it (Dietterich 2000, arXiv:cs/9905014): a taxi on a board of 5 x
// 5 fetches a passenger at one of four pads and brings the passenger to another. Observation: ((row
// * 5 + column) * 5 + passenger) * 4 + destination; passenger 4 is aboard. In rain a move sometimes
// goes to the left or to the right. A fickle passenger changes the destination once.
#include <math.h>

#include "common/oct_base.h"
#include "envs/env_registry.h"
#include "envs/toy_text/toy_text.h"

#define SIDE    5
#define PADS    4
#define ABOARD  PADS
#define STATES  (SIDE * SIDE * (PADS + 1) * PADS)
#define ACTIONS 6

enum { SOUTH, NORTH, EAST, WEST, PICK_UP, DROP };
enum { RAINY, FICKLE, RAINY_PROBABILITY, FICKLE_PROBABILITY };

static const toy_cell pads[PADS] = {{0, 0}, {0, 4}, {4, 0}, {4, 3}};

typedef struct taxi {
    toy_cell at;
    int passenger, destination;
} taxi;

static uint32_t
number_of(taxi t)
{
    return (uint32_t)(((t.at.row * SIDE + t.at.column) * (PADS + 1) + t.passenger) * PADS +
                      t.destination);
}

static taxi
taxi_of(uint32_t number)
{
    int k = (int)number, cell = k / (PADS * (PADS + 1));
    return (taxi){{cell / SIDE, cell % SIDE}, k / PADS % (PADS + 1), k % PADS};
}

// Returns the pad at a cell; PADS: there is none.
static int
pad_at(toy_cell at)
{
    int pad = 0;
    while (pad < PADS && (pads[pad].row != at.row || pads[pad].column != at.column)) {
        pad++;
    }
    return pad;
}

// Returns true if a wall is on the east side of a cell.
static bool
wall_east(int row, int column)
{
    return row < 2 ? column == 1 : row > 2 && (column == 0 || column == 2);
}

// Returns the cell after one step in a direction; a wall stops the step.
static toy_cell
moved(toy_cell from, int direction)
{
    static const toy_cell moves[] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}};
    bool wall = (direction == EAST && wall_east(from.row, from.column)) ||
                (direction == WEST && wall_east(from.row, from.column - 1));
    return wall ? from
                : toy_cell_move(from, moves[direction].row, moves[direction].column, SIDE, SIDE);
}

static void
drive(toy_model *model, taxi from, int direction, const double *options)
{
    static const int left[] = {EAST, WEST, NORTH, SOUTH}, right[] = {WEST, EAST, SOUTH, NORTH};
    toy_cell to = moved(from.at, direction);
    bool stays = to.row == from.at.row && to.column == from.at.column;
    bool rains = options[RAINY] != 0;
    int directions[] = {direction, left[direction], right[direction]};
    double straight = options[RAINY_PROBABILITY], aside = (1.0 - straight) / 2.0;
    for (size_t i = 0; i < (rains ? OCT_COUNTOF(directions) : 1u); i++) {
        taxi t = from;
        t.at = stays ? from.at : moved(from.at, directions[i]);
        toy_outcome outcome = {.probability = !rains   ? 1
                                              : i == 0 ? straight
                                                       : aside,
                               .reward = -1,
                               .next = number_of(t)};
        toy_model_add(model, number_of(from), (uint32_t)direction, outcome);
    }
}

static void
pick_up(toy_model *model, taxi from)
{
    taxi t = from;
    bool there = from.passenger != ABOARD && pad_at(from.at) == from.passenger;
    t.passenger = there ? ABOARD : from.passenger;
    toy_outcome outcome = {.probability = 1, .reward = there ? -1 : -10, .next = number_of(t)};
    toy_model_add(model, number_of(from), PICK_UP, outcome);
}

static void
drop(toy_model *model, taxi from)
{
    taxi t = from;
    int pad = pad_at(from.at);
    bool leaves = from.passenger == ABOARD && pad < PADS;
    bool arrived = leaves && pad == from.destination;
    t.passenger = leaves ? pad : from.passenger;
    toy_outcome outcome = {.probability = 1,
                           .reward = arrived  ? 20
                                     : leaves ? -1
                                              : -10,
                           .next = number_of(t),
                           .terminated = arrived};
    toy_model_add(model, number_of(from), DROP, outcome);
}

static toy_model *
model_make(const double *options)
{
    toy_model *model = toy_model_create(STATES, ACTIONS);
    for (uint32_t s = 0; s < STATES; s++) {
        taxi from = taxi_of(s);
        bool begins = from.passenger != ABOARD && from.passenger != from.destination;
        model->first[s] = begins ? 1.0 / (SIDE * SIDE * PADS * (PADS - 1)) : 0;
        for (int direction = SOUTH; direction <= WEST; direction++) {
            drive(model, from, direction, options);
        }
        pick_up(model, from);
        drop(model, from);
    }
    return model;
}

// ---- the environment. State: the observation, and 1 if the passenger may still change the
// destination

static int
configure(const octet_env_config *config, env_native_task *task, octet_env_spec *spec, char *error,
          uint32_t error_size)
{
    (void)config;
    (void)error;
    (void)error_size;
    task->model = model_make(task->options);
    toy_text_describe(task->model, spec);
    return 0;
}

static void
reset(const env_native_task *task, oct_pcg64 *rng, double *state)
{
    toy_text_reset(task, rng, state);
    const double *options = task->options;
    state[1] = options[FICKLE] != 0 && oct_pcg64_uniform(rng, 0, 1) < options[FICKLE_PROBABILITY];
}

static double
step(const env_native_task *task, oct_pcg64 *rng, double *state, env_native_turn *turn)
{
    taxi before = taxi_of((uint32_t)state[0]);
    double reward = toy_text_step(task, rng, state, turn);
    taxi now = taxi_of((uint32_t)state[0]);
    bool has_moved = now.at.row != before.at.row || now.at.column != before.at.column;
    if (state[1] != 0 && before.passenger == ABOARD && has_moved) {
        int other = (int)oct_pcg64_below(rng, PADS - 1);
        now.destination = other + (other >= now.destination);
        state[0] = number_of(now);
        state[1] = 0;
    }
    return reward;
}

static bool
is_sane(const env_native_task *task, const double *state, bool has_ended)
{
    return toy_text_is_sane(task, state, has_ended) && (state[1] == 0 || state[1] == 1);
}

static const env_native_class class = {
    .spec = {.size = sizeof(octet_env_spec),
             .id = "Taxi-v4",
             .obs = TOY_DISCRETE(STATES),
             .action = TOY_DISCRETE(ACTIONS),
             .max_episode_steps = 200,
             .reward_threshold = 8,
             .capabilities = ENV_NATIVE_CAPABILITIES,
             .state_count = 2},
    .options =
        {
            [RAINY] = {.key = "is_rainy", .low = 0, .high = 1, .whole = true},
            [FICKLE] = {.key = "fickle_passenger", .low = 0, .high = 1, .whole = true},
            [RAINY_PROBABILITY] = {.key = "rainy_probability", .initial = 0.8, .low = 0, .high = 1},
            [FICKLE_PROBABILITY] =
                {.key = "fickle_probability", .initial = 0.3, .low = 0, .high = 1},
        },
    .configure = configure,
    .reset = reset,
    .step = step,
    .observe = toy_text_observe,
    .is_sane = is_sane,
};

ENV_NATIVE_API(env_taxi_api, class);
