// Rendezvous hashing of sessions over shards.
#include "learner/learner_shard.h"

#include "common/oct_base.h"
#include "common/oct_rng.h"

uint32_t
learner_shard_of(uint64_t session, uint32_t shards)
{
    OCT_ASSERT(shards > 0);
    uint64_t state = oct_rng_mix(0, session), best = oct_rng_mix(state, 0);
    uint32_t found = 0;
    for (uint32_t shard = 1; shard < shards; shard++) {
        uint64_t score = oct_rng_mix(state, shard);
        if (score > best) {
            best = score;
            found = shard;
        }
    }
    return found;
}
