// Random actions for environments that the command line steps.

#include "cli/cli_env_actions.h"

#include <math.h>

#include "common/oct_rng.h"
#include "envs/env.h"
#include "envs/env_space.h"

void
cli_env_actions(const octet_env_space *space, uint64_t seed, uint32_t rows, uint8_t *actions)
{
    oct_rng rng;
    oct_rng_init(&rng, seed, 1);
    uint32_t bytes = env_space_bytes(space), count = env_space_count(space);
    for (uint32_t row = 0; row < rows; row++) {
        for (uint32_t k = 0; k < count; k++) {
            double low = space->low != NULL && isfinite(space->low[k]) ? space->low[k] : -1;
            double high = space->high != NULL && isfinite(space->high[k]) ? space->high[k] : 1;
            double value = space->n > 0 ? oct_rng_below(&rng, space->n)
                                        : low + (high - low) * oct_rng_double(&rng);
            env_space_put(space, actions + (size_t)row * bytes, k, value);
        }
    }
}
