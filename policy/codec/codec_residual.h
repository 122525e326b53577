#ifndef POLICY_CODEC_CODEC_RESIDUAL_H
#define POLICY_CODEC_CODEC_RESIDUAL_H

#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"

// The entropy coder for changes of integer policies. It compresses a matrix of residuals (new code
// minus the code that the receiver predicts). Most residuals are small and many are 0. The weights
// of one row (unit) or one column (input) change about equally often, and their signs are close to
// an outer product, because a gradient is a sum of few of those. docs/internals/wire.md specifies
// the bytes; docs/internals/decisions/0008-residual-coder.md gives the reasons.
//
// Threads: a coder belongs to one thread. Owns: its work space, which create reserves; no
// allocation later. Full: encode returns 0 if the bytes do not fit into capacity.
typedef struct codec_residual_coder codec_residual_coder;

// A matrix of residuals, at[rows][columns], which the caller owns. rows and columns are at most
// 65536 each.
typedef struct codec_residual_matrix {
    int8_t *at;
    uint32_t rows, columns;
} codec_residual_matrix;

// Makes a coder for matrices of up to weights_max residuals.
codec_residual_coder *codec_residual_coder_create(size_t weights_max);
void codec_residual_coder_destroy(codec_residual_coder *coder); // NULL is a no-op

// Returns the maximum of the bytes that encode writes: rows * columns + 1.
size_t codec_residual_bound(uint32_t rows, uint32_t columns);

// Encodes residual, which has at most weights_max numbers and does not change, into out. Returns
// the count of bytes, or 0 if they do not fit. Two builds may write different bytes for the same
// residuals, because the plan uses floats, but every build decodes all of them alike.
size_t codec_residual_encode(codec_residual_coder *coder, const codec_residual_matrix *residual,
                             uint8_t *out, size_t capacity);

// Decodes bytes[length] into the numbers of residual. OCT_EPROTO: the bytes do not encode a matrix
// of that size; the numbers are then undefined.
OCT_CHECKED oct_err codec_residual_decode(codec_residual_coder *coder,
                                          const codec_residual_matrix *residual,
                                          const uint8_t *bytes, size_t length);

#endif // POLICY_CODEC_CODEC_RESIDUAL_H
