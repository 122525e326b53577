#ifndef LEARNER_LEARNER_PART_H
#define LEARNER_LEARNER_PART_H

#include "algos/algo.h"

// Windows of a batch as bytes, for other learners of the same build.
//
// Threads: any. Owns: nothing.

// Bytes of a window's columns; 0: there is no such column.
typedef struct learner_shape {
    uint32_t B, T; // of a part
    size_t obs, next, action, reward, discount, version, extra, weight, flags;
    size_t part; // of all windows
} learner_shape;

learner_shape learner_shape_of(const policy_spec *spec, uint32_t B, uint32_t T);
// to[s->part] = B windows of batch, from first on.
void learner_part_put(const learner_shape *s, uint8_t *to, const algo_batch *batch, size_t first);
// Points into from.
algo_batch learner_part_take(const learner_shape *s, const uint8_t *from);

#endif // LEARNER_LEARNER_PART_H
