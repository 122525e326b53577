#ifndef POLICY_POLICY_CONV_H
#define POLICY_POLICY_CONV_H

#include "policy/kernels/policy_kernels.h"
#include "policy/policy_block.h"

// A convolution by the kernels of dense layers: the numbers under each place of the filters are
// laid side by side as one row (im2col), and so many rows are multiplied by W at a time. Integer
// precisions quantise the whole map once, as a dense layer its row, so every place has its scale
// and zero point; there is no padding, so no place sees another zero than the map's.
//
// Threads: any; work belongs to one. Owns: nothing.

// What a net of this spec needs beside policy_work, per tile of POLICY_TILE_ROWS places. Nothing
// when it has no convolutions.
typedef struct policy_conv_work {
    void *patches;      // [POLICY_TILE_ROWS][columns] numbers or codes, and what a copy runs over
    float *maps;        // [POLICY_TILE_ROWS][filters padded to POLICY_LANES]
    policy_row *rows;   // [POLICY_TILE_ROWS]
    size_t patch_bytes; // most of one row of patches
    size_t map_floats;  // most of one row of maps
} policy_conv_work;

// Cut from a block: measured first, then filled (policy_block.h).
void policy_conv_work_cut(policy_conv_work *work, const policy_spec *spec, policy_block *block);

// y[R][outputs] = the layer of x[R][inputs], rows work->stride apart, zero in the padding of both.
// x may have up to a cache line read past its rows, but none past the block it is cut from.
void policy_conv_forward(const policy_kernels *kernels, const policy_dense *dense,
                         const policy_work *work, const policy_conv_work *conv_work, uint32_t R,
                         const float *x, float *y);

#endif // POLICY_POLICY_CONV_H
