#ifndef NN_NN_CONTEXT_H
#define NN_NN_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "group/group.h"
#include "nn/nn_tile.h"

// What nets compute with and do not own: how products are done, and work spaces that all nets of
// one thread share, so that they stay in the near caches.
//
// Threads: one at a time. Contexts know nothing of each other: two threads compute side by side
// when each has one. (OpenBLAS' own thread count belongs to the process: nn_blas_init.)
// Owns: the work spaces, which grow to the largest use and stay until destroy. Whatever was made
// with a context borrows it.
typedef struct nn_context nn_context;

typedef struct nn_context_options {
    uint32_t
        threads; // as many as OpenBLAS was given: with more than one it does the large products
    // Products of 64 and more in all three sizes with inputs rounded to bfloat16 and sums in fp32:
    // relative error of a sum about 2^-9. Such products run on one thread. Where this CPU has no
    // kernels for it that are faster than fp32 (nn_tile_bf16), all products are in fp32.
    bool bf16;
    // Every product by the tiles for floats, on one thread, none by OpenBLAS: with any number of
    // threads, all CPUs that nn_context_refusal lets pass give the same bits
    // (docs/internals/numerics.md).
    bool exact;
    // Whose gradients are averaged with one's own (nn_trainer_backward); borrowed. NULL: nobody's.
    group *group;
    // What is made with it gets its shape, but no memory and no values: it may be asked for its
    // sizes, saved to measure, and destroyed. nn_context_bytes is what it would have taken.
    bool measures;
} nn_context_options;

// Why there is no context with these options: NULL, or words for a person (static storage). exact
// needs kernels whose order of sums is known (x86-64 with AVX2 and FMA), and excludes bf16, of
// which CPUs differ in the sums.
const char *nn_context_refusal(const nn_context_options *options);

// NULL: one thread, fp32. Others have no refusal.
nn_context *nn_context_create(const nn_context_options *options);
void nn_context_destroy(nn_context *context); // NULL is a no-op

uint32_t nn_context_threads(const nn_context *context);
// The kernels of bfloat16; NULL: all products are in fp32.
const nn_tile_ops *nn_context_bf16(const nn_context *context);
bool nn_context_exact(const nn_context *context);
group *nn_context_group(const nn_context *context);
bool nn_context_measures(const nn_context *context);

// oct_alloc for what is made with the context. Of one that measures: NULL; the bytes are added up.
void *nn_context_alloc(nn_context *context, size_t bytes);
// The same for group_block_make, of the context's group.
void nn_context_block(nn_context *context, group_block *out, size_t count);
// What was added up, and the work spaces.
uint64_t nn_context_bytes(const nn_context *context);

// What is in a space is needed only until the call that put it there returns.
typedef enum nn_space {
    NN_SPACE_EVEN, // rows between layers, by turns
    NN_SPACE_ODD,
    NN_SPACE_AROUND,  // rows that go around a block of layers, and their gradient (nn_net.h)
    NN_SPACE_PATCHES, // of convolutions (nn_conv.h)
    NN_SPACE_LEFT,    // packed operands of products (nn_tiled.h)
    NN_SPACE_RIGHT,
    NN_SPACE_COLUMNS, // some columns of weights (nn_tape.c)
    NN_SPACES,
} nn_space;

// At least count numbers of 32 bits, from a cache line on. Allocates, and forgets what was there,
// when the space is smaller. NULL: the context measures.
void *nn_context_space(nn_context *context, nn_space which, size_t count);

#endif // NN_NN_CONTEXT_H
