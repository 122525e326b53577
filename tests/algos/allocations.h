#ifndef TESTS_ALGOS_ALLOCATIONS_H
#define TESTS_ALGOS_ALLOCATIONS_H

#include <stddef.h>

// Link allocations.c with --wrap for malloc, calloc, realloc, posix_memalign, aligned_alloc and
// free (meson.build): each allocation of our own code is counted, and the bytes of those that it
// has not freed. What OpenBLAS does inside its library is seen by the bytes that malloc has given
// out.
size_t allocations_held_bytes(void);
// Fails unless nothing is allocated between the two. What is tested must have been made before, so
// that it is known that the counter counts.
void allocations_begin(void);
void allocations_expect_none(void);

#endif // TESTS_ALGOS_ALLOCATIONS_H
