// The signals that end a command; one that nohup has ignored stays ignored.

#include "cli/cli_signals.h"

#include <signal.h>
#include <stddef.h>

#include "net/net_process.h"

uint32_t
cli_signals_stopping(int number[CLI_SIGNALS_MAX])
{
    number[0] = SIGINT;
    number[1] = SIGTERM;
    number[2] = SIGHUP;
    return net_process_hangs_up() ? 3 : 2;
}

void
cli_signals_hold(bool is_held)
{
    int number[CLI_SIGNALS_MAX];
    sigset_t signals;
    (void)sigemptyset(&signals);
    uint32_t count = cli_signals_stopping(number);
    for (uint32_t i = 0; i < count; i++) {
        (void)sigaddset(&signals, number[i]);
    }
    (void)pthread_sigmask(is_held ? SIG_BLOCK : SIG_UNBLOCK, &signals, NULL);
}
