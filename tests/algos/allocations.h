#ifndef TESTS_ALGOS_ALLOCATIONS_H
#define TESTS_ALGOS_ALLOCATIONS_H

#include <stddef.h>

// Link allocations.c with --wrap for malloc, calloc, realloc, posix_memalign and aligned_alloc
// (meson.build): each allocation of our own code is counted. What OpenBLAS does inside its library
// is seen by the bytes that malloc has given out.
unsigned long allocations_count(void);
size_t allocations_heap_bytes(void);

#endif // TESTS_ALGOS_ALLOCATIONS_H
