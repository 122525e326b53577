#ifndef QUANTIZER_QUANTIZER_RANGE_H
#define QUANTIZER_QUANTIZER_RANGE_H

#include "quantizer/quantizer_convert.h"
#include "quantizer/quantizer_rows.h"

// Finds the range of weights, the largest |w| that the codes must represent. The weights are
// finite.
//
// Threads: any. No allocation.

// Returns the percentile, in (50, 100], of |w|: position percentile / 100 * (count - 1) in
// ascending order, counted from 0, with linear interpolation. If that is 0, returns most, the
// largest |w|, so that the codes of a row with few weights other than 0 are not all 0.
float quantizer_percentile(const quantizer_rows *rows, const float *w, size_t count, float most,
                           double percentile);

// Weights w[count] whose largest |w| is most > 0.
typedef struct quantizer_weights {
    const float *w;
    size_t count;
    float most;
} quantizer_weights;

// INT8: returns the range of the weights. MSE tries most * k / 64 for k from 64 down to 22 and
// takes the first range with the least sum of squared errors. Weights below 2^-100 get most,
// because the search would overflow.
float quantizer_range8(const quantizer_rows *rows, const quantizer_method *method,
                       quantizer_weights of);

// INT8: returns true if the weights need a new scale instead of scale > 0.
//   ABSMAX, PERCENTILE  the range differs from that of scale by more than drift
//   MSE                 the sum of squared errors with half, 4/5, 5/4 or twice the range is smaller
//                       by more than the factor quantizer_tolerance; or scale clamps most more than
//                       any search would; or the range of scale is not within 2^-100 .. 2^100
bool quantizer_drifted8(const quantizer_rows *rows, const quantizer_method *method,
                        quantizer_weights of, float scale);

// Returns 1 + drift + 3 / sqrt(count), the factor by which a sum of squared errors must be smaller
// to justify new codes. Errors of count weights are random, so smaller differences are chance.
float quantizer_tolerance(const quantizer_method *method, size_t count);

#endif // QUANTIZER_QUANTIZER_RANGE_H
