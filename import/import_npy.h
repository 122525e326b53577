#ifndef IMPORT_IMPORT_NPY_H
#define IMPORT_IMPORT_NPY_H

#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"

// Arrays as numpy.save writes them: floats of 16, 32 and 64 bits, integers of 8 to 64 bits and
// bool, in any byte order, in C or Fortran order. Format versions 1 to 3 (NEP 1).
//
// Threads: any. Owns: numbers, until import_npy_free.

#define IMPORT_NPY_BYTES_MAX (1u << 28)
#define IMPORT_NPY_RANK_MAX  6

typedef struct import_npy {
    uint32_t rank; // 0: one number
    uint32_t shape[IMPORT_NPY_RANK_MAX];
    uint32_t rows;  // shape[0]; 1 of rank 0
    uint32_t width; // product of the other dimensions
    float *numbers; // [rows][width] in C order
} import_npy;

// OCT_EPROTO with one line in reason: no such array. bytes are not kept.
OCT_CHECKED oct_err import_npy_decode(import_npy *out, const uint8_t *bytes, size_t length,
                                      char *reason, size_t reason_size);
// The same of a file; also OCT_ENOTFOUND, OCT_EIO, OCT_EINVAL (too large).
OCT_CHECKED oct_err import_npy_load(import_npy *out, const char *path, char *reason,
                                    size_t reason_size);
void import_npy_free(import_npy *npy);

#endif // IMPORT_IMPORT_NPY_H
