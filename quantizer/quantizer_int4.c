// Finds the scale and the group multipliers of a row of INT4 weights: new ones (fit), or from
// earlier ones with the same scale (refit). There are two ways: from the range of each group
// (absmax, percentile), or by a search for the least sum of squared errors.
#include "quantizer/quantizer_int4.h"

#include <math.h>

#include "common/oct_base.h"
#include "common/oct_bits.h"

#define CODE_MAX     ((float)POLICY_INT4_CODE_MAX)
#define MULTIPLIERS  POLICY_MULTIPLIER_MAX
#define REACH        (POLICY_INT4_CODE_MAX * POLICY_MULTIPLIER_MAX) // largest weight, in scales
#define CUT          (CODE_MAX + 0.5f) // steps; up to CUT a weight is off by at most half a step
#define RATIO_STEPS  16                // a search tries the absmax scale * k / 16, k = 16 .. 10
#define RATIO_LEAST  10
#define RATIO_FLOOR  ((float)RATIO_LEAST / RATIO_STEPS)
#define SEARCH_LEAST 0x1p-100f // the inverse of a smaller scale may not be finite

// Returns the range of group g: its absmax or percentile.
static float
group_range(const quantizer_rows *rows, const quantizer_method *method, const quantizer_row4 *row,
            size_t g)
{
    size_t at = g * POLICY_INT4_GROUP;
    size_t count = OCT_MIN(row->inputs - at, (size_t)POLICY_INT4_GROUP);
    float most = oct_float_of(row->groups[g]);
    if (most == 0.0f || method->range != QUANTIZER_PERCENTILE) {
        return most;
    }
    return quantizer_percentile(rows, row->w + at, count, most, method->percentile);
}

// Returns the smallest multiplier whose codes reach range, or MULTIPLIERS + 1 if none does.
static uint32_t
multiplier_for(float range, float scale)
{
    float needed = range / scale / CODE_MAX;
    if (needed > (float)MULTIPLIERS) {
        return MULTIPLIERS + 1;
    }
    uint32_t whole = (uint32_t)needed;
    whole += (float)whole < needed;
    return range > 0.0f && whole == 0 ? 1 : whole;
}

// ---- ranges

// quantizer_fit4 by ranges: the group with the largest range gets the largest multiplier.
static float
range_fit(const quantizer_rows *rows, const quantizer_method *method, const quantizer_row4 *row,
          uint8_t *multipliers)
{
    size_t groups = policy_int4_groups((uint32_t)row->inputs);
    float ranges[POLICY_WIDTH_MAX / POLICY_INT4_GROUP], most = 0.0f;
    for (size_t g = 0; g < groups; g++) {
        ranges[g] = group_range(rows, method, row, g);
        most = ranges[g] > most ? ranges[g] : most;
    }
    float scale = most / REACH;
    for (size_t g = 0; g < groups; g++) {
        uint32_t m = scale > 0.0f ? multiplier_for(ranges[g], scale) : 0;
        multipliers[g] = (uint8_t)OCT_MIN(m, (uint32_t)MULTIPLIERS);
    }
    return scale;
}

// quantizer_refit4 by ranges: a group gets a new multiplier if its range is clamped by more than
// half a step, or if a smaller multiplier would do with drift to spare.
static uint32_t
range_refit(const quantizer_rows *rows, const quantizer_method *method, const quantizer_row4 *row,
            float scale, uint8_t *multipliers)
{
    size_t groups = policy_int4_groups((uint32_t)row->inputs);
    uint32_t changed = 0;
    float most = 0.0f;
    for (size_t g = 0; g < groups; g++) {
        float range = group_range(rows, method, row, g), old = (float)multipliers[g];
        most = range > most ? range : most;
        bool is_cut = range > CUT * scale * old;
        bool is_wide = range * (1.0f + method->drift) <= CODE_MAX * scale * (old - 1.0f);
        if (is_cut || is_wide) {
            uint32_t now = multiplier_for(range, scale);
            if (now > MULTIPLIERS) {
                return UINT32_MAX;
            }
            changed += now != multipliers[g];
            multipliers[g] = (uint8_t)now;
        }
    }
    return multiplier_for(most, scale) <= MULTIPLIERS / 2 ? UINT32_MAX : changed;
}

// ---- least squared error

// Returns the multiplier with the least error, the larger one of equals.
static uint32_t
best_of(const float *errors)
{
    uint32_t best = MULTIPLIERS;
    for (uint32_t m = MULTIPLIERS - 1; m > 0; m--) {
        best = errors[m - 1] < errors[best - 1] ? m : best;
    }
    return best;
}

// Sets the best multipliers for scale; returns the sum of squared errors of the row.
static double
mse_multipliers(const quantizer_rows *rows, const quantizer_row4 *row, float scale,
                uint8_t *multipliers)
{
    float inverse = 1.0f / scale;
    double sum = 0.0;
    for (size_t at = 0, g = 0; at < row->inputs; at += POLICY_INT4_GROUP, g++) {
        multipliers[g] = 0;
        if (row->groups[g] != 0) {
            float errors[QUANTIZER_SEARCH_COUNT];
            rows->search4(errors, row->w + at, OCT_MIN(row->inputs - at, (size_t)POLICY_INT4_GROUP),
                          inverse);
            multipliers[g] = (uint8_t)best_of(errors);
            sum += (double)errors[multipliers[g] - 1];
        }
    }
    return sum * (double)scale * (double)scale;
}

static float
mse_fit(const quantizer_rows *rows, const quantizer_row4 *row, uint8_t *multipliers)
{
    float whole = oct_float_of(row->most) / REACH, best = whole;
    double least = INFINITY;
    for (int k = RATIO_STEPS; k >= RATIO_LEAST; k--) {
        float scale = whole * ((float)k / RATIO_STEPS);
        double error = mse_multipliers(rows, row, scale, multipliers);
        if (error < least) {
            least = error;
            best = scale;
        }
    }
    (void)mse_multipliers(rows, row, best, multipliers);
    return best;
}

static uint32_t
mse_refit(const quantizer_rows *rows, const quantizer_method *method, const quantizer_row4 *row,
          float scale, uint8_t *multipliers)
{
    float inverse = 1.0f / scale, cut_most = REACH * (1.0f + method->drift) / RATIO_FLOOR;
    uint32_t changed = 0, largest = 0;
    if (oct_float_of(row->most) > cut_most * scale) {
        return UINT32_MAX; // no fit clamps a weight that far
    }
    for (size_t at = 0, g = 0; at < row->inputs; at += POLICY_INT4_GROUP, g++) {
        uint32_t old = multipliers[g], best = 0;
        if (row->groups[g] != 0) {
            size_t count = OCT_MIN(row->inputs - at, (size_t)POLICY_INT4_GROUP);
            float errors[QUANTIZER_SEARCH_COUNT];
            rows->search4(errors, row->w + at, count, inverse);
            best = best_of(errors);
            float tolerance = quantizer_tolerance(method, count);
            if (errors[QUANTIZER_SEARCH_COUNT - 1] * tolerance < errors[best - 1]) {
                return UINT32_MAX;
            }
            bool is_good = old > 0 && !(errors[best - 1] * tolerance < errors[old - 1]);
            best = is_good ? old : best;
        }
        multipliers[g] = (uint8_t)best;
        changed += best != old;
        largest = best > largest ? best : largest;
    }
    return largest <= MULTIPLIERS / 2 ? UINT32_MAX : changed;
}

// ---- both

// Returns true if the multipliers are found by least squared error. Tiny weights use their range.
static bool
is_searched(const quantizer_method *method, const quantizer_row4 *row)
{
    return method->range == QUANTIZER_MSE && oct_float_of(row->most) >= SEARCH_LEAST;
}

float
quantizer_fit4(const quantizer_rows *rows, const quantizer_method *method,
               const quantizer_row4 *row, uint8_t *multipliers)
{
    return is_searched(method, row) ? mse_fit(rows, row, multipliers)
                                    : range_fit(rows, method, row, multipliers);
}

uint32_t
quantizer_refit4(const quantizer_rows *rows, const quantizer_method *method,
                 const quantizer_row4 *row, float scale, uint8_t *multipliers)
{
    if (is_searched(method, row)) {
        return scale < SEARCH_LEAST / 1024.0f ? UINT32_MAX
                                              : mse_refit(rows, method, row, scale, multipliers);
    }
    return range_refit(rows, method, row, scale, multipliers);
}
