#ifndef LEARNER_LEARNER_BATCH_BYTES_H
#define LEARNER_LEARNER_BATCH_BYTES_H

#include "algos/algo.h"

// Windows of a batch as bytes, for other learners of the same build: one column behind the other.
//
// Threads: any. Owns: nothing.

// Bytes of each column of a window; 0: the windows do not have this column.
typedef struct learner_shape {
    uint32_t B, T; // of the windows that are copied, as algo_batch
    size_t obs, next, action, reward, discount, version, extra, weight, flags;
    size_t part; // of all B windows
} learner_shape;

learner_shape learner_shape_of(const policy_spec *spec, uint32_t B, uint32_t T);
// Copies B windows of batch, from first on, to to [s->part].
void learner_batch_bytes_put(const learner_shape *s, uint8_t *to, const algo_batch *batch,
                             size_t first);
// Returns a batch whose columns point into from.
algo_batch learner_batch_bytes_take(const learner_shape *s, const uint8_t *from);

#endif // LEARNER_LEARNER_BATCH_BYTES_H
