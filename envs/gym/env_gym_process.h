#ifndef ENVS_GYM_ENV_GYM_PROCESS_H
#define ENVS_GYM_ENV_GYM_PROCESS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/oct_err.h"
#include "common/oct_reason.h"

// A Python process that steps environments (env_gym_worker.py), and the memory that it shares. It
// is started by exec, without the state of this process: $OCTET_PYTHON, else python3 in PATH. It
// ends when its socket is closed, and the kernel kills it when this process dies. Processes that
// environments started end with it (env_gym_keeper.py).
//
// Limits, read when a process is started; values that are not whole numbers are refused:
//   $OCTET_GYM_TIMEOUT_S (60)  seconds of one call of one environment, a step or a reset; a
//     process that takes longer hangs and is killed
//   $OCTET_GYM_MEMORY_MB (none)  memory of the process, checked every 64 calls; beyond it the
//     process is killed
// Importing and making one environment may take two minutes at the start.
//
// Threads: one user at a time. Owns: the process, the socket, the mapping.
typedef struct env_gym_process {
    pid_t pid;                  // the keeper, parent of the worker; 0: no process
    pid_t worker;               // sender of the last answer; 0: none came yet
    int socket;                 // SOCK_SEQPACKET to the worker; 0: none
    int lease;                  // write end of a pipe that only this process has
    uint32_t calls;             // so far; the memory is checked at every 64th
    uint32_t wait_ms, limit_mb; // for an answer; of memory, 0: no limit
    uint8_t *memory;            // mapped; NULL before the first answer
    size_t size;                // bytes of memory
} env_gym_process;

// Returns the source of the worker, env_gym_text("worker"). The build makes it from the three .py
// files.
const char *env_gym_text(const char *name);

#define ENV_GYM_REASON_BYTES 1000

// Starts a process with the worker's 5 arguments. OCT_EINVAL, with one line in reason: it could
// not be started, or could not make the environment.
OCT_CHECKED oct_err env_gym_process_start(env_gym_process *out, const char *const *arguments,
                                          oct_reason *why);
// Sends a command ('r' or 's') and waits for the answer. With one line in reason:
//   OCT_EINVAL  the worker refused
//   OCT_ECLOSED  the process crashed, hung or used too much memory, and has been ended
OCT_CHECKED oct_err env_gym_process_call(env_gym_process *process, char command, oct_reason *why);
// Sets a function that waiting threads call a few times per second; it returns whether this
// program received a SIGINT since its last call. If so, the signal is raised again for the program
// and sent to each worker that is waited for, which abandons environments that hang. NULL (the
// default): nothing is called. For all workers; set it before the first is started.
void env_gym_process_on_wait(int (*take)(void));
// Calls that function once: for a thread that waits for other threads, which wait for answers.
void env_gym_process_ask(void);
// This program is about to end: from now on no call waits longer than wait_ms, a process without
// an answer by then is killed, and no process is started. Any thread.
void env_gym_process_give_up(uint32_t wait_ms);
// Ends the process, by force if necessary, and waits for its end. No-op if it was never started.
void env_gym_process_stop(env_gym_process *process);

#endif // ENVS_GYM_ENV_GYM_PROCESS_H
