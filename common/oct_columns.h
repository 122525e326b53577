#ifndef COMMON_OCT_COLUMNS_H
#define COMMON_OCT_COLUMNS_H

#include <stdint.h>

#include "common/oct_text.h"

// Computes the mean and the deviation of each column of a table whose rows arrive in parts. Each
// part has its own sums of squared differences from its mean; parts are joined by the formula of
// Chan, Golub and LeVeque (1979), in double.
//
// Threads: any. Owns: nothing. Never fails; numbers that are not finite are summed like others.
typedef struct oct_columns {
    uint32_t count;
    double rows;
    double *mean;    // [count], borrowed
    double *squares; // [count], borrowed: sums of squared differences from mean
} oct_columns;

// Measures x[rows][columns->count], rows >= 1, and overwrites what columns held.
void oct_columns_measure(oct_columns *columns, const float *x, uint32_t rows);
// Adds the rows of part, which has the same number of columns. Both together have at least one row.
void oct_columns_join(oct_columns *columns, const oct_columns *part);

// Writes the number that each column is to be divided by to scale[count]: the deviation of the
// column. A column that varied by no more than the rounding of its own numbers (deviation 0, or
// below 1e-6 of its mean) gets the geometric mean of the other deviations, or 1 if there are none:
// its own deviation says nothing about its range, and dividing by it would make the column outweigh
// all others once it varies. All scales are within 2^-60 to 2^60, so that products with weights
// stay finite.
void oct_columns_scales(const oct_columns *columns, double *scale);

#define OCT_COLUMNS_EXPONENT_MAX 60 // limits oct_columns_scales

// Adds the first few columns that did not vary to text, each with mean and deviation. Returns the
// number of all such columns.
uint32_t oct_columns_left_out(const oct_columns *columns, oct_text *text);

#endif // COMMON_OCT_COLUMNS_H
