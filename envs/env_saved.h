#ifndef ENVS_ENV_SAVED_H
#define ENVS_ENV_SAVED_H

#include <stdbool.h>
#include <stdint.h>

#include "common/oct_bytes.h"
#include "common/oct_pcg64.h"

// What every environment of ours keeps of an episode beside its own state, and how a saved state
// begins and ends; the environment's numbers lie between. docs/internals/environments.md has the
// bytes.
//
// Threads: any; no state. Owns: nothing.
typedef struct env_episode {
    oct_pcg64 rng;
    double episode_return; // so far, undiscounted
    uint32_t elapsed;      // steps, at most INT32_MAX: what ep_length holds
    uint8_t ended;         // the flags at the end of the episode; 0 while it runs
} env_episode;

// A state that is set or loaded may have any number of steps; one without a limit gets there.
static inline uint32_t
env_episode_steps(uint32_t steps)
{
    return steps < INT32_MAX ? steps : INT32_MAX;
}

// Version and CRC-32 of the id. False: not a state of an environment of that id.
void env_saved_begin(oct_writer *writer, const char *id);
bool env_saved_is_of(oct_reader *reader, const char *id);

// Steps, flags, return, generator. False: the bytes do not end here, flags beyond those allowed, a
// return that is not finite, a generator that cannot be.
void env_saved_end(oct_writer *writer, const env_episode *episode);
bool env_saved_read_end(oct_reader *reader, env_episode *out, uint8_t allowed_flags);

#endif // ENVS_ENV_SAVED_H
