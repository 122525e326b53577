#ifndef POLICY_POLICY_PACK_H
#define POLICY_POLICY_PACK_H

#include "policy/kernels/policy_kernels.h"
#include "policy/policy_block.h"

// The layers of an image in the layout that a table of kernels wants, cut from a block: measured
// first, then filled (policy_block.h). Every byte handed out is written, padding included, so the
// block need not be zeroed before.
//
// Threads: one packs at a time into one block. Owns: nothing; the dense keeps pointers into block.

// A copy of count floats, padded with zeros to POLICY_LANES; NULL when measuring.
const float *policy_pack_floats(policy_block *block, const float *from, size_t count);

policy_dense policy_pack_dense(policy_block *block, const policy_image *image, uint32_t layer,
                               const policy_kernels *kernels);

#endif // POLICY_POLICY_PACK_H
