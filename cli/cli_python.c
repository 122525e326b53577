// Finds and runs Octet's programs that are written in Python.

#include "cli/cli_python.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/run/cli_folder.h"
#include "common/oct_base.h"
#include "common/oct_program.h"
#include "common/oct_python.h"
#include "common/oct_reason.h"

#define ARGUMENTS_MAX 64
#define STOP_MS       5000 // for a program to end when its socket is closed; then it is killed
#define POLL_MS       10

// Finds a program in an installation, or in cli/, replay/data/ or policy/import/ of a build tree.
oct_err
cli_python_find(char out[CLI_PATH_MAX], const char *program, oct_reason *why)
{
    static const char *const built[] = {"", "../replay/data", "../policy/import", NULL};
    return oct_program_find(out, CLI_PATH_MAX, program, built, why);
}

// Starts a program. socket becomes its standard input and output; -1: it has those of this process.
static oct_err
spawn(pid_t *child, const char *program, const char *const *arguments, int socket, oct_reason *why)
{
    char path[CLI_PATH_MAX];
    OCT_TRY(cli_python_find(path, program, why));
    const char *words[ARGUMENTS_MAX + 2] = {path};
    for (size_t i = 0; arguments[i] != NULL; i++) {
        OCT_ASSERT(i < ARGUMENTS_MAX);
        words[i + 1] = arguments[i];
    }
    posix_spawn_file_actions_t actions;
    OCT_ASSERT(posix_spawn_file_actions_init(&actions) == 0);
    if (socket >= 0) {
        OCT_ASSERT(posix_spawn_file_actions_adddup2(&actions, socket, 0) == 0 &&
                   posix_spawn_file_actions_adddup2(&actions, socket, 1) == 0);
    }
    (void)fflush(stdout);
    const oct_python_start start = {.arguments = words, .actions = &actions};
    int code = oct_python_spawn(child, &start);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (code != 0) {
        char *python = oct_python_program();
        (void)oct_refuse(why, "cannot run '%s': %s; OCTET_PYTHON names the Python to use", python,
                         strerror(code));
        free(python);
        return OCT_ENOTFOUND;
    }
    return OCT_OK;
}

// State for the signal handler: the program that cli_python_run waits for (0: not started), and the
// last signal.
static volatile pid_t run_child;
static volatile sig_atomic_t run_signal;

// Passes a signal on to the program. Ctrl-C on a terminal reaches the program by itself, because
// the kernel sends it to both; passing it on would make it a second one.
static void
run_pass_on(int number, siginfo_t *info, void *context)
{
    (void)context;
    run_signal = number;
    if (run_child != 0 && !(number == SIGINT && info->si_code == SI_KERNEL)) {
        (void)kill(run_child, number);
    }
}

// Waits through signals, which run_pass_on has passed on. Returns OCT_OK only for exit code 0.
static oct_err
child_wait(pid_t child, const char *program, oct_reason *why)
{
    int status;
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) {
            return oct_fail(why, OCT_EIO, "lost %s: %s", program, strerror(errno));
        }
    }
    if (WIFSIGNALED(status)) {
        (void)oct_refuse(why, "%s was killed by signal %d", program, WTERMSIG(status));
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? OCT_OK : OCT_EIO;
}

// For a program that uses this process's terminal. Signals go to the program, which cleans up; then
// this process dies of the same signal, so that its shell sees why.
oct_err
cli_python_run(const char *program, const char *const *arguments, oct_reason *why)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    const struct sigaction pass_on = {.sa_sigaction = run_pass_on, .sa_flags = SA_SIGINFO};
    struct sigaction before[OCT_COUNTOF(numbers)];
    pid_t child;
    run_child = 0;
    run_signal = 0;
    for (size_t i = 0; i < OCT_COUNTOF(numbers); i++) {
        (void)sigaction(numbers[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN) {
            (void)sigaction(numbers[i], &pass_on, NULL);
        }
    }
    oct_err err = spawn(&child, program, arguments, -1, why);
    if (err == OCT_OK) {
        run_child = child;
        if (run_signal != 0) { // the signal came before the program started
            (void)kill(child, run_signal);
        }
        err = child_wait(child, program, why);
    }
    for (size_t i = 0; i < OCT_COUNTOF(numbers); i++) {
        (void)sigaction(numbers[i], &before[i], NULL);
    }
    if (run_signal != 0) {
        (void)raise(run_signal);
    }
    return err;
}

// For a program that answers requests on a socket. It ends when the socket is closed, also if this
// process is killed.
oct_err
cli_python_start(cli_python *out, const char *program, const char *const *arguments,
                 oct_reason *why)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        return oct_fail(why, OCT_EIO, "cannot make a socket: %s", strerror(errno));
    }
    oct_err err = spawn(&out->pid, program, arguments, pair[1], why);
    (void)close(pair[1]);
    if (err != OCT_OK) {
        (void)close(pair[0]);
        out->pid = 0;
        return err;
    }
    out->socket = pair[0];
    return OCT_OK;
}

void
cli_python_stop(cli_python *python)
{
    if (python->pid == 0) {
        return;
    }
    (void)close(python->socket);
    int status;
    for (int waited_ms = 0; waited_ms < STOP_MS; waited_ms += POLL_MS) {
        if (waitpid(python->pid, &status, WNOHANG) != 0) {
            python->pid = 0;
            return;
        }
        (void)poll(NULL, 0, POLL_MS);
    }
    (void)kill(python->pid, SIGKILL);
    while (waitpid(python->pid, &status, 0) < 0 && errno == EINTR) {
    }
    python->pid = 0;
}
