#ifndef COMMON_OCT_RNG_H
#define COMMON_OCT_RNG_H

#include <stdint.h>

// PCG32 (O'Neill 2014, XSH-RR 64/32): the generator of everything that is not an environment's own
// reset (those follow numpy, oct_pcg64.h). Two words of state, saved and restored by copying.
// Threads: one user at a time; give each its own stream.
typedef struct oct_rng {
    uint64_t state;
    uint64_t stream;
} oct_rng;

// The seed that follows from a state and a number: a round of SplitMix64 (Steele, Lea, Flood 2014).
// The state is 0, a constant that stands for a purpose, or what the last call gave. A chain of
// calls gives any two lists of numbers that differ seeds that have nothing to do with each other. A
// number that a user chose is no state: seeds near each other would give the same streams in
// another order.
uint64_t oct_rng_mix(uint64_t state, uint64_t number);
// Streams of one seed are independent sequences.
void oct_rng_init(oct_rng *rng, uint64_t seed, uint64_t stream);
uint32_t oct_rng_u32(oct_rng *rng);
uint64_t oct_rng_u64(oct_rng *rng);
// Uniform in [0, bound), without bias; bound > 0. (Lemire 2019.)
uint32_t oct_rng_below(oct_rng *rng, uint32_t bound);
// out: [count], what so many calls of below would give.
void oct_rng_fill_below(oct_rng *rng, uint32_t bound, uint32_t count, uint32_t *out);
uint64_t oct_rng_below64(oct_rng *rng, uint64_t bound);
// Uniform in [0, 1): 53 bits, and 24 bits.
double oct_rng_double(oct_rng *rng);
float oct_rng_float(oct_rng *rng);
// Standard normal (Marsaglia polar method; no value is kept back, so the state is these two words).
float oct_rng_normal(oct_rng *rng);

#endif // COMMON_OCT_RNG_H
