#include "actor/actor_batch.h"

#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"

// A step adds at most one observation and a final one for each environment, and ends at most n_step
// windows of each.
static uint32_t
shape_obs_room(const actor_batch_shape *shape)
{
    return shape->transitions + 4 * shape->envs;
}

static uint32_t
shape_room(const actor_batch_shape *shape)
{
    return shape->transitions + shape->envs * shape->n_step;
}

oct_err
actor_batch_shape_fit(actor_batch_shape *shape)
{
    // Half a message leaves room for everything but the observations.
    uint64_t obs_max =
        OCT_MIN((uint64_t)WIRE_BATCH_COUNT_MAX, WIRE_MESSAGE_BYTES_MAX / 2 / shape->obs_bytes);
    uint64_t of_step = OCT_MAX(4ull * shape->envs, (uint64_t)shape->envs * shape->n_step);
    uint64_t room_max = OCT_MIN(obs_max, (uint64_t)WIRE_BATCH_COUNT_MAX);
    if (of_step >= room_max) {
        return OCT_EINVAL;
    }
    shape->transitions = (uint32_t)OCT_MIN((uint64_t)shape->transitions, room_max - of_step);
    return OCT_OK;
}

size_t
actor_batch_bytes(const actor_batch_shape *shape)
{
    size_t per_transition = shape->action_bytes + 2 * sizeof(int32_t) + 2 * sizeof(float) + 1;
    return (size_t)shape_obs_room(shape) * shape->obs_bytes + shape_room(shape) * per_transition;
}

actor_batch *
actor_batch_create(const actor_batch_shape *shape)
{
    actor_batch *batch = oct_alloc(sizeof(*batch));
    batch->obs_room = shape_obs_room(shape);
    batch->room = shape_room(shape);
    batch->obs_bytes = shape->obs_bytes;
    batch->action_bytes = shape->action_bytes;
    batch->obs = oct_alloc((size_t)batch->obs_room * shape->obs_bytes);
    batch->action = oct_alloc((size_t)batch->room * shape->action_bytes);
    batch->obs_offset = oct_alloc(batch->room * sizeof(int32_t));
    batch->next_offset = oct_alloc(batch->room * sizeof(int32_t));
    batch->reward = oct_alloc(batch->room * sizeof(float));
    batch->discount = oct_alloc(batch->room * sizeof(float));
    batch->flags = oct_alloc(batch->room);
    return batch;
}

void
actor_batch_destroy(actor_batch *batch)
{
    if (batch == NULL) {
        return;
    }
    free(batch->obs);
    free(batch->action);
    free(batch->obs_offset);
    free(batch->next_offset);
    free(batch->reward);
    free(batch->discount);
    free(batch->flags);
    free(batch);
}

void
actor_batch_begin(actor_batch *batch, uint64_t obs_first)
{
    batch->obs_first = obs_first;
    batch->obs_count = 0;
    batch->count = 0;
    batch->sequence = 0;
}

bool
actor_batch_has_room(const actor_batch *batch, const actor_batch_shape *shape)
{
    return batch->count < shape->transitions &&
           batch->obs_count + 2 * shape->envs <= batch->obs_room &&
           batch->count + shape->envs * shape->n_step <= batch->room;
}

uint64_t
actor_batch_add_obs(actor_batch *batch, const void *obs)
{
    OCT_ASSERT(batch->obs_count < batch->obs_room);
    memcpy(batch->obs + (size_t)batch->obs_count * batch->obs_bytes, obs, batch->obs_bytes);
    return batch->obs_first + batch->obs_count++;
}

wire_batch
actor_batch_view(const actor_batch *batch, uint32_t actor_id, uint64_t session,
                 uint64_t first_unacked)
{
    return (wire_batch){
        .actor_id = actor_id,
        .session = session,
        .sequence = batch->sequence,
        .first_unacked = first_unacked,
        .policy_version = batch->policy_version,
        .env_steps = batch->env_steps,
        .obs_first = batch->obs_first,
        .obs_count = batch->obs_count,
        .obs_bytes = batch->obs_bytes,
        .obs = batch->obs,
        .count = batch->count,
        .action_bytes = batch->action_bytes,
        .action = batch->action,
        .obs_offset = batch->obs_offset,
        .next_offset = batch->next_offset,
        .reward = batch->reward,
        .discount = batch->discount,
        .flags = batch->flags,
    };
}
