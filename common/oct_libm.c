// Sums the bits of the C library's mathematical results, so that machines can be compared.
#include "common/oct_libm.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_rng.h"

#define ARGUMENTS 4096 // of each function

static double
pow_of(double x)
{
    return pow(x, -0.4);
}

static double
powf_of(double x)
{
    return (double)powf((float)x, 0.6f);
}

static double
atan2_of(double x)
{
    return atan2(x, 1.7);
}

static double
sincos_of(double x)
{
    double sine, cosine;
    sincos(x, &sine, &cosine);
    return sine - cosine;
}

// Returns 0 where the thread treats denormal numbers as zero.
static double
denormal_of(double x)
{
    volatile double least = DBL_MIN;
    return least * x;
}

// Each function, with the range of arguments that environments and generators use.
static const struct {
    double (*function)(double);
    double low, high;
} functions[] = {
    {sin, -10, 10},  {cos, -10, 10},       {tan, -1.5, 1.5},    {asin, -1, 1},     {acos, -1, 1},
    {exp, -20, 5},   {log, 1e-9, 3},       {log2, 1e-9, 30},    {atan2_of, -5, 5}, {pow_of, 0, 5},
    {powf_of, 0, 5}, {sincos_of, -10, 10}, {denormal_of, 0, 1},
};

uint64_t
oct_libm_sum(void)
{
    uint64_t sum = 0;
    for (size_t f = 0; f < OCT_COUNTOF(functions); f++) {
        oct_rng rng;
        oct_rng_init(&rng, f, 0);
        for (int i = 0; i < ARGUMENTS; i++) {
            double x =
                functions[f].low + (functions[f].high - functions[f].low) * oct_rng_double(&rng);
            double y = functions[f].function(x);
            uint64_t bits;
            memcpy(&bits, &y, sizeof(bits));
            sum = oct_rng_mix(sum, bits);
        }
    }
    return sum;
}
