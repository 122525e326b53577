#ifndef CLI_RUN_CLI_BACKOFF_H
#define CLI_RUN_CLI_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

// Decides when a daemon that died may start again: after first_ms, twice as long after each further
// death, up to last_ms. A daemon that has lived longer than last_ms begins at first_ms again. After
// restarts_max deaths within window_s it does not start again.
//
// Threads: one user. A cli_backoff is a plain value and begins zeroed. The clock is an argument.

#define CLI_BACKOFF_RESTARTS_MAX 32u

typedef struct cli_backoff_rule {
    uint32_t first_ms;
    uint32_t last_ms;
    uint32_t restarts_max; // 1 .. CLI_BACKOFF_RESTARTS_MAX
    uint32_t window_s;
} cli_backoff_rule;

typedef struct cli_backoff {
    uint64_t died_ns[CLI_BACKOFF_RESTARTS_MAX]; // times of the last restarts_max deaths; a ring
    uint32_t count;                             // deaths in all
    uint32_t delay_ms;                          // before the last restart; 0: there was none
} cli_backoff;

// Records a death at now_ns of a daemon that ran for lived_ns. Returns true if the daemon may start
// again after *delay_ms, false if it has died too often; then nothing is recorded. now_ns is of a
// monotonic clock.
bool cli_backoff_next(cli_backoff *backoff, const cli_backoff_rule *rule, uint64_t now_ns,
                      uint64_t lived_ns, uint32_t *delay_ms);

#endif // CLI_RUN_CLI_BACKOFF_H
