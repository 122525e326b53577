// Mean, spread and paired difference of samples.
#include "common/oct_spread.h"

#include <math.h>

#include "common/oct_base.h"

oct_spread
oct_spread_of(const float *values, uint32_t n)
{
    OCT_ASSERT(n > 0);
    oct_spread spread = {.min = values[0], .max = values[0]};
    double sum = 0, squares = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += values[i];
        spread.min = OCT_MIN(spread.min, (double)values[i]);
        spread.max = OCT_MAX(spread.max, (double)values[i]);
    }
    spread.mean = sum / n;
    for (uint32_t i = 0; i < n; i++) {
        squares += (values[i] - spread.mean) * (values[i] - spread.mean);
    }
    spread.std = n > 1 ? sqrt(squares / (n - 1)) : 0;
    return spread;
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
