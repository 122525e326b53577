#ifndef POLICY_POLICY_BLOCK_H
#define POLICY_POLICY_BLOCK_H

#include <stddef.h>
#include <stdint.h>

// One allocation cut into 64-byte aligned parts: the same code runs twice, first with base NULL to
// measure, then to hand the parts out. Threads: one user. Owns: nothing.
typedef struct policy_block {
    uint8_t *base;
    size_t used;
} policy_block;

static inline void *
policy_block_take(policy_block *block, size_t bytes)
{
    void *part = block->base == NULL ? NULL : block->base + block->used;
    block->used += (bytes + 63) & ~(size_t)63;
    return part;
}

static inline size_t
policy_round_up(size_t n, size_t unit)
{
    return (n + unit - 1) / unit * unit;
}

#endif // POLICY_POLICY_BLOCK_H
