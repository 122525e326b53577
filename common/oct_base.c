// Ends the program on a failed assertion or without memory, and allocates zeroed memory.
#include "common/oct_base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LINE ((size_t)64) // bytes of a cache line
// bytes of a large page on x86-64 and on Arm with pages of 4 KiB
#define LARGE_PAGE ((size_t)2 << 20)

void
oct_assert_failed(const char *file, int line, const char *condition)
{
    fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, condition);
    abort();
}

void
oct_out_of_memory_at(size_t bytes, const char *file, int line)
{
    fprintf(stderr, "%s:%d: out of memory: %zu bytes\n", file, line, bytes);
    abort();
}

// Rounds bytes up to a multiple of alignment, a power of two. Returns 0 if the sum overflows.
static size_t
whole(size_t alignment, size_t bytes)
{
    size_t rounded = (OCT_MAX(bytes, (size_t)1) + alignment - 1) & ~(alignment - 1);
    return rounded < bytes ? 0 : rounded;
}

void *
oct_reserve_at(size_t alignment, size_t bytes, const char *file, int line)
{
    void *memory = NULL;
    size_t rounded = whole(alignment, bytes);
    if (rounded == 0 || posix_memalign(&memory, alignment, rounded) != 0) {
        oct_out_of_memory_at(bytes, file, line);
    }
    return memory;
}

// Memory of less than two large pages would waste most of its last one.
static size_t
alignment_of(size_t bytes)
{
    return bytes >= 2 * LARGE_PAGE ? LARGE_PAGE : LINE;
}

size_t
oct_alloc_size(size_t bytes)
{
    return whole(alignment_of(bytes), bytes);
}

void *
oct_alloc_at(size_t bytes, const char *file, int line)
{
    size_t alignment = alignment_of(bytes);
    void *memory = oct_reserve_at(alignment, bytes, file, line);
#if defined(MADV_HUGEPAGE)
    if (alignment == LARGE_PAGE) { // a hint; only the end of the last page stays unused
        (void)madvise(memory, whole(alignment, bytes), MADV_HUGEPAGE);
    }
#endif
    memset(memory, 0, whole(LINE, bytes));
    return memory;
}
