// Turns steps of other programs into rows: checks them, and adds end rows where a step does not
// begin with the observation after the step before it.
#include "lib/client_steps.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_reason.h"

#define BATCH_BYTES (1u << 20) // about the size of a full batch
#define ROWS_MIN    8          // of a stream in a batch
#define ROWS_MAX    256        // of a stream in a batch
// Rows that a stream needs for a step at most: an end row that cuts the episode before it, the
// step, the end row of its episode, and the end row of a flush.
#define ROWS_OF_STEP 4

// About: 2 floats for the reward, flags and version.
static size_t
row_bytes(const actor_batch_shape *shape)
{
    return shape->obs_bytes + shape->action_bytes + 2 * sizeof(float);
}

// Chooses how many steps a batch holds. Replay inserts a batch completely or not at all, so it
// must fit into the table however the table is divided into blocks: half of each stream's share of
// the rows does.
static oct_err
shape_make(actor_batch_shape *shape, const octet_replay_table *table, oct_reason *why)
{
    uint64_t share = table->capacity / shape->envs / 2;
    uint64_t of_step = row_bytes(shape) * shape->envs;
    uint64_t rows = OCT_MIN(OCT_MIN(BATCH_BYTES / of_step, share), (uint64_t)ROWS_MAX);
    // Two thirds: actor_batch_shape_room adds the end rows.
    uint64_t steps = OCT_MAX(rows, (uint64_t)ROWS_MIN) * 2 / 3;
    shape->steps = (uint32_t)steps * shape->envs;
    uint64_t room = actor_batch_shape_room(shape);
    if (room > share) {
        return oct_refuse(why, "%u streams: a table of %" PRIu64 " rows has room for %" PRIu64,
                          shape->envs, table->capacity, table->capacity / (2 * room));
    }
    uint32_t most = wire_batch_rows_max(shape->obs_bytes, shape->action_bytes, shape->extra_dim);
    if (room * shape->envs > most) {
        return oct_refuse(why,
                          "%u streams of %u bytes: a message holds %" PRIu64
                          "; divide them among several writers",
                          shape->envs, shape->obs_bytes, most / room);
    }
    return OCT_OK;
}

oct_err
client_steps_init(client_steps *steps, const octet_replay_writer_config *config, oct_reason *why)
{
    const octet_replay_table *table = config->table;
    uint32_t most = OCT_MIN(table->streams, (uint32_t)OCTET_REPLAY_STREAMS_MAX);
    if (config->streams < 1 || config->streams > most) {
        return oct_refuse(why, "streams %u; allowed are 1 to %u (streams of the table)",
                          config->streams, most);
    }
    *steps = (client_steps){
        .shape = {.envs = config->streams,
                  .obs_bytes = table->observation_bytes,
                  .action_bytes = table->action_bytes},
        .observation_is_float = table->observation_is_float != 0,
        .action_is_float = table->action_is_float != 0,
    };
    OCT_TRY(shape_make(&steps->shape, table, why));
    steps->next = oct_alloc(config->streams * sizeof(*steps->next));
    steps->is_open = oct_alloc(config->streams * sizeof(*steps->is_open));
    steps->behind = oct_alloc((size_t)config->streams * table->observation_bytes);
    return OCT_OK;
}

void
client_steps_fini(client_steps *steps)
{
    free(steps->next);
    free(steps->is_open);
    free(steps->behind);
}

// ---- checks

// True if the stream has a step now.
static bool
is_taken(const octet_replay_steps *given, uint32_t i)
{
    return given->mask == NULL || given->mask[i] != 0;
}

// Replay would reject the whole batch for one such number, and the caller would not learn of it.
// Rows may be unaligned.
static bool
row_is_finite(const void *rows, size_t bytes, uint32_t i)
{
    const uint8_t *row = (const uint8_t *)rows + i * bytes;
    bool is_finite = true;
    for (size_t at = 0; at < bytes; at += sizeof(float)) {
        float x;
        memcpy(&x, row + at, sizeof(x));
        is_finite &= isfinite(x) != 0;
    }
    return is_finite;
}

// Returns what is wrong with the step of stream i, or NULL.
static const char *
fault_of(const client_steps *steps, const octet_replay_steps *given, uint32_t i)
{
    const actor_batch_shape *shape = &steps->shape;
    if (steps->observation_is_float && !row_is_finite(given->observations, shape->obs_bytes, i)) {
        return "its observation is not finite";
    }
    if (steps->observation_is_float &&
        !row_is_finite(given->next_observations, shape->obs_bytes, i)) {
        return "its next observation is not finite";
    }
    if (steps->action_is_float && !row_is_finite(given->actions, shape->action_bytes, i)) {
        return "its action is not finite";
    }
    return isfinite(given->rewards[i]) ? NULL : "its reward is not finite";
}

oct_err
client_steps_check(const client_steps *steps, const octet_replay_steps *given, oct_reason *why)
{
    if (given->size != sizeof(*given)) {
        return oct_refuse(why, "steps: size is %u bytes, but this library knows %zu", given->size,
                          sizeof(*given));
    }
    for (uint32_t i = 0; i < steps->shape.envs; i++) {
        const char *fault = is_taken(given, i) ? fault_of(steps, given, i) : NULL;
        if (fault != NULL) {
            return oct_refuse(why, "stream %u: %s", i, fault);
        }
    }
    return OCT_OK;
}

// ---- rows

bool
client_steps_fit(const client_steps *steps, const actor_batch *batch)
{
    return batch->steps < steps->shape.steps && batch->most + ROWS_OF_STEP <= batch->room;
}

// Adds the end row of an episode.
static void
stream_end(client_steps *steps, actor_batch *batch, uint32_t i, const void *obs)
{
    actor_batch_end(batch, i, 0, obs);
    steps->next[i]++;
    steps->is_open[i] = false;
}

// Adds an end row after a step that neither terminated nor truncated its episode. It is marked as
// the end of a rollout: windows end there, the episode does not.
static void
stream_cut(client_steps *steps, actor_batch *batch, uint32_t i)
{
    const void *behind = steps->behind + (size_t)i * steps->shape.obs_bytes;
    stream_end(steps, batch, i, behind);
    batch->flags[(size_t)i * batch->room + batch->rows[i] - 1] |= WIRE_ROLLOUT;
}

// Adds the row of a step, and the end row if its episode ended.
static void
step_append(client_steps *steps, actor_batch *batch, const octet_replay_steps *given, uint32_t i,
            bool is_first)
{
    size_t obs_bytes = steps->shape.obs_bytes;
    const uint8_t *next = (const uint8_t *)given->next_observations + i * obs_bytes;
    const uint8_t *action = (const uint8_t *)given->actions + (size_t)i * steps->shape.action_bytes;
    uint8_t flags = (is_first ? WIRE_FIRST : 0) | (given->terminated[i] ? WIRE_TERMINATED : 0) |
                    (given->truncated[i] ? WIRE_TRUNCATED : 0);
    actor_batch_add(batch, i, &(actor_batch_step){0, flags, given->rewards[i], action, NULL});
    steps->next[i]++;
    if (given->terminated[i] || given->truncated[i]) {
        stream_end(steps, batch, i, next);
    } else {
        memcpy(steps->behind + i * obs_bytes, next, obs_bytes);
        steps->is_open[i] = true;
    }
}

void
client_steps_append(client_steps *steps, actor_batch *batch, const octet_replay_steps *given)
{
    // First the end rows of streams that do not continue, because the observations go into the
    // next row of each stream.
    const uint8_t *obs = given->observations;
    size_t bytes = steps->shape.obs_bytes;
    for (uint32_t i = 0; i < steps->shape.envs; i++) {
        if (is_taken(given, i) && steps->is_open[i] &&
            memcmp(obs + i * bytes, steps->behind + i * bytes, bytes) != 0) {
            stream_cut(steps, batch, i);
        }
    }
    actor_batch_observe(batch, obs, (uint32_t)bytes);
    for (uint32_t i = 0; i < steps->shape.envs; i++) {
        if (is_taken(given, i)) {
            step_append(steps, batch, given, i, !steps->is_open[i]);
        }
    }
}

void
client_steps_cut(client_steps *steps, actor_batch *batch)
{
    for (uint32_t i = 0; i < steps->shape.envs; i++) {
        if (steps->is_open[i]) {
            stream_cut(steps, batch, i);
        }
    }
}

bool
client_steps_is_open(const client_steps *steps)
{
    bool is_open = false;
    for (uint32_t i = 0; i < steps->shape.envs; i++) {
        is_open |= steps->is_open[i];
    }
    return is_open;
}
