// Counts the allocations of our own code, through the linker's --wrap.
#include "tests/algos/allocations.h"

#include <malloc.h>

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *block, size_t bytes);
int __real_posix_memalign(void **out, size_t alignment, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);

void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes);
int __wrap_posix_memalign(void **out, size_t alignment, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);

static unsigned long allocations;

void *
__wrap_malloc(size_t bytes)
{
    allocations++;
    return __real_malloc(bytes);
}

void *
__wrap_calloc(size_t count, size_t bytes)
{
    allocations++;
    return __real_calloc(count, bytes);
}

void *
__wrap_realloc(void *block, size_t bytes)
{
    allocations++;
    return __real_realloc(block, bytes);
}

int
__wrap_posix_memalign(void **out, size_t alignment, size_t bytes)
{
    allocations++;
    return __real_posix_memalign(out, alignment, bytes);
}

void *
__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    allocations++;
    return __real_aligned_alloc(alignment, bytes);
}

unsigned long
allocations_count(void)
{
    return allocations;
}

size_t
allocations_heap_bytes(void)
{
    return mallinfo2().uordblks + mallinfo2().hblkhd;
}
