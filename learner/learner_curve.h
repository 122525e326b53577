#ifndef LEARNER_LEARNER_CURVE_H
#define LEARNER_LEARNER_CURVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"

// The learning curve as a picture in one self-contained file: the mean of each evaluation with a
// band of one standard deviation, over environment steps or another count, with the wall time in
// seconds below.
//
// Threads: any. Errors: as oct_file_write.
typedef struct learner_curve_point {
    double wall_s;
    double env_steps;
    double mean;
    double std;
} learner_curve_point;

// Adds a point in the order of env_steps. A point with the same env_steps is replaced: the policy
// was evaluated again, on more episodes. If count has reached room, every second point is dropped
// first, so that the curve keeps its shape. room >= 2.
void learner_curve_add(learner_curve_point *points, uint32_t *count, uint32_t room,
                       const learner_curve_point *point);

// Returns true if the picture should be drawn again: the points have changed since the last
// picture, by more than 1 / LEARNER_CURVE_PART of drawn. So n evaluations lead to about
// LEARNER_CURVE_PART * log(n) pictures. changes: points added so far; drawn: the value of changes
// at the last picture.
#define LEARNER_CURVE_PART 64
bool learner_curve_is_due(uint64_t changes, uint64_t drawn);

// Writes the picture; an existing file is replaced whole (oct_file_replace). counted: what
// env_steps counts ("environment steps"). threshold: the return that counts as solved, drawn as a
// line; NaN: none. Shows at most LEARNER_CURVE_SHOWN points, evenly chosen, always with the last.
#define LEARNER_CURVE_SHOWN 1024
OCT_CHECKED oct_err learner_curve_write(const char *path, const learner_curve_point *points,
                                        size_t count, const char *title, const char *counted,
                                        double threshold);

#endif // LEARNER_LEARNER_CURVE_H
