// numpy's PCG64 and SeedSequence, so that resets of environments equal those of Python bit for bit.
#include "common/oct_pcg64.h"

#include <stddef.h>

__extension__ typedef unsigned __int128 word128;

#define POOL_WORDS 4 // of 32 bits, numpy's default

// SeedSequence's hash constants (numpy's random/bit_generator).
#define INIT_A     0x43b0d7e5u
#define MULTIPLY_A 0x931e8875u
#define INIT_B     0x8b51f9ddu
#define MULTIPLY_B 0x58f38dedu
#define MIX_LEFT   0xca01f9ddu
#define MIX_RIGHT  0x4973f715u

static word128
join(uint64_t high, uint64_t low)
{
    return ((word128)high << 64) | low;
}

// SeedSequence's hashmix: *constant changes with every call.
static uint32_t
hash_mix(uint32_t value, uint32_t *constant)
{
    value ^= *constant;
    *constant *= MULTIPLY_A;
    value *= *constant;
    return value ^ (value >> 16);
}

static uint32_t
mix(uint32_t x, uint32_t y)
{
    uint32_t value = MIX_LEFT * x - MIX_RIGHT * y;
    return value ^ (value >> 16);
}

// SeedSequence's mix_entropy. A seed has at most two 32-bit words, fewer than the pool, so the
// round for more entropy than the pool holds is left out.
static void
pool_fill(uint32_t pool[POOL_WORDS], uint64_t seed)
{
    uint32_t constant = INIT_A;
    uint32_t entropy[POOL_WORDS] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    for (size_t i = 0; i < POOL_WORDS; i++) {
        pool[i] = hash_mix(entropy[i], &constant);
    }
    for (size_t from = 0; from < POOL_WORDS; from++) {
        for (size_t to = 0; to < POOL_WORDS; to++) {
            if (from != to) {
                pool[to] = mix(pool[to], hash_mix(pool[from], &constant));
            }
        }
    }
}

// SeedSequence's generate_state: words of 64 bits, the lower half first.
static void
pool_words(const uint32_t pool[POOL_WORDS], uint64_t *words, size_t count)
{
    uint32_t constant = INIT_B;
    for (size_t i = 0; i < 2 * count; i++) {
        uint32_t value = pool[i % POOL_WORDS] ^ constant;
        constant *= MULTIPLY_B;
        value *= constant;
        value ^= value >> 16;
        words[i / 2] = i % 2 == 0 ? value : words[i / 2] | (uint64_t)value << 32;
    }
}

// One step of the 128-bit linear congruential generator.
static void
advance(oct_pcg64 *rng)
{
    word128 state = join(rng->state_high, rng->state_low);
    word128 increment = join(rng->increment_high, rng->increment_low);
    state = state * join(2549297995355413924ull, 4865540595714422341ull) + increment;
    rng->state_high = (uint64_t)(state >> 64);
    rng->state_low = (uint64_t)state;
}

void
oct_pcg64_init(oct_pcg64 *rng, uint64_t seed)
{
    uint32_t pool[POOL_WORDS];
    uint64_t words[4];
    pool_fill(pool, seed);
    pool_words(pool, words, 4);
    rng->increment_high = words[2] << 1 | words[3] >> 63;
    rng->increment_low = words[3] << 1 | 1;
    // pcg_setseq_128_srandom: advancing the zero state leaves the increment, so the first advance
    // is written as a sum.
    word128 state = join(rng->increment_high, rng->increment_low) + join(words[0], words[1]);
    rng->state_high = (uint64_t)(state >> 64);
    rng->state_low = (uint64_t)state;
    advance(rng);
    rng->half = 0;
    rng->has_half = false;
}

// XSL-RR: the halves of the state are folded and rotated by its top six bits.
uint64_t
oct_pcg64_u64(oct_pcg64 *rng)
{
    advance(rng);
    uint64_t folded = rng->state_high ^ rng->state_low;
    unsigned rotate = (unsigned)(rng->state_high >> 58);
    return folded >> rotate | folded << (-rotate & 63);
}

double
oct_pcg64_uniform(oct_pcg64 *rng, double low, double high)
{
    return low + (high - low) * ((double)(oct_pcg64_u64(rng) >> 11) * 0x1p-53);
}

// Two draws of 32 bits share one of 64, the lower half first, as numpy does.
static uint32_t
draw_u32(oct_pcg64 *rng)
{
    if (rng->has_half) {
        rng->has_half = false;
        return rng->half;
    }
    uint64_t drawn = oct_pcg64_u64(rng);
    rng->half = (uint32_t)(drawn >> 32);
    rng->has_half = true;
    return (uint32_t)drawn;
}

uint32_t
oct_pcg64_below(oct_pcg64 *rng, uint32_t count)
{
    if (count <= 1) {
        return 0;
    }
    // 2^32 mod count: smaller low halves are drawn again, or some results would be likelier
    uint32_t rejected = -count % count;
    uint64_t product;
    do {
        product = (uint64_t)draw_u32(rng) * count;
    } while ((uint32_t)product < rejected);
    return (uint32_t)(product >> 32);
}
