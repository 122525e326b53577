#ifndef CLI_STATUS_CLI_STATE_H
#define CLI_STATUS_CLI_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_config.h"
#include "common/oct_role.h"
#include "proto/wire_learner.h"
#include "proto/wire_peers.h"

// What is known of a run at this moment, wherever it runs: what `octet train` and `octet status`
// are told by the daemons, what cli_waiting judges and cli_view shows. Numbers are kept by the
// names that the daemons' registries give them (common/oct_numbers.h, docs/reference.md). Plain
// values; about 1.4 MB. Threads: any, one at a time.

#define CLI_STATE_NAME_MAX   64
#define CLI_STATE_TEXT_MAX   512
#define CLI_STATE_NOTE_MAX   160
#define CLI_STATE_POINTS_MAX 512

// What a learner says that has no actors, and needs none.
#define CLI_STATE_OFFLINE "learning from a data set"

// Of replay.disk_state (docs/reference.md).
#define CLI_DISK_FULL    2
#define CLI_DISK_FAILING 3

typedef struct cli_daemon_number {
    char name[CLI_STATE_NAME_MAX]; // "learner.updates"
    double value;
} cli_daemon_number;

typedef struct cli_daemon_state {
    char url[CLI_STATE_TEXT_MAX];
    bool heard;                   // it answered when last asked
    char why[CLI_STATE_TEXT_MAX]; // it did not; "" as well when it was not asked yet
    char state[CLI_STATE_TEXT_MAX];
    char refused[CLI_STATE_TEXT_MAX]; // wire_status
    size_t count;
    cli_daemon_number number[WIRE_STATS_MAX];
} cli_daemon_state;

typedef struct cli_peer {
    uint32_t id;
    wire_role role;
    uint32_t pid;
    bool is_silent;
    char host[WIRE_NAME_MAX + 1];
    char certificate[OCT_HOLDER_NAME_MAX + 1]; // its name; "": none, or not told
    uint32_t certificate_id, places;           // wire_peers.h
    uint32_t relay;                            // its place in the state's, plus 1; 0: none
    uint64_t version;
    wire_peer_health health; // of a learner that does not judge: live or silent
    char unreached[WIRE_NAME_MAX + 1];
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

typedef struct cli_state {
    char folder[CLI_STATE_TEXT_MAX]; // as a person calls it; "": a run on other hosts
    uint64_t run_id;                 // 0: not known
    char env[CLI_STATE_TEXT_MAX];
    double batch_size; // windows in an update; NaN: not known
    double wall_s;     // of the run, when it was last updated
    cli_daemon_state learner, replay;
    uint32_t shards; // replays that share what actors do, the first one is replay; 0 counts as 1
    cli_daemon_state other_shard[OCT_SHARDS_MAX - 1];
    cli_daemon_state data; // replay of a data set beside the other one; url "": there is none
    bool has_peers;        // the rest was answered
    char peers_why[CLI_STATE_TEXT_MAX]; // it was not; "" when it was not asked
    uint64_t policy_version;
    uint32_t actors, evaluators, silent, stuck, gone;
    double env_steps_per_s, lag_mean;
    uint32_t places_max; // that one certificate may hold; 0: any number, or not told
    size_t peer_count;
    cli_peer peer[WIRE_PEERS_MAX]; // the most troubled first
    size_t relay_count;
    cli_relay relay[WIRE_RELAYS_MAX];
    // What happened, and what follows from several looks.
    uint32_t restarts, given_up;          // daemons that were restarted; that died too often
    char hang[CLI_STATE_NOTE_MAX];        // which daemon makes no progress now, or ""
    char note[CLI_STATE_NOTE_MAX];        // the last thing that happened, or ""
    char warning[2 * CLI_STATE_NOTE_MAX]; // what is the matter now, or ""
    size_t point_count; // evaluations; every second one is dropped when there are too many
    double point_return[CLI_STATE_POINTS_MAX];
    double evaluations_seen;
    // The last environment step that was heard of; longer without one than quiet_max_s is told.
    double quiet_max_s, stepped_s, stepped_count;
    double reported_s;    // when there last was an actor, or no need of one; 0: the beginning
    double updates_count; // at the last look
    double rejected_count, rejected_s; // batches at the last look, and when there were more
    // The first counts heard of, for rates until the learner has measured its own.
    double first_s, first_env_steps, first_updates, first_published_bytes;
} cli_state;

void cli_state_clear(cli_state *state);
// What the experiment says of the run.
void cli_state_take_config(cli_state *state, const oct_config *config);
// The replays: of the first shard, and of the others.
cli_daemon_state *cli_state_shard(cli_state *state, uint32_t shard);
// One that did not answer when it was asked last; NULL: none.
const cli_daemon_state *cli_state_missing_replay(const cli_state *state);
// A number by its name, of the daemon that its prefix names; NaN: not told. Of several shards those
// that answered are counted together: counts and rates are added up, the ratio is that of the sums,
// of what their limiters share one is told, and of how long one waits the longest.
double cli_state_number(const cli_state *state, const char *name);
// Batches that replays rejected; NaN: not told. shard, why: of the first that says why ("": none).
double cli_state_rejected(const cli_state *state, uint32_t *shard, const char **why);
// A number of this daemon.
double cli_state_number_of(const cli_daemon_state *daemon, const char *name);
// Puts a number that the daemon has not told. No room: it stays unknown.
void cli_state_put(cli_state *state, const char *name, double value);
// Actors (evaluators) that are alive, as peers or the learner's numbers tell; NaN: not known.
double cli_state_actors(const cli_state *state);
double cli_state_evaluators(const cli_state *state);
// Relays that are alive, of those that are listed.
uint32_t cli_state_relays(const cli_state *state);
// An answer, and the lack of one.
void cli_state_take_status(cli_daemon_state *daemon, const wire_status *status);
void cli_state_miss_status(cli_daemon_state *daemon, const char *why);
// The word for the health of a peer: "live", "stuck".
const char *cli_state_health_word(wire_peer_health health);
// The first peer of the list with this health; NULL: none.
const cli_peer *cli_state_peer_with(const cli_state *state, wire_peer_health health);
#define CLI_STATE_AILMENT_MAX (WIRE_NAME_MAX + 128)
// What is wrong with a peer that is stuck, without acknowledgements or silent, as a phrase that
// follows its name; "" for any other. Returns out.
const char *cli_state_ailment(const cli_peer *peer, char out[CLI_STATE_AILMENT_MAX]);
void cli_state_take_peers(cli_state *state, const wire_peers *peers);
void cli_state_miss_peers(cli_state *state, const char *why);
// Call after answers came in, wall_s after the run began: notes a new evaluation, fills in rates
// that the learner has not measured yet, and says what is the matter. True: a new evaluation.
bool cli_state_update(cli_state *state, double wall_s);

#endif // CLI_STATUS_CLI_STATE_H
