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

void *
oct_alloc_at(size_t bytes, const char *file, int line)
{
    void *memory = NULL;
    size_t rounded = (OCT_MAX(bytes, (size_t)1) + 63) & ~(size_t)63;
    if (rounded < bytes || posix_memalign(&memory, 64, rounded) != 0) {
        fprintf(stderr, "%s:%d: out of memory: %zu bytes\n", file, line, bytes);
        abort();
    }
    memset(memory, 0, rounded);
    return memory;
}
