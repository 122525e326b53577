#ifndef BENCH_BENCH_SORT_H
#define BENCH_BENCH_SORT_H

#include <stddef.h>
#include <stdlib.h>

// Measurements in their order. Threads: any.

static inline int
bench_sort_order(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// The least first.
static inline void
bench_sort(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), bench_sort_order);
}

// Sorts them; of an even number the upper of the two in the middle.
static inline double
bench_median(double *values, size_t count)
{
    bench_sort(values, count);
    return values[count / 2];
}

#endif // BENCH_BENCH_SORT_H
