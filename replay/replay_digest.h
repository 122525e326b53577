#ifndef REPLAY_REPLAY_DIGEST_H
#define REPLAY_REPLAY_DIGEST_H

#include "proto/wire_hash.h"
#include "replay/replay_head.h"
#include "replay/replay_regions.h"
#include "replay/replay_store.h"

// One hash of all that decides what a table does from here on: the rows of every block in the order
// of their serials, what the sampler keeps for them, counters and generator. No addresses, times or
// ids of chance (sessions, actors, runs), so that two runs that did the same have the same hash.
//
// Threads: those of the table.
void replay_digest(const replay_store *store, const replay_regions *regions,
                   const replay_select_ops *select, const replay_head *head,
                   uint8_t out[WIRE_HASH_BYTES]);

#endif // REPLAY_REPLAY_DIGEST_H
