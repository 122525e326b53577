#ifndef POLICY_POLICY_PACK_H
#define POLICY_POLICY_PACK_H

#include "policy/kernels/policy_kernels.h"
#include "policy/policy_block.h"

// Packs the layers of an image in the layout that a table of kernels reads. The memory comes from a
// block, which is first measured, then filled (policy_block.h). The functions write every byte that
// they take, including padding, so the caller need not zero the block.
//
// Threads: one thread at a time packs into one block. Owns: nothing; a policy_dense points into the
// block.

// Returns a copy of count floats, padded with zeros to POLICY_LANES, or NULL while measuring.
const float *policy_pack_floats(policy_block *block, const float *from, size_t count);

// Packs one layer of image for kernels. While measuring, the pointers of the result are NULL.

policy_dense policy_pack_dense(policy_block *block, const policy_image *image, uint32_t layer,
                               const policy_kernels *kernels);

#endif // POLICY_POLICY_PACK_H
