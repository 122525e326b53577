#ifndef CLI_RUN_CLI_POLL_H
#define CLI_RUN_CLI_POLL_H

#include <stdbool.h>

#include "cli/status/cli_snapshot.h"
#include "net/net_loop.h"
#include "proto/wire.h"

// Asks the learner and the replays of a run that this process supervises for their status, once a
// period, and can tell the learner to stop.
//
// Threads: loop thread. Full: each daemon has at most one status call in flight; a period passes
// without a call if the last one is unanswered. Order: close before the loop is destroyed.
typedef struct cli_poll cli_poll;

typedef struct cli_poll_request {
    // address, relative to the current folder; the state has those of the replays
    const char *learner;
    const char *data; // the replay of a data set; NULL: there is none
    uint32_t period_ms;
    uint32_t timeout_ms; // of one call
    net_fn on_answer;    // runs when the state has new numbers
    void *arg;
} cli_poll_request;

typedef void (*cli_poll_done)(void *arg, oct_err err, const char *detail);

// state is borrowed and must outlive the poll. Errors: an address that cannot be dialled.
OCT_CHECKED oct_err cli_poll_open(cli_poll **out, net_loop *loop, const cli_poll_request *request,
                                  cli_snapshot *state);
// Calls the learner's Stop. done runs once with the result, unless an error is returned. Only one
// such call at a time.
OCT_CHECKED oct_err cli_poll_stop_learner(cli_poll *poll, const char *reason, uint32_t timeout_ms,
                                          cli_poll_done done, void *arg);
void cli_poll_close(cli_poll *poll);

#endif // CLI_RUN_CLI_POLL_H
