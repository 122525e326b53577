// Packs the weights of a layer into the layout that a table of kernels reads: a transposition of
// [outputs][inputs] within each group of lanes. It reads each weight from memory once.
#include "policy/policy_pack.h"

#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "policy/kernels/policy_unroll.h"

// Units of a row that are moved together. A unit is the consecutive inputs of one lane: 1, 2 or 4
// bytes. The square of sixteen lanes by sixteen units stays in L1 at any distance between rows.
#define SQUARE_UNITS 16
// A sum of this many codes fits into 16 bits: 127 * 256 < 2^15.
#define SHORT_SUM 256

const float *
policy_pack_floats(policy_block *block, const float *from, size_t count)
{
    size_t padded = policy_round_up(count, POLICY_LANES);
    float *to = policy_block_take(block, padded * sizeof(float));
    if (to != NULL) {
        memcpy(to, from, count * sizeof(float));
        memset(to + count, 0, (padded - count) * sizeof(float));
    }
    return to;
}

// Transposes rows[count][units] to to[units][lanes], with SIZE bytes in a unit and step bytes from
// unit to unit of `to`. Lanes from count are zero.
static POLICY_INLINE void
square_pack(const size_t SIZE, uint8_t *restrict to, size_t step, const uint8_t *restrict rows,
            size_t row_bytes, uint32_t count, size_t units)
{
    for (uint32_t lane = 0; lane < POLICY_LANES; lane++) {
        for (size_t u = 0; u < units; u++) {
            uint8_t *at = to + u * step + lane * SIZE;
            if (lane < count) {
                memcpy(at, rows + lane * row_bytes + u * SIZE, SIZE);
            } else {
                memset(at, 0, SIZE);
            }
        }
    }
}

// Packs one group of outputs: whole units in squares, then the last unit with its padding.
static POLICY_INLINE void
group_pack_units(const size_t SIZE, uint8_t *restrict to, size_t step, const uint8_t *restrict rows,
                 size_t row_bytes, uint32_t count)
{
    size_t units = row_bytes / SIZE, u = 0;
    for (; u + SQUARE_UNITS <= units; u += SQUARE_UNITS) {
        square_pack(SIZE, to + u * step, step, rows + u * SIZE, row_bytes, count, SQUARE_UNITS);
    }
    square_pack(SIZE, to + u * step, step, rows + u * SIZE, row_bytes, count, units - u);
    size_t tail = row_bytes % SIZE;
    if (tail > 0) {
        uint8_t *last = to + units * step;
        memset(last, 0, POLICY_LANES * SIZE);
        for (uint32_t lane = 0; lane < count; lane++) {
            memcpy(last + lane * SIZE, rows + lane * row_bytes + units * SIZE, tail);
        }
    }
}

static void
group_pack(size_t unit_bytes, uint8_t *to, size_t step, const void *rows, size_t row_bytes,
           uint32_t count)
{
    switch (unit_bytes) {
    case 1:
        group_pack_units(1, to, step, rows, row_bytes, count);
        break;
    case 2:
        group_pack_units(2, to, step, rows, row_bytes, count);
        break;
    default:
        OCT_ASSERT(unit_bytes == 4);
        group_pack_units(4, to, step, rows, row_bytes, count);
    }
}

// Returns the sum of n codes. 16-bit partial sums let the compiler use wider vectors.
static int32_t
codes_sum(const int8_t *codes, size_t n)
{
    int32_t sum = 0;
    for (size_t begin = 0; begin < n; begin += SHORT_SUM) {
        size_t end = OCT_MIN(begin + SHORT_SUM, n);
        int16_t part = 0;
        for (size_t k = begin; k < end; k++) {
            part = (int16_t)(part + codes[k]);
        }
        sum += part;
    }
    return sum;
}

// Returns the weights of the image from row j, [rows][columns].
static const void *
image_rows(const policy_image *image, uint32_t l, size_t j)
{
    size_t at = j * policy_layer_columns(&image->spec.layers[l]);
    switch (image->precision) {
    case POLICY_FP32:
        return image->weights[l] + at;
    case POLICY_BF16:
    case POLICY_FP16:
        return image->halves[l] + at;
    case POLICY_INT8:
    case POLICY_INT4:
        break;
    }
    return image->codes[l] + at;
}

// Packs the weights group after group, so that rows are read from memory once, for their sums and
// for packing. `block` groups are interleaved unit by unit. sums NULL: the precision has no row
// sums.
static void
weights_pack(uint8_t *to, int32_t *sums, const policy_image *image, uint32_t l,
             const policy_dense *dense, uint32_t lanes, size_t block, size_t unit_bytes,
             size_t row_bytes)
{
    bool is_int4 = image->precision == POLICY_INT4;
    int8_t *expanded = is_int4 ? oct_alloc(lanes * row_bytes) : NULL;
    size_t group_bytes = policy_round_up(row_bytes, unit_bytes) * lanes;
    for (uint32_t j = 0; j < dense->outputs; j += lanes) {
        uint32_t count = OCT_MIN(lanes, dense->outputs - j);
        const void *rows = image_rows(image, l, j);
        for (uint32_t i = 0; is_int4 && i < count; i++) {
            policy_image_row(image, l, j + i, expanded + i * row_bytes);
            rows = expanded;
        }
        for (uint32_t i = 0; sums != NULL && i < count; i++) {
            sums[j + i] = codes_sum((const int8_t *)rows + i * row_bytes, row_bytes);
        }
        if (lanes == 1) {
            memcpy(to + j * group_bytes, rows, row_bytes);
        } else {
            OCT_ASSERT(lanes == POLICY_LANES);
            size_t group = j / lanes, first = group / block * block, piece = unit_bytes * lanes;
            size_t beside = OCT_MIN(policy_groups(dense) - first, block);
            group_pack(unit_bytes, to + first * group_bytes + (group - first) * piece,
                       beside * piece, rows, row_bytes, count);
        }
    }
    free(expanded);
}

static size_t
precision_bytes(policy_precision precision)
{
    return policy_is_integer(precision) ? sizeof(int8_t)
           : precision == POLICY_FP32   ? sizeof(float)
                                        : sizeof(uint16_t);
}

policy_dense
policy_pack_dense(policy_block *block, const policy_image *image, uint32_t l,
                  const policy_kernels *kernels)
{
    const policy_layer *layer = &image->spec.layers[l];
    bool is_integer = policy_is_integer(image->precision);
    uint32_t unit = is_integer ? kernels->unit : 1, lanes = kernels->lanes;
    size_t aside = is_integer && kernels->block > 0 ? kernels->block : 1;
    size_t size = precision_bytes(image->precision);
    uint32_t rows = policy_layer_rows(layer), columns = policy_layer_columns(layer);
    policy_dense dense = {
        .precision = image->precision,
        .inputs = columns,
        .outputs = rows,
        .inputs_padded = (uint32_t)policy_round_up(columns, unit),
        .activation = layer->activation,
        .layer_norm = layer->layer_norm,
        .conv = layer->conv,
    };
    size_t count = policy_round_up(rows, lanes) * dense.inputs_padded;
    uint8_t *weights = policy_block_take(block, count * size);
    int32_t *sums = NULL;
    if (is_integer) {
        size_t padded = policy_round_up(rows, POLICY_LANES) * sizeof(int32_t);
        sums = policy_block_take(block, padded);
        if (sums != NULL) {
            memset(sums, 0, padded);
        }
        dense.scales = policy_pack_floats(block, image->scales[l], rows);
    }
    if (weights != NULL) {
        weights_pack(weights, sums, image, l, &dense, lanes, aside, size * unit, size * columns);
    }
    dense.weights = weights;
    dense.row_sums = sums;
    dense.bias = policy_pack_floats(block, image->bias[l], rows);
    if (layer->layer_norm) {
        dense.gain = policy_pack_floats(block, image->gain[l], rows);
        dense.offset = policy_pack_floats(block, image->offset[l], rows);
    }
    bool has_nibbles = image->precision == POLICY_INT4 && kernels->pack_q4 != NULL;
    size_t nibble_bytes = has_nibbles ? kernels->q4_bytes(&dense) : 0;
    if (nibble_bytes > 0) {
        void *nibbles = policy_block_take(block, nibble_bytes);
        if (nibbles != NULL) {
            kernels->pack_q4(&dense, image->codes[l], image->multipliers[l], nibbles);
        }
        dense.nibbles = nibbles;
    }
    return dense;
}
