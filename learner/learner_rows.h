#ifndef LEARNER_LEARNER_ROWS_H
#define LEARNER_LEARNER_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/oct_err.h"

// Old rows of metrics.csv become fewer: neighbours are joined, so that a run of any length has rows
// over all of it, the newest as they were written.
//
// A joined row says of its whole time what each of its rows said of a part: a counter or a state is
// the last value, a mean is the mean of the rows' means, each weighed by how much the counter that
// it is a mean over grew in it (a rate: seconds; a loss: updates; a return: episodes). So sums and
// means over all rows stay what they were. A counter that fell, because a run was resumed from an
// earlier point, weighs nothing in that row; when nothing weighs, the rows count alike. An empty
// cell (NaN) counts nowhere.
//
// How long joined rows are is a power of two times unit_s, the least that makes them few enough.
//
// Threads: any. Owns: nothing.

#define LEARNER_ROWS_LATEST UINT32_MAX

typedef struct learner_rows_spec {
    uint32_t columns;
    const uint32_t *over; // [columns]: the column that a mean is over, or LEARNER_ROWS_LATEST
    uint32_t wall;        // the column of seconds, whose growth is the length of a row
    double unit_s;        // > 0
    uint64_t newest;      // rows that stay as they are
    uint64_t older;       // all others become so many at most; >= 1
} learner_rows_spec;

// values: [columns].
typedef void (*learner_row_fn)(void *arg, const double *values);

// Gives fn the rows behind the header of a seekable file, old ones joined, the oldest first. A line
// that does not have as many cells as there are columns is left out. OCT_EIO: it cannot be read.
OCT_CHECKED oct_err learner_rows_join(FILE *in, const learner_rows_spec *spec, learner_row_fn fn,
                                      void *arg);

// The cells of a line of length bytes, its '\n' included, with a zero byte somewhere behind it:
// values[columns], NaN for an empty one. False: it is no such row.
bool learner_rows_parse(const char *line, size_t length, uint32_t columns, double *values);

#endif // LEARNER_LEARNER_ROWS_H
