// Seeds of an actor's random generators, from the run's seed, its index and its incarnation.
#include "actor/actor_seed.h"

#include "common/oct_rng.h"

uint64_t
actor_seed_of(const actor_seed *seed, actor_seed_use use, uint32_t i)
{
    uint64_t state = oct_rng_mix(0, seed->run_seed);
    state = oct_rng_mix(state, seed->actor_index);
    state = oct_rng_mix(state, seed->incarnation);
    state = oct_rng_mix(state, (uint64_t)use);
    return oct_rng_mix(state, i);
}
