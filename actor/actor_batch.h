#ifndef ACTOR_ACTOR_BATCH_H
#define ACTOR_ACTOR_BATCH_H

#include "proto/wire.h"

// One batch of transitions being filled by the acting thread, then held by the loop thread until
// replay has acknowledged it. Columns of fixed room, reserved once.
//
// Threads: one at a time (the two threads pass the pointer through oct_ring).
// Owns: its columns.
// Full: the acting thread seals a batch before a step could overflow it (actor_batch_has_room).
typedef struct actor_batch {
    uint64_t sequence; // given when it is handed to the loop thread
    uint64_t obs_first;
    uint64_t policy_version;
    uint64_t env_steps;
    uint32_t obs_count;
    uint32_t count;
    uint32_t obs_room;
    uint32_t room;
    uint32_t obs_bytes;
    uint32_t action_bytes;
    uint8_t *obs;
    uint8_t *action;
    int32_t *obs_offset;
    int32_t *next_offset;
    float *reward;
    float *discount;
    uint8_t *flags;
} actor_batch;

typedef struct actor_batch_shape {
    uint32_t obs_bytes;
    uint32_t action_bytes;
    uint32_t transitions; // sealed at this many
    uint32_t envs;
    uint32_t n_step;
} actor_batch_shape;

// Makes transitions smaller where a full batch would be more than one message may hold. OCT_EINVAL:
// one step of all environments alone can be too much.
OCT_CHECKED oct_err actor_batch_shape_fit(actor_batch_shape *shape);
// Bytes of one batch of this shape, all columns.
size_t actor_batch_bytes(const actor_batch_shape *shape);
actor_batch *actor_batch_create(const actor_batch_shape *shape);
void actor_batch_destroy(actor_batch *batch); // NULL is a no-op
// Empties it; its first observation will have number obs_first.
void actor_batch_begin(actor_batch *batch, uint64_t obs_first);
// One more step of all environments surely fits.
bool actor_batch_has_room(const actor_batch *batch, const actor_batch_shape *shape);
// Appends an observation; its number within the session.
uint64_t actor_batch_add_obs(actor_batch *batch, const void *obs);
// The wire's view of it; borrows the columns.
wire_batch actor_batch_view(const actor_batch *batch, uint32_t actor_id, uint64_t session,
                            uint64_t first_unacked);

#endif // ACTOR_ACTOR_BATCH_H
