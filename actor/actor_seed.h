#ifndef ACTOR_ACTOR_SEED_H
#define ACTOR_ACTOR_SEED_H

#include <stdint.h>

// Where an actor's random numbers come from: the run's seed, the actor's index, and how often that
// index was registered before (wire_registered). Nothing else, so that a run that is started again
// with the same seed draws the same, and an actor that comes back does not repeat itself.
//
// Threads: any; a plain value.
typedef struct actor_seed {
    uint64_t run_seed;
    uint32_t actor_index;
    uint32_t incarnation;
} actor_seed;

// What a number is the seed of.
typedef enum actor_seed_use {
    ACTOR_SEED_ENV = 1,     // environment i
    ACTOR_SEED_SAMPLE = 2,  // actions drawn from the policy, of environment i
    ACTOR_SEED_EXPLORE = 3, // random actions, of all environments: i is 0
    ACTOR_SEED_NOISE = 4,   // noise on actions, of all environments: i is 0
} actor_seed_use;

// By oct_rng_mix, a round for each number.
uint64_t actor_seed_of(const actor_seed *seed, actor_seed_use use, uint32_t i);

#endif // ACTOR_ACTOR_SEED_H
