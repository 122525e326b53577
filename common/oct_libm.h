#ifndef COMMON_OCT_LIBM_H
#define COMMON_OCT_LIBM_H

#include <stdint.h>

// The C library's mathematics as one number: a sum over the bits of what sin, cos, tan, asin, acos,
// atan2, exp, log, log2, pow, sincos and powf give for 4096 arguments each, and of operations on
// denormal numbers. Machines with different numbers step the same environment, by the same actions,
// to other states sooner or later: glibc takes other code where the CPU has no FMA (one result in
// about a thousand differs), and other libraries and releases round otherwise.
//
// Threads: any; the calling thread's rounding mode is what is summed. Takes about a millisecond.
uint64_t oct_libm_sum(void);

#endif // COMMON_OCT_LIBM_H
