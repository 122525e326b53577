#ifndef NN_NN_SPACE_H
#define NN_NN_SPACE_H

#include <stddef.h>

// Work spaces that all networks share, so that they stay in the near caches: what is in them is
// needed only until the call that put it there returns.
//
// Threads: the training thread.
// Owns: the spaces, which grow to the largest use and stay.
typedef enum nn_space {
    NN_SPACE_EVEN, // rows between layers, by turns
    NN_SPACE_ODD,
    NN_SPACE_PATCHES, // of convolutions (nn_conv.h)
    NN_SPACE_LEFT,    // packed operands of products (nn_tiled.h)
    NN_SPACE_RIGHT,
    NN_SPACES,
} nn_space;

// At least count numbers of 32 bits, from a cache line on. Allocates, and forgets what was there,
// when the space is smaller.
void *nn_space_of(nn_space which, size_t count);

#endif // NN_NN_SPACE_H
