#ifndef POLICY_IMPORT_IMPORT_NPY_H
#define POLICY_IMPORT_IMPORT_NPY_H

#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"
#include "common/oct_reason.h"

// Arrays as numpy.save writes them: floats of 16, 32 and 64 bits, integers of 8 to 64 bits and
// bool, in any byte order, in C or Fortran order. Format versions 1 to 3 (NEP 1).
//
// Threads: any. Owns: numbers, until import_npy_free.

#define IMPORT_NPY_BYTES_MAX (1u << 28) // of a file
#define IMPORT_NPY_RANK_MAX  6

// An array, converted to float.
typedef struct import_npy {
    uint32_t rank; // 0: a single number
    uint32_t shape[IMPORT_NPY_RANK_MAX];
    uint32_t rows;  // shape[0]; 1 if rank is 0
    uint32_t width; // product of the other dimensions
    float *numbers; // [rows][width] in C order
} import_npy;

// Decodes an array; bytes are not kept. OCT_EPROTO, with one line in reason: not such an array.
OCT_CHECKED oct_err import_npy_decode(import_npy *out, const uint8_t *bytes, size_t length,
                                      oct_reason *why);
// Reads a file. Also OCT_ENOTFOUND, OCT_EIO, and OCT_EINVAL (too large).
OCT_CHECKED oct_err import_npy_load(import_npy *out, const char *path, oct_reason *why);
void import_npy_free(import_npy *npy);

#endif // POLICY_IMPORT_IMPORT_NPY_H
