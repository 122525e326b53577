#ifndef COMMON_OCT_LIBM_H
#define COMMON_OCT_LIBM_H

#include <stdint.h>

// Condenses the C library's mathematics into one number: a sum over the bits of the results of sin,
// cos, tan, asin, acos, atan2, exp, log, log2, pow, sincos and powf for 4096 arguments each, and of
// operations on denormal numbers. On machines with different sums, the same actions lead an
// environment to different states sooner or later: glibc uses other code on a CPU without FMA
// (about one result in a thousand differs), and other libraries and releases round differently.
//
// Threads: any; the result depends on the rounding mode of the calling thread. Takes about a
// millisecond.
uint64_t oct_libm_sum(void);

#endif // COMMON_OCT_LIBM_H
