#ifndef ENVS_ENV_SPACE_H
#define ENVS_ENV_SPACE_H

#include <stdbool.h>

#include "envs/env.h"

// Rows of a space of any dtype, number by number. The space must have passed env_plugin_spec_read.
// Threads: any. Owns: nothing.

uint32_t env_space_dtype(const octet_env_space *space); // discrete: OCTET_ENV_I32
// Returns true if all numbers of a row are finite, or the index of a discrete space is in 0 .. n -
// 1.
bool env_space_is_sound(const octet_env_space *space, const void *row);
// Does the same for count rows; fast when they lie without gaps.
bool env_space_rows_are_sound(const octet_env_space *space, const void *rows, uint32_t stride,
                              uint32_t count);
// Returns what is wrong with a row that is not sound: "is not finite" or "is outside its space".
const char *env_space_fault(const octet_env_space *space);
double env_space_get(const octet_env_space *space, const void *row, uint32_t k);
void env_space_put(const octet_env_space *space, void *row, uint32_t k, double value);
// Returns the value that a double has after it is stored in a row and read back (integers aside).
double env_space_round(const octet_env_space *space, double value);

#endif // ENVS_ENV_SPACE_H
