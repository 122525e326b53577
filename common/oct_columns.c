// Computes running means and deviations of columns whose rows arrive in parts, and the scales to
// divide the columns by.
#include "common/oct_columns.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define ROUNDING  1e-6 // part of a column's mean: eight rounding steps of a float
#define NAMED_MAX 8u   // columns that oct_columns_left_out names; the others are only counted

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
    // A second pass over the rows: sums of squares minus squared sums would cancel.
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

// Returns true if a column's deviation is more than the rounding of its numbers explains.
static bool
has_varied(const oct_columns *columns, uint32_t i)
{
    double deviation = deviation_of(columns, i);
    return deviation > 0 && deviation >= ROUNDING * fabs(columns->mean[i]);
}

void
oct_columns_scales(const oct_columns *columns, double *scale)
{
    double logs = 0.0;
    uint32_t varied = 0;
    for (uint32_t i = 0; i < columns->count; i++) {
        scale[i] = has_varied(columns, i) ? deviation_of(columns, i) : 0.0;
        logs += scale[i] > 0 ? log(scale[i]) : 0.0;
        varied += scale[i] > 0;
    }
    double typical = varied > 0 ? exp(logs / varied) : 1.0; // geometric mean
    for (uint32_t i = 0; i < columns->count; i++) {
        scale[i] =
            fmax(ldexp(1.0, -OCT_COLUMNS_EXPONENT_MAX),
                 fmin(ldexp(1.0, OCT_COLUMNS_EXPONENT_MAX), scale[i] > 0 ? scale[i] : typical));
    }
}

uint32_t
oct_columns_left_out(const oct_columns *columns, oct_text *text)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < columns->count; i++) {
        if (!has_varied(columns, i) && count++ < NAMED_MAX) {
            oct_text_add(text, "%s%" PRIu32 " (mean %.9g, deviation %.3g)", count > 1 ? ", " : "",
                         i, columns->mean[i], deviation_of(columns, i));
        }
    }
    if (count > NAMED_MAX) {
        oct_text_add(text, " and %" PRIu32 " more", count - NAMED_MAX);
    }
    return count;
}
