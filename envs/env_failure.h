#ifndef ENVS_ENV_FAILURE_H
#define ENVS_ENV_FAILURE_H

#include <stddef.h>

#include "include/octet/env.h"

// What environment i answers to a step that failed: these flags, no reward, and an episode that
// nobody counts. Rows that io does not have are left out; observations stay as they are.
//
// Threads: as io. Owns: nothing.
static inline void
env_failure_put(octet_env_io *io, uint32_t i, uint8_t flags)
{
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
