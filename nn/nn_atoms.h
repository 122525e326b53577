#ifndef NN_NN_ATOMS_H
#define NN_NN_ATOMS_H

// What the parts of nn_categorical.c share: rows of atoms, and how many are computed side by side.

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "nn/nn_categorical.h"
#include "nn/nn_lanes.h"

// Numbers that are copied at a time.
#define COPIED 16

// A row is copied to where numbers that add nothing follow the atoms: no step ends with single
// numbers.
#define ATOMS_MAX NN_CATEGORICAL_ATOMS_MAX
static_assert(ATOMS_MAX % NN_VEC_LANES == 0, "rows are padded to whole lanes");

// Atoms with what follows them.
static inline size_t
padded_count(uint32_t N)
{
    return ((size_t)N + NN_VEC_LANES - 1) / NN_VEC_LANES * NN_VEC_LANES;
}

// Sixteen numbers at a time, the last of them together with some before: no single numbers are
// left.
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

static inline void
pad(float *restrict to, const float *restrict from, uint32_t N, float with)
{
    size_t count = padded_count(N);
    for (size_t i = count - NN_VEC_LANES; i < count; i++) {
        to[i] = with;
    }
    row_copy(to, from, N);
}

// Rows that are computed side by side; one where so many would not fit.
static inline size_t
rows_aside(size_t count)
{
    return count <= ATOMS_MAX / ROWS_ASIDE ? ROWS_ASIDE : 1;
}

#endif // NN_NN_ATOMS_H
