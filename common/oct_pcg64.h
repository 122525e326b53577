#ifndef COMMON_OCT_PCG64_H
#define COMMON_OCT_PCG64_H

#include <stdint.h>

// numpy's default generator: PCG64 (XSL-RR 128/64) seeded through SeedSequence, so that
// oct_pcg64_init(rng, seed) followed by draws gives what numpy.random.default_rng(seed) gives.
// Environments use it where a reset has to agree with a reference bit for bit; everything else uses
// oct_rng.h. State and increment are 128 bits as two words; saved and restored by copying.
// Threads: one user at a time.
typedef struct oct_pcg64 {
    uint64_t state_high, state_low;
    uint64_t increment_high, increment_low; // low is odd
} oct_pcg64;

void oct_pcg64_init(oct_pcg64 *rng, uint64_t seed);
uint64_t oct_pcg64_u64(oct_pcg64 *rng);
// low + (high - low) * (53 random bits / 2^53): Generator.uniform, one 64-bit draw.
double oct_pcg64_uniform(oct_pcg64 *rng, double low, double high);

#endif // COMMON_OCT_PCG64_H
