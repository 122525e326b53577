#ifndef POLICY_KERNELS_POLICY_VNNI_H
#define POLICY_KERNELS_POLICY_VNNI_H

#include "policy/kernels/policy_kernels.h"

// The parts of policy_kernels_vnni. Their arguments mean the same as in the fields of that table.
//
// Threads: any. Owns: nothing.

#define POLICY_VNNI_UNIT  4 // codes that vpdpbusd multiplies and adds at once
#define POLICY_VNNI_BLOCK 4 // groups of outputs whose weights are side by side

// Computes one layer.
policy_layer_fn policy_vnni_layer_q8;
// Computes only the products, the bias and a plain ReLU of R <= POLICY_TILE_ROWS_MAX rows. After a
// plain ReLU, the largest number in hi[r][16] is the largest output of row r.
void policy_vnni_layer_products(const policy_dense *dense, const policy_work *work, uint32_t R,
                                float (*hi)[POLICY_LANES]);
// Compute all layers of one row, and of at most POLICY_TILE_ROWS_MAX rows.
void policy_vnni_forward_row(const policy_dense *layers, uint32_t count, const float *obs,
                             const policy_work *work, float *out);
void policy_vnni_forward_rows(const policy_dense *layers, uint32_t count, const policy_batch *obs,
                              const policy_work *work, float *out);

// INT4 weights as nibbles (policy_vnni_nibbles.c).
size_t policy_vnni_q4_bytes(const policy_dense *dense);
void policy_vnni_pack_q4(const policy_dense *dense, const int8_t *nibbles,
                         const uint8_t *multipliers, void *to);

policy_layer_fn policy_vnni_layer_f32;
policy_layer_fn policy_vnni_layer_half;

#endif // POLICY_KERNELS_POLICY_VNNI_H
