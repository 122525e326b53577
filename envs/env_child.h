#ifndef ENVS_ENV_CHILD_H
#define ENVS_ENV_CHILD_H

#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"

// Calls something in a child process with a deadline, so that an environment that crashes, exits or
// hangs there does so alone.
//
// Threads: the caller's process has one thread (it forks), and no other children: what is left of
// the child's is killed when the child has ended. Owns: nothing. The child is killed when its
// parent ends.

#define ENV_CHILD_ANSWER_MAX 16384 // bytes: a pipe takes so many, whether they are read or not

// Runs in the child and fills answer, which begins as zeros.
typedef void env_child_fn(void *arg, void *answer);

// Gets what the child and its children write on standard error, as it comes. NULL: they write where
// this process does.
typedef void env_child_said_fn(void *arg, const char *bytes, size_t length);
typedef struct env_child_said {
    env_child_said_fn *take;
    void *arg;
} env_child_said;

// OCT_OK: answer[size] is whole. OCT_EINTERNAL, and reason says how the child ended instead:
// "crashed: signal 11 (Segmentation fault)", "did not return within 60.0 s".
OCT_CHECKED oct_err env_child_run(env_child_fn *fn, void *arg, void *answer, size_t size,
                                  uint32_t timeout_ms, const env_child_said *said, char *reason,
                                  size_t reason_size);

#endif // ENVS_ENV_CHILD_H
