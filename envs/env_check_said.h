#ifndef ENVS_ENV_CHECK_SAID_H
#define ENVS_ENV_CHECK_SAID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Collects what an environment writes to standard error while it is checked. Every rule opens the
// environment again, so a warning comes dozens of times: lines are counted instead of shown as they
// come. Lines that differ only in digits count as one.
//
// Threads: one. Owns: its lines. Full: distinct lines beyond ENV_CHECK_SAID_LINES are counted
// together.

#define ENV_CHECK_SAID_LINES 200
#define ENV_CHECK_SAID_BYTES 400 // of a line; the rest is cut

typedef struct env_check_line {
    char text[ENV_CHECK_SAID_BYTES]; // as it first came, without control characters
    uint64_t count;
    bool varies; // lines with other digits came, too
} env_check_line;

typedef struct env_check_said env_check_said;

env_check_said *env_check_said_create(void);
void env_check_said_destroy(env_check_said *said);
// Takes the next bytes that were written; they may begin and end within a line.
void env_check_said_take(env_check_said *said, const char *bytes, size_t length);
// Takes an unfinished line, if any, as a whole one, after its process has ended.
void env_check_said_end(env_check_said *said);
// Returns the lines in the order in which they first came. *others is the count of further lines,
// which are not kept.
const env_check_line *env_check_said_lines(const env_check_said *said, uint32_t *count,
                                           uint64_t *others);

#endif // ENVS_ENV_CHECK_SAID_H
