#ifndef CLI_STATUS_CLI_SNAPSHOT_H
#define CLI_STATUS_CLI_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_role.h"
#include "config/config.h"
#include "proto/wire_learner.h"
#include "proto/wire_peers.h"

// A snapshot of a run: what is known at this moment. The daemons' answers fill it, in `octet train`
// as in `octet status`; cli_waiting judges it and cli_view shows it. Numbers are kept under the
// names that the daemons' registries give them (common/oct_numbers.h, docs/reference.md). Plain
// values, about 1.4 MB. Threads: any, one at a time.

#define CLI_SNAPSHOT_NAME_MAX   64
#define CLI_SNAPSHOT_TEXT_MAX   512
#define CLI_SNAPSHOT_NOTE_MAX   160
#define CLI_SNAPSHOT_POINTS_MAX 512

// State of a learner that has no actors and needs none.
#define CLI_SNAPSHOT_OFFLINE "learning from a data set"

// Values of replay.disk_state (docs/reference.md).
#define CLI_DISK_FULL    2
#define CLI_DISK_FAILING 3

typedef struct cli_daemon_number {
    char name[CLI_SNAPSHOT_NAME_MAX]; // "learner.updates"
    double value;
} cli_daemon_number;

typedef struct cli_daemon_state {
    char url[CLI_SNAPSHOT_TEXT_MAX];
    bool heard;                      // it answered the last call
    char why[CLI_SNAPSHOT_TEXT_MAX]; // why it did not answer; "": it did, or was not asked yet
    char state[CLI_SNAPSHOT_TEXT_MAX];
    char refused[CLI_SNAPSHOT_TEXT_MAX]; // as in wire_status; "": nothing was refused
    size_t count;
    cli_daemon_number number[WIRE_STATS_MAX];
} cli_daemon_state;

typedef struct cli_peer {
    uint32_t id;
    wire_role role;
    uint32_t pid;
    bool is_silent;
    char host[WIRE_NAME_MAX + 1];
    char certificate[OCT_HOLDER_NAME_MAX + 1]; // name of its certificate; "": none, or not reported
    uint32_t certificate_id, places;           // wire_peers.h
    uint32_t relay;                            // index in the state's relays, plus 1; 0: none
    uint64_t version;
    wire_peer_health health;           // an earlier learner reports only live or silent
    char unreached[WIRE_NAME_MAX + 1]; // replay's address that the peer cannot reach, or ""
#define X(name) double name;
    WIRE_PEER_NUMBERS(X)
    WIRE_PEER_LATER_NUMBERS(X)
#undef X
} cli_peer;

typedef struct cli_relay {
    char host[WIRE_NAME_MAX + 1];
    uint32_t pid;
    char address[WIRE_NAME_MAX + 1], above[WIRE_NAME_MAX + 1]; // wire_peers.h
    bool is_silent;
    uint32_t actors, sessions;
    double heard_s;
} cli_relay;

typedef struct cli_snapshot {
    char folder[CLI_SNAPSHOT_TEXT_MAX]; // the user's name for the folder; "": a run on other hosts
    uint64_t run_id;                    // 0: not known
    char env[CLI_SNAPSHOT_TEXT_MAX];
    double batch_size; // windows in an update; NaN: not known
    double wall_s;     // seconds since the run began, at the last update
    cli_daemon_state learner, replay;
    // replays that share the work of the actors; replay is the first; 0 counts as 1
    uint32_t shards;
    cli_daemon_state other_shard[CONFIG_SHARDS_MAX - 1];
    cli_daemon_state data; // the replay of a data set that is used beside actors; url "": none
    bool has_peers;        // the learner reported its peers, in the fields that follow
    char peers_why[CLI_SNAPSHOT_TEXT_MAX]; // why it did not; "": it did, or was not asked
    uint64_t policy_version;
    uint32_t actors, evaluators, silent, stuck, gone;
    double env_steps_per_s, lag_mean;
    uint32_t places_max; // slots that one certificate may hold; 0: no limit, or not reported
    size_t peer_count;
    cli_peer peer[WIRE_PEERS_MAX]; // the most urgent first
    size_t relay_count;
    cli_relay relay[WIRE_RELAYS_MAX];
    // Events, and what follows from several answers.
    uint32_t restarts, given_up;             // daemons that were restarted, and that were given up
    char hang[CLI_SNAPSHOT_NOTE_MAX];        // the daemon that makes no progress now, or ""
    char note[CLI_SNAPSHOT_NOTE_MAX];        // the last event, or ""
    char warning[2 * CLI_SNAPSHOT_NOTE_MAX]; // the current problem, or ""
    size_t point_count; // evaluations; when the array is full, every second one is dropped
    double point_return[CLI_SNAPSHOT_POINTS_MAX];
    double evaluations_seen; // learner.evaluations at the last update
    // The count of environment steps, and when it last changed. A longer pause than quiet_max_s is
    // a warning.
    double quiet_max_s, stepped_s, stepped_count;
    double reported_s; // when an actor was last connected, or none was needed; 0: at the beginning
    double updates_count; // updates at the last update of this state
    // rejected batches at the last update, and when the number last grew
    double rejected_count, rejected_s;
    // The first counts that were reported, for rates until the learner has measured its own. NaN:
    // none yet.
    double first_s, first_env_steps, first_updates, first_published_bytes;
} cli_snapshot;

// Sets every number to "not known".
void cli_snapshot_clear(cli_snapshot *state);
// Takes what the experiment says about the run.
void cli_snapshot_take_config(cli_snapshot *state, const config_experiment *config);
// Returns the replay of a shard, the first or another.
cli_daemon_state *cli_snapshot_shard(cli_snapshot *state, uint32_t shard);
// Returns a replay that did not answer the last call, or NULL.
const cli_daemon_state *cli_snapshot_missing_replay(const cli_snapshot *state);
// Returns a number by its name, from the daemon that the prefix names; NaN: not reported. Shards
// that answered are combined: counts and rates are added, samples_per_insert is the ratio of the
// sums, and the largest value is taken of limiter settings, which are equal, and of shares of time.
double cli_snapshot_number(const cli_snapshot *state, const char *name);
// Returns the number of batches that replays rejected; NaN: not reported. *shard and *why are of
// the first shard that gives a reason ("": none).
double cli_snapshot_rejected(const cli_snapshot *state, uint32_t *shard, const char **why);
// Returns a number of this daemon; NaN: not reported.
double cli_snapshot_number_of(const cli_daemon_state *daemon, const char *name);
// Sets a number that the daemon did not report. If there is no room, it stays unknown.
void cli_snapshot_put(cli_snapshot *state, const char *name, double value);
// Return the number of live actors and evaluators, from the peers or else from the learner's
// numbers; NaN: not known.
double cli_snapshot_actors(const cli_snapshot *state);
double cli_snapshot_evaluators(const cli_snapshot *state);
// Returns the number of listed relays that are not silent.
uint32_t cli_snapshot_relays(const cli_snapshot *state);
// Take an answer, and its failure.
void cli_snapshot_take_status(cli_daemon_state *daemon, const wire_status *status);
void cli_snapshot_miss_status(cli_daemon_state *daemon, const char *why);
// Returns the word for the health of a peer: "live", "stuck".
const char *cli_snapshot_health_word(wire_peer_health health);
// Returns the first listed peer with this health, or NULL.
const cli_peer *cli_snapshot_peer_with(const cli_snapshot *state, wire_peer_health health);
#define CLI_SNAPSHOT_AILMENT_MAX (WIRE_NAME_MAX + 128)
// Writes what is wrong with a peer that is stuck, has no acknowledgements or is silent, as a phrase
// that follows its name; "" for any other peer. Returns out.
const char *cli_snapshot_ailment(const cli_peer *peer, char out[CLI_SNAPSHOT_AILMENT_MAX]);
void cli_snapshot_take_peers(cli_snapshot *state, const wire_peers *peers);
void cli_snapshot_miss_peers(cli_snapshot *state, const char *why);
// Derives what follows from the answers: a new evaluation, rates that the learner has not measured
// yet, and the current warning. Call this after answers came in, wall_s after the run began.
// Returns true if there is a new evaluation.
bool cli_snapshot_update(cli_snapshot *state, double wall_s);

#endif // CLI_STATUS_CLI_SNAPSHOT_H
