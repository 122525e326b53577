// Tables of action values, one number per state and action: Q-learning (Watkins 1989), SARSA
// (Rummery and Niranjan 1994), expected SARSA (van Seijen et al. 2009). The table is the weight
// matrix of a linear layer over one-hot observations, whose biases stay 0, so that a policy file
// can ship it.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/algo_ops.h"
#include "algos/algo_target.h"
#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "config/config.h"

typedef struct algo_table {
    algo base;
    uint32_t windows_max;
    uint32_t stride; // rows of a window that are learned from; the n rows after them are only read
    uint32_t steps;  // rows in a window: stride + n
    uint32_t states;
    uint32_t actions;
    algo_target target;
    algo_returns returns;
    size_t params;   // of the policy: the table and the biases
    float *block;    // [params], in policy_spec's order
    float *q;        // [actions][states], in block
    uint32_t *state; // [windows_max][T + 1], the batch's states
    float *next;     // [actions], values of one state
} algo_table;

static oct_err
rate_check(const char *key, double rate, oct_reason *why)
{
    return rate > 1 ? oct_refuse(why,
                                 "%s: %g is above 1, but for a table it is the share of each error "
                                 "that is applied",
                                 key, rate)
                    : OCT_OK;
}

static oct_err
table_make_spec(const config_experiment *config, policy_spec *spec, algo_wants *wants,
                oct_reason *why)
{
    const char *others = "algo.name: dqn learns from any observations";
    if (spec->action_kind != POLICY_DISCRETE) {
        return oct_refuse(why, "a table needs discrete actions; %.100s has a box", spec->env_id);
    }
    if (spec->obs_dtype != POLICY_U8 || spec->obs_rank != 1 || spec->obs_high > 0) {
        return oct_refuse(why, "a table needs discrete observations; those of %.100s are not: %s",
                          spec->env_id, others);
    }
    OCT_TRY(rate_check("algo.learning_rate", config->algo.learning_rate, why));
    OCT_TRY(rate_check("algo.learning_rate_final", config->algo.learning_rate_final, why));
    if (config->learner.quantisation_aware) {
        return oct_refuse(why, "learner.quantisation_aware: a table does not learn by gradients");
    }
    *wants = (algo_wants){
        .window = ALGO_WINDOW_SEQUENCE,
        .steps = config->algo.sequence_steps + config_n_step(config),
        .stride = config->algo.sequence_steps,
        .any_policy = true,
        .lag_max = config->algo.lag_max,
    };
    const policy_words none = {0};
    if (config->network.conv.count > 0 || config->network.layers[0] != 0) {
        return oct_refuse(why, "a table has no layers; set network.%s: []",
                          config->network.conv.count > 0 ? "conv" : "layers");
    }
    spec->head = POLICY_HEAD_VALUES;
    spec->atoms = 0;
    spec->value_min = spec->value_max = 0.0f;
    spec->normalise = false;
    OCT_TRY(algo_make_layers(config, &none, spec, spec->action_count, why));
    return policy_spec_check(spec, why);
}

static void
values_begin(algo_table *table, const policy_spec *spec, float initial_value)
{
    table->q = table->block + policy_spec_layer(spec, 0).weight;
    for (size_t i = 0; i < (size_t)table->actions * table->states; i++) {
        table->q[i] = initial_value;
    }
}

static oct_err
table_create(algo **out, nn_context *context, const config_experiment *config,
             const policy_spec *spec, uint64_t seed)
{
    (void)seed; // nothing is drawn
    if (policy_spec_check(spec, NULL) != OCT_OK || spec->head != POLICY_HEAD_VALUES ||
        spec->layer_count != 1 || spec->layers[0].kind != POLICY_DENSE ||
        config->learner.batch_size < 1 || config->algo.sequence_steps < 1) {
        return OCT_EINVAL;
    }
    algo_table *table = oct_alloc(sizeof(*table));
    table->base.ops = &algo_table_ops;
    table->windows_max = config->learner.batch_size;
    table->stride = config->algo.sequence_steps;
    table->steps = table->stride + config_n_step(config);
    table->states = spec->obs_count;
    table->actions = spec->action_count;
    table->target = algo_target_of(config);
    table->returns = algo_returns_of(config);
    table->params = policy_spec_params(spec);
    size_t observed = (size_t)table->windows_max * (table->steps + 1);
    table->block = nn_context_alloc(context, table->params * sizeof(float));
    table->state = nn_context_alloc(context, observed * sizeof(uint32_t));
    table->next = nn_context_alloc(context, table->actions * sizeof(float));
    if (!nn_context_measures(context)) {
        values_begin(table, spec, (float)config->algo.initial_value);
    }
    *out = &table->base;
    return OCT_OK;
}

static void
table_destroy(algo *a)
{
    algo_table *table = (algo_table *)a;
    free(table->block);
    free(table->state);
    free(table->next);
    free(table);
}

// ---- the update

// Returns the index of the only 1 in x[states], or `states` if x is not one-hot.
static uint32_t
state_of(const float *x, uint32_t states)
{
    uint32_t at = states, strange = 0;
    for (uint32_t s = 0; s < states; s++) {
        at = x[s] == 1.0f ? s : at;
        strange += x[s] != 0.0f;
    }
    return strange == 1 ? at : states;
}

// Reads the whole batch before anything is learned. OCT_EINVAL: the shape is wrong, an observation
// is not one-hot, or an action does not exist. OCT_EINTERNAL: a reward is not finite.
static oct_err
batch_take(algo_table *table, const algo_batch *batch)
{
    if (batch->B < 1 || batch->B > table->windows_max || batch->T != table->steps) {
        return OCT_EINVAL;
    }
    size_t rows = (size_t)batch->B * batch->T, observed = (size_t)batch->B * (batch->T + 1);
    bool sound = true;
    for (size_t i = 0; i < rows; i++) {
        sound &= (uint32_t)((const int32_t *)batch->action)[i] < table->actions;
    }
    for (size_t i = 0; i < observed; i++) {
        table->state[i] = state_of(batch->obs + i * table->states, table->states);
        sound &= table->state[i] < table->states;
    }
    if (!sound) {
        return OCT_EINVAL;
    }
    return algo_all_finite(batch->reward, rows) ? OCT_OK : OCT_EINTERNAL;
}

typedef struct sums {
    double loss, error, value;
    uint64_t rows;
} sums;

// Moves Q(s, a) by rate times its error (equations 6.7 to 6.9); returns the error.
static float
step_learn(algo_table *table, const algo_step *step, const uint32_t *state, uint32_t action,
           float rate)
{
    uint32_t behind = state[step->behind];
    for (uint32_t a = 0; a < table->actions; a++) {
        table->next[a] = table->q[(size_t)a * table->states + behind];
    }
    float value =
        algo_target_value(&table->target, table->next, table->next, table->actions, step->taken);
    float *q = &table->q[(size_t)action * table->states + state[0]];
    float error = step->reward + step->discount * value - *q;
    *q += rate * error;
    return error;
}

// Learns from the steps of one window, in the order in which they were taken. Returns the largest
// |error|.
static float
window_learn(algo_table *table, const algo_batch *batch, uint32_t b, float rate, sums *sum)
{
    const uint32_t *state = table->state + (size_t)b * (batch->T + 1);
    const int32_t *action = (const int32_t *)batch->action + (size_t)b * batch->T;
    float most = 0;
    for (uint32_t t = 0; t < table->stride; t++) {
        algo_step step;
        if (!algo_returns_at(&step, &table->returns, batch, b, t)) {
            continue;
        }
        sum->value += (double)table->q[(size_t)(uint32_t)action[t] * table->states + state[t]];
        step.behind -= t; // relative to state + t
        float error = step_learn(table, &step, state + t, (uint32_t)action[t], rate);
        sum->loss += 0.5 * (double)error * (double)error;
        sum->error += (double)fabsf(error);
        sum->rows++;
        most = fmaxf(most, fabsf(error));
    }
    return most;
}

// Values stay finite: rewards are below 1e19, and a step with a rate of at most 1 never moves a
// value beyond its target.
static oct_err
table_update(algo *a, const algo_batch *batch, float learning_rate, float *priorities,
             float *numbers)
{
    algo_table *table = (algo_table *)a;
    if (!(learning_rate >= 0 && learning_rate <= 1)) {
        return OCT_EINVAL;
    }
    OCT_TRY(batch_take(table, batch));
    sums sum = {0};
    for (uint32_t b = 0; b < batch->B; b++) {
        float most = window_learn(table, batch, b, learning_rate, &sum);
        if (priorities != NULL) {
            priorities[b] = most;
        }
    }
    double rows = (double)OCT_MAX(sum.rows, 1u);
    numbers[ALGO_LOSS] = (float)(sum.loss / rows);
    numbers[ALGO_TD_ABS] = (float)(sum.error / rows);
    numbers[ALGO_VALUE] = (float)(sum.value / rows);
    table->base.updates++;
    return OCT_OK;
}

static const float *
table_policy_params(const algo *a)
{
    return ((const algo_table *)a)->block;
}

// ---- state

static void
table_save(const algo *a, oct_writer *writer)
{
    const algo_table *table = (const algo_table *)a;
    oct_write_u32(writer, table->states);
    oct_write_u32(writer, table->actions);
    oct_write_bytes(writer, table->block, table->params * sizeof(float));
}

static oct_err
table_load(algo *a, oct_reader *reader)
{
    algo_table *table = (algo_table *)a;
    bool same = oct_read_u32(reader) == table->states && oct_read_u32(reader) == table->actions;
    const uint8_t *bytes = oct_read_bytes(reader, table->params * sizeof(float));
    if (!same || bytes == NULL || reader->left != 0) {
        return OCT_EPROTO;
    }
    for (size_t i = 0; i < table->params; i++) {
        float value;
        memcpy(&value, bytes + i * sizeof(value), sizeof(value));
        if (!isfinite(value)) {
            return OCT_EPROTO;
        }
    }
    memcpy(table->block, bytes, table->params * sizeof(float));
    return OCT_OK;
}

const algo_ops algo_table_ops = {
    .name = "table",
    .numbers = algo_value_numbers,
    .number_count = ALGO_CUT_BELOW, // td_abs, value and loss come before it
    .make_spec = table_make_spec,
    .create = table_create,
    .destroy = table_destroy,
    .update = table_update,
    .policy_params = table_policy_params,
    .save = table_save,
    .load = table_load,
};
