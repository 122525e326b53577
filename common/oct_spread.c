// Means, spreads and paired differences of samples.
#include "common/oct_spread.h"

#include <math.h>

#include "common/oct_base.h"

// Measures f[n], or d[n] where f is NULL. The sum is over differences from the first value, so that
// equal values have exactly no spread.
static oct_spread
spread_of(const float *f, const double *d, uint32_t n)
{
    OCT_ASSERT(n > 0);
    double first = f != NULL ? (double)f[0] : d[0];
    oct_spread spread = {.min = first, .max = first};
    double sum = 0, squares = 0;
    for (uint32_t i = 0; i < n; i++) {
        double value = f != NULL ? (double)f[i] : d[i];
        sum += value - first;
        spread.min = OCT_MIN(spread.min, value);
        spread.max = OCT_MAX(spread.max, value);
    }
    spread.mean = first + sum / n;
    for (uint32_t i = 0; i < n; i++) {
        double off = (f != NULL ? (double)f[i] : d[i]) - spread.mean;
        squares += off * off;
    }
    spread.std = n > 1 ? sqrt(squares / (n - 1)) : 0;
    return spread;
}

oct_spread
oct_spread_of(const float *values, uint32_t n)
{
    return spread_of(values, NULL, n);
}

oct_spread
oct_spread_of_f64(const double *values, uint32_t n)
{
    return spread_of(NULL, values, n);
}

oct_paired
oct_paired_of(const float *values, const float *others, uint32_t n)
{
    OCT_ASSERT(n > 0);
    double sum = 0, squares = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += (double)values[i] - (double)others[i];
    }
    double mean = sum / n;
    for (uint32_t i = 0; i < n; i++) {
        double d = (double)values[i] - (double)others[i] - mean;
        squares += d * d;
    }
    return (oct_paired){mean, n > 1 ? sqrt(squares / (n - 1) / n) : 0.0};
}

double
oct_spread_mean_u32(const uint32_t *values, uint32_t n)
{
    OCT_ASSERT(n > 0);
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += values[i];
    }
    return sum / n;
}
