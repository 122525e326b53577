#ifndef POLICY_POLICY_VNNI_H
#define POLICY_POLICY_VNNI_H

#include "policy/policy_kernels.h"

// The parts of policy_kernels_vnni, of the same meaning as the fields of the table.
//
// Threads: any. Owns: nothing.

#define POLICY_VNNI_UNIT 4 // codes that vpdpbusd multiplies and adds at once

void policy_vnni_layer_rows(const policy_dense *dense, uint32_t R, const uint8_t *codes,
                            size_t q_stride, const policy_row *rows, float *y, size_t y_stride);
// All layers of one row, and of many.
void policy_vnni_forward_row(const policy_dense *layers, uint32_t count, const float *obs,
                             const policy_work *work, float *out);
void policy_vnni_forward_rows(const policy_dense *layers, uint32_t count, uint32_t R,
                              const void *obs, size_t obs_stride, const policy_work *work,
                              float *out);

void policy_vnni_layer_f32(const policy_dense *dense, uint32_t R, const float *x, size_t x_stride,
                           float *y, size_t y_stride);
void policy_vnni_layer_half(const policy_dense *dense, uint32_t R, const float *x, size_t x_stride,
                            float *y, size_t y_stride);

#endif // POLICY_POLICY_VNNI_H
