#ifndef ACTOR_ACTOR_SEED_H
#define ACTOR_ACTOR_SEED_H

#include <stdint.h>

// The origin of an actor's random numbers: the run's seed, the actor's index, and how often that
// index was registered before (wire_registered). Nothing else enters, so a run with the same seed
// repeats its numbers, and an actor that comes back does not repeat its own.
//
// Threads: any; a plain value.
typedef struct actor_seed {
    uint64_t run_seed;
    uint32_t actor_index;
    uint32_t incarnation; // registrations of this index before
} actor_seed;

// What a seed is for.
typedef enum actor_seed_use {
    ACTOR_SEED_ENV = 1,     // i: environment
    ACTOR_SEED_SAMPLE = 2,  // sampled actions; i: environment
    ACTOR_SEED_EXPLORE = 3, // random actions of all environments; i: 0
    ACTOR_SEED_NOISE = 4,   // noise on actions of all environments; i: 0
} actor_seed_use;

// Mixes the fields, use and i with oct_rng_mix, one round for each.
uint64_t actor_seed_of(const actor_seed *seed, actor_seed_use use, uint32_t i);

#endif // ACTOR_ACTOR_SEED_H
