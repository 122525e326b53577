#ifndef CLI_RUN_CLI_POLL_H
#define CLI_RUN_CLI_POLL_H

#include <stdbool.h>

#include "cli/status/cli_state.h"
#include "net/net_loop.h"
#include "proto/wire.h"

// Asks learner and replays of a run that this process supervises how they are, every period, and
// tells the learner to stop.
//
// Threads: loop thread. Full: one status call is in flight to each at a time. Order: close before
// the loop is destroyed.
typedef struct cli_poll cli_poll;

typedef struct cli_poll_request {
    const char *learner; // addresses, relative to the working folder; those of the replays are in
                         // the state
    const char *data;    // NULL: there is no second replay
    uint32_t period_ms;
    uint32_t timeout_ms; // of one call
} cli_poll_request;

typedef void (*cli_poll_done)(void *arg, oct_err err, const char *detail);

// on_answer runs when new numbers are in the state.
OCT_CHECKED oct_err cli_poll_open(cli_poll **out, net_loop *loop, const cli_poll_request *request,
                                  cli_state *state, net_fn on_answer, void *arg);
// The learner's Stop; done tells how it went.
OCT_CHECKED oct_err cli_poll_stop_learner(cli_poll *poll, const char *reason, uint32_t timeout_ms,
                                          cli_poll_done done, void *arg);
void cli_poll_close(cli_poll *poll);

#endif // CLI_RUN_CLI_POLL_H
