#ifndef REPLAY_REPLAY_STORE_H
#define REPLAY_REPLAY_STORE_H

#include <stdint.h>

#include "proto/wire.h"
#include "replay/replay_select.h"

// The memory of the table: every observation once, in a ring; transitions as columns in a second
// ring, which name their two observations by number.
//
// Observations and transitions are numbered from 0 in the order they came; a number is never used
// again. The number of a transition is its key. Both rings overwrite their oldest. A transition
// leaves with its place, or when one of its observations is about to be overwritten; nothing that
// is in the store ever points at an overwritten observation.
//
// Threads: one user at a time. Owns: all of its memory, reserved by create.
// Full: evicts the oldest transitions.
typedef struct replay_store replay_store;

typedef struct replay_store_spec {
    uint32_t capacity; // transitions
    uint32_t obs_bytes;
    uint32_t action_bytes;
    uint32_t extra_dim;
} replay_store_spec;

// The number of an observation that the store does not hold.
#define REPLAY_OBS_NONE UINT64_MAX

// Room for observations: one per transition, a quarter more for the final observations of episodes,
// and up to 4096 that the actors' next transitions still refer to.
uint64_t replay_store_obs_capacity(uint32_t capacity);
uint64_t replay_store_obs_ring_bytes(const replay_store_spec *spec);
uint64_t replay_store_column_bytes(const replay_store_spec *spec);

replay_store *replay_store_create(const replay_store_spec *spec);
void replay_store_destroy(replay_store *store);

replay_span replay_store_span(const replay_store *store);
// The key of the oldest transition; the others' follow without gaps.
uint64_t replay_store_key_first(const replay_store *store);

// The number that the next observation will get.
uint64_t replay_store_obs_next(const replay_store *store);
// The lowest observation number that is still held once obs_count more were added.
uint64_t replay_store_obs_floor(const replay_store *store, uint64_t obs_count);
// How many of the oldest transitions must go before these can be added.
uint32_t replay_store_excess(const replay_store *store, uint64_t obs_count, uint32_t count);
// Takes the count oldest transitions out.
void replay_store_drop(replay_store *store, uint32_t count);

// The excess for them must have been dropped.
void replay_store_add_obs(replay_store *store, const uint8_t *obs, uint32_t count);
// The rows of batch whose observations are both known (obs, next: [batch->count], REPLAY_OBS_NONE
// where not). The excess for them must have been dropped. Gives how many were added; they occupy
// the slots behind the span's last.
uint32_t replay_store_add(replay_store *store, const wire_batch *batch, const uint64_t *obs,
                          const uint64_t *next);

// Copies the rows at slot[0 .. count) into the columns that out points to, which have room.
typedef struct replay_rows {
    uint8_t *obs;
    uint8_t *next;
    uint8_t *action;
    float *reward;
    float *discount;
    float *extra;
    uint64_t *key;
} replay_rows;
void replay_store_gather(const replay_store *store, const uint32_t *slot, uint32_t count,
                         const replay_rows *out);

#endif // REPLAY_REPLAY_STORE_H
