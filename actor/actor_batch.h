#ifndef ACTOR_ACTOR_BATCH_H
#define ACTOR_ACTOR_BATCH_H

#include "proto/wire.h"

// One batch of rows (proto/wire.h says what a row is) being filled by the acting thread, then held
// by the loop thread until replay has acknowledged it. While it is filled each environment has a
// region of its own in every column, so that its rows lie one after the other; sealing moves the
// regions together and notes the runs: one for each environment and policy version. Memory is
// reserved once.
//
// A row is written in two parts: what was seen before the step (observe), what came of it after
// (add, or fail); an episode's end has a row of its own (end).
//
// Threads: one at a time (the two threads pass the pointer through oct_ring).
// Owns: its columns.
// Full: the acting thread seals a batch before a step could overflow the region of any environment
// (actor_batch_has_room).
typedef struct actor_batch {
    uint64_t sequence; // given when it is handed to the loop thread
    uint64_t env_steps;
    uint32_t steps; // rows with an action
    uint32_t count; // rows
    uint32_t most;  // rows of the environment that has the most
    uint32_t envs;
    uint32_t room; // rows of one environment
    uint32_t obs_bytes;
    uint32_t action_bytes;
    uint32_t extra_dim;
    uint64_t *first; // [envs] number of the first row
    uint32_t *rows;  // [envs] so far
    // [envs][room], sealed [count]:
    uint8_t *obs;      // obs_bytes each
    uint8_t *action;   // action_bytes each
    float *reward;     //
    uint8_t *flags;    //
    float *extra;      // extra_dim each
    uint32_t *version; // until it is sealed
    // Sealed: [run_count] of envs * room.
    uint32_t run_count;
    uint32_t *run_stream;
    uint64_t *run_first;
    uint32_t *run_rows;
    uint32_t *run_version;
} actor_batch;

typedef struct actor_batch_shape {
    uint32_t obs_bytes;
    uint32_t action_bytes;
    uint32_t extra_dim;
    uint32_t steps; // of all environments: sealed at so many
    uint32_t envs;
} actor_batch_shape;

// Makes steps smaller where a full batch would be more than replay takes at once, or more rows than
// half of those that the replay's table keeps: it has to have room for a batch beside others.
// OCT_EINVAL: one step of all environments alone can be too much.
OCT_CHECKED oct_err actor_batch_shape_fit(actor_batch_shape *shape, uint64_t table_rows);
// Rows that each environment has room for: its share of the steps, an end row for every fourth,
// and two more.
uint32_t actor_batch_shape_room(const actor_batch_shape *shape);
// Bytes of one batch of this shape, all columns.
size_t actor_batch_bytes(const actor_batch_shape *shape);
actor_batch *actor_batch_create(const actor_batch_shape *shape);
void actor_batch_destroy(actor_batch *batch); // NULL is a no-op
// Empties it; the next row of environment i will have number first[i].
void actor_batch_begin(actor_batch *batch, const uint64_t *first);
// One more step of all environments surely fits, and it is not full yet.
bool actor_batch_has_room(const actor_batch *batch, const actor_batch_shape *shape);

// What every environment shows before its step: obs[envs], stride bytes from one to the next.
void actor_batch_observe(actor_batch *batch, const void *obs, uint32_t stride);
// The step of environment i that was observed last: what was done and what came of it. extra
// [extra_dim], may be NULL when that is 0.
void actor_batch_add(actor_batch *batch, uint32_t i, uint32_t version, const void *action,
                     float reward, uint8_t flags, const float *extra);
// The step that was observed last failed: what was observed ends the episode.
void actor_batch_fail(actor_batch *batch, uint32_t i, uint32_t version);
// An end row behind the row added last: the observation that followed it.
void actor_batch_end(actor_batch *batch, uint32_t i, uint32_t version, const void *final_obs);

// The rollout ends here: an end row marked so for each environment that has rows, with what it
// shows now, obs[envs]; where its episode has just ended, its end row is marked. added[envs] gets
// the rows that this took, 0 or 1.
void actor_batch_end_rollout(actor_batch *batch, const void *obs, uint32_t stride, uint8_t *added);

// No more rows: columns become [count], in runs. Then it has the wire's view, which borrows them.
void actor_batch_seal(actor_batch *batch);
wire_batch actor_batch_view(const actor_batch *batch, uint32_t actor_id, uint64_t session,
                            uint64_t first_unacked);

#endif // ACTOR_ACTOR_BATCH_H
