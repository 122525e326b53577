// Runs a function in a child process with a deadline.

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
#include "common/oct_family.h"
#include "common/oct_reason.h"

#define LOOK_MS 50

// The parent's or the child's ends of the pipes; -1: none.
typedef struct links {
    int answer;
    int said;
    pid_t child; // of the parent's ends
} links;

// Runs fn in the child and ends it without the parent's exit handlers, which must not run twice.
static _Noreturn void
child_run(const env_child_call *call, const links *out)
{
    unsigned char answer[ENV_CHILD_ANSWER_MAX] = {0};
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (out->said >= 0) {
        (void)dup2(out->said, STDERR_FILENO);
    }
    call->fn(call->arg, answer);
    ssize_t written = write(out->answer, answer, call->size);
    _exit(written == (ssize_t)call->size ? 0 : 1);
}

// Passes on what can be read, or closes the link at its end.
static void
said_read(links *in, const env_child_said *said)
{
    char bytes[4096];
    ssize_t length = read(in->said, bytes, sizeof(bytes));
    if (length > 0) {
        said->take(said->arg, bytes, (size_t)length);
    } else if (length == 0 || (errno != EINTR && errno != EAGAIN)) {
        (void)close(in->said);
        in->said = -1;
    }
}

// Reads the rest of the output after the child has ended, without waiting for its own children.
static void
said_drain(links *in, const env_child_said *said)
{
    struct pollfd waiting = {.fd = in->said, .events = POLLIN};
    while (in->said >= 0 && poll(&waiting, 1, 0) > 0) {
        said_read(in, said);
    }
}

// Returns true if the child has ended; its status stays to be read by waitpid.
static bool
has_ended(pid_t child)
{
    siginfo_t about = {0};
    return waitid(P_PID, (id_t)child, &about, WEXITED | WNOHANG | WNOWAIT) != 0 ||
           about.si_pid != 0;
}

// Returns true if a whole answer came before the deadline. A process that a crashed child left
// behind may hold the pipe open, so the child's end is checked, too.
static bool
answer_await(links *in, const env_child_said *said, uint32_t timeout_ms, const env_child_call *call,
             bool *timed_out)
{
    uint64_t deadline_ns = oct_clock_ns() + (uint64_t)timeout_ms * 1000000;
    size_t got = 0;
    while (got < call->size) {
        uint64_t now_ns = oct_clock_ns();
        int left_ms = now_ns < deadline_ns ? (int)((deadline_ns - now_ns + 999999) / 1000000) : 0;
        struct pollfd waiting[] = {{.fd = in->answer, .events = POLLIN},
                                   {.fd = in->said, .events = POLLIN}};
        bool is_over = has_ended(in->child);
        int ready = poll(waiting, OCT_COUNTOF(waiting), is_over ? 0 : OCT_MIN(left_ms, LOOK_MS));
        if (ready < 0 && errno == EINTR) {
            continue;
        }
        if (ready > 0 && waiting[1].revents != 0) {
            said_read(in, said);
        }
        if (ready > 0 && waiting[0].revents != 0) {
            ssize_t more = read(in->answer, (char *)call->answer + got, call->size - got);
            if (more <= 0) {
                return false;
            }
            got += (size_t)more;
        } else if (ready < 0 || left_ms == 0 || (ready == 0 && is_over)) {
            *timed_out = ready >= 0 && !is_over;
            return false;
        }
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

// Opens the pipes, one end of each in `in`, the other in `out`. Returns false with errno on
// failure.
static bool
links_open(links *in, links *out, bool has_said)
{
    int answer[2], said[2] = {-1, -1};
    if (pipe2(answer, O_CLOEXEC) != 0) {
        return false;
    }
    if (has_said && pipe2(said, O_CLOEXEC) != 0) {
        (void)close(answer[0]);
        (void)close(answer[1]);
        return false;
    }
    *in = (links){.answer = answer[0], .said = said[0]};
    *out = (links){.answer = answer[1], .said = said[1]};
    return true;
}

static void
links_close(links *ends)
{
    (void)close(ends->answer);
    if (ends->said >= 0) {
        (void)close(ends->said);
    }
}

oct_err
env_child_run(const env_child_call *call, uint32_t timeout_ms, const env_child_said *said,
              oct_reason *why)
{
    links in, out;
    OCT_ASSERT(call->size <= ENV_CHILD_ANSWER_MAX);
    if (!links_open(&in, &out, said != NULL)) {
        return oct_fail(why, OCT_EINTERNAL, "cannot make a pipe: %s", strerror(errno));
    }
    (void)fflush(NULL);
    oct_family_adopt();
    pid_t child = fork();
    if (child == 0) {
        links_close(&in);
        child_run(call, &out);
    }
    int failed = errno;
    links_close(&out);
    if (child < 0) {
        links_close(&in);
        return oct_fail(why, OCT_EINTERNAL, "cannot start a process: %s", strerror(failed));
    }
    in.child = child;
    bool timed_out = false;
    bool answered = answer_await(&in, said, timeout_ms, call, &timed_out);
    if (timed_out) {
        (void)kill(child, SIGKILL);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    oct_family_end(NULL, 0, false);
    said_drain(&in, said);
    links_close(&in);
    if (!answered) {
        death_explain(why->text, sizeof(why->text), timed_out, timeout_ms, status);
        return OCT_EINTERNAL;
    }
    return OCT_OK;
}
