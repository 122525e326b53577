// Contexts: the settings that choose kernels, and the work spaces that nets share.
#include "nn/nn_context.h"

#include <stdlib.h>

#include "common/oct_base.h"

#define LINE 64 // bytes in a cache line

struct nn_context {
    uint32_t threads;
    const nn_tile_ops *bf16;
    bool exact;
    bool measures;
    uint64_t measured; // bytes of a measuring context, without the spaces
    group *group;
    struct {
        void *block; // allocated
        void *first; // the first cache line in block
        size_t room; // 32-bit numbers from first on
    } spaces[NN_SPACES];
};

// Bytes for count numbers that start at the next cache line.
static size_t
space_bytes(size_t count)
{
    return count * sizeof(uint32_t) + LINE;
}

const char *
nn_context_refusal(const nn_context_options *options)
{
    if (options->exact && nn_tile_float() == NULL) {
        return "it needs an x86-64 CPU with AVX2 and FMA, which this machine does not have";
    }
    if (options->exact && options->bf16) {
        return "bfloat16 products differ between CPUs: set learner.bf16 to false";
    }
    return NULL;
}

nn_context *
nn_context_create(const nn_context_options *options)
{
    OCT_ASSERT(options == NULL || nn_context_refusal(options) == NULL);
    nn_context *context = oct_alloc(sizeof(*context));
    context->threads = options != NULL ? options->threads : 1;
    context->bf16 = options != NULL && options->bf16 ? nn_tile_bf16() : NULL;
    context->exact = options != NULL && options->exact;
    context->group = options != NULL ? options->group : NULL;
    context->measures = options != NULL && options->measures;
    OCT_ASSERT(context->threads >= 1);
    return context;
}

void
nn_context_destroy(nn_context *context)
{
    if (context == NULL) {
        return;
    }
    for (int i = 0; i < NN_SPACES; i++) {
        free(context->spaces[i].block);
    }
    free(context);
}

uint32_t
nn_context_threads(const nn_context *context)
{
    return context->threads;
}

const nn_tile_ops *
nn_context_bf16(const nn_context *context)
{
    return context->bf16;
}

bool
nn_context_exact(const nn_context *context)
{
    return context->exact;
}

group *
nn_context_group(const nn_context *context)
{
    return context->group;
}

bool
nn_context_measures(const nn_context *context)
{
    return context->measures;
}

void *
nn_context_alloc(nn_context *context, size_t bytes)
{
    if (!context->measures) {
        return oct_alloc(bytes);
    }
    context->measured += oct_alloc_size(bytes);
    return NULL;
}

void
nn_context_block(nn_context *context, group_block *out, size_t count)
{
    if (!context->measures) {
        group_block_make(out, context->group, count);
        return;
    }
    *out = (group_block){0};
    context->measured += oct_alloc_size(count * sizeof(float));
}

uint64_t
nn_context_bytes(const nn_context *context)
{
    uint64_t bytes = context->measured;
    for (int i = 0; i < NN_SPACES; i++) {
        size_t room = context->spaces[i].room;
        bytes += room > 0 ? oct_alloc_size(space_bytes(room)) : 0;
    }
    return bytes;
}

void *
nn_context_space(nn_context *context, nn_space which, size_t count)
{
    if (context->measures) {
        context->spaces[which].room = OCT_MAX(context->spaces[which].room, count);
    } else if (context->spaces[which].room < count) {
        free(context->spaces[which].block);
        char *block = oct_alloc(space_bytes(count));
        context->spaces[which].block = block;
        context->spaces[which].first = block + (LINE - (uintptr_t)block % LINE) % LINE;
        context->spaces[which].room = count;
    }
    return context->spaces[which].first;
}
