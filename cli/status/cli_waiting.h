#ifndef CLI_STATUS_CLI_WAITING_H
#define CLI_STATUS_CLI_WAITING_H

#include "cli/status/cli_snapshot.h"

// Says who waits for whom in a run, and why, in one sentence made from the numbers. Pure. Threads:
// any.

#define CLI_WAITING_LONG 0.1 // share of time; a shorter wait is not called waiting

typedef struct cli_waiting {
    const char *who;      // "actors", "learner", "everybody", "nobody", "unknown"
    const char *for_whom; // "learner", "actors", "replay", "data", "evaluator", or ""
    double share;         // of its time; NaN: the wait is no share of time
    char text[512];
} cli_waiting;

void cli_waiting_judge(cli_waiting *out, const cli_snapshot *state);

#endif // CLI_STATUS_CLI_WAITING_H
