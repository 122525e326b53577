// Copies windows of a sample reply into a training batch, checks them, and computes importance
// weights.
#include "learner/learner_batch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_discrete.h"
#include "common/oct_importance.h"

_Static_assert(ALGO_TERMINATED == WIRE_TERMINATED && ALGO_TRUNCATED == WIRE_TRUNCATED &&
                   ALGO_FIRST == WIRE_FIRST && ALGO_END == WIRE_END && ALGO_RANDOM == WIRE_RANDOM &&
                   ALGO_FAILED == WIRE_FAILED && ALGO_ROLLOUT == WIRE_ROLLOUT,
               "an algorithm sees the flags as they were sent");

uint32_t
learner_batch_rows(const algo_wants *wants)
{
    return wants->window != ALGO_WINDOW_N_STEP ? wants->steps : 0;
}

// Returns the rows with an action, and below the observations, of B windows.
static size_t
rows_of(uint32_t B, uint32_t T)
{
    return (size_t)B * OCT_MAX(T, 1);
}

static size_t
observations_of(uint32_t B, uint32_t T)
{
    return (size_t)B * (T + 1);
}

learner_batch *
learner_batch_create(const policy_spec *spec, uint32_t B, uint32_t T)
{
    learner_batch *batch = oct_alloc(sizeof(*batch));
    size_t rows = rows_of(B, T);
    batch->obs_count = spec->obs_count;
    batch->action_bytes = (uint32_t)policy_spec_action_bytes(spec);
    batch->extra_dim = policy_spec_extra_dim(spec);
    batch->obs_unit = policy_byte_unit(spec->obs_high);
    batch->obs = oct_alloc(observations_of(B, T) * spec->obs_count * sizeof(float));
    batch->action = oct_alloc(rows * policy_spec_action_bytes(spec));
    batch->reward = oct_alloc(rows * sizeof(float));
    if (T > 0) {
        batch->flags = oct_alloc(rows);
        batch->version = oct_alloc(rows * sizeof(uint32_t));
    } else {
        batch->next = oct_alloc(rows * spec->obs_count * sizeof(float));
        batch->discount = oct_alloc(rows * sizeof(float));
    }
    batch->weight = oct_alloc(B * sizeof(float));
    batch->extra = oct_alloc(rows * batch->extra_dim * sizeof(float));
    batch->key = oct_alloc(B * sizeof(uint64_t));
    batch->origin = oct_alloc(B);
    batch->priority = oct_alloc(B * sizeof(float));
    batch->probability = oct_alloc(B * sizeof(float));
    batch->view = (algo_batch){
        .B = B,
        .T = T,
        .obs = batch->obs,
        .next = batch->next,
        .action = batch->action,
        .reward = batch->reward,
        .discount = batch->discount,
        .flags = batch->flags,
        .version = batch->version,
        .extra = batch->extra,
        .weight = batch->weight,
    };
    return batch;
}

size_t
learner_batch_bytes(const policy_spec *spec, uint32_t B, uint32_t T)
{
    size_t row = policy_spec_action_bytes(spec) + sizeof(float) +
                 policy_spec_extra_dim(spec) * sizeof(float) +
                 (T > 0 ? 1 + sizeof(uint32_t) : (spec->obs_count + 1) * sizeof(float));
    return observations_of(B, T) * spec->obs_count * sizeof(float) + rows_of(B, T) * row +
           B * (3 * sizeof(float) + sizeof(uint64_t) + 1);
}

void
learner_batch_destroy(learner_batch *batch)
{
    if (batch == NULL) {
        return;
    }
    free(batch->obs);
    free(batch->next);
    free(batch->action);
    free(batch->reward);
    free(batch->discount);
    free(batch->flags);
    free(batch->version);
    free(batch->weight);
    free(batch->extra);
    free(batch->key);
    free(batch->origin);
    free(batch->priority);
    free(batch->probability);
    free(batch);
}

// Copies rows first .. first + count - 1 to out [count][obs_count].
static void
copy_obs(float *out, const uint8_t *rows, const policy_spec *spec, size_t first, size_t count)
{
    size_t numbers = count * spec->obs_count;
    const uint8_t *at = rows + first * policy_spec_obs_bytes(spec);
    if (spec->obs_dtype == POLICY_F32) {
        memcpy(out, at, numbers * sizeof(float));
        return;
    }
    float unit = policy_byte_unit(spec->obs_high);
    for (size_t i = 0; i < numbers; i++) {
        out[i] = unit * (float)at[i];
    }
}

// An invalid action index would reach outside arrays, and no later check would catch it.
static bool
actions_are_valid(const learner_batch *batch, const policy_spec *spec, size_t from, size_t rows)
{
    return spec->action_kind != POLICY_DISCRETE ||
           oct_discrete_holds(batch->action + from * sizeof(int32_t), rows, spec->action_count);
}

// Algorithms with n-step windows do not read extra columns, and a data set may lack them.
static bool
extra_fits(const learner_batch *batch, const wire_sampled *sampled)
{
    return sampled->extra_dim == batch->extra_dim ||
           (batch->view.T == 0 && sampled->extra_dim == 0);
}

static bool
shapes_fit(const learner_batch *batch, const policy_spec *spec, const wire_sampled *sampled,
           uint32_t first, uint32_t count)
{
    return sampled->count >= first && sampled->count - first >= count &&
           sampled->window_steps == batch->view.T &&
           sampled->obs_bytes == policy_spec_obs_bytes(spec) &&
           sampled->action_bytes == policy_spec_action_bytes(spec) && extra_fits(batch, sampled);
}

oct_err
learner_batch_take(learner_batch *batch, const policy_spec *spec, uint32_t at,
                   const wire_sampled *sampled, uint32_t first, uint32_t count)
{
    OCT_ASSERT(at + count <= batch->view.B);
    if (!shapes_fit(batch, spec, sampled, first, count)) {
        return OCT_EPROTO;
    }
    uint32_t T = batch->view.T;
    size_t action_bytes = policy_spec_action_bytes(spec), rows = rows_of(count, T);
    size_t from = rows_of(first, T), to = rows_of(at, T);
    copy_obs(batch->obs + observations_of(at, T) * spec->obs_count, sampled->obs, spec,
             observations_of(first, T), observations_of(count, T));
    memcpy(batch->action + to * action_bytes, sampled->action + from * action_bytes,
           rows * action_bytes);
    memcpy(batch->reward + to, sampled->reward + from, rows * sizeof(float));
    if (T > 0) {
        memcpy(batch->flags + to, sampled->flags + from, rows);
        memcpy(batch->version + to, sampled->version + from, rows * sizeof(uint32_t));
    } else {
        copy_obs(batch->next + (size_t)at * spec->obs_count, sampled->next, spec, first, count);
        memcpy(batch->discount + at, sampled->discount + first, count * sizeof(float));
    }
    if (sampled->extra_dim > 0) {
        memcpy(batch->extra + to * batch->extra_dim, sampled->extra + from * batch->extra_dim,
               rows * batch->extra_dim * sizeof(float));
    } else {
        memset(batch->extra + to * batch->extra_dim, 0, rows * batch->extra_dim * sizeof(float));
    }
    memcpy(batch->key + at, sampled->key + first, count * sizeof(uint64_t));
    memcpy(batch->probability + at, sampled->probability + first, count * sizeof(float));
    return actions_are_valid(batch, spec, to, rows) ? OCT_OK : OCT_EPROTO;
}

void
learner_batch_weigh(learner_batch *batch, uint32_t first, uint32_t count, uint64_t size,
                    double exponent)
{
    oct_importance_weights(batch->weight + first, batch->probability + first, count, size,
                           exponent);
}

// Moves rows from .. from + count - 1 of a column to rows to .. to + count - 1 of another.
static void
column_copy(void *into, size_t to, const void *of, size_t from, size_t count, size_t row_bytes)
{
    memmove((uint8_t *)into + to * row_bytes, (const uint8_t *)of + from * row_bytes,
            count * row_bytes);
}

void
learner_batch_copy(learner_batch *whole, uint32_t at, const learner_batch *part, uint32_t from)
{
    uint32_t T = part->view.T;
    OCT_ASSERT(whole->view.T == T && at < whole->view.B && from < part->view.B);
    size_t obs = part->obs_count * sizeof(float), rows = rows_of(1, T);
    size_t to_row = rows_of(at, T), from_row = rows_of(from, T);
    column_copy(whole->obs, observations_of(at, T), part->obs, observations_of(from, T),
                observations_of(1, T), obs);
    column_copy(whole->action, to_row, part->action, from_row, rows, part->action_bytes);
    column_copy(whole->reward, to_row, part->reward, from_row, rows, sizeof(float));
    column_copy(whole->extra, to_row, part->extra, from_row, rows, part->extra_dim * sizeof(float));
    if (T > 0) {
        column_copy(whole->flags, to_row, part->flags, from_row, rows, 1);
        column_copy(whole->version, to_row, part->version, from_row, rows, sizeof(uint32_t));
    } else {
        column_copy(whole->next, to_row, part->next, from_row, rows, obs);
        column_copy(whole->discount, to_row, part->discount, from_row, rows, sizeof(float));
    }
    whole->key[at] = part->key[from];
    whole->origin[at] = part->origin[from];
    whole->probability[at] = part->probability[from];
}

uint32_t
learner_batch_version(const learner_batch *batch, uint32_t window)
{
    const algo_batch *view = &batch->view;
    uint32_t oldest = UINT32_MAX;
    for (size_t i = (size_t)window * view->T; i < (size_t)(window + 1) * view->T; i++) {
        oldest = (view->flags[i] & ALGO_END) == 0 ? OCT_MIN(oldest, view->version[i]) : oldest;
    }
    return oldest;
}

void
learner_batch_lag(const learner_batch *batch, uint32_t windows, const learner_versions *versions,
                  uint64_t newest, double *mean, double *most)
{
    const algo_batch *view = &batch->view;
    size_t rows = (size_t)windows * view->T, actions = 0;
    uint64_t longest = 0;
    double sum = 0;
    for (size_t i = 0; i < rows; i++) {
        if ((view->flags[i] & ALGO_END) == 0) { // an end row has no action
            uint64_t lag = learner_versions_lag(versions, newest, view->version[i]);
            longest = OCT_MAX(longest, lag);
            sum += (double)lag;
            actions++;
        }
    }
    *mean = actions > 0 ? sum / (double)actions : NAN;
    *most = actions > 0 ? (double)longest : NAN;
}

static bool
row_has_action(const algo_batch *view, size_t row)
{
    return view->T == 0 || (view->flags[row] & ALGO_END) == 0;
}

uint32_t
learner_batch_probe(const learner_batch *batch, uint32_t rows_max, float *out)
{
    const algo_batch *view = &batch->view;
    size_t rows = rows_of(view->B, view->T), width = batch->obs_count, actions = 0;
    for (size_t row = 0; row < rows; row++) {
        actions += row_has_action(view, row);
    }
    uint32_t wanted = (uint32_t)OCT_MIN(actions, rows_max), taken = 0;
    // The rows with an action are divided into `wanted` equal stretches: takes the middle of each.
    for (size_t row = 0, seen = 0; taken < wanted; row++) {
        if (row_has_action(view, row) && seen++ == (2 * (size_t)taken + 1) * actions / wanted / 2) {
            size_t at = view->T == 0 ? row : row / view->T * (view->T + 1) + row % view->T;
            const float *obs = view->obs + at * width;
            float *to = out + taken++ * width;
            for (size_t i = 0; i < width; i++) {
                to[i] = obs[i] / batch->obs_unit;
            }
        }
    }
    return wanted;
}

double
learner_importance_exponent(const config_experiment *config, double share)
{
    if (config->replay.sampler != CONFIG_SAMPLER_PRIORITIZED) {
        return 0;
    }
    double first = config->replay.importance_exponent;
    return first + (config->replay.importance_exponent_final - first) * share;
}
