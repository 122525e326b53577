#include "nn/nn_space.h"

#include <stdint.h>
#include <stdlib.h>

#include "common/oct_base.h"

#define LINE 64 // bytes of a cache line

static struct {
    void *block;
    void *first;
    size_t room;
} spaces[NN_SPACES];

void *
nn_space_of(nn_space which, size_t count)
{
    if (spaces[which].room < count) {
        free(spaces[which].block);
        char *block = oct_alloc(count * sizeof(uint32_t) + LINE);
        spaces[which].block = block;
        spaces[which].first = block + (LINE - (uintptr_t)block % LINE) % LINE;
        spaces[which].room = count;
    }
    return spaces[which].first;
}
