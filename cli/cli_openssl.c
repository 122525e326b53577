// Runs the program openssl and hands its words and signals on.

#include "cli/cli_openssl.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli_options.h"
#include "common/oct_base.h"
#include "common/oct_text.h"

#define COMPLAINT_BYTES 4096

static const int guarded[] = {SIGINT, SIGTERM, SIGHUP};
static _Atomic(int) signalled;

static void
signal_came(int number)
{
    atomic_store_explicit(&signalled, number, memory_order_relaxed);
}

void
cli_openssl_guard(void)
{
    struct sigaction action = {.sa_handler = signal_came, .sa_flags = (int)SA_RESETHAND};
    for (size_t i = 0; i < OCT_COUNTOF(guarded); i++) {
        struct sigaction old;
        // What nohup ignores stays ignored.
        if (sigaction(guarded[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN) {
            (void)sigaction(guarded[i], &action, NULL);
        }
    }
}

int
cli_openssl_signal(void)
{
    return atomic_load_explicit(&signalled, memory_order_relaxed);
}

// ---- the child

// Files in memory, not pipes: both are read when the child has ended, and neither can fill.
static void
file_read(int fd, char *out, size_t out_size)
{
    size_t used = 0;
    ssize_t got = 1;
    while (got > 0 && used + 1 < out_size) {
        got = pread(fd, out + used, out_size - 1 - used, (off_t)used);
        used += (size_t)OCT_MAX(got, 0);
    }
    if (out_size > 0) {
        out[used] = '\0';
    }
}

static int
child_spawn(pid_t *child, const char *const *words, int output, int complaints)
{
    posix_spawn_file_actions_t files;
    if (posix_spawn_file_actions_init(&files) != 0) {
        return ENOMEM;
    }
    int fault =
        posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0) != 0 ||
                posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO) != 0 ||
                posix_spawn_file_actions_adddup2(&files, complaints, STDERR_FILENO) != 0
            ? ENOMEM
            : posix_spawnp(child, words[0], &files, NULL, (char *const *)(uintptr_t)words, environ);
    (void)posix_spawn_file_actions_destroy(&files);
    return fault;
}

static oct_err
stopped(void)
{
    cli_error("certs", "stopped by signal %d", cli_openssl_signal());
    return OCT_ECLOSED;
}

static oct_err
child_failed(const char *const *words, int status, int complaints)
{
    if (cli_openssl_signal() != 0) {
        return stopped();
    }
    char said[COMPLAINT_BYTES], command[512];
    file_read(complaints, said, sizeof(said));
    oct_text line;
    oct_text_init(&line, command, sizeof(command));
    for (size_t i = 0; words[i] != NULL; i++) {
        oct_text_add(&line, "%s%s", i > 0 ? " " : "", words[i]);
    }
    size_t length = strlen(said);
    while (length > 0 && said[length - 1] == '\n') {
        said[--length] = '\0';
    }
    cli_error("certs", "'%s' %s %d%s%s", command,
              WIFSIGNALED(status) ? "was killed by signal" : "failed with exit code",
              WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
              length > 0 ? "; it said:\n" : "", said);
    return OCT_EIO;
}

static oct_err
child_run(char *out, size_t out_size, const char *const *words, int output, int complaints)
{
    pid_t child;
    int fault = child_spawn(&child, words, output, complaints);
    if (fault == ENOENT) {
        cli_error("certs", "there is no program 'openssl' in $PATH, which makes the certificates; "
                           "install it (Debian: apt-get install openssl)");
        return OCT_ENOTFOUND;
    }
    if (fault != 0) {
        cli_error("certs", "cannot start 'openssl': %s", strerror(fault));
        return OCT_EIO;
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) {
            cli_error("certs", "cannot wait for 'openssl': %s", strerror(errno));
            return OCT_EIO;
        }
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        return child_failed(words, status, complaints);
    }
    file_read(output, out, out_size);
    return OCT_OK;
}

oct_err
cli_openssl_run(char *out, size_t out_size, const char *const *words)
{
    if (cli_openssl_signal() != 0) {
        return stopped();
    }
    int output = memfd_create("openssl-output", MFD_CLOEXEC);
    int complaints = memfd_create("openssl-complaints", MFD_CLOEXEC);
    oct_err err = OCT_EIO;
    if (output >= 0 && complaints >= 0) {
        err = child_run(out, out_size, words, output, complaints);
    } else {
        cli_error("certs", "cannot keep what 'openssl' says: %s", strerror(errno));
    }
    if (output >= 0) {
        (void)close(output);
    }
    if (complaints >= 0) {
        (void)close(complaints);
    }
    return err;
}
