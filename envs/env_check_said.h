#ifndef ENVS_ENV_CHECK_SAID_H
#define ENVS_ENV_CHECK_SAID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What an environment writes on its standard error while it is checked. Every rule opens it again,
// so a warning comes dozens of times: lines are counted instead of shown as they come. Lines that
// differ in digits alone count as one.
//
// Threads: one. Owns: its lines. Full: distinct lines beyond ENV_CHECK_SAID_LINES are counted
// together.

#define ENV_CHECK_SAID_LINES 200
#define ENV_CHECK_SAID_BYTES 400 // of a line; the rest is cut

typedef struct env_check_line {
    char text[ENV_CHECK_SAID_BYTES]; // as it came first, without control characters
    uint64_t count;
    bool varies; // other digits came, too
} env_check_line;

typedef struct env_check_said env_check_said;

env_check_said *env_check_said_create(void);
void env_check_said_destroy(env_check_said *said);
// Takes the next bytes that were written; lines may be cut anywhere.
void env_check_said_take(env_check_said *said, const char *bytes, size_t length);
// Takes the line that was begun, if any, as a whole one: its process has ended.
void env_check_said_end(env_check_said *said);
// The lines in the order in which they came first. *others: further lines, which are not kept.
const env_check_line *env_check_said_lines(const env_check_said *said, uint32_t *count,
                                           uint64_t *others);

#endif // ENVS_ENV_CHECK_SAID_H
