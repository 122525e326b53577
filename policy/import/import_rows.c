// Examines rows of observations: constant numbers, and whether all others look like random
// numbers. Observations of an environment are correlated, in time or with each other. A user who
// has none may try random ones; they show little about a policy, so the user is warned.
#include "policy/import/import_rows.h"

#include <math.h>
#include <stdlib.h>

#include "common/oct_base.h"

#define ROWS_LEAST  64   // fewer rows look like noise by chance
#define ROWS_MOST   8192 // more do not change the answer
#define COLUMNS_MAX 32   // columns whose pairs are compared
// Limit of a correlation, in its standard deviations if the numbers are independent: 1 /
// sqrt(rows) each.
#define SIGMAS 5.0

// A number that changes.
typedef struct column {
    uint32_t at; // index in a row
    double mean, deviation;
} column;

static bool
is_finite_row(const float *row, uint32_t width)
{
    for (uint32_t i = 0; i < width; i++) {
        if (!isfinite(row[i])) {
            return false;
        }
    }
    return true;
}

// Returns z[count][columns]: each column minus its mean, divided by its standard deviation.
static double *
standardise(const float *const *rows, size_t count, column *columns, uint32_t column_count)
{
    double *z = oct_alloc(count * column_count * sizeof(double));
    for (uint32_t k = 0; k < column_count; k++) {
        column *c = &columns[k];
        for (size_t r = 0; r < count; r++) {
            c->mean += (double)rows[r][c->at] / (double)count;
        }
        for (size_t r = 0; r < count; r++) {
            double d = (double)rows[r][c->at] - c->mean;
            c->deviation += d * d / (double)count;
        }
        c->deviation = sqrt(c->deviation);
        for (size_t r = 0; r < count; r++) {
            z[r * column_count + k] = ((double)rows[r][c->at] - c->mean) / c->deviation;
        }
    }
    return z;
}

// Returns the correlation of column a with column b `later` rows later.
static double
correlation(const double *z, size_t count, uint32_t columns, uint32_t a, uint32_t b, size_t later)
{
    double sum = 0.0;
    for (size_t r = 0; r + later < count; r++) {
        sum += z[r * columns + a] * z[(r + later) * columns + b];
    }
    return sum / (double)count;
}

// True if no pair of columns is correlated, and no column with itself one row later.
static bool
is_independent(const double *z, size_t count, uint32_t columns)
{
    // A column is compared with itself in the next row, and with others in the same row.
    double limit = SIGMAS / sqrt((double)count);
    for (uint32_t a = 0; a < columns; a++) {
        for (uint32_t b = a; b < columns; b++) {
            // NaN, from a column that overflows, is not noise.
            if (!(fabs(correlation(z, count, columns, a, b, a == b)) <= limit)) {
                return false;
            }
        }
    }
    return true;
}

// True if all columns have the kurtosis of a normal (3) or a uniform distribution (1.8). sqrt(24 /
// rows) is the standard deviation of a normal sample's kurtosis.
static bool
is_made_up(const double *z, size_t count, uint32_t columns)
{
    double slack = SIGMAS * sqrt(24.0 / (double)count), least = HUGE_VAL, most = 0.0;
    for (uint32_t k = 0; k < columns; k++) {
        double fourth = 0.0;
        for (size_t r = 0; r < count; r++) {
            double square = z[r * columns + k] * z[r * columns + k];
            fourth += square * square / (double)count;
        }
        least = fmin(least, fourth);
        most = fmax(most, fourth);
    }
    bool is_normal = least > 3.0 - slack && most < 3.0 + 2.0 * slack;
    return is_normal || (least > 1.8 - slack && most < 1.8 + slack);
}

static bool
is_constant(const float *const *rows, size_t count, uint32_t at)
{
    for (size_t r = 1; r < count; r++) {
        if (rows[r][at] != rows[0][at]) {
            return false;
        }
    }
    return true;
}

import_rows
import_rows_examine(const float *rows, size_t count, uint32_t width)
{
    import_rows out = {0};
    column columns[COLUMNS_MAX] = {0};
    uint32_t moving = 0;
    const float **finite = oct_alloc(OCT_MAX(count, (size_t)1) * sizeof(*finite));
    size_t kept = 0;
    for (size_t r = 0; r < count; r++) {
        if (is_finite_row(rows + r * width, width)) {
            finite[kept++] = rows + r * width;
        }
    }
    for (uint32_t i = 0; i < width && kept > 1; i++) {
        if (!is_constant(finite, kept, i)) {
            if (moving < COLUMNS_MAX) {
                columns[moving++].at = i;
            }
        } else if (out.constant_count++ < IMPORT_ROWS_NAMED) {
            out.constant[out.constant_count - 1] = i;
        }
    }
    if (kept >= ROWS_LEAST && moving >= 2) {
        size_t examined = OCT_MIN(kept, (size_t)ROWS_MOST);
        double *z = standardise(finite, examined, columns, moving);
        out.is_noise = is_independent(z, examined, moving) && is_made_up(z, examined, moving);
        free(z);
    }
    free(finite);
    return out;
}
