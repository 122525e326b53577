#ifndef CLI_REMOTE_CLI_REMOTE_POLL_H
#define CLI_REMOTE_CLI_REMOTE_POLL_H

#include "cli/remote/cli_remote.h"
#include "cli/status/cli_snapshot.h"

// Asks a run's learner, replays and peers for their status, once or in rounds.
//
// Threads: loop thread. A round takes at most CLI_REMOTE_POLL_ROUND_MS, also when connections are
// refused or lost. Order: close before the loop is destroyed.
typedef struct cli_remote_poll cli_remote_poll;

#define CLI_REMOTE_POLL_ROUND_MS 4000
#define CLI_REMOTE_POLL_PEERS    256 // peers that a learner of any release lists

typedef struct cli_remote_poll_request {
    uint32_t period_ms; // from the end of a round to the next; 0: only one round
    // 1 .. WIRE_PEERS_MAX; a learner that refuses this number is asked for CLI_REMOTE_POLL_PEERS
    uint32_t peers_max;
    net_fn done; // runs after each round: the state is new, and says which daemons answered
    void *arg;
} cli_remote_poll_request;

OCT_CHECKED oct_err cli_remote_poll_open(cli_remote_poll **out, net_loop *loop,
                                         const cli_remote_options *options,
                                         const cli_remote_poll_request *request);
// Returns the state. The caller may set its folder, and updates it (cli_snapshot_update) in done.
cli_snapshot *cli_remote_poll_state(cli_remote_poll *poll);
void cli_remote_poll_close(cli_remote_poll *poll); // NULL is a no-op

#endif // CLI_REMOTE_CLI_REMOTE_POLL_H
