// A function call in a child process with a deadline.

#include "envs/env_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"

// No exit handlers of the parent run twice.
static _Noreturn void
child_call(env_child_fn *fn, void *arg, size_t size, int out)
{
    unsigned char answer[ENV_CHILD_ANSWER_MAX] = {0};
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    fn(arg, answer);
    ssize_t written = write(out, answer, size);
    _exit(written == (ssize_t)size ? 0 : 1);
}

// True when a whole answer came before the deadline.
static bool
answer_await(int in, uint32_t timeout_ms, void *out, size_t size, bool *timed_out)
{
    uint64_t deadline_ns = oct_clock_ns() + (uint64_t)timeout_ms * 1000000;
    size_t got = 0;
    while (got < size) {
        uint64_t now_ns = oct_clock_ns();
        int left_ms = now_ns < deadline_ns ? (int)((deadline_ns - now_ns + 999999) / 1000000) : 0;
        struct pollfd waiting = {.fd = in, .events = POLLIN};
        int ready = poll(&waiting, 1, left_ms);
        if (ready < 0 && errno == EINTR) {
            continue;
        }
        *timed_out = ready == 0;
        ssize_t more = ready > 0 ? read(in, (char *)out + got, size - got) : -1;
        if (more <= 0) {
            return false;
        }
        got += (size_t)more;
    }
    return true;
}

static void
death_explain(char *out, size_t size, bool timed_out, uint32_t timeout_ms, int status)
{
    if (timed_out) {
        (void)snprintf(out, size, "did not return within %.1f s", timeout_ms / 1000.0);
    } else if (WIFSIGNALED(status)) {
        (void)snprintf(out, size, "crashed: signal %d (%s)", WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
    } else {
        (void)snprintf(out, size, "ended the process (exit code %d)", WEXITSTATUS(status));
    }
}

oct_err
env_child_run(env_child_fn *fn, void *arg, void *answer, size_t size, uint32_t timeout_ms,
              char *reason, size_t reason_size)
{
    int ends[2];
    OCT_ASSERT(size <= ENV_CHILD_ANSWER_MAX);
    if (pipe2(ends, O_CLOEXEC) != 0) {
        (void)snprintf(reason, reason_size, "no pipe: %s", strerror(errno));
        return OCT_EINTERNAL;
    }
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        (void)close(ends[0]);
        child_call(fn, arg, size, ends[1]);
    }
    int failed = errno;
    (void)close(ends[1]);
    bool timed_out = false;
    bool answered = child > 0 && answer_await(ends[0], timeout_ms, answer, size, &timed_out);
    (void)close(ends[0]);
    if (child < 0) {
        (void)snprintf(reason, reason_size, "no process: %s", strerror(failed));
        return OCT_EINTERNAL;
    }
    if (timed_out) {
        (void)kill(child, SIGKILL);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (!answered) {
        death_explain(reason, reason_size, timed_out, timeout_ms, status);
        return OCT_EINTERNAL;
    }
    return OCT_OK;
}
