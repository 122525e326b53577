#ifndef LEARNER_LEARNER_SHARD_H
#define LEARNER_LEARNER_SHARD_H

#include <stdint.h>

// Chooses the replay that a session inserts into: rendezvous hashing (Thaler, Ravishankar 1998).
// The score of a shard is oct_rng_mix(oct_rng_mix(0, session), shard), and the highest score wins.
// The choice never changes for a session. An added shard takes an equal part of the sessions of
// each existing shard, and no session moves between existing shards. shards >= 1. Threads: any.
uint32_t learner_shard_of(uint64_t session, uint32_t shards);

#endif // LEARNER_LEARNER_SHARD_H
