#ifndef POLICY_POLICY_CONV_H
#define POLICY_POLICY_CONV_H

#include "policy/kernels/policy_kernels.h"
#include "policy/policy_block.h"

// Computes a convolution with the kernels of dense layers. The inputs under each position of the
// filters are copied into one row, a patch (im2col), and the kernels multiply POLICY_TILE_ROWS
// patches by W. Integer precisions quantise the whole map once, as a dense layer quantises its row,
// so all patches share its scale and zero point. Zeros around a map are copied around it first; in
// codes, a zero is the zero point.
//
// Threads: any; a work space belongs to one thread. Owns: nothing.

// The work space of a net in addition to policy_work, for POLICY_TILE_ROWS positions. All fields
// are 0 if the net has no convolution.
typedef struct policy_conv_work {
    void *padded;       // one map with zeros around it, numbers or codes, then slack for copies
    void *patches;      // [POLICY_TILE_ROWS][columns] numbers or codes, then slack for copies
    float *maps;        // [POLICY_TILE_ROWS][filters padded to POLICY_LANES]
    policy_row *rows;   // [POLICY_TILE_ROWS], all equal
    size_t patch_bytes; // bytes of the longest row of patches
    size_t map_floats;  // floats of the longest row of maps
} policy_conv_work;

// Takes the work space from a block, which is first measured, then filled (policy_block.h).
void policy_conv_work_cut(policy_conv_work *work, const policy_spec *spec, policy_block *block);

// Computes work->y[R][outputs] from work->x[R][inputs], where the padding of both is zero. The
// function reads up to a cache line past a row of x, but not past the block from which x was taken.
void policy_conv_forward(const policy_kernels *kernels, const policy_dense *dense,
                         const policy_work *work, const policy_conv_work *conv_work, uint32_t R);

#endif // POLICY_POLICY_CONV_H
