// Runs the rules of `octet env check`, each in a child process with a deadline, and reports the
// verdicts.
#include "envs/env_check.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/oct_clock.h"
#include "envs/env_check_rules.h"

struct answer {
    env_check_verdict verdict;
    char detail[256];
};

// In the child: a plug-in's output must not mix with ours, and no exit handlers of ours run twice.
static _Noreturn void
rule_child(const env_check_rule *rule, const env_check_request *request, int out)
{
    env_check check = {.request = request};
    struct answer answer = {0};
    answer.verdict = rule->run(&check);
    memcpy(answer.detail, check.detail, sizeof(answer.detail));
    ssize_t written = write(out, &answer, sizeof(answer)); // less than PIPE_BUF: all or nothing
    _exit(written == (ssize_t)sizeof(answer) ? 0 : 1);
}

// True when a whole answer came before the deadline.
static bool
answer_await(int in, uint32_t timeout_ms, struct answer *out, bool *timed_out)
{
    uint64_t deadline_ns = oct_clock_ns() + (uint64_t)timeout_ms * 1000000;
    for (;;) {
        uint64_t now_ns = oct_clock_ns();
        int left_ms = now_ns < deadline_ns ? (int)((deadline_ns - now_ns + 999999) / 1000000) : 0;
        struct pollfd waiting = {.fd = in, .events = POLLIN};
        int ready = poll(&waiting, 1, left_ms);
        if (ready < 0 && errno == EINTR) {
            continue;
        }
        *timed_out = ready == 0;
        return ready > 0 && read(in, out, sizeof(*out)) == (ssize_t)sizeof(*out);
    }
}

static void
death_explain(char *out, size_t size, bool timed_out, uint32_t timeout_ms, int status)
{
    if (timed_out) {
        snprintf(out, size, "did not return within %.1f s", timeout_ms / 1000.0);
    } else if (WIFSIGNALED(status)) {
        snprintf(out, size, "crashed: signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    } else {
        snprintf(out, size, "ended the process (exit code %d)", WEXITSTATUS(status));
    }
}

static void
rule_run(const env_check_rule *rule, const env_check_request *request, env_check_result *out)
{
    *out = (env_check_result){.rule = rule->name, .means = rule->means, .verdict = ENV_CHECK_FAIL};
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        snprintf(out->detail, sizeof(out->detail), "no pipe: %s", strerror(errno));
        return;
    }
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        (void)close(ends[0]);
        rule_child(rule, request, ends[1]);
    }
    (void)close(ends[1]);
    struct answer answer = {0};
    bool timed_out = false;
    bool answered =
        child > 0 && answer_await(ends[0], request->rule_timeout_ms, &answer, &timed_out);
    (void)close(ends[0]);
    if (child < 0) {
        snprintf(out->detail, sizeof(out->detail), "no process: %s", strerror(errno));
        return;
    }
    if (!answered) {
        (void)(timed_out ? kill(child, SIGKILL) : 0);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (answered) {
        out->verdict = answer.verdict;
        memcpy(out->detail, answer.detail, sizeof(out->detail));
    } else {
        death_explain(out->detail, sizeof(out->detail), timed_out, request->rule_timeout_ms,
                      status);
    }
}

uint32_t
env_check_run(const env_check_request *request, env_check_report *report, void *arg)
{
    uint32_t failures = 0;
    for (uint32_t k = 0; k < env_check_rules_count; k++) {
        env_check_result result;
        rule_run(&env_check_rules[k], request, &result);
        report(arg, &result);
        failures += result.verdict == ENV_CHECK_FAIL;
        if (k < ENV_CHECK_RULES_NEEDED && failures > 0) {
            break;
        }
    }
    return failures;
}
