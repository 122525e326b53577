#ifndef CLI_RUN_CLI_POLL_H
#define CLI_RUN_CLI_POLL_H

#include <stdbool.h>

#include "cli/run/cli_run_status.h"
#include "net/net_loop.h"
#include "proto/wire.h"
#include "proto/wire_replay.h"

// Asks a run's learner and replay how they are, every period, and tells them the few things that
// the command line may tell them.
//
// Threads: loop thread. Full: one status call is in flight to each at a time. Order: close before
// the loop is destroyed.
typedef struct cli_poll cli_poll;
typedef struct cli_poll_events {
    // New numbers are in status->numbers (and state).
    net_fn on_answer;
    // A status call failed (no such daemon, timed out).
    net_fn on_failure;
    void *arg;
} cli_poll_events;

typedef struct cli_poll_request {
    const char *learner; // addresses, relative to the working folder
    const char *replay;
    uint32_t period_ms;  // 0: ask each once
    uint32_t timeout_ms; // of one call
} cli_poll_request;

typedef void (*cli_poll_done)(void *arg, oct_err err, const char *detail);

OCT_CHECKED oct_err cli_poll_open(cli_poll **out, net_loop *loop, const cli_poll_request *request,
                                  cli_run_status *status, const cli_poll_events *events);
uint32_t cli_poll_learner_answers(const cli_poll *poll);
uint32_t cli_poll_replay_answers(const cli_poll *poll);
uint32_t cli_poll_replay_failures(const cli_poll *poll);
// The run that replay serves, 0 while it has not answered.
uint64_t cli_poll_replay_run(const cli_poll *poll);
// The learner's Stop; done tells how it went.
OCT_CHECKED oct_err cli_poll_stop_learner(cli_poll *poll, const char *reason, uint32_t timeout_ms,
                                          cli_poll_done done, void *arg);
// Replay's Configure; message is borrowed for the call.
OCT_CHECKED oct_err cli_poll_configure(cli_poll *poll, const wire_configure *message,
                                       uint32_t timeout_ms, cli_poll_done done, void *arg);
void cli_poll_close(cli_poll *poll);

#endif // CLI_RUN_CLI_POLL_H
