// One batch of rows in columns: its capacity, recording steps, sealing, and its view as a message.
#include "actor/actor_batch.h"

#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "config/config.h"

uint32_t
actor_batch_shape_room(const actor_batch_shape *shape)
{
    return config_rollout_rows((shape->steps + shape->envs - 1) / shape->envs);
}

oct_err
actor_batch_shape_fit(actor_batch_shape *shape, uint64_t table_rows)
{
    uint64_t rows_max =
        wire_batch_rows_max(shape->obs_bytes, shape->action_bytes, shape->extra_dim);
    rows_max = OCT_MIN(rows_max, table_rows / 2);
    uint64_t steps_max = config_rollout_steps(rows_max / shape->envs);
    if (steps_max == 0) {
        return OCT_EINVAL;
    }
    shape->steps = (uint32_t)OCT_MIN((uint64_t)shape->steps, steps_max * shape->envs);
    return OCT_OK;
}

size_t
actor_batch_bytes(const actor_batch_shape *shape)
{
    size_t rows = (size_t)shape->envs * actor_batch_shape_room(shape);
    size_t of_row = shape->obs_bytes + shape->action_bytes + shape->extra_dim * sizeof(float) +
                    sizeof(float) + 1 + sizeof(uint32_t);
    size_t of_run = 3 * sizeof(uint32_t) + sizeof(uint64_t);
    return rows * (of_row + of_run) + shape->envs * (sizeof(uint64_t) + sizeof(uint32_t));
}

actor_batch *
actor_batch_create(const actor_batch_shape *shape)
{
    actor_batch *batch = oct_alloc(sizeof(*batch));
    batch->envs = shape->envs;
    batch->room = actor_batch_shape_room(shape);
    batch->obs_bytes = shape->obs_bytes;
    batch->action_bytes = shape->action_bytes;
    batch->extra_dim = shape->extra_dim;
    size_t rows = (size_t)batch->envs * batch->room;
    batch->first = oct_alloc(batch->envs * sizeof(uint64_t));
    batch->rows = oct_alloc(batch->envs * sizeof(uint32_t));
    batch->obs = oct_alloc(rows * shape->obs_bytes);
    batch->action = oct_alloc(rows * shape->action_bytes);
    batch->reward = oct_alloc(rows * sizeof(float));
    batch->flags = oct_alloc(rows);
    batch->extra = shape->extra_dim > 0 ? oct_alloc(rows * shape->extra_dim * sizeof(float)) : NULL;
    batch->version = oct_alloc(rows * sizeof(uint32_t));
    batch->run_stream = oct_alloc(rows * sizeof(uint32_t));
    batch->run_first = oct_alloc(rows * sizeof(uint64_t));
    batch->run_rows = oct_alloc(rows * sizeof(uint32_t));
    batch->run_version = oct_alloc(rows * sizeof(uint32_t));
    return batch;
}

void
actor_batch_destroy(actor_batch *batch)
{
    if (batch == NULL) {
        return;
    }
    free(batch->first);
    free(batch->rows);
    free(batch->obs);
    free(batch->action);
    free(batch->reward);
    free(batch->flags);
    free(batch->extra);
    free(batch->version);
    free(batch->run_stream);
    free(batch->run_first);
    free(batch->run_rows);
    free(batch->run_version);
    free(batch);
}

void
actor_batch_begin(actor_batch *batch, const uint64_t *first)
{
    memcpy(batch->first, first, batch->envs * sizeof(uint64_t));
    memset(batch->rows, 0, batch->envs * sizeof(uint32_t));
    batch->sequence = 0;
    batch->steps = 0;
    batch->count = 0;
    batch->most = 0;
    batch->run_count = 0;
}

bool
actor_batch_has_room(const actor_batch *batch, const actor_batch_shape *shape)
{
    return batch->steps < shape->steps && batch->most + 2 <= batch->room; // 2: a row and an end row
}

// ---- filling

void
actor_batch_observe(actor_batch *batch, const void *obs, uint32_t stride)
{
    OCT_ASSERT(batch->most < batch->room);
    const uint8_t *from = obs;
    size_t bytes = batch->obs_bytes;
    for (uint32_t i = 0; i < batch->envs; i++, from += stride) {
        size_t row = (size_t)i * batch->room + batch->rows[i];
        memcpy(batch->obs + row * bytes, from, bytes);
    }
}

// Adds the next row of environment i, without its observation, and returns its index in the
// columns.
static size_t
row_take(actor_batch *batch, uint32_t i, uint32_t version, float reward, uint8_t flags)
{
    OCT_ASSERT(i < batch->envs && batch->rows[i] < batch->room);
    size_t row = (size_t)i * batch->room + batch->rows[i]++;
    batch->reward[row] = reward;
    batch->flags[row] = flags;
    batch->version[row] = version;
    batch->count++;
    batch->most = OCT_MAX(batch->most, batch->rows[i]);
    return row;
}

void
actor_batch_add(actor_batch *batch, uint32_t i, const actor_batch_step *step)
{
    size_t row = row_take(batch, i, step->version, step->reward, step->flags);
    memcpy(batch->action + row * batch->action_bytes, step->action, batch->action_bytes);
    if (batch->extra_dim > 0) {
        memcpy(batch->extra + row * batch->extra_dim, step->extra,
               batch->extra_dim * sizeof(float));
    }
    batch->steps++;
}

// As row_take, with zeros for the action and extra, as the wire requires.
static size_t
end_row_take(actor_batch *batch, uint32_t i, uint32_t version, uint8_t flags)
{
    size_t row = row_take(batch, i, version, 0, flags);
    memset(batch->action + row * batch->action_bytes, 0, batch->action_bytes);
    if (batch->extra_dim > 0) {
        memset(batch->extra + row * batch->extra_dim, 0, batch->extra_dim * sizeof(float));
    }
    return row;
}

void
actor_batch_fail(actor_batch *batch, uint32_t i, uint32_t version)
{
    (void)end_row_take(batch, i, version, WIRE_END | WIRE_FAILED);
}

void
actor_batch_end(actor_batch *batch, uint32_t i, uint32_t version, const void *final_obs)
{
    size_t row = end_row_take(batch, i, version, WIRE_END);
    memcpy(batch->obs + row * batch->obs_bytes, final_obs, batch->obs_bytes);
}

void
actor_batch_end_rollout(actor_batch *batch, const void *obs, uint32_t stride, uint8_t *added)
{
    const uint8_t *from = obs;
    for (uint32_t i = 0; i < batch->envs; i++, from += stride) {
        uint32_t rows = batch->rows[i];
        size_t last = (size_t)i * batch->room + rows - 1;
        added[i] = rows > 0 && (batch->flags[last] & WIRE_END) == 0;
        if (added[i]) {
            size_t row = end_row_take(batch, i, batch->version[last], WIRE_END | WIRE_ROLLOUT);
            memcpy(batch->obs + row * batch->obs_bytes, from, batch->obs_bytes);
        } else if (rows > 0) {
            batch->flags[last] |= WIRE_ROLLOUT;
        }
    }
}

// ---- sealing

// The ranges may overlap.
static void
column_move(void *column, size_t to, size_t from, size_t rows, size_t bytes)
{
    if (bytes > 0) {
        memmove((uint8_t *)column + to * bytes, (uint8_t *)column + from * bytes, rows * bytes);
    }
}

// Records the runs of environment i, whose rows begin at index row: a run ends where the policy
// version changes.
static void
runs_note(actor_batch *batch, uint32_t i, size_t row)
{
    const uint32_t *version = batch->version + row;
    uint32_t rows = batch->rows[i];
    for (uint32_t from = 0, to; from < rows; from = to) {
        for (to = from + 1; to < rows && version[to] == version[from]; to++) {
        }
        uint32_t k = batch->run_count++;
        batch->run_stream[k] = i;
        batch->run_first[k] = batch->first[i] + from;
        batch->run_rows[k] = to - from;
        batch->run_version[k] = version[from];
    }
}

void
actor_batch_seal(actor_batch *batch)
{
    OCT_ASSERT(batch->run_count == 0);
    // Regions move to the front in order, so no region is overwritten before it has moved.
    size_t to = 0;
    for (uint32_t i = 0; i < batch->envs; i++) {
        size_t from = (size_t)i * batch->room, rows = batch->rows[i];
        runs_note(batch, i, from);
        if (to != from && rows > 0) {
            column_move(batch->obs, to, from, rows, batch->obs_bytes);
            column_move(batch->action, to, from, rows, batch->action_bytes);
            column_move(batch->reward, to, from, rows, sizeof(float));
            column_move(batch->flags, to, from, rows, 1);
            column_move(batch->extra, to, from, rows, batch->extra_dim * sizeof(float));
        }
        to += rows;
    }
    OCT_ASSERT(to == batch->count);
}

wire_batch
actor_batch_view(const actor_batch *batch, uint32_t actor_id, uint64_t session,
                 uint64_t first_unacked)
{
    OCT_ASSERT(batch->run_count > 0 || batch->count == 0);
    return (wire_batch){
        .actor_id = actor_id,
        .session = session,
        .sequence = batch->sequence,
        .first_unacked = first_unacked,
        .env_steps = batch->env_steps,
        .run_count = batch->run_count,
        .run_stream = batch->run_stream,
        .run_first = batch->run_first,
        .run_rows = batch->run_rows,
        .run_version = batch->run_version,
        .count = batch->count,
        .obs_bytes = batch->obs_bytes,
        .obs = batch->obs,
        .action_bytes = batch->action_bytes,
        .action = batch->action,
        .reward = batch->reward,
        .flags = batch->flags,
        .extra_dim = batch->extra_dim,
        .extra = batch->extra,
    };
}
