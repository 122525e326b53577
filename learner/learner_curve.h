#ifndef LEARNER_LEARNER_CURVE_H
#define LEARNER_LEARNER_CURVE_H

#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"

// The learning curve as a picture that needs nothing else: evaluation mean with a band of one
// standard deviation over environment steps, or what else counts, and the seconds below.
//
// Threads: any. Errors: as oct_file_write.
typedef struct learner_curve_point {
    double wall_s;
    double env_steps;
    double mean;
    double std;
} learner_curve_point;

// Adds a point in the order of env_steps; one at the same env_steps is replaced (a policy that was
// looked at again, on more episodes). When count has reached room, every second point goes first:
// the picture keeps its shape. room >= 2.
void learner_curve_add(learner_curve_point *points, uint32_t *count, uint32_t room,
                       const learner_curve_point *point);

// counted: what env_steps are of ("environment steps"). threshold: a line that means solved, NaN
// for none. Replaced whole (oct_file_replace).
OCT_CHECKED oct_err learner_curve_write(const char *path, const learner_curve_point *points,
                                        size_t count, const char *title, const char *counted,
                                        double threshold);

#endif // LEARNER_LEARNER_CURVE_H
