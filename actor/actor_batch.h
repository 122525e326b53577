#ifndef ACTOR_ACTOR_BATCH_H
#define ACTOR_ACTOR_BATCH_H

#include "proto/wire.h"

// A batch of rows (proto/wire.h defines a row). The acting thread fills it, and the loop thread
// holds it until replay has acknowledged it. Each environment fills its own region of every
// column, so that the rows of a stream are adjacent. Sealing moves the regions together and
// records the runs: one for each environment and policy version.
//
// A row is written in two parts: the observation before the step (observe), then the action and
// its outcome (add) or a failure (fail). The end of an episode has its own row (end).
//
// Threads: one at a time; the two threads pass the pointer through oct_ring. Owns: its columns,
// all reserved by create.
// Full: the acting thread seals a batch before a step could overflow the region of an environment
// (actor_batch_has_room).
typedef struct actor_batch {
    uint64_t sequence;  // 0 until the batch passes to the loop thread
    uint64_t env_steps; // of the session, up to the last step of this batch
    uint32_t steps;     // rows with an action
    uint32_t count;     // rows, with end rows
    uint32_t most;      // rows of the environment that has most; most <= room
    uint32_t envs;
    uint32_t room; // capacity of each environment's region, in rows
    uint32_t obs_bytes;
    uint32_t action_bytes;
    uint32_t extra_dim;
    uint64_t *first; // [envs] number of the first row in its stream
    uint32_t *rows;  // [envs] rows so far
    // Columns: [envs][room] while being filled, [count] when sealed.
    uint8_t *obs;      // [obs_bytes] each
    uint8_t *action;   // [action_bytes] each
    float *reward;     // as the environment gave it; 0 on an end row
    uint8_t *flags;    // WIRE_FIRST … WIRE_ROLLOUT
    float *extra;      // [extra_dim] each; NULL if extra_dim is 0
    uint32_t *version; // of the policy; not moved by sealing
    // Runs, valid when sealed: [run_count], with room for envs * room.
    uint32_t run_count;
    uint32_t *run_stream; // index of the environment
    uint64_t *run_first;  // number of the first row in its stream
    uint32_t *run_rows;   // >= 1; their sum is count
    uint32_t *run_version;
} actor_batch;

// Sizes that all batches of an actor share.
typedef struct actor_batch_shape {
    uint32_t obs_bytes;    // of one observation
    uint32_t action_bytes; // of one action
    uint32_t extra_dim;    // floats that PPO and others record beside an action
    uint32_t steps;        // over all environments; a batch with as many is full
    uint32_t envs;
} actor_batch_shape;

// Lowers steps until a full batch fits into one message, and into half of the table_rows that the
// replay keeps: the table needs room for other batches, too. OCT_EINVAL: a single step of all
// environments can exceed that.
OCT_CHECKED oct_err actor_batch_shape_fit(actor_batch_shape *shape, uint64_t table_rows);
// Returns the rows of one region: the environment's share of the steps, one end row for every
// fourth step, and two more.
uint32_t actor_batch_shape_room(const actor_batch_shape *shape);
// Returns the bytes of all columns of one batch.
size_t actor_batch_bytes(const actor_batch_shape *shape);
actor_batch *actor_batch_create(const actor_batch_shape *shape);
void actor_batch_destroy(actor_batch *batch); // NULL is a no-op
// Empties the batch. first is [envs]: the number of each environment's next row.
void actor_batch_begin(actor_batch *batch, const uint64_t *first);
// Returns true if the batch is not full, and one more step of all environments fits for certain:
// each adds at most a row and an end row.
bool actor_batch_has_room(const actor_batch *batch, const actor_batch_shape *shape);

// Copies the observations before a step into the next rows. obs is [envs], stride bytes apart.
void actor_batch_observe(actor_batch *batch, const void *obs, uint32_t stride);
// A step of one environment: the action and its outcome.
typedef struct actor_batch_step {
    uint32_t version; // of the policy that acted
    uint8_t flags;    // WIRE_FIRST, WIRE_TERMINATED …
    float reward;
    const void *action; // [action_bytes]
    const float *extra; // [extra_dim], or NULL if that is 0
} actor_batch_step;
// Completes the observed row of environment i, which makes a step.
void actor_batch_add(actor_batch *batch, uint32_t i, const actor_batch_step *step);
// Makes the observed row of environment i an end row: its step failed, so the observation before
// it is the last true one.
void actor_batch_fail(actor_batch *batch, uint32_t i, uint32_t version);
// Adds an end row after the last row of environment i, with the final observation of the episode.
void actor_batch_end(actor_batch *batch, uint32_t i, uint32_t version, const void *final_obs);

// Ends the rollout of each environment that has rows. If its last row is not an end row, adds one
// with the current observation (obs is [envs]); then marks the end row. Sets added[envs] to the
// number of rows that were added, 0 or 1.
void actor_batch_end_rollout(actor_batch *batch, const void *obs, uint32_t stride, uint8_t *added);

// Closes the batch: no more rows. Columns become [count], and the runs are set.
void actor_batch_seal(actor_batch *batch);
// Returns a sealed batch as a message, which borrows its columns. The caller adds the token.
wire_batch actor_batch_view(const actor_batch *batch, uint32_t actor_id, uint64_t session,
                            uint64_t first_unacked);

#endif // ACTOR_ACTOR_BATCH_H
