#ifndef TESTS_ALGOS_ALLOCATIONS_H
#define TESTS_ALGOS_ALLOCATIONS_H

#include <stddef.h>

// Link allocations.c with --wrap for malloc, calloc, realloc, posix_memalign, aligned_alloc and
// free (meson.build): each allocation of our own code is counted, and the bytes of those that it
// has not freed. What OpenBLAS does inside its library is seen by the bytes that malloc has given
// out.
unsigned long allocations_count(void);
size_t allocations_held_bytes(void);
size_t allocations_heap_bytes(void);

#endif // TESTS_ALGOS_ALLOCATIONS_H
