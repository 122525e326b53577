#ifndef COMMON_OCT_RNG_H
#define COMMON_OCT_RNG_H

#include <stdint.h>

// PCG32 (O'Neill 2014, XSH-RR 64/32), the generator for everything except the resets of
// environments, which follow numpy (oct_pcg64.h). Its state is two words; copying the struct saves
// and restores it. Threads: one user at a time; each user needs a stream of its own.
typedef struct oct_rng {
    uint64_t state;
    uint64_t stream;
} oct_rng;

// Derives a seed from a state and a number, by a round of SplitMix64 (Steele, Lea, Flood 2014). The
// state is 0, a constant that stands for a purpose, or the result of the last call. A chain of
// calls gives unrelated seeds for any two lists of numbers that differ. A number that a user chose
// must not be the state: seeds near each other would give the same streams in another order.
uint64_t oct_rng_mix(uint64_t state, uint64_t number);
// Starts a stream. Different streams of one seed are independent sequences.
void oct_rng_init(oct_rng *rng, uint64_t seed, uint64_t stream);
uint32_t oct_rng_u32(oct_rng *rng);
uint64_t oct_rng_u64(oct_rng *rng);
// Uniform in [0, bound), without bias; bound > 0. (Lemire 2019.)
uint32_t oct_rng_below(oct_rng *rng, uint32_t bound);
// Fills out[count] with what that many calls of oct_rng_below would return.
void oct_rng_fill_below(oct_rng *rng, uint32_t bound, uint32_t count, uint32_t *out);
uint64_t oct_rng_below64(oct_rng *rng, uint64_t bound);
// Uniform in [0, 1): 53 bits, and 24 bits.
double oct_rng_double(oct_rng *rng);
float oct_rng_float(oct_rng *rng);
// Returns a standard normal number (Marsaglia's polar method). The second number of each pair is
// discarded, so the two words stay the whole state.
float oct_rng_normal(oct_rng *rng);

#endif // COMMON_OCT_RNG_H
