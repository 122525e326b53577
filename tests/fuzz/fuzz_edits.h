#ifndef TESTS_FUZZ_FUZZ_EDITS_H
#define TESTS_FUZZ_FUZZ_EDITS_H

#include <string.h>

#include "common/oct_base.h"
#include "common/oct_bytes.h"

// Files that are too large to be inputs: an input says what is changed in a good one. An edit is
// one byte (the region, and in the two upper bits how many bytes: 1, 2, 4 or 8), the place in that
// region (16 bits, modulo its size) and the new bytes.

typedef struct fuzz_region {
    uint64_t at, bytes;
} fuzz_region;

// Reads edits to the end of the input and makes them in file[length].
static inline void
fuzz_edit(uint8_t *file, uint64_t length, const fuzz_region *regions, uint32_t count,
          oct_reader *in)
{
    while (in->left >= 4) {
        uint8_t which = oct_read_u8(in);
        const fuzz_region *region = &regions[(which & 63u) % count];
        uint64_t at = region->at + oct_read_u16(in) % region->bytes;
        size_t wide = (size_t)1 << (which >> 6);
        wide = OCT_MIN(OCT_MIN(wide, in->left), (size_t)(length - at));
        memcpy(file + at, oct_read_bytes(in, wide), wide);
    }
}

#endif // TESTS_FUZZ_FUZZ_EDITS_H
