#ifndef QUANTIZER_QUANTIZER_RANGE_H
#define QUANTIZER_QUANTIZER_RANGE_H

#include "quantizer/quantizer_convert.h"
#include "quantizer/quantizer_rows.h"

// How far a row's codes have to reach. The weights are finite.
//
// Threads: any. No allocation.

// The percentile (in (50, 100]) of |w|: between the order statistics on both sides of position
// percentile / 100 * (count - 1), counted from 0, in proportion. The largest |w| (most) when that
// is 0: a row is not all zero because most of it is.
float quantizer_percentile(const quantizer_rows *rows, const float *w, size_t count, float most,
                           double percentile);

// INT8: the range of weights whose largest |w| is most > 0. MSE tries most * k / 64 for k from 64
// down to 22 and takes the first with the least sum of squared errors.
float quantizer_range8(const quantizer_rows *rows, const quantizer_method *method, const float *w,
                       size_t count, float most);

// INT8: whether weights with the largest |w| = most > 0 have moved away from scale > 0.
//   ABSMAX, PERCENTILE  the range is larger or smaller than the scale's by more than drift
//   MSE                 half, 4/5, 5/4 or twice the range would have a sum of squared errors that
//                       is less by more than the factor quantizer_tolerance, or most is further
//                       out than any search leaves it
bool quantizer_drifted8(const quantizer_rows *rows, const quantizer_method *method, const float *w,
                        size_t count, float most, float scale);

// 1 + drift + 3 / sqrt(count): the sum of the squared errors of count weights is a sum of chance,
// and a better one is not worth new codes before it is better by more than that.
float quantizer_tolerance(const quantizer_method *method, size_t count);

#endif // QUANTIZER_QUANTIZER_RANGE_H
