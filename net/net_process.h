#ifndef NET_NET_PROCESS_H
#define NET_NET_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "net/net_loop.h"

// Child processes of the supervisor. Threads: loop thread.
typedef struct net_process net_process;

// exit_status is the exit code, or 128 + signal number.
typedef void (*net_exit_fn)(void *arg, net_process *process, int exit_status);

// The descriptors under which a child finds passed_fd and failure_fd.
#define NET_PROCESS_FD         3
#define NET_PROCESS_FAILURE_FD 4

typedef struct net_process_spec {
    const char *file;             // absolute path of the executable
    const char *const *argv;      // NULL-terminated, argv[0] included
    const char *const *set_env;   // NULL-terminated "NAME=value" added to the environment, or NULL
    const char *const *unset_env; // NULL-terminated names removed, or NULL
    const char *folder;           // working folder
    const char *log_path;         // stdout and stderr are appended to this regular file
    bool own_session;             // a terminal's Ctrl-C does not reach the child
    int passed_fd;                // the child has it as NET_PROCESS_FD; 0: none
    int failure_fd;               // of oct_failure_open, for the child's errors; <= 0: none
} net_process_spec;

// Starts a child that is confined to the same folders as this process (oct_file_open.h).
// OCT_ENOTFOUND: no such executable. OCT_EIO: any other failure. Both are logged, and no process
// was started.
OCT_CHECKED oct_err net_process_start(net_process **out, net_loop *loop,
                                      const net_process_spec *spec, net_exit_fn on_exit, void *arg);
int net_process_pid(const net_process *process);
void net_process_kill(net_process *process, int signal_number);
// Frees the handle; the process must have exited.
void net_process_destroy(net_process *process);

// For a child: asks the kernel to send SIGTERM when the parent ends, and checks that the parent is
// still parent_pid. Returns false if the parent has ended already; exit then.
int net_process_follow_parent(int parent_pid);

// Starts a thread that sends this process SIGTERM when its parent has ended, even if the process
// was stopped (SIGSTOP), and ends it with exit code 1 if it still runs timeout_ms later, because no
// supervisor is left to end a process that hangs. Call once, after net_process_follow_parent. If
// the thread cannot be started, that is logged, and the kernel's SIGTERM remains.
void net_process_outlive_parent(int parent_pid, uint32_t timeout_ms);

// Returns true if SIGHUP ends this process: not if its starter had it ignored (nohup). Call before
// SIGHUP is handled. Threads: any.
bool net_process_hangs_up(void);

#endif // NET_NET_PROCESS_H
