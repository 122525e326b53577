#ifndef POLICY_POLICY_POOL_H
#define POLICY_POLICY_POOL_H

#include "policy/kernels/policy_kernels.h"

// Computes a max pool or a mean pool (policy_spec.h), in fp32 in every precision, with the same
// code for every instruction set.
//
// Threads: any. Owns: nothing.

// y[positions][channels][lanes] = the pool of x[rows][columns][channels][lanes], before the layer's
// activation. x and y do not overlap.
void policy_pool_map(const policy_layer *layer, size_t lanes, const float *x, float *y);

// Computes work->y[R][outputs] from work->x[R][inputs]; the padding of y is zero.
void policy_pool_forward(const policy_layer *layer, const policy_work *work, uint32_t R);

#endif // POLICY_POLICY_POOL_H
