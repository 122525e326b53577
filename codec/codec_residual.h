#ifndef CODEC_CODEC_RESIDUAL_H
#define CODEC_CODEC_RESIDUAL_H

#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"

// The entropy coder for changes of integer policies: a matrix of residuals (new code minus the code
// that the receiver predicts) as few bytes. Most residuals are small, many are zero; a weight
// changes as often as its row (unit) and its column (input) do, and in the direction of the outer
// product that a gradient is. docs/internals/wire.md has the bytes,
// docs/internals/decisions/0008-residual-coder.md why they are these.
//
// Threads: a coder belongs to one thread. Owns: its work space, made by create: no allocation
// later. Full: encode gives 0 when the bytes do not fit into capacity.
typedef struct codec_residual_coder codec_residual_coder;

// For matrices of up to weights_max residuals.
codec_residual_coder *codec_residual_coder_create(size_t weights_max);
void codec_residual_coder_destroy(codec_residual_coder *coder); // NULL is a no-op

// The most bytes that encode writes: never more than a few above rows * columns.
size_t codec_residual_bound(uint32_t rows, uint32_t columns);

// residual[rows][columns] -> out; the bytes written, 0 when they did not fit. At most 65536 rows
// and columns. Another build may find other bytes for the same residuals; every build reads them
// alike.
size_t codec_residual_encode(codec_residual_coder *coder, const int8_t *residual, uint32_t rows,
                             uint32_t columns, uint8_t *out, size_t capacity);

// OCT_EPROTO: bytes[length] are no such matrix; residual then holds anything.
OCT_CHECKED oct_err codec_residual_decode(codec_residual_coder *coder, int8_t *residual,
                                          uint32_t rows, uint32_t columns, const uint8_t *bytes,
                                          size_t length);

#endif // CODEC_CODEC_RESIDUAL_H
