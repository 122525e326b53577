#ifndef ENVS_ENV_SAVED_H
#define ENVS_ENV_SAVED_H

#include <stdbool.h>
#include <stdint.h>

#include "common/oct_bytes.h"
#include "common/oct_pcg64.h"

// What every environment of ours keeps of an episode besides its own state, and the beginning and
// end of a saved state; the environment's numbers lie between them. docs/internals/environments.md
// lists the bytes.
//
// Threads: any; no state. Owns: nothing.
typedef struct env_episode {
    oct_pcg64 rng;
    double episode_return; // so far, undiscounted
    uint32_t elapsed;      // steps, at most INT32_MAX, which is what ep_length holds
    uint8_t ended;         // flags at the end of the episode; 0 while it runs
} env_episode;

// Limits the steps of a state that was set or loaded, or of an episode without a time limit.
static inline uint32_t
env_episode_steps(uint32_t steps)
{
    return steps < INT32_MAX ? steps : INT32_MAX;
}

// Write and check the version and the CRC-32 of the id. False: not a state of an environment of
// that id.
void env_saved_begin(oct_writer *writer, const char *id);
bool env_saved_is_of(oct_reader *reader, const char *id);

// Write and read steps, flags, return and generator. False: more bytes follow, flags are not among
// those allowed, the return is not finite, or the generator's state is impossible.
void env_saved_end(oct_writer *writer, const env_episode *episode);
bool env_saved_read_end(oct_reader *reader, env_episode *out, uint8_t allowed_flags);

#endif // ENVS_ENV_SAVED_H
