#ifndef NN_NN_ATOMS_H
#define NN_NN_ATOMS_H

// Rows of atoms as the parts of nn_categorical.c lay them out: padded to whole lanes, and grouped
// so that several rows are computed side by side.

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "nn/nn_categorical.h"
#include "nn/nn_lanes.h"

// Numbers that row_copy and row_scaled move with one pair of vector loads and stores.
#define COPIED 16

// A row is copied into a buffer where neutral values follow its atoms, so that no loop ends with
// single numbers.
#define ATOMS_MAX NN_CATEGORICAL_ATOMS_MAX
static_assert(ATOMS_MAX % NN_VEC_LANES == 0, "rows are padded to whole lanes");

// The number of atoms, rounded up to whole lanes.
static inline size_t
padded_count(uint32_t N)
{
    return ((size_t)N + NN_VEC_LANES - 1) / NN_VEC_LANES * NN_VEC_LANES;
}

// Copies N numbers, sixteen at a time. The last sixteen overlap numbers that were copied before, so
// that no single numbers remain.
static inline void
row_copy(float *restrict to, const float *restrict from, uint32_t N)
{
    if (N < COPIED) {
        memcpy(to, from, N * sizeof(*to));
        return;
    }
    nn_lanes16 some;
    for (size_t i = 0; i + COPIED <= N; i += COPIED) {
        lanes_take(&some, from + i);
        lanes_put(to + i, &some);
    }
    lanes_take(&some, from + N - COPIED);
    lanes_put(to + N - COPIED, &some);
}

// Copies N atoms and fills the rest of the last lanes with `with`, a value that does not change the
// result.
static inline void
pad(float *restrict to, const float *restrict from, uint32_t N, float with)
{
    size_t count = padded_count(N);
    for (size_t i = count - NN_VEC_LANES; i < count; i++) {
        to[i] = with;
    }
    row_copy(to, from, N);
}

// The number of rows that are computed side by side: ROWS_ASIDE, or 1 where that many would not fit
// the buffers.
static inline size_t
rows_aside(size_t count)
{
    return count <= ATOMS_MAX / ROWS_ASIDE ? ROWS_ASIDE : 1;
}

#endif // NN_NN_ATOMS_H
