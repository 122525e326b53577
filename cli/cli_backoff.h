#ifndef CLI_CLI_BACKOFF_H
#define CLI_CLI_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

// When a daemon that died may start again: after 0.1 s, doubling to 5 s, back to 0.1 s once it has
// lived a while; never more than CLI_BACKOFF_RESTARTS_MAX times within CLI_BACKOFF_WINDOW_S.
// Threads: one user. Plain value, begins zeroed. The clock is an argument.

#define CLI_BACKOFF_FIRST_MS     100u
#define CLI_BACKOFF_LAST_MS      5000u
#define CLI_BACKOFF_RESTARTS_MAX 10u
#define CLI_BACKOFF_WINDOW_S     60u

typedef struct cli_backoff {
    uint64_t died_ns[CLI_BACKOFF_RESTARTS_MAX]; // ring of the last deaths
    uint32_t count;                             // deaths ever
    uint32_t delay_ms;                          // before the last restart
} cli_backoff;

// It died at now_ns, having run for lived_ns. True: start it again after *delay_ms. False: it has
// died too often.
bool cli_backoff_next(cli_backoff *backoff, uint64_t now_ns, uint64_t lived_ns, uint32_t *delay_ms);

#endif // CLI_CLI_BACKOFF_H
