#ifndef ENVS_GYM_ENV_GYM_PROCESS_H
#define ENVS_GYM_ENV_GYM_PROCESS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/oct_err.h"

// A Python process that steps environments (env_gym_worker.py), and the memory that it shares. It
// is started by exec, never forked from this process' state: $OCTET_PYTHON, else python3 of PATH.
// It ends when the socket is closed, and the kernel kills it when its owner dies, whatever it does.
// Processes that environments started end with it (env_gym_keeper.py).
//
// Threads: one user at a time. Owns: the process, the socket, the mapping. When one
// call of one environment (a step, a reset) takes longer than $OCTET_GYM_TIMEOUT_S (60), the
// process hangs and is killed. A process that has more memory than $OCTET_GYM_MEMORY_MB (no limit)
// after an answer is killed, too. At the start, importing and making one environment may take two
// minutes. Both variables are read when a process is started; other values than whole numbers are
// refused.
typedef struct env_gym_process {
    pid_t pid;    // the keeper, which is the worker's parent; 0: there is none
    pid_t worker; // the process that steps, which sent the last answer; 0: none came
    int socket;
    int lease;                  // the end of a pipe that nobody else has
    uint32_t calls;             // counts them
    uint32_t wait_ms, limit_mb; // of an answer; of its memory, 0: none
    uint8_t *memory;            // NULL: none yet
    size_t size;
} env_gym_process;

// The source of the worker, as env_gym_text("worker").
const char *env_gym_text(const char *name);

#define ENV_GYM_REASON_BYTES 1000

// arguments: those of the worker, 5. OCT_EINVAL with one line in reason: it cannot be started, or
// says why it cannot make the environment.
OCT_CHECKED oct_err env_gym_process_start(env_gym_process *out, const char *const *arguments,
                                          char *reason, size_t reason_size);
// One command and its answer. OCT_EINVAL: the worker refused, with its words; OCT_ECLOSED: it ended
// or hung, with how, and is gone.
OCT_CHECKED oct_err env_gym_process_call(env_gym_process *process, char command, char *reason,
                                         size_t reason_size);
// Who waits for an answer calls take a few times a second, which says whether a SIGINT has reached
// this program since it was called last. Then the signal is raised again, for the program, and each
// worker that is waited for gets one, and gives up environments that hang. NULL, as at first:
// nobody is asked. For all workers; before the first is started.
void env_gym_process_on_wait(int (*take)(void));
// Asks once. For a thread that waits for others, which wait for answers.
void env_gym_process_ask(void);
// This program is about to end: from now on no process is waited for longer than this. One that has
// not answered by then hangs, and is killed, and none is started any more. Any thread.
void env_gym_process_give_up(uint32_t wait_ms);
// Ends the process, by force if it must, and waits for it. One that was never started is a no-op.
void env_gym_process_stop(env_gym_process *process);

#endif // ENVS_GYM_ENV_GYM_PROCESS_H
