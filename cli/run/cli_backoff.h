#ifndef CLI_RUN_CLI_BACKOFF_H
#define CLI_RUN_CLI_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

// When a daemon that died may start again: after first_ms, doubling to last_ms, back to first_ms
// once it has lived longer than last_ms; at most restarts_max times within window_s.
// Threads: one user. Plain values, a cli_backoff begins zeroed. The clock is an argument.

#define CLI_BACKOFF_RESTARTS_MAX 32u

typedef struct cli_backoff_rule {
    uint32_t first_ms;
    uint32_t last_ms;
    uint32_t restarts_max; // 1 .. CLI_BACKOFF_RESTARTS_MAX
    uint32_t window_s;
} cli_backoff_rule;

typedef struct cli_backoff {
    uint64_t died_ns[CLI_BACKOFF_RESTARTS_MAX]; // ring of the last restarts_max deaths
    uint32_t count;                             // deaths ever
    uint32_t delay_ms;                          // before the last restart
} cli_backoff;

// It died at now_ns, having run for lived_ns. True: start it again after *delay_ms. False: it has
// died too often.
bool cli_backoff_next(cli_backoff *backoff, const cli_backoff_rule *rule, uint64_t now_ns,
                      uint64_t lived_ns, uint32_t *delay_ms);

#endif // CLI_RUN_CLI_BACKOFF_H
