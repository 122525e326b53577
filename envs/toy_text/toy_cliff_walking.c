// CliffWalking-v1 as Gymnasium 1.4 defines it (Sutton and Barto 2018, example 6.6): from the lower
// left corner of a board of 4 x 12 to the lower right one. Between them is a cliff, which costs 100
// and returns to the start. State: row * 12 + column. Slippery: the directions to the left and
// right of the action are as likely as the action itself.
#include <math.h>

#include "common/oct_base.h"
#include "envs/env_registry.h"
#include "envs/toy_text/toy_text.h"

#define ROWS     4
#define COLUMNS  12
#define ACTIONS  4 // up, right, down, left
#define START    36
#define GOAL     47
#define SLIPPERY 0 // index of the option

// Returns the outcome of one step without slipping.
static toy_outcome
arrive(uint32_t state, uint32_t action)
{
    static const toy_cell moves[ACTIONS] = {{-1, 0}, {0, 1}, {1, 0}, {0, -1}};
    toy_cell from = {(int)state / COLUMNS, (int)state % COLUMNS};
    toy_cell to = toy_cell_move(from, moves[action].row, moves[action].column, ROWS, COLUMNS);
    uint32_t next = (uint32_t)(to.row * COLUMNS + to.column);
    if (next > START && next < GOAL) {
        return (toy_outcome){.reward = -100, .next = START};
    }
    return (toy_outcome){.reward = -1, .next = next, .terminated = next == GOAL};
}

static toy_model *
model_make(const double *options)
{
    toy_model *model = toy_model_create(ROWS * COLUMNS, ACTIONS);
    model->first[START] = 1;
    for (uint32_t s = 0; s < ROWS * COLUMNS; s++) {
        for (uint32_t a = 0; a < ACTIONS; a++) {
            // Left of the action, the action, right of it.
            uint32_t turns = options[SLIPPERY] != 0 ? 3 : 1;
            for (uint32_t turn = 0; turn < turns; turn++) {
                uint32_t way = turns == 1 ? a : (a + ACTIONS - 1 + turn) % ACTIONS;
                toy_outcome outcome = arrive(s, way);
                outcome.probability = 1.0 / turns;
                toy_model_add(model, s, a, outcome);
            }
        }
    }
    return model;
}

static int
configure(const octet_env_config *config, env_native_task *task, octet_env_spec *spec, char *error,
          uint32_t error_size)
{
    (void)config;
    (void)error;
    (void)error_size;
    toy_model *model = model_make(task->options);
    task->model = model;
    toy_text_describe(model, spec);
    return 0;
}

#define CLASS(name, slips)                                                                         \
    {                                                                                              \
        .spec = {.size = sizeof(octet_env_spec),                                                   \
                 .id = (name),                                                                     \
                 .obs = TOY_DISCRETE(ROWS * COLUMNS),                                              \
                 .action = TOY_DISCRETE(ACTIONS),                                                  \
                 .reward_threshold = NAN,                                                          \
                 .capabilities = ENV_NATIVE_CAPABILITIES,                                          \
                 .state_count = 1},                                                                \
        .options =                                                                                 \
            {{.key = "is_slippery", .initial = (slips), .low = 0, .high = 1, .whole = true}},      \
        .configure = configure, .reset = toy_text_reset, .step = toy_text_step,                    \
        .observe = toy_text_observe, .is_sane = toy_text_is_sane                                   \
    }

static const env_native_class firm = CLASS("CliffWalking-v1", 0);
static const env_native_class slippery = CLASS("CliffWalkingSlippery-v1", 1);

ENV_NATIVE_API(env_cliff_walking_api, firm);
ENV_NATIVE_API(env_cliff_walking_slippery_api, slippery);
