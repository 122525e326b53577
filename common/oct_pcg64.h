#ifndef COMMON_OCT_PCG64_H
#define COMMON_OCT_PCG64_H

#include <stdbool.h>
#include <stdint.h>

// numpy's default generator: PCG64 (XSL-RR 128/64), seeded through SeedSequence.
// oct_pcg64_init(rng, seed) and draws give the numbers of numpy.random.default_rng(seed).
// Environments use it where a reset must match a reference bit for bit; everything else uses
// oct_rng.h. State and increment are 128 bits in two words; copying the struct saves and restores
// it. A draw of 32 bits keeps the other half of its 64 for the next such draw; other draws do not
// touch that half. Threads: one user at a time.
typedef struct oct_pcg64 {
    uint64_t state_high, state_low;
    uint64_t increment_high, increment_low; // low is odd
    uint32_t half;                          // the upper half of the last 64 bits drawn for 32
    bool has_half;                          // it has not been used yet
} oct_pcg64;

void oct_pcg64_init(oct_pcg64 *rng, uint64_t seed);
uint64_t oct_pcg64_u64(oct_pcg64 *rng);
// low + (high - low) * (53 random bits / 2^53): Generator.uniform, one 64-bit draw.
double oct_pcg64_uniform(oct_pcg64 *rng, double low, double high);
// 0 .. count - 1, count >= 1, from 32-bit draws by Lemire's method (arXiv:1805.10941):
// Generator.integers and Generator.choice of lists shorter than 2^32. count 1 draws nothing.
uint32_t oct_pcg64_below(oct_pcg64 *rng, uint32_t count);

#endif // COMMON_OCT_PCG64_H
