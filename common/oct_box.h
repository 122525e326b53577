#ifndef COMMON_OCT_BOX_H
#define COMMON_OCT_BOX_H

#include <math.h>
#include <stdbool.h>

// By how much a number of an action may exceed its bounds, as a fraction of half their range. A
// number that was scaled to [-1, 1] and back differs from the original in its last bits, so the
// exact bounds would refuse actions that were recorded at a bound. Such a number is used as it is,
// not clipped. Data sets, learners and replay/data/octet_data.py use the same tolerance. Any thread
// may call these functions.
#define OCT_BOX_TOLERANCE 1e-3f

// Returns true if a number that was scaled from its bounds to [-1, 1] is within them. NaN is: it is
// what infinite or equal bounds give.
static inline bool
oct_box_holds_unit(float unit)
{
    return !(fabsf(unit) > 1.0f + OCT_BOX_TOLERANCE);
}

// Returns true if a number is within its bounds. Infinite bounds hold every number, equal bounds
// only their own value.
static inline bool
oct_box_holds(float number, float low, float high)
{
    return oct_box_holds_unit((number - low) * (2.0f / (high - low)) - 1.0f);
}

#endif // COMMON_OCT_BOX_H
