#ifndef ENVS_ENV_FAILURE_H
#define ENVS_ENV_FAILURE_H

#include <math.h>
#include <stddef.h>

#include "include/octet/env.h"

// Writes the rows of environment i for a step that failed, and NaN for metrics that were not
// measured. Rows that io does not have are skipped.
//
// Threads: as io. Owns: nothing.

// Sets the metrics of an episode in which nothing was measured.
static inline void
env_failure_put_metrics(octet_env_io *io, uint32_t i, uint32_t metric_count)
{
    for (size_t k = 0; io->metrics != NULL && k < metric_count; k++) {
        io->metrics[(size_t)i * metric_count + k] = NAN;
    }
}

// Clears all metrics before a step: a metric that the environment does not write was not measured.
static inline void
env_metrics_clear(octet_env_io *io, uint32_t count, uint32_t metric_count)
{
    size_t numbers = (size_t)count * metric_count;
    for (size_t k = 0; io->metrics != NULL && k < numbers; k++) {
        io->metrics[k] = NAN;
    }
}

// Writes these flags, no reward, and an episode that does not count. Observations are unchanged.
static inline void
env_failure_put(octet_env_io *io, uint32_t i, uint32_t metric_count, uint8_t flags)
{
    env_failure_put_metrics(io, i, metric_count);
    if (io->flags != NULL) {
        io->flags[i] = flags;
    }
    if (io->reward != NULL) {
        io->reward[i] = 0;
    }
    if (io->reward64 != NULL) {
        io->reward64[i] = 0;
    }
    if (io->ep_return != NULL) {
        io->ep_return[i] = 0;
    }
    if (io->ep_length != NULL) {
        io->ep_length[i] = 0;
    }
}

#endif // ENVS_ENV_FAILURE_H
