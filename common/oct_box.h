#ifndef COMMON_OCT_BOX_H
#define COMMON_OCT_BOX_H

#include <math.h>
#include <stdbool.h>

// How far a number of an action may be beyond its bounds and still be within them, as a part of
// half their range: a number that went through a scale and back is not the same to the last bit.
// It is taken as it is, not cut. Data sets, learners and data/octet_data.py all judge by it.
// Threads: any.
#define OCT_BOX_TOLERANCE 1e-3f

// Of a number that was scaled from its bounds to [-1, 1]; what is not a number has no bounds.
static inline bool
oct_box_holds_unit(float unit)
{
    return !(fabsf(unit) > 1.0f + OCT_BOX_TOLERANCE);
}

// Infinite bounds hold every number, equal ones their own.
static inline bool
oct_box_holds(float number, float low, float high)
{
    return oct_box_holds_unit((number - low) * (2.0f / (high - low)) - 1.0f);
}

#endif // COMMON_OCT_BOX_H
