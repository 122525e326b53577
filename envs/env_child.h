#ifndef ENVS_ENV_CHILD_H
#define ENVS_ENV_CHILD_H

#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"
#include "common/oct_reason.h"

// Calls a function in a child process with a deadline, so that an environment that crashes, exits
// or hangs does so in the child only.
//
// Threads: the caller's process must have one thread, because it forks, and no other children:
// processes that the child leaves behind are killed when the child has ended. Owns: nothing. The
// child is killed when its parent ends.

#define ENV_CHILD_ANSWER_MAX 16384 // bytes; a pipe holds these even if they are not read

// Runs in the child and fills answer, which begins as zeros.
typedef void env_child_fn(void *arg, void *answer);

// Takes what the child and its children write to standard error, as it comes. NULL: they write to
// this process's standard error.
typedef void env_child_said_fn(void *arg, const char *bytes, size_t length);
typedef struct env_child_said {
    env_child_said_fn *take;
    void *arg;
} env_child_said;

// A call of fn(arg, answer).
typedef struct env_child_call {
    env_child_fn *fn;
    void *arg;
    void *answer; // [size]
    size_t size;  // at most ENV_CHILD_ANSWER_MAX
} env_child_call;

// Makes the call in a child. OCT_OK: the answer is complete. OCT_EINTERNAL: reason says how the
// child ended instead: "crashed: signal 11 (Segmentation fault)", "did not return within 60.0 s".
OCT_CHECKED oct_err env_child_run(const env_child_call *call, uint32_t timeout_ms,
                                  const env_child_said *said, oct_reason *why);

#endif // ENVS_ENV_CHILD_H
