#ifndef POLICY_KERNELS_POLICY_KERNELS_H
#define POLICY_KERNELS_POLICY_KERNELS_H

#include "policy/policy_net.h"

// The inner functions of a forward pass, one table for each instruction set. The reference is the
// specification: the others give its bits (tests/policy/test_policy_kernels.c).
//
// Threads: any. Owns: nothing. Rows are padded to POLICY_LANES floats. quantize wants 0 or NaN in
// the padding; a layer leaves that there: 0, or NaN after an overflow.

#define POLICY_LANES         16 // outputs in a block of packed weights; row padding in floats
#define POLICY_TILE_ROWS     16 // rows of the batch that go through the layers together
#define POLICY_TILE_ROWS_MAX 32 // the same for forward_q8

// One dense layer, packed: weights [outputs / lanes][inputs / unit][lanes][unit] of int8, float or
// 16-bit float, zero where padded. Of int8 a table may want some groups (of lanes outputs) side by
// side, [groups / block][inputs / unit][block][lanes][unit], the last block of as many groups as
// there are left: a row's weights are then one stream from memory. Per output arrays are padded to
// POLICY_LANES with zeros. INT4 is packed as the int8 codes that it stands for; a table with
// pack_q4 packs the nibbles as well. Of a convolution, inputs and outputs are the columns and rows
// of its weights: what the kernels multiply for each place (policy_conv.h).
typedef struct policy_dense {
    policy_precision precision;
    uint32_t inputs;
    uint32_t outputs;
    uint32_t inputs_padded; // to a multiple of unit
    policy_activation activation;
    bool layer_norm;
    const void *weights;
    const int32_t *row_sums; // INT8: sum of the codes of an output
    const float *scales;     // INT8
    const float *bias;
    const float *gain;   // layer_norm
    const float *offset; // layer_norm
    const void *nibbles; // INT4, as the table's pack_q4 laid them out; NULL without one
    policy_conv conv;    // of a convolution, else zero
} policy_dense;

// Blocks of packed weights when lanes is POLICY_LANES.
static inline size_t
policy_groups(const policy_dense *dense)
{
    return ((size_t)dense->outputs + POLICY_LANES - 1) / POLICY_LANES;
}

// Whether relu follows the bias directly, so that it can be applied where that is added.
static inline bool
policy_has_plain_relu(const policy_dense *dense)
{
    return dense->activation == POLICY_RELU && !dense->layer_norm;
}

// How one row was quantised: x = scale * (code - zero_point).
typedef struct policy_row {
    float scale;
    int32_t zero_point;
} policy_row;

// What all layers of a net work in, one tile of rows at a time.
typedef struct policy_work {
    float *x;        // [rows][stride]
    float *y;        // [rows][stride]
    size_t stride;   // floats
    void *codes;     // [rows][q_stride]
    size_t q_stride; // bytes
    policy_row *rows;
} policy_work;

// R rows of n numbers, x_stride floats apart.
typedef struct policy_kernels {
    policy_isa isa;
    bool (*is_supported)(void);
    uint32_t lanes;      // of packed weights
    uint32_t unit;       // of packed int8 weights; that of floats and halves is 1
    uint32_t block;      // groups of packed int8 weights side by side; 0: as 1
    uint32_t code_bytes; // of one quantised activation
    // codes[R][n], q_stride bytes apart; one code is code_bytes.
    void (*quantize)(uint32_t R, uint32_t n, const float *x, size_t x_stride, void *codes,
                     size_t q_stride, policy_row *rows);
    // y[R][outputs] = activation(layer_norm(scale * (W q) + bias)).
    void (*layer_q8)(const policy_dense *dense, uint32_t R, const void *codes, size_t q_stride,
                     const policy_row *rows, float *y, size_t y_stride);
    // y[R][outputs] = activation(layer_norm(W x + bias)), FP32. The sum of an output is that of
    // four chains: chain c takes the inputs k = c mod 4 in order, each by one fused multiply-add
    // from +0; then (c0 + c1) + (c2 + c3), then + bias. So all instruction sets give the same bits.
    void (*layer_f32)(const policy_dense *dense, uint32_t R, const float *x, size_t x_stride,
                      float *y, size_t y_stride);
    // The same for BF16 and FP16: the weight is widened, all else as for FP32.
    void (*layer_half)(const policy_dense *dense, uint32_t R, const float *x, size_t x_stride,
                       float *y, size_t y_stride);

    // Optional (NULL): all layers of an integer net for R <= POLICY_TILE_ROWS rows, with the bits
    // of one layer after the other. obs[R][inputs] floats, rows obs_stride bytes apart, not padded;
    // it may be work->x. out[R][outputs].
    void (*forward_q8)(const policy_dense *layers, uint32_t count, uint32_t R, const void *obs,
                       size_t obs_stride, const policy_work *work, float *out);

    // Optional (NULL): INT4 layers as nibbles too, for forward_q8 to read where that is the faster
    // one; the same bits from half the bytes. q4_bytes is 0 for a layer where it is not.
    size_t (*q4_bytes)(const policy_dense *dense);
    // nibbles[outputs][inputs] of -7..7, multipliers[outputs][policy_int4_groups(inputs)].
    void (*pack_q4)(const policy_dense *dense, const int8_t *nibbles, const uint8_t *multipliers,
                    void *to);
} policy_kernels;

extern const policy_kernels policy_kernels_ref;
extern const policy_kernels policy_kernels_avx2;    // x86-64 builds only
extern const policy_kernels policy_kernels_avxvnni; // x86-64 builds only
extern const policy_kernels policy_kernels_vnni;    // x86-64 builds only
extern const policy_kernels policy_kernels_neon;    // AArch64 builds only

// The table for isa, after OCTET_ISA for POLICY_ISA_BEST. Errors as of policy_net_create.
OCT_CHECKED oct_err policy_kernels_choose(const policy_kernels **out, policy_isa isa);

#endif // POLICY_KERNELS_POLICY_KERNELS_H
