// The signals that end a command. A signal that nohup has made ignored stays ignored.

#include "cli/cli_signals.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>

#include "net/net_process.h"

#define COUNT_MAX 3

// Lists the signals. Call this before SIGHUP is handled, because a handler hides that it was
// ignored.
static uint32_t
stopping(int number[COUNT_MAX])
{
    number[0] = SIGINT;
    number[1] = SIGTERM;
    number[2] = SIGHUP;
    return net_process_hangs_up() ? 3 : 2;
}

oct_err
cli_signals_watch(net_loop *loop, net_signal_fn stop, void *arg)
{
    int number[COUNT_MAX];
    uint32_t count = stopping(number);
    for (uint32_t i = 0; i < count; i++) {
        OCT_TRY(net_loop_on_signal(loop, number[i], stop, arg));
    }
    return OCT_OK;
}

// Number of the signal that came; 0: none.
static _Atomic(int) noted;

static void
note(int number)
{
    atomic_store_explicit(&noted, number, memory_order_relaxed);
}

void
cli_signals_note(void)
{
    int number[COUNT_MAX];
    uint32_t count = stopping(number);
    // a second signal of the same number ends the process
    struct sigaction action = {.sa_handler = note, .sa_flags = (int)SA_RESETHAND};
    for (uint32_t i = 0; i < count; i++) {
        (void)sigaction(number[i], &action, NULL);
    }
}

const _Atomic(int) *
cli_signals_noted(void)
{
    return &noted;
}

int
cli_signals_stopped(const char *command)
{
    fprintf(stderr, "octet %s: stopped\n", command);
    return 128 + atomic_load_explicit(&noted, memory_order_relaxed);
}

void
cli_signals_hold(bool is_held)
{
    int number[COUNT_MAX];
    sigset_t signals;
    (void)sigemptyset(&signals);
    uint32_t count = stopping(number);
    for (uint32_t i = 0; i < count; i++) {
        (void)sigaddset(&signals, number[i]);
    }
    (void)pthread_sigmask(is_held ? SIG_BLOCK : SIG_UNBLOCK, &signals, NULL);
}
