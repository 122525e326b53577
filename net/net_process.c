// Starts and watches the child processes of the supervisor, and lets a child end with its parent.
#include "net/net_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_failure.h"
#include "common/oct_file.h"
#include "common/oct_log.h"
#include "common/oct_thread.h"
#include "net/net_internal.h"

#define PARENT_LOOK_MS 100 // between checks for the parent where pidfd_open is missing

extern char **environ;

struct net_process {
    uv_process_t handle;
    net_exit_fn on_exit;
    void *arg;
    bool exited;
};

static size_t
list_count(const char *const *list)
{
    size_t count = 0;
    while (list != NULL && list[count] != NULL) {
        count++;
    }
    return count;
}

static size_t
name_length(const char *entry)
{
    return strcspn(entry, "=");
}

static bool
list_has_name(const char *const *list, const char *entry)
{
    size_t length = name_length(entry);
    for (size_t i = 0; list != NULL && list[i] != NULL; i++) {
        if (name_length(list[i]) == length && strncmp(list[i], entry, length) == 0) {
            return true;
        }
    }
    return false;
}

// Returns our environment without the names that are unset or replaced, then what is set, then
// failure and confined, which may be NULL. The list is new; the strings are borrowed.
static const char **
environment_create(const net_process_spec *spec, const char *confined, const char *failure)
{
    size_t inherited = list_count((const char *const *)environ);
    const char **list = oct_alloc((inherited + list_count(spec->set_env) + 3) * sizeof(*list));
    const char *const own[] = {failure, confined, NULL};
    size_t count = 0;
    for (size_t i = 0; i < inherited; i++) {
        if (!list_has_name(spec->unset_env, environ[i]) &&
            !list_has_name(spec->set_env, environ[i]) && !list_has_name(own, environ[i])) {
            list[count++] = environ[i];
        }
    }
    for (size_t i = 0; i < list_count(spec->set_env); i++) {
        list[count++] = spec->set_env[i];
    }
    list[count++] = failure;
    list[count] = confined; // or NULL
    return list;
}

static void
process_exited(uv_process_t *handle, int64_t exit_status, int term_signal)
{
    net_process *process = handle->data;
    process->exited = true;
    process->on_exit(process->arg, process,
                     term_signal != 0 ? 128 + term_signal : (int)exit_status);
}

static void
process_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static int
process_spawn(net_process *process, net_loop *loop, const net_process_spec *spec, int log_fd)
{
    // Without a descriptor UV_IGNORE is /dev/null for the first three, and nothing for the others.
    uv_stdio_container_t stdio[NET_PROCESS_FAILURE_FD + 1] = {
        {.flags = UV_IGNORE},
        {.flags = UV_INHERIT_FD, .data.fd = log_fd},
        {.flags = UV_INHERIT_FD, .data.fd = log_fd},
        {.flags = spec->passed_fd > 0 ? UV_INHERIT_FD : UV_IGNORE, .data.fd = spec->passed_fd},
        {.flags = spec->failure_fd > 0 ? UV_INHERIT_FD : UV_IGNORE, .data.fd = spec->failure_fd},
    };
    char *confined = oct_file_confined(), failure[64];
    (void)snprintf(failure, sizeof(failure), OCT_FAILURE_FD "=%d",
                   spec->failure_fd > 0 ? NET_PROCESS_FAILURE_FD : -1);
    const char **environment = environment_create(spec, confined, failure);
    uv_process_options_t options = {
        .exit_cb = process_exited,
        .file = spec->file,
        .args = (char **)spec->argv, // libuv does not write to it
        .env = (char **)environment,
        .cwd = spec->folder,
        .flags = spec->own_session ? UV_PROCESS_DETACHED : 0,
        .stdio_count = OCT_COUNTOF(stdio),
        .stdio = stdio,
    };
    int code = uv_spawn(net_loop_uv(loop), &process->handle, &options);
    free(environment);
    free(confined);
    return code;
}

oct_err
net_process_start(net_process **out, net_loop *loop, const net_process_spec *spec,
                  net_exit_fn on_exit, void *arg)
{
    // uv_spawn returns ENOENT for a missing working folder, too.
    if (!oct_file_is_there(spec->file)) {
        oct_log_error("NET-SPAWN", "file=%s error=\"%s\"", spec->file, strerror(errno));
        return OCT_ENOTFOUND;
    }
    int log_fd = oct_file_open(spec->log_path, O_WRONLY | O_APPEND | O_CREAT, 0644, NULL);
    if (log_fd < 0) {
        oct_log_error("NET-SPAWN", "log=%s error=\"%s\"", spec->log_path, oct_file_strerror(errno));
        return OCT_EIO;
    }
    net_process *process = oct_alloc(sizeof(*process));
    process->handle.data = process;
    process->on_exit = on_exit;
    process->arg = arg;
    int code = process_spawn(process, loop, spec, log_fd);
    (void)close(log_fd);
    if (code != 0) {
        oct_log_error("NET-SPAWN", "file=%s folder=%s error=\"%s\"", spec->file, spec->folder,
                      uv_strerror(code));
        uv_close((uv_handle_t *)&process->handle, process_closed);
        return OCT_EIO;
    }
    *out = process;
    return OCT_OK;
}

int
net_process_pid(const net_process *process)
{
    return process->handle.pid;
}

void
net_process_kill(net_process *process, int signal_number)
{
    if (!process->exited) { // afterwards another process may have the number
        (void)uv_process_kill(&process->handle, signal_number);
    }
}

void
net_process_destroy(net_process *process)
{
    if (process == NULL) {
        return;
    }
    OCT_ASSERT(process->exited);
    uv_close((uv_handle_t *)&process->handle, process_closed);
}

int
net_process_follow_parent(int parent_pid)
{
    // The request comes before the check, so that one of them notices a parent that ends in
    // between.
    return prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 && getppid() == parent_pid;
}

// Waits until the parent has ended. Linux before 5.3 has no pidfd_open and polls.
static void
parent_await(int parent_pid)
{
    struct pollfd ended = {.fd = (int)syscall(SYS_pidfd_open, parent_pid, 0), .events = POLLIN};
    while (getppid() == parent_pid) {
        (void)poll(&ended, 1, ended.fd >= 0 && ended.revents == 0 ? -1 : PARENT_LOOK_MS);
    }
    if (ended.fd >= 0) {
        (void)close(ended.fd);
    }
}

typedef struct orphan {
    int parent_pid;
    uint32_t timeout_ms;
} orphan;

static void *
orphan_end(void *arg)
{
    orphan own = *(orphan *)arg;
    free(arg);
    parent_await(own.parent_pid);
    (void)kill(getpid(), SIGTERM);
    struct timespec left = {.tv_sec = own.timeout_ms / 1000,
                            .tv_nsec = (long)(own.timeout_ms % 1000) * 1000000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
    oct_log_error("NET-ORPHAN", "parent=%d has ended, and stopping took more than timeout_ms=%u",
                  own.parent_pid, own.timeout_ms);
    _exit(EXIT_FAILURE);
}

void
net_process_outlive_parent(int parent_pid, uint32_t timeout_ms)
{
    pthread_t thread;
    orphan *own = oct_alloc(sizeof(*own));
    *own = (orphan){.parent_pid = parent_pid, .timeout_ms = timeout_ms};
    int code = oct_thread_create(&thread, orphan_end, own);
    if (code != 0) {
        oct_log_warn("NET-ORPHAN", "no thread looks after parent=%d: %s", parent_pid,
                     strerror(code));
        free(own);
        return;
    }
    (void)pthread_setname_np(thread, "parent");
    (void)pthread_detach(thread);
    (void)prctl(PR_SET_PDEATHSIG, SIGCONT); // lets the thread run in a process that was stopped
}

bool
net_process_hangs_up(void)
{
    struct sigaction hangup;
    return sigaction(SIGHUP, NULL, &hangup) != 0 || hangup.sa_handler != SIG_IGN;
}
