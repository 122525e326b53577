#ifndef POLICY_KERNELS_POLICY_KERNELS_H
#define POLICY_KERNELS_POLICY_KERNELS_H

#include "policy/policy_net.h"

// The inner functions of a forward pass, one table for each instruction set. The reference
// (policy_ref.c) is the specification; all other tables give the same bits
// (tests/policy/test_policy_kernels.c).
//
// Threads: any. Owns: nothing. Rows are padded to POLICY_LANES floats. Precondition of quantize:
// the padding is 0 or NaN. Layers keep it so: 0, or NaN after an overflow.

#define POLICY_LANES         16 // outputs in a group of packed weights; rows are padded to it
#define POLICY_TILE_ROWS     16 // rows of the batch that pass through the layers together
#define POLICY_TILE_ROWS_MAX 32 // the same for forward_q8

// One dense layer, packed. Weights are [outputs / lanes][inputs / unit][lanes][unit] of int8, float
// or 16-bit float, padded with zeros. A group is `lanes` outputs. For int8, a table may interleave
// `block` groups: [groups / block][inputs / unit][block][lanes][unit], where the last block has the
// remaining groups. The weights of a block are then one stream from memory. Arrays with one number
// for each output are padded with zeros to POLICY_LANES.
// INT4 is packed as the int8 codes that it represents; a table with pack_q4 packs the nibbles, too.
// For a convolution, inputs and outputs are the columns and rows of its weights, which the kernels
// multiply at each output position (policy_conv.h).
typedef struct policy_dense {
    policy_precision precision;
    uint32_t inputs;
    uint32_t outputs;
    uint32_t inputs_padded; // inputs rounded up to a multiple of unit
    policy_activation activation;
    bool layer_norm;
    const void *weights;
    const int32_t *row_sums; // INT8, INT4: the sum of the codes of each output
    const float *scales;     // INT8, INT4: of each output
    const float *bias;
    const float *gain;   // NULL unless layer_norm
    const float *offset; // NULL unless layer_norm
    const void *nibbles; // INT4 weights from the table's pack_q4; NULL: this layer has none
    policy_conv conv;    // of a convolution, else zero
} policy_dense;

// Returns the count of groups if lanes is POLICY_LANES.
static inline size_t
policy_groups(const policy_dense *dense)
{
    return ((size_t)dense->outputs + POLICY_LANES - 1) / POLICY_LANES;
}

// Returns true if ReLU follows the bias directly (a plain ReLU), so that the product applies it
// when it adds the bias.
static inline bool
policy_has_plain_relu(const policy_dense *dense)
{
    return dense->activation == POLICY_RELU && !dense->layer_norm;
}

// The grid of one quantised row: x = scale * (code - zero_point).
typedef struct policy_row {
    float scale;
    int32_t zero_point;
} policy_row;

// The inputs and outputs of a layer for one tile of rows.
typedef struct policy_work {
    float *x;         // [rows][x_stride], inputs
    size_t x_stride;  // floats from row to row
    float *y;         // [rows][y_stride], outputs
    size_t y_stride;  // floats from row to row
    void *codes;      // [rows][q_stride], quantised inputs
    size_t q_stride;  // bytes from row to row
    policy_row *rows; // [rows], the grids of the codes
} policy_work;

// Rows of floats without padding, such as observations.
typedef struct policy_batch {
    const void *at; // the first row
    size_t stride;  // bytes from row to row
    uint32_t rows;
} policy_batch;

// Computes the outputs of R <= POLICY_TILE_ROWS rows: of their codes for integers, else of x.
typedef void policy_layer_fn(const policy_dense *dense, const policy_work *work, uint32_t R);

typedef struct policy_kernels {
    policy_isa isa;
    bool (*is_supported)(void); // by this CPU
    uint32_t lanes;             // outputs in a group of packed weights: POLICY_LANES or 1
    uint32_t unit;  // consecutive inputs of a lane in packed int8 weights; 1 for floats, halves
    uint32_t block; // groups of packed int8 weights that are interleaved; 0 means 1
    uint32_t code_bytes; // bytes of one quantised activation
    // Quantises x[R][n] to codes[R][n] and stores the grids in rows[R]; R <= POLICY_TILE_ROWS.
    void (*quantize)(const policy_work *work, uint32_t R, uint32_t n);
    // y[R][outputs] = activation(layer_norm(scale * (W q) + bias)).
    policy_layer_fn *layer_q8;
    // y[R][outputs] = activation(layer_norm(W x + bias)), FP32. To give the same bits with all
    // instruction sets, the sum of an output has four chains. Chain c starts at +0 and adds the
    // inputs k = c mod 4 in order, each by one fused multiply-add. The bias is added to
    // (c0 + c1) + (c2 + c3).
    policy_layer_fn *layer_f32;
    // Does the same for BF16 and FP16: each weight is widened to a float first.
    policy_layer_fn *layer_half;

    // Optional (NULL): computes all layers of an integer net for at most POLICY_TILE_ROWS_MAX rows,
    // with the same bits as layer after layer. The rows of obs may be those of work->x. Writes
    // out[rows][outputs].
    void (*forward_q8)(const policy_dense *layers, uint32_t count, const policy_batch *obs,
                       const policy_work *work, float *out);

    // Optional (NULL): the bytes of an INT4 layer as nibbles, which forward_q8 reads instead of the
    // codes if that is faster: half the bytes give the same bits. 0 for a layer where it is not
    // faster.
    size_t (*q4_bytes)(const policy_dense *dense);
    // Packs nibbles[outputs][inputs] of -7..7 and multipliers[outputs][policy_int4_groups(inputs)]
    // into `to`, which has q4_bytes bytes.
    void (*pack_q4)(const policy_dense *dense, const int8_t *nibbles, const uint8_t *multipliers,
                    void *to);
} policy_kernels;

// Computes a layer of R <= POLICY_TILE_ROWS rows, whose codes are ready if it is an integer layer.
static inline void
policy_layer_forward(const policy_kernels *kernels, const policy_dense *dense,
                     const policy_work *work, uint32_t R)
{
    policy_layer_fn *layer = dense->precision == POLICY_FP32       ? kernels->layer_f32
                             : policy_is_integer(dense->precision) ? kernels->layer_q8
                                                                   : kernels->layer_half;
    layer(dense, work, R);
}

extern const policy_kernels policy_kernels_ref;
extern const policy_kernels policy_kernels_avx2;    // x86-64 builds only
extern const policy_kernels policy_kernels_avxvnni; // x86-64 builds only
extern const policy_kernels policy_kernels_vnni;    // x86-64 builds only
extern const policy_kernels policy_kernels_neon;    // AArch64 builds only

// Finds the table for isa; for POLICY_ISA_BEST OCTET_ISA decides. Errors as policy_net_create.
OCT_CHECKED oct_err policy_kernels_choose(const policy_kernels **out, policy_isa isa);

#endif // POLICY_KERNELS_POLICY_KERNELS_H
