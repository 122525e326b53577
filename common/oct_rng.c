// PCG32 (O'Neill 2014) and draws from it: bounded integers, uniform and normal floats.
#include "common/oct_rng.h"

#include <math.h>

#include "common/oct_base.h"

#define PCG_MULTIPLIER 6364136223846793005ull

uint64_t
oct_rng_mix(uint64_t state, uint64_t number)
{
    uint64_t z = (state ^ number) + 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void
oct_rng_init(oct_rng *rng, uint64_t seed, uint64_t stream)
{
    rng->state = 0;
    rng->stream = (stream << 1) | 1;
    (void)oct_rng_u32(rng);
    rng->state += seed;
    (void)oct_rng_u32(rng);
}

// XSH-RR: xorshift the high bits, then rotate by the top five.
static inline uint32_t
u32_next(oct_rng *rng)
{
    uint64_t old = rng->state;
    rng->state = old * PCG_MULTIPLIER + rng->stream;
    uint32_t shifted = (uint32_t)(((old >> 18) ^ old) >> 27);
    uint32_t rotate = (uint32_t)(old >> 59);
    return (shifted >> rotate) | (shifted << (-rotate & 31));
}

uint32_t
oct_rng_u32(oct_rng *rng)
{
    return u32_next(rng);
}

uint64_t
oct_rng_u64(oct_rng *rng)
{
    uint64_t high = u32_next(rng);
    return (high << 32) | u32_next(rng);
}

// Lemire's method. The division for the threshold runs only if the low half is small.
static inline uint32_t
below_next(oct_rng *rng, uint32_t bound)
{
    uint64_t product = (uint64_t)u32_next(rng) * bound;
    uint32_t low = (uint32_t)product;
    if (low < bound) {
        uint32_t threshold = -bound % bound;
        while (low < threshold) {
            product = (uint64_t)u32_next(rng) * bound;
            low = (uint32_t)product;
        }
    }
    return (uint32_t)(product >> 32);
}

uint32_t
oct_rng_below(oct_rng *rng, uint32_t bound)
{
    OCT_ASSERT(bound > 0);
    return below_next(rng, bound);
}

void
oct_rng_fill_below(oct_rng *rng, uint32_t bound, uint32_t count, uint32_t *out)
{
    OCT_ASSERT(bound > 0);
    oct_rng own = *rng; // a local copy, because the compiler must assume that out overlaps *rng
    for (uint32_t i = 0; i < count; i++) {
        out[i] = below_next(&own, bound);
    }
    *rng = own;
}

uint64_t
oct_rng_below64(oct_rng *rng, uint64_t bound)
{
    OCT_ASSERT(bound > 0);
    if (bound <= UINT32_MAX) {
        return oct_rng_below(rng, (uint32_t)bound);
    }
    // The numbers from the last multiple of bound on are drawn again.
    uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
    uint64_t value;
    do {
        value = oct_rng_u64(rng);
    } while (value >= limit);
    return value % bound;
}

double
oct_rng_double(oct_rng *rng)
{
    return (double)(oct_rng_u64(rng) >> 11) * 0x1p-53;
}

float
oct_rng_float(oct_rng *rng)
{
    return (float)(oct_rng_u32(rng) >> 8) * 0x1p-24f;
}

// The second value that the method yields is discarded, so that the state stays two words.
float
oct_rng_normal(oct_rng *rng)
{
    double u, v, s;
    do {
        u = 2 * oct_rng_double(rng) - 1;
        v = 2 * oct_rng_double(rng) - 1;
        s = u * u + v * v;
    } while (s >= 1 || s == 0);
    return (float)(u * sqrt(-2 * log(s) / s));
}
