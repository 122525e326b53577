#ifndef COMMON_OCT_COLUMNS_H
#define COMMON_OCT_COLUMNS_H

#include <stdint.h>

#include "common/oct_text.h"

// Mean and deviation of each column of rows that come in parts: sums of squared differences from
// the mean, joined as Chan, Golub and LeVeque (1979) do, in double.
//
// Threads: any. Owns: nothing. Never fails; numbers that are not finite go through.
typedef struct oct_columns {
    uint32_t count;
    double rows;
    double *mean;    // [count], borrowed
    double *squares; // [count], borrowed: sums of squared differences from mean
} oct_columns;

// Of x[rows][columns->count], rows >= 1; what columns had is overwritten.
void oct_columns_measure(oct_columns *columns, const float *x, uint32_t rows);
// Takes the rows of a part in, which has as many columns; both together have at least one row.
void oct_columns_join(oct_columns *columns, const oct_columns *part);

// What numbers of each column are to be divided by, into scale[count]: its deviation, whatever
// those of others are. Left out is a column that varied by no more than its own numbers are rounded
// by (deviation 0, or below 1e-6 of its mean), as that tells nothing about its range: it gets the
// geometric mean of the other deviations, 1 where there are none. So it does not drown the others
// when it does vary, nor do weights of inputs that never vary drown other weights. 2^-60 to 2^60,
// so that products with weights stay finite.
void oct_columns_scales(const oct_columns *columns, double *scale);

#define OCT_COLUMNS_EXPONENT_MAX 60 // of oct_columns_scales

// Adds the first few columns that are left out to text, with mean and deviation. Gives the number
// of all of them.
uint32_t oct_columns_left_out(const oct_columns *columns, oct_text *text);

#endif // COMMON_OCT_COLUMNS_H
