#ifndef COMMON_OCT_SPREAD_H
#define COMMON_OCT_SPREAD_H

#include <stdint.h>

// Mean and spread of numbers (episode returns, lengths). Threads: any.
typedef struct oct_spread {
    double mean;
    double std; // of the sample, with n - 1; 0 for one number
    double min;
    double max;
} oct_spread;

// Computes the spread of values[n], n >= 1, in two passes in double, so that equal values have
// exactly no spread.
oct_spread oct_spread_of(const float *values, uint32_t n);
oct_spread oct_spread_of_f64(const double *values, uint32_t n);
// By how much one policy did better than another in the same n cases: the mean of the differences,
// and its standard error. What makes a case hard for both cancels out.
typedef struct oct_paired {
    double mean;
    double error; // standard deviation of the differences (n - 1) / sqrt(n); 0 for one case
} oct_paired;

// Computes values[i] - others[i], n >= 1, in two passes in double.
oct_paired oct_paired_of(const float *values, const float *others, uint32_t n);
double oct_spread_mean_u32(const uint32_t *values, uint32_t n);

#endif // COMMON_OCT_SPREAD_H
