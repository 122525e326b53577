// Counts the allocations of our own code, and their bytes, through the linker's --wrap.
#include "tests/algos/allocations.h"

#include <malloc.h>

#include "tests/support/oct_test.h"

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *block, size_t bytes);
int __real_posix_memalign(void **out, size_t alignment, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
void __real_free(void *block);

void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes);
int __wrap_posix_memalign(void **out, size_t alignment, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
void __wrap_free(void *block);

static unsigned long allocations, allocations_before;
static size_t held, heap_before;

static void *
count(void *block)
{
    allocations++;
    held += malloc_usable_size(block);
    return block;
}

void *
__wrap_malloc(size_t bytes)
{
    return count(__real_malloc(bytes));
}

void *
__wrap_calloc(size_t items, size_t bytes)
{
    return count(__real_calloc(items, bytes));
}

void *
__wrap_realloc(void *block, size_t bytes)
{
    held -= malloc_usable_size(block);
    return count(__real_realloc(block, bytes));
}

int
__wrap_posix_memalign(void **out, size_t alignment, size_t bytes)
{
    int err = __real_posix_memalign(out, alignment, bytes);
    (void)count(err == 0 ? *out : NULL);
    return err;
}

void *
__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    return count(__real_aligned_alloc(alignment, bytes));
}

void
__wrap_free(void *block)
{
    held -= malloc_usable_size(block);
    __real_free(block);
}

size_t
allocations_held_bytes(void)
{
    return held;
}

static size_t
heap_bytes(void)
{
    return mallinfo2().uordblks + mallinfo2().hblkhd;
}

void
allocations_begin(void)
{
    assert_true(allocations > 0);
    allocations_before = allocations;
    heap_before = heap_bytes();
}

void
allocations_expect_none(void)
{
    assert_int_equal(heap_bytes(), heap_before);
    assert_int_equal(allocations, allocations_before);
}
