#ifndef POLICY_KERNELS_POLICY_VNNI_ROW_H
#define POLICY_KERNELS_POLICY_VNNI_ROW_H

// The end of one integer layer for one row, shared by the files that compute its sums. Empty unless
// the including file is compiled for AVX-512.
//
// Threads: any. Owns: nothing.

#include "policy/kernels/policy_simd_avx512.h"

#ifdef POLICY_SIMD

#include "policy/kernels/policy_vnni.h"
#include "policy/kernels/policy_vnni_quantize.h"

// One row of an integer layer.
typedef struct row_job {
    const policy_dense *dense;
    uint8_t *codes; // [inputs]
    policy_row row; // their grid
    float *y;       // [outputs]
} row_job;

// Computes y[16] of group g from its sums, up to a plain ReLU, and adds the outputs to range.
static POLICY_INLINE void
row_group_finish(const row_job *job, size_t g, vint sums, vrange *range)
{
    const policy_dense *dense = job->dense;
    const policy_row *row = &job->row;
    const size_t at = g * POLICY_LANES;
    if (row->zero_point != 0) { // 0 after a ReLU, as no input is negative
        vint zero = v_set_int(row->zero_point);
        const int32_t *row_sums = dense->row_sums + at;
        sums = _mm512_sub_epi32(sums, _mm512_mullo_epi32(zero, _mm512_load_si512(row_sums)));
    }
    vfloat scale = v_mul(v_set(row->scale), v_load(dense->scales + at));
    vfloat out = v_add(v_mul(v_float(sums), scale), v_load(dense->bias + at));
    if (policy_has_plain_relu(dense)) {
        out = numbers_relu(out);
        range_add(range, out, true);
    } else {
        range_add(range, out, false);
    }
    v_store(job->y + at, out);
}

// Computes an INT4 layer from its nibbles: y = the product and the bias, then a plain ReLU. *range
// is the range of y. Overwrites codes[inputs] and, from the next multiple of 64 bytes after them,
// one int32 for each 32 inputs.
void policy_vnni_row_q4(const row_job *job, vrange *range);

#endif // POLICY_SIMD

#endif // POLICY_KERNELS_POLICY_VNNI_ROW_H
