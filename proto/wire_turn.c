// The sessions of actors in lock-step.
#include "proto/wire_turn.h"

#include "common/oct_rng.h"

#define PURPOSE 0x7475726eu // other than the seeds that are made of the same numbers

uint64_t
wire_turn_session(uint64_t seed, uint64_t epoch, uint32_t actor_index, uint32_t life)
{
    uint64_t state = oct_rng_mix(PURPOSE, seed);
    state = oct_rng_mix(state, epoch);
    state = oct_rng_mix(state, actor_index);
    return oct_rng_mix(state, life) | 1;
}
