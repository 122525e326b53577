#ifndef POLICY_POLICY_BLOCK_H
#define POLICY_POLICY_BLOCK_H

#include <stddef.h>
#include <stdint.h>

// One allocation that is divided into parts. The same code runs twice: first with base NULL to
// measure, then with an allocation of `used` bytes to get the parts. Parts are aligned to 64 bytes
// if base is.
//
// Threads: one user. Owns: nothing.
typedef struct policy_block {
    uint8_t *base; // NULL: measure
    size_t used;   // bytes taken so far
} policy_block;

// Takes the next part; returns NULL while measuring.

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
