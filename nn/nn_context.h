#ifndef NN_NN_CONTEXT_H
#define NN_NN_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nn/group/group.h"
#include "nn/nn_tile.h"

// What nets compute with but do not own: the kernels for matrix products, and work spaces that all
// nets of one thread share, so that the spaces stay in the near caches.
//
// Threads: one at a time per context. Two threads can compute side by side if each has its own
// context. (The thread count of OpenBLAS belongs to the process, see nn_blas_init.)
// Owns: the work spaces, which grow to the largest use and stay until destroy. Everything that is
// made with a context borrows the context.
typedef struct nn_context nn_context;

typedef struct nn_context_options {
    // The thread count that OpenBLAS was given. If it is above 1, OpenBLAS does the large products.
    uint32_t threads;
    // Products in which all three sizes are 64 or more round their inputs to bfloat16 and sum in
    // fp32; the relative error of a sum is about 2^-9. Such a product runs on one thread. If this
    // CPU has no bfloat16 kernels that are faster than fp32 (nn_tile_bf16), all products are in
    // fp32.
    bool bf16;
    // All products run on the float tiles, on one thread, and none on OpenBLAS. Then all CPUs that
    // nn_context_refusal accepts give the same bits, with any number of threads
    // (docs/internals/numerics.md).
    bool exact;
    // The group that averages gradients (nn_trainer_backward); borrowed. NULL: this process alone.
    group *group;
    // Only measure: objects made with this context get their shapes, but no memory and no values.
    // Such an object can be asked for its sizes, saved to measure, and destroyed. nn_context_bytes
    // then returns the memory that the objects would have taken.
    bool measures;
} nn_context_options;

// Returns NULL if a context can have these options, or a message for the user that says why not
// (static storage). exact is refused on a CPU without kernels whose order of sums is known (they
// need x86-64 with AVX2 and FMA), and together with bf16, because CPUs differ in the order of
// bfloat16 sums.
const char *nn_context_refusal(const nn_context_options *options);

// options NULL: one thread, fp32, no group. nn_context_refusal must accept the options.
nn_context *nn_context_create(const nn_context_options *options);
void nn_context_destroy(nn_context *context); // NULL is a no-op

uint32_t nn_context_threads(const nn_context *context);
// Returns the bfloat16 kernels, or NULL if all products are in fp32.
const nn_tile_ops *nn_context_bf16(const nn_context *context);
bool nn_context_exact(const nn_context *context);
group *nn_context_group(const nn_context *context);
bool nn_context_measures(const nn_context *context);

// Allocates zeroed memory for an object that is made with the context, like oct_alloc. A measuring
// context returns NULL and adds up the bytes.
void *nn_context_alloc(nn_context *context, size_t bytes);
// Makes a block of count floats in the context's group, like group_block_make. A measuring context
// leaves *out empty and adds up the bytes.
void nn_context_block(nn_context *context, group_block *out, size_t count);
// Returns the bytes that a measuring context added up, plus those of the work spaces.
uint64_t nn_context_bytes(const nn_context *context);

// The work spaces. The contents of a space are needed only until the call that wrote them returns.
typedef enum nn_space {
    NN_SPACE_EVEN, // rows between layers, alternating with NN_SPACE_ODD
    NN_SPACE_ODD,
    NN_SPACE_SKIP,    // rows that bypass a block of layers, and their gradient (nn_net.h)
    NN_SPACE_PATCHES, // patches of convolutions (nn_conv.h)
    NN_SPACE_LEFT,    // packed operands A of products (nn_tiled.h)
    NN_SPACE_RIGHT,   // packed operands B
    NN_SPACE_COLUMNS, // some columns of a layer's weights (nn_tape.c)
    NN_SPACES,
} nn_space;

// Returns a space with room for at least count 32-bit numbers, aligned to a cache line. If the
// space is smaller, the call allocates a larger one and loses the contents. A measuring context
// returns NULL.
void *nn_context_space(nn_context *context, nn_space which, size_t count);

#endif // NN_NN_CONTEXT_H
