#ifndef ENVS_ENV_TAPE_H
#define ENVS_ENV_TAPE_H

#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"
#include "common/oct_reason.h"

// Parses two kinds of words in recorded trajectories: an observation of bits, and the random
// numbers that an environment drew during one reset or step.
//
// Threads: any. Owns: nothing; a tape its numbers, freed by env_tape_fini.
// Errors: OCT_EINVAL with what is wrong in reason (the caller adds file, line and column).

// Reads "80f" as bits 1000 0000 1111, the most significant first, one byte 0 or 1 for each. text
// must have the hexadecimal digits of whole bytes that hold count bits; the bits beyond count must
// be 0.
OCT_CHECKED oct_err env_tape_bits(uint8_t *bits, uint32_t count, const char *text, oct_reason *why);

typedef struct env_tape {
    double *draws; // [capacity], never NULL after env_tape_init
    uint32_t count, capacity;
} env_tape;

void env_tape_init(env_tape *tape);
void env_tape_fini(env_tape *tape);
// Reads "u:0.25 0.5|i:7" as 0.25, 0.5, 7: groups separated by "|"; u: uniform numbers in [0, 1), i:
// integers from 0. "" has none.
OCT_CHECKED oct_err env_tape_read(env_tape *tape, const char *text, oct_reason *why);

#endif // ENVS_ENV_TAPE_H
