#ifndef IMPORT_IMPORT_NPZ_H
#define IMPORT_IMPORT_NPZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"

// A file of numpy.savez: a zip archive with an array (import_npy.h) for each name. Entries must be
// stored as they are; those of numpy.savez_compressed are refused.
//
// Threads: any. Owns: nothing; entries are in the caller's bytes.

// Returns true if bytes begin as a zip archive does.
bool import_npz_is_zip(const uint8_t *bytes, size_t length);
// Finds the bytes of the array of that name. OCT_ENOTFOUND without a reason: there is none.
// OCT_EPROTO with one line in reason: the archive is damaged, or the entry is compressed.
OCT_CHECKED oct_err import_npz_find(const uint8_t *bytes, size_t length, const char *name,
                                    const uint8_t **array, size_t *array_length, char *reason,
                                    size_t reason_size);

#endif // IMPORT_IMPORT_NPZ_H
