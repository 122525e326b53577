#ifndef LEARNER_LEARNER_CURVE_H
#define LEARNER_LEARNER_CURVE_H

#include <stdbool.h>
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

// Whether the picture of a run is to be drawn again: something changed since, and more than a part
// in LEARNER_CURVE_PART of all. So a run of n evaluations is drawn some LEARNER_CURVE_PART * log(n)
// times. changes: points that came so far; drawn: as many as there were in the last picture.
#define LEARNER_CURVE_PART 64
bool learner_curve_is_due(uint64_t changes, uint64_t drawn);

// counted: what env_steps are of ("environment steps"). threshold: a line that means solved, NaN
// for none. At most LEARNER_CURVE_SHOWN points, evenly chosen, the last among them. Replaced whole
// (oct_file_replace).
#define LEARNER_CURVE_SHOWN 1024
OCT_CHECKED oct_err learner_curve_write(const char *path, const learner_curve_point *points,
                                        size_t count, const char *title, const char *counted,
                                        double threshold);

#endif // LEARNER_LEARNER_CURVE_H
