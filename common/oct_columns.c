// Running mean and deviation of the columns of rows that come in parts, and what to divide them
// by.
#include "common/oct_columns.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define CONSTANT_SHARE      1e-4 // of the largest deviation, or of 1 where that is larger
#define CONSTANT_MEAN_SHARE 1e-6 // of the column's own mean: about the rounding of a float

void
oct_columns_measure(oct_columns *columns, const float *x, uint32_t rows)
{
    const uint32_t count = columns->count;
    double *restrict mean = columns->mean, *restrict squares = columns->squares;
    memset(mean, 0, count * sizeof(*mean));
    memset(squares, 0, count * sizeof(*squares));
    columns->rows = rows;
    for (uint32_t r = 0; r < rows; r++) {
        const float *restrict row = x + (size_t)r * count;
        for (uint32_t i = 0; i < count; i++) {
            mean[i] += (double)row[i];
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        mean[i] /= rows;
    }
    for (uint32_t r = 0; r < rows; r++) {
        const float *restrict row = x + (size_t)r * count;
        for (uint32_t i = 0; i < count; i++) {
            double d = (double)row[i] - mean[i];
            squares[i] += d * d;
        }
    }
}

void
oct_columns_join(oct_columns *columns, const oct_columns *part)
{
    double before = columns->rows, all = before + part->rows;
    for (uint32_t i = 0; i < columns->count; i++) {
        double d = part->mean[i] - columns->mean[i];
        columns->mean[i] += d * (part->rows / all);
        columns->squares[i] += part->squares[i] + d * d * (before * part->rows / all);
    }
    columns->rows = all;
}

static double
deviation_of(const oct_columns *columns, uint32_t i)
{
    return sqrt(columns->squares[i] / fmax(columns->rows, 1.0));
}

// What a column's deviation must have for it to have varied, where the largest one is this.
static double
least_of(const oct_columns *columns, uint32_t i, double largest)
{
    double least = CONSTANT_SHARE * fmin(largest, 1.0);
    return fmax(least, CONSTANT_MEAN_SHARE * fabs(columns->mean[i]));
}

void
oct_columns_scales(const oct_columns *columns, double *scale)
{
    double largest = 0.0, logs = 0.0;
    for (uint32_t i = 0; i < columns->count; i++) {
        scale[i] = deviation_of(columns, i);
        largest = fmax(largest, scale[i]);
    }
    uint32_t varied = 0;
    for (uint32_t i = 0; i < columns->count; i++) {
        bool has_varied = scale[i] > 0 && scale[i] >= least_of(columns, i, largest);
        logs += has_varied ? log(scale[i]) : 0.0;
        varied += has_varied;
        scale[i] = has_varied ? scale[i] : 0.0;
    }
    double typical = varied > 0 ? exp(logs / varied) : 1.0;
    for (uint32_t i = 0; i < columns->count; i++) {
        scale[i] =
            fmax(ldexp(1.0, -OCT_COLUMNS_EXPONENT_MAX),
                 fmin(ldexp(1.0, OCT_COLUMNS_EXPONENT_MAX), scale[i] > 0 ? scale[i] : typical));
    }
}
