#include "common/oct_base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
oct_assert_failed(const char *file, int line, const char *condition)
{
    fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, condition);
    abort();
}

// The whole alignments that hold bytes; 0 when there is no such number.
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
        fprintf(stderr, "%s:%d: out of memory: %zu bytes\n", file, line, bytes);
        abort();
    }
    return memory;
}

void *
oct_alloc_at(size_t bytes, const char *file, int line)
{
    void *memory = oct_reserve_at(64, bytes, file, line);
    memset(memory, 0, whole(64, bytes));
    return memory;
}
