#ifndef COMMON_OCT_COLUMNS_H
#define COMMON_OCT_COLUMNS_H

#include <stdint.h>

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

// The largest deviation of all; 1 where none is above 0, or there are no rows.
double oct_columns_largest(const oct_columns *columns);
// What numbers of column i are to be divided by: its deviation. A column that hardly varied
// (deviation below 1e-4 of the largest one, or 1e-6 of its own mean) tells nothing about its range:
// it gets the largest, so that it cannot drown the others when it does vary. 2^-60 to 2^60, so that
// products with weights stay finite.
double oct_columns_scale(const oct_columns *columns, uint32_t i, double largest);

#define OCT_COLUMNS_EXPONENT_MAX 60 // of oct_columns_scale

#endif // COMMON_OCT_COLUMNS_H
