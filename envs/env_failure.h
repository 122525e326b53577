#ifndef ENVS_ENV_FAILURE_H
#define ENVS_ENV_FAILURE_H

#include <math.h>
#include <stddef.h>

#include "include/octet/env.h"

// What environment i answers to a step that failed, and what is measured where nobody says so. Rows
// that io does not have are left out.
//
// Threads: as io. Owns: nothing.

// Nothing was measured in this episode.
static inline void
env_failure_put_metrics(octet_env_io *io, uint32_t i, uint32_t metric_count)
{
    for (size_t k = 0; io->metrics != NULL && k < metric_count; k++) {
        io->metrics[(size_t)i * metric_count + k] = NAN;
    }
}

// Before a step: what an environment does not write at an end was not measured.
static inline void
env_metrics_clear(octet_env_io *io, uint32_t count, uint32_t metric_count)
{
    size_t numbers = (size_t)count * metric_count;
    for (size_t k = 0; io->metrics != NULL && k < numbers; k++) {
        io->metrics[k] = NAN;
    }
}

// These flags, no reward, and an episode that nobody counts. Observations stay as they are.
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
