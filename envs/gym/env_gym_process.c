// A Python process that steps environments: its start, commands and answers, its end.
//
// The process that is spawned becomes the keeper, which forks the worker (env_gym_keeper.py). A
// socket carries one letter to the worker and packets back: "p" means that a call of one
// environment has returned, which restarts the time limit, "k" success and "e" a line for the
// user. The first answer also carries the shared memory. The end of a pipe (the lease) that only
// this process holds tells the keeper when this process dies.
//
// A lost process is noticed by the closed socket, by its exit while a fork of it keeps the socket
// open, or by the time limit. It is then ended in three steps: it may end by itself; SIGTERM makes
// the keeper kill everything below it; SIGKILL ends a keeper that does not react, and the kernel
// then kills the worker.
#include "envs/gym/env_gym_process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_file.h"
#include "common/oct_pulse.h"
#include "common/oct_python.h"
#include "common/oct_reason.h"

#define WORKER_SOCKET    3 // descriptors in the worker
#define WORKER_LEASE     4
#define ARGUMENTS        5   // of the worker
#define TIMEOUT_S        60u // default of one call
#define TIMEOUT_S_MAX    86400u
#define MEMORY_MB_MAX    (1u << 30)
#define TRACEBACKS_MAX   1000000u
#define MEMORY_PERIOD    64               // calls between two checks of the memory
#define END_TIMEOUT_MS   2000             // until a process that should end is killed
#define START_TIMEOUT_MS 120000           // importing a package from a slow disk takes long
#define SHARED_SIZE_MAX  ((off_t)1 << 34) // 16 GiB
#define ASK_MS           250 // between two checks for a Ctrl-C or the end of the program
#define NEVER_NS         UINT64_MAX

// Reads an environment variable with a whole number in decimal digits. Not set or empty: *value
// stays.
static oct_err
setting(const char *name, uint32_t least, uint32_t most, uint32_t *value, oct_reason *why)
{
    const char *text = getenv(name);
    if (text == NULL || text[0] == '\0') {
        return OCT_OK;
    }
    errno = 0;
    unsigned long number = strtoul(text, NULL, 10);
    if (text[strspn(text, "0123456789")] != '\0' || errno != 0 || number < least || number > most) {
        return oct_refuse(why, "%s is '%.40s'; allowed is a whole number from %u to %u", name, text,
                          least, most);
    }
    *value = (uint32_t)number;
    return OCT_OK;
}

// Reads the limits once, when a process is started: another thread may set a variable later.
static oct_err
settings_read(env_gym_process *process, oct_reason *why)
{
    // tracebacks is only checked here; the worker reads it.
    uint32_t seconds = TIMEOUT_S, tracebacks = 0;
    OCT_TRY(setting("OCTET_GYM_TIMEOUT_S", 1, TIMEOUT_S_MAX, &seconds, why));
    OCT_TRY(setting("OCTET_GYM_MEMORY_MB", 1, MEMORY_MB_MAX, &process->limit_mb, why));
    process->wait_ms = seconds * 1000;
    return setting("OCTET_GYM_TRACEBACKS", 0, TRACEBACKS_MAX, &tracebacks, why);
}

// Starts the keeper. Its standard output goes to standard error, because this program's output is
// for results. SIGINT is blocked until the worker can handle it: it would interrupt an import.
static int
spawn(pid_t *pid, int theirs, int lease, const char *const *arguments)
{
    const char *argv[ARGUMENTS + 1] = {NULL};
    memcpy(argv, arguments, ARGUMENTS * sizeof(*argv));
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t blocked;
    (void)sigemptyset(&blocked);
    (void)sigaddset(&blocked, SIGINT);
    OCT_ASSERT(posix_spawn_file_actions_init(&actions) == 0 &&
               posix_spawnattr_init(&attributes) == 0);
    OCT_ASSERT(posix_spawn_file_actions_adddup2(&actions, theirs, WORKER_SOCKET) == 0 &&
               posix_spawn_file_actions_adddup2(&actions, lease, WORKER_LEASE) == 0);
    OCT_ASSERT(posix_spawn_file_actions_adddup2(&actions, 2, 1) == 0);
    OCT_ASSERT(posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK) == 0 &&
               posix_spawnattr_setsigmask(&attributes, &blocked) == 0);
    const oct_python_start start = {.code = env_gym_text("worker"),
                                    .arguments = argv,
                                    .has_user_code = true,
                                    .actions = &actions,
                                    .attributes = &attributes};
    int failed = oct_python_spawn(pid, &start);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)posix_spawnattr_destroy(&attributes);
    return failed;
}

static int (*take_interrupt)(void);
static atomic_uint interrupts; // number of SIGINTs that take_interrupt reported

void
env_gym_process_on_wait(int (*take)(void))
{
    take_interrupt = take;
}

void
env_gym_process_ask(void)
{
    if (take_interrupt != NULL && take_interrupt() != 0) {
        (void)atomic_fetch_add(&interrupts, 1);
        (void)raise(SIGINT); // for the program, from which it was taken
    }
}

static atomic_uint_least64_t last_ns = NEVER_NS; // answers are waited for until then

void
env_gym_process_give_up(uint32_t wait_ms)
{
    atomic_store(&last_ns, oct_clock_ns() + (uint64_t)wait_ms * 1000000);
}

// True if the process has ended. It is left as a zombie, so that its status can still be read.
static bool
has_ended(pid_t pid)
{
    siginfo_t about = {0};
    return waitid(P_PID, (id_t)pid, &about, WEXITED | WNOHANG | WNOWAIT) != 0 || about.si_pid != 0;
}

// Waits for a packet or the end of the process. The socket does not show the end while a fork of
// the process holds it open. False: neither came in time. A Ctrl-C is sent to the process
// repeatedly until it answers, because Python misses a signal that arrives just before a call that
// blocks.
static bool
is_readable(const env_gym_process *process, uint32_t wait_ms)
{
    uint64_t deadline_ns = oct_clock_ns() + (uint64_t)wait_ms * 1000000;
    unsigned before = atomic_load(&interrupts);
    bool is_passed_on = false;
    for (;;) {
        uint64_t now_ns = oct_clock_ns(), end_ns = OCT_MIN(deadline_ns, atomic_load(&last_ns));
        int left_ms = now_ns < end_ns ? (int)((end_ns - now_ns) / 1000000) + 1 : 0;
        struct pollfd waiting = {.fd = process->socket, .events = POLLIN};
        int ready = poll(&waiting, 1, OCT_MIN(left_ms, ASK_MS));
        if (ready > 0 || (ready < 0 && errno != EINTR)) {
            return ready > 0;
        }
        bool has_gone = has_ended(process->pid);
        if (has_gone || left_ms == 0) {
            return has_gone;
        }
        if (!is_passed_on) {
            env_gym_process_ask();
            is_passed_on = atomic_load(&interrupts) != before;
        }
        if (is_passed_on) {
            (void)kill(process->pid, SIGINT);
        }
    }
}

// Waits for the end of a process for up to wait_ms. Polls, because waitpid has no time limit.
static bool
is_over(pid_t pid, int wait_ms, int *status)
{
    for (int waited_ms = 0; waited_ms < wait_ms; waited_ms += 10) {
        if (waitpid(pid, status, WNOHANG) != 0) {
            return true;
        }
        (void)poll(NULL, 0, 10);
    }
    return false;
}

// Waits for the end of the process for up to wait_ms, then ends it, and returns its status.
// SIGTERM lets the keeper kill the worker and everything that it started.
static int
status_of_end(pid_t pid, int wait_ms)
{
    int status = 0;
    if (is_over(pid, wait_ms, &status)) {
        return status;
    }
    (void)kill(pid, SIGTERM);
    if (is_over(pid, END_TIMEOUT_MS, &status)) {
        return status;
    }
    (void)kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

// Says how the process ended. waited_ms > 0: it did not answer in that time, and is ended here.
static oct_err
lost(env_gym_process *process, uint32_t waited_ms, oct_reason *why)
{
    int status = status_of_end(process->pid, waited_ms > 0 ? 0 : END_TIMEOUT_MS);
    if (waited_ms > 0) {
        oct_reason_set(why, "a call of one environment did not return within %u s",
                       waited_ms / 1000);
    } else if (WIFSIGNALED(status)) {
        oct_reason_set(why, "the worker crashed: signal %d (%s)", WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
    } else {
        oct_reason_set(why, "the worker exited with code %d (its output is above)",
                       WEXITSTATUS(status));
    }
    process->pid = 0;
    env_gym_process_stop(process);
    return OCT_ECLOSED;
}

// Returns the resident memory of a process in MB; 0: unknown.
static uint32_t
resident_mb(pid_t pid)
{
    char path[64];
    unsigned long pages = 0;
    snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
    FILE *file = oct_file_stream(path, "r");
    bool is_known = file != NULL && fscanf(file, "%*u %lu", &pages) == 1;
    if (file != NULL) {
        (void)fclose(file);
    }
    return is_known ? (uint32_t)(pages * (unsigned long)sysconf(_SC_PAGESIZE) >> 20) : 0;
}

// Ends a process that uses more memory than $OCTET_GYM_MEMORY_MB, before its next command.
static oct_err
memory_check(env_gym_process *process, oct_reason *why)
{
    uint32_t limit_mb = process->limit_mb;
    uint32_t used_mb =
        limit_mb > 0 && ++process->calls % MEMORY_PERIOD == 0 ? resident_mb(process->worker) : 0;
    if (used_mb <= limit_mb) {
        return OCT_OK;
    }
    (void)status_of_end(process->pid, 0);
    process->pid = 0;
    env_gym_process_stop(process);
    return oct_fail(why, OCT_ECLOSED, "the worker used %u MB, but OCTET_GYM_MEMORY_MB allows %u",
                    used_mb, limit_mb);
}

// Reads what accompanies an answer: the sender's process id, from the kernel, and in the first
// answer a descriptor, which is closed if file is NULL.
static void
control_read(env_gym_process *process, struct msghdr *message, int *file)
{
    for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header != NULL;
         header = CMSG_NXTHDR(message, header)) {
        if (header->cmsg_type == SCM_CREDENTIALS) {
            struct ucred sender;
            memcpy(&sender, CMSG_DATA(header), sizeof(sender));
            process->worker = sender.pid;
        } else if (header->cmsg_type == SCM_RIGHTS) {
            int got;
            memcpy(&got, CMSG_DATA(header), sizeof(got));
            if (file != NULL) {
                *file = got;
            } else {
                (void)close(got);
            }
        }
    }
}

// Reads one packet as a terminated text into answer, which has ENV_GYM_REASON_BYTES.
static oct_err
packet_read(env_gym_process *process, uint32_t wait_ms, int *file, char *answer, oct_reason *why)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
    } control;
    struct iovec part = {.iov_base = answer, .iov_len = ENV_GYM_REASON_BYTES - 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
    if (!is_readable(process, wait_ms)) {
        return lost(process, wait_ms, why);
    }
    ssize_t length = recvmsg(process->socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (length > 0) {
        control_read(process, &message, file);
    }
    if (length <= 0) {
        return lost(process, 0, why);
    }
    answer[length] = '\0';
    return OCT_OK;
}

// Reads the answer to a command. A packet "p" restarts the time limit, and shows the supervisor
// that this thread continues.
static oct_err
answer_read(env_gym_process *process, uint32_t wait_ms, int *file, oct_reason *why)
{
    char answer[ENV_GYM_REASON_BYTES];
    do {
        OCT_TRY(packet_read(process, wait_ms, file, answer, why));
        oct_pulse_beat_again();
    } while (answer[0] == 'p');
    if (answer[0] != 'k') {
        return oct_refuse(why, "%s", answer + 1);
    }
    return OCT_OK;
}

// Maps the shared memory, and closes file.
static oct_err
memory_map(env_gym_process *process, int file, oct_reason *why)
{
    struct stat about;
    void *memory = MAP_FAILED;
    if (file >= 0 && fstat(file, &about) == 0 && about.st_size > 0 &&
        about.st_size <= SHARED_SIZE_MAX) {
        memory = mmap(NULL, (size_t)about.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    if (file >= 0) {
        (void)close(file);
    }
    if (memory == MAP_FAILED) {
        return oct_refuse(why, "the worker cannot share memory: %s", strerror(errno));
    }
    process->memory = memory;
    process->size = (size_t)about.st_size;
    return OCT_OK;
}

// Opens socket and pipe. The worker's end of the pipe is moved above the descriptors that the
// worker gets, so that placing one there does not close the other.
static bool
links_open(env_gym_process *process, int *theirs, int *lease)
{
    static const int yes = 1;
    int ends[2], pipe_ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        return false;
    }
    bool is_open = setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes)) == 0 &&
                   pipe2(pipe_ends, O_CLOEXEC) == 0;
    if (is_open) {
        *lease = fcntl(pipe_ends[0], F_DUPFD_CLOEXEC, WORKER_LEASE + 1);
        (void)close(pipe_ends[0]);
    }
    if (!is_open || *lease < 0) {
        if (is_open) {
            (void)close(pipe_ends[1]);
        }
        (void)close(ends[0]);
        (void)close(ends[1]);
        return false;
    }
    *theirs = ends[1];
    process->socket = ends[0];
    process->lease = pipe_ends[1];
    return true;
}

// A module that was not found may be in the current folder, which is not searched.
static void
hint_add(oct_reason *reason)
{
    char here[PATH_MAX];
    oct_reason why;
    if (strstr(reason->text, "ModuleNotFoundError") != NULL &&
        oct_python_check_here(here, &why) != OCT_OK) {
        size_t used = strlen(reason->text);
        snprintf(reason->text + used, sizeof(reason->text) - used,
                 "; the current folder is not searched for modules: %s; PYTHONPATH names folders "
                 "that are",
                 why.text);
    }
}

oct_err
env_gym_process_start(env_gym_process *out, const char *const *arguments, oct_reason *why)
{
    env_gym_process process = {0};
    int theirs, lease;
    if (atomic_load(&last_ns) != NEVER_NS) {
        return oct_refuse(why, "the program ends");
    }
    OCT_TRY(settings_read(&process, why));
    if (!links_open(&process, &theirs, &lease)) {
        return oct_refuse(why, "cannot make a socket: %s", strerror(errno));
    }
    int failed = spawn(&process.pid, theirs, lease, arguments);
    (void)close(theirs);
    (void)close(lease);
    if (failed != 0) {
        char *python = oct_python_program();
        oct_reason_set(why, "%s cannot be started: %s (OCTET_PYTHON names a Python)", python,
                       strerror(failed));
        free(python);
        process.pid = 0;
        env_gym_process_stop(&process);
        return OCT_EINVAL;
    }
    int file = -1;
    oct_err err = answer_read(&process, START_TIMEOUT_MS, &file, why);
    if (err == OCT_OK) {
        err = memory_map(&process, file, why);
    }
    if (err != OCT_OK) {
        hint_add(why);
        env_gym_process_stop(&process);
        return OCT_EINVAL;
    }
    *out = process;
    return OCT_OK;
}

oct_err
env_gym_process_call(env_gym_process *process, char command, oct_reason *why)
{
    OCT_TRY(memory_check(process, why));
    if (send(process->socket, &command, 1, MSG_NOSIGNAL) != 1) {
        return lost(process, 0, why);
    }
    return answer_read(process, process->wait_ms, NULL, why);
}

void
env_gym_process_stop(env_gym_process *process)
{
    if (process->socket > 0) {
        // The worker reads the end and ends, even if a fork of it holds the socket.
        (void)shutdown(process->socket, SHUT_RDWR);
        (void)close(process->socket);
    }
    if (process->pid > 0) {
        (void)status_of_end(process->pid, END_TIMEOUT_MS);
    }
    if (process->lease > 0) {
        (void)close(process->lease);
    }
    if (process->memory != NULL) {
        (void)munmap(process->memory, process->size);
    }
    *process = (env_gym_process){0};
}
