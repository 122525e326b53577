#include "actor/actor_seed.h"

// Seeds of generators and environments.

static uint64_t
mix(uint64_t state, uint64_t number)
{
    uint64_t z = (state ^ number) + 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint64_t
actor_seed_of(const actor_seed *seed, actor_seed_use use, uint32_t i)
{
    uint64_t state = mix(0, seed->run_seed);
    state = mix(state, seed->actor_index);
    state = mix(state, seed->incarnation);
    state = mix(state, (uint64_t)use);
    return mix(state, i);
}
