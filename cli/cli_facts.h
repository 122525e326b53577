#ifndef CLI_CLI_FACTS_H
#define CLI_CLI_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/wire.h"
#include "proto/wire_peers.h"

// What is known of a run on other hosts at this moment: what cli_survey gathers, cli_waiting judges
// and cli_facts_view shows. Plain values; about 300 KB. Threads: any.

#define CLI_FACTS_NAME_MAX 64
#define CLI_FACTS_TEXT_MAX 512

typedef struct cli_fact {
    char name[CLI_FACTS_NAME_MAX]; // of a status number, docs/operations.md
    double value;
} cli_fact;

typedef struct cli_daemon_facts {
    char url[CLI_FACTS_TEXT_MAX];
    bool heard;                   // it answered when last asked
    char why[CLI_FACTS_TEXT_MAX]; // it did not
    char state[CLI_FACTS_TEXT_MAX];
    size_t count;
    cli_fact number[WIRE_STATS_MAX];
} cli_daemon_facts;

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

typedef struct cli_facts {
    uint64_t run_id;
    char env[CLI_FACTS_TEXT_MAX];
    double batch_size; // transitions in an update; NaN: not known
    cli_daemon_facts learner, replay;
    bool has_peers;                     // the rest was answered
    char peers_why[CLI_FACTS_TEXT_MAX]; // it was not
    uint64_t policy_version;
    uint32_t actors, evaluators, silent, gone;
    double env_steps_per_s, lag_mean;
    size_t peer_count;
    cli_peer peer[WIRE_PEERS_MAX]; // the most troubled first
} cli_facts;

void cli_facts_clear(cli_facts *facts);
// A status number by its name; NaN: not told.
double cli_facts_number(const cli_daemon_facts *daemon, const char *name);
// An answer, and the lack of one.
void cli_facts_take_status(cli_daemon_facts *daemon, const wire_status *status);
void cli_facts_miss_status(cli_daemon_facts *daemon, const char *why);
void cli_facts_take_peers(cli_facts *facts, const wire_peers *peers);
void cli_facts_miss_peers(cli_facts *facts, const char *why);

#endif // CLI_CLI_FACTS_H
