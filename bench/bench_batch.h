#ifndef BENCH_BENCH_BATCH_H
#define BENCH_BENCH_BATCH_H

#include "algos/algo.h"
#include "common/oct_rng.h"

// Batches of random numbers, as replay would give them to a learner.

// count numbers from low to high; the caller frees them.
float *bench_floats(oct_rng *rng, size_t count, float low, float high);

// B windows of spec, which is an algorithm's own, to be freed with bench_batch_free. T 0:
// transitions, every tenth of which ends an episode. Otherwise rollouts, as the first policy of
// algo.initial_deviation 1 would act: steps rows of T have an action, and end rows follow.
void bench_batch_make(algo_batch *out, oct_rng *rng, const policy_spec *spec, uint32_t B,
                      uint32_t T, uint32_t steps);
void bench_batch_free(algo_batch *batch);

#endif // BENCH_BENCH_BATCH_H
