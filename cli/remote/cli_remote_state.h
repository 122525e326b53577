#ifndef CLI_REMOTE_CLI_REMOTE_STATE_H
#define CLI_REMOTE_CLI_REMOTE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/wire.h"
#include "proto/wire_peers.h"

// What is known of a run on other hosts at this moment: what cli_remote_poll gathers, cli_waiting
// judges and cli_remote_view shows. Plain values; about 300 KB. Threads: any.

#define CLI_REMOTE_NAME_MAX 64
#define CLI_REMOTE_TEXT_MAX 512

typedef struct cli_daemon_number {
    char name[CLI_REMOTE_NAME_MAX]; // of a status number, docs/operations.md
    double value;
} cli_daemon_number;

typedef struct cli_daemon_state {
    char url[CLI_REMOTE_TEXT_MAX];
    bool heard;                    // it answered when last asked
    char why[CLI_REMOTE_TEXT_MAX]; // it did not
    char state[CLI_REMOTE_TEXT_MAX];
    size_t count;
    cli_daemon_number number[WIRE_STATS_MAX];
} cli_daemon_state;

typedef struct cli_peer {
    uint32_t id;
    wire_role role;
    uint32_t pid;
    bool is_silent;
    char host[WIRE_NAME_MAX + 1];
    uint64_t version;
#define X(name) double name;
    WIRE_PEER_NUMBERS(X)
#undef X
} cli_peer;

typedef struct cli_remote_state {
    uint64_t run_id;
    char env[CLI_REMOTE_TEXT_MAX];
    double batch_size; // transitions in an update; NaN: not known
    cli_daemon_state learner, replay;
    bool has_peers;                      // the rest was answered
    char peers_why[CLI_REMOTE_TEXT_MAX]; // it was not
    uint64_t policy_version;
    uint32_t actors, evaluators, silent, gone;
    double env_steps_per_s, lag_mean;
    size_t peer_count;
    cli_peer peer[WIRE_PEERS_MAX]; // the most troubled first
} cli_remote_state;

void cli_remote_state_clear(cli_remote_state *state);
// A status number by its name; NaN: not told.
double cli_remote_state_number(const cli_daemon_state *daemon, const char *name);
// An answer, and the lack of one.
void cli_remote_state_take_status(cli_daemon_state *daemon, const wire_status *status);
void cli_remote_state_miss_status(cli_daemon_state *daemon, const char *why);
void cli_remote_state_take_peers(cli_remote_state *state, const wire_peers *peers);
void cli_remote_state_miss_peers(cli_remote_state *state, const char *why);

#endif // CLI_REMOTE_CLI_REMOTE_STATE_H
