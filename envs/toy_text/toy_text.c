// Reset, step and observation for toy-text environments that are an enumerated model.
#include "envs/toy_text/toy_text.h"

#include <math.h>
#include <string.h>

#include "common/oct_base.h"

void
toy_text_reset(const env_native_task *task, oct_pcg64 *rng, double *state)
{
    state[0] = toy_model_begin(task->model, rng);
}

double
toy_text_step(const env_native_task *task, oct_pcg64 *rng, double *state, env_native_turn *turn)
{
    const toy_outcome *outcome =
        toy_model_step(task->model, rng, (uint32_t)state[0], (uint32_t)turn->index);
    state[0] = outcome->next;
    turn->terminated = outcome->terminated;
    return outcome->reward;
}

void
toy_text_observe(const double *state, void *obs)
{
    int32_t index = (int32_t)state[0];
    memcpy(obs, &index, sizeof(index));
}

bool
toy_text_is_sane(const env_native_task *task, const double *state, bool has_ended)
{
    (void)has_ended;
    const toy_model *model = task->model;
    return state[0] >= 0 && state[0] < model->states && state[0] == floor(state[0]);
}

static bool
is_by_chance(double probability)
{
    return probability > 0 && probability < 1;
}

void
toy_text_describe(const toy_model *model, octet_env_spec *spec)
{
    bool is_random = false;
    for (uint32_t s = 0; s < model->states; s++) {
        is_random |= is_by_chance(model->first[s]);
    }
    spec->obs.n = model->states;
    spec->reward_low = INFINITY;
    spec->reward_high = -INFINITY;
    for (size_t k = 0; k < (size_t)model->states * model->actions; k++) {
        for (uint32_t i = 0; i < model->choices[k].count; i++) {
            is_random |= is_by_chance(model->choices[k].outcome[i].probability);
            double reward = model->choices[k].outcome[i].reward;
            spec->reward_low = OCT_MIN(spec->reward_low, reward);
            spec->reward_high = OCT_MAX(spec->reward_high, reward);
        }
    }
    spec->capabilities |= is_random ? 0 : OCTET_ENV_NO_RANDOM;
}

static int
clamped(int at, int count)
{
    return at < 0 ? 0 : at >= count ? count - 1 : at;
}

toy_cell
toy_cell_move(toy_cell from, int down, int right, int rows, int columns)
{
    return (toy_cell){clamped(from.row + down, rows), clamped(from.column + right, columns)};
}
