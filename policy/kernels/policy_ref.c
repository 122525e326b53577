// The scalar reference, which specifies every other table of kernels in every precision. fmaf of
// libm rounds once, with or without a CPU instruction for it.
#include "policy/kernels/policy_kernels.h"

#include <string.h>

#include "policy/policy_activate.h"
#include "policy/policy_half.h"
#include "policy/policy_math.h"

static bool
ref_is_supported(void)
{
    return true;
}

static policy_row
row_quantize(uint32_t n, const float *restrict x, uint8_t *restrict codes)
{
    float lo = 0.0f, hi = 0.0f;
    for (uint32_t i = 0; i < n; i++) {
        lo = x[i] < lo ? x[i] : lo;
        hi = x[i] > hi ? x[i] : hi;
    }
    policy_affine affine = policy_affine_of(lo, hi);
    for (uint32_t i = 0; i < n; i++) {
        int32_t code = policy_round(x[i] * affine.inverse) + affine.zero_point;
        codes[i] = (uint8_t)(code < 0 ? 0 : code > 255 ? 255 : code);
    }
    return (policy_row){.scale = affine.scale, .zero_point = affine.zero_point};
}

static void
ref_quantize(const policy_work *work, uint32_t R, uint32_t n)
{
    for (uint32_t r = 0; r < R; r++) {
        uint8_t *codes = (uint8_t *)work->codes + r * work->q_stride;
        work->rows[r] = row_quantize(n, work->x + r * work->x_stride, codes);
    }
}

// Returns the sum of the lanes as a tree: 16 to 8 to 4 to 2 to 1, each time lane i + lane i + half.
static float
lanes_sum(float lane[POLICY_NORM_LANES])
{
    for (uint32_t half = POLICY_NORM_LANES / 2; half > 0; half /= 2) {
        for (uint32_t i = 0; i < half; i++) {
            lane[i] = lane[i] + lane[i + half];
        }
    }
    return lane[0];
}

static void
row_layer_norm(uint32_t n, const float *gain, const float *offset, float *y)
{
    float lane[POLICY_NORM_LANES] = {0};
    for (uint32_t i = 0; i < n; i++) {
        lane[i % POLICY_NORM_LANES] += y[i];
    }
    float mean = lanes_sum(lane) / (float)n;
    memset(lane, 0, sizeof(lane));
    for (uint32_t i = 0; i < n; i++) {
        float d = y[i] - mean;
        lane[i % POLICY_NORM_LANES] += d * d;
    }
    float inverse = policy_norm_inverse(lanes_sum(lane), n);
    for (uint32_t i = 0; i < n; i++) {
        y[i] = ((y[i] - mean) * inverse) * gain[i] + offset[i];
    }
}

static void
row_finish(const policy_dense *dense, float *y)
{
    if (dense->layer_norm) {
        row_layer_norm(dense->outputs, dense->gain, dense->offset, y);
    }
    for (uint32_t j = 0; j < dense->outputs; j++) {
        y[j] = policy_activate(dense->activation, y[j]);
    }
}

static void
ref_layer_q8(const policy_dense *dense, const policy_work *work, uint32_t R)
{
    for (uint32_t r = 0; r < R; r++) {
        const uint8_t *q = (const uint8_t *)work->codes + r * work->q_stride;
        const policy_row *row = &work->rows[r];
        float *y = work->y + r * work->y_stride;
        for (uint32_t j = 0; j < dense->outputs; j++) {
            const int8_t *w = (const int8_t *)dense->weights + (size_t)j * dense->inputs;
            int32_t acc = 0;
            for (uint32_t k = 0; k < dense->inputs; k++) {
                acc += (int32_t)q[k] * w[k];
            }
            acc -= row->zero_point * dense->row_sums[j];
            float scale = row->scale * dense->scales[j];
            y[j] = (float)acc * scale + dense->bias[j];
        }
        row_finish(dense, y);
    }
}

static float
weight_widen(const policy_dense *dense, size_t at)
{
    switch (dense->precision) {
    case POLICY_BF16:
        return policy_bf16_to_float(((const uint16_t *)dense->weights)[at]);
    case POLICY_FP16:
        return policy_fp16_to_float(((const uint16_t *)dense->weights)[at]);
    default:
        return ((const float *)dense->weights)[at];
    }
}

// layer_f32 and layer_half.
static void
ref_layer_floats(const policy_dense *dense, const policy_work *work, uint32_t R)
{
    for (uint32_t r = 0; r < R; r++) {
        const float *x = work->x + r * work->x_stride;
        float *y = work->y + r * work->y_stride;
        for (uint32_t j = 0; j < dense->outputs; j++) {
            float chain[4] = {0};
            for (uint32_t k = 0; k < dense->inputs; k++) {
                float weight = weight_widen(dense, (size_t)j * dense->inputs + k);
                chain[k % 4] = fmaf(x[k], weight, chain[k % 4]);
            }
            float sum = (chain[0] + chain[1]) + (chain[2] + chain[3]);
            y[j] = sum + dense->bias[j];
        }
        row_finish(dense, y);
    }
}

const policy_kernels policy_kernels_ref = {
    .isa = POLICY_ISA_REF,
    .is_supported = ref_is_supported,
    .lanes = 1,
    .unit = 1,
    .code_bytes = 1,
    .quantize = ref_quantize,
    .layer_q8 = ref_layer_q8,
    .layer_f32 = ref_layer_floats,
    .layer_half = ref_layer_floats,
};
