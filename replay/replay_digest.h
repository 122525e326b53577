#ifndef REPLAY_REPLAY_DIGEST_H
#define REPLAY_REPLAY_DIGEST_H

#include "proto/wire_hash.h"
#include "replay/replay_head.h"
#include "replay/replay_regions.h"
#include "replay/replay_store.h"

// Computes SHA-256 over everything that decides what a table does from now on: the rows of every
// block in the order of serials, the sampler's data for them, the counters and the generator. It
// leaves out addresses, times and random ids (sessions, actors, runs), so that two runs that did
// the same have the same hash.
//
// Threads: those of the table.
void replay_digest(const replay_store *store, const replay_regions *regions,
                   const replay_select_ops *select, const replay_head *head,
                   uint8_t out[WIRE_HASH_BYTES]);

#endif // REPLAY_REPLAY_DIGEST_H
