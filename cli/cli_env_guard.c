// Names the environment whose code ends or crashes the process.

#include "cli/cli_env_guard.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli_options.h"
#include "common/oct_base.h"
#include "common/oct_text.h"

#define LINE_BYTES  1024
#define STACK_BYTES 65536

static const int signals[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL};
#define SIGNALS OCT_COUNTOF(signals)

// All text is made in advance, because a signal handler may only write.
static struct guard {
    bool is_on, has_handler;
    char exited[LINE_BYTES];
    char crashed[SIGNALS][LINE_BYTES];
    struct sigaction before[SIGNALS]; // actions before the guard
    stack_t stack_before;
} guard;

// Stack of the handlers: the thread's own may be what overflowed.
static uint8_t handler_stack[STACK_BYTES];

static void
line_write(const char *line)
{
    ssize_t written = write(STDERR_FILENO, line, strlen(line));
    (void)written; // there is no other way to report a failure
}

// Runs within exit (atexit).
static void
process_ends(void)
{
    if (guard.is_on) {
        (void)fflush(stdout);
        line_write(guard.exited);
        _exit(CLI_EXIT_FAILED);
    }
}

// Restores the actions from before the guard, which take effect when the handler returns: the
// instruction crashes again, and abort raises again. A signal that another process sent is raised
// again.
static void
process_crashes(int number, siginfo_t *info, void *context)
{
    (void)context;
    for (size_t i = 0; i < SIGNALS; i++) {
        if (signals[i] == number) {
            line_write(guard.crashed[i]);
        }
        (void)sigaction(signals[i], &guard.before[i], NULL);
    }
    if (info->si_code <= 0) { // sent by a process, not by a fault
        (void)raise(number);
    }
}

static void
line_make(char line[LINE_BYTES], const char *command, const char *what, const char *env_id)
{
    (void)snprintf(line, LINE_BYTES, "octet %s: error: the environment %s: %.400s", command, what,
                   env_id);
    size_t used = strlen(line);
    char word[400];
    (void)snprintf(line + used, LINE_BYTES - used, "; for details run 'octet env check %s'\n",
                   oct_text_word(word, sizeof(word), env_id));
}

void
cli_env_guard_begin(const char *command, const char *env_id)
{
    OCT_ASSERT(!guard.is_on);
    line_make(guard.exited, command, "ended the process", env_id);
    // atexit handlers cannot be removed, so one stays
    guard.has_handler = guard.has_handler || atexit(process_ends) == 0;
    const stack_t stack = {.ss_sp = handler_stack, .ss_size = sizeof(handler_stack)};
    OCT_ASSERT(sigaltstack(&stack, &guard.stack_before) == 0);
    struct sigaction action = {.sa_sigaction = process_crashes,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK};
    (void)sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < SIGNALS; i++) {
        char what[64];
        (void)snprintf(what, sizeof(what), "crashed with signal %d (%s)", signals[i],
                       strsignal(signals[i]));
        line_make(guard.crashed[i], command, what, env_id);
        OCT_ASSERT(sigaction(signals[i], &action, &guard.before[i]) == 0);
    }
    guard.is_on = true;
}

void
cli_env_guard_end(void)
{
    OCT_ASSERT(guard.is_on);
    guard.is_on = false;
    for (size_t i = 0; i < SIGNALS; i++) {
        (void)sigaction(signals[i], &guard.before[i], NULL);
    }
    (void)sigaltstack(&guard.stack_before, NULL);
}
