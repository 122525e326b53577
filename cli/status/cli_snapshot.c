// The current state of a run, filled from the daemons' answers.

#include "cli/status/cli_snapshot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli_text.h"
#include "common/oct_base.h"

#define QUIET_MAX_S   10.0 // least value of cli_snapshot.quiet_max_s
#define QUIET_REPORTS 3    // reports of an actor that may be missing before it counts as quiet

// Numbers that no daemon has reported yet are NaN, which all views show as "-".
void
cli_snapshot_clear(cli_snapshot *state)
{
    memset(state, 0, sizeof(*state));
    state->batch_size = NAN;
    state->env_steps_per_s = NAN;
    state->lag_mean = NAN;
    state->quiet_max_s = QUIET_MAX_S;
    state->stepped_count = NAN;
    state->first_env_steps = NAN;
    state->first_updates = NAN;
    state->first_published_bytes = NAN;
}

void
cli_snapshot_take_config(cli_snapshot *state, const config_experiment *config)
{
    state->batch_size = config->learner.batch_size;
    state->quiet_max_s = OCT_MAX(QUIET_MAX_S, QUIET_REPORTS * config->actor.report_s);
    (void)snprintf(state->env, sizeof(state->env), "%s", config->env.id);
}

// ---- numbers

// Returns the index of a number, or daemon->count if the daemon has none of this name.
static size_t
find(const cli_daemon_state *daemon, const char *name)
{
    size_t i = 0;
    while (i < daemon->count && strcmp(daemon->number[i].name, name) != 0) {
        i++;
    }
    return i;
}

// Returns true for a number of the learner, whose names have this prefix; all others are replay's.
static bool
is_of_learner(const char *name)
{
    return strncmp(name, "learner.", strlen("learner.")) == 0;
}

double
cli_snapshot_number_of(const cli_daemon_state *daemon, const char *name)
{
    size_t i = find(daemon, name);
    return i < daemon->count ? daemon->number[i].value : NAN;
}

cli_daemon_state *
cli_snapshot_shard(cli_snapshot *state, uint32_t shard)
{
    OCT_ASSERT(shard < CONFIG_SHARDS_MAX);
    return shard == 0 ? &state->replay : &state->other_shard[shard - 1];
}

// The same for a state that is only read.
static const cli_daemon_state *
shard_at(const cli_snapshot *state, uint32_t shard)
{
    return shard == 0 ? &state->replay : &state->other_shard[shard - 1];
}

double
cli_snapshot_rejected(const cli_snapshot *state, uint32_t *shard, const char **why)
{
    *shard = 0;
    // The first shard that says why it rejected a batch.
    for (uint32_t i = 1; i < state->shards && shard_at(state, *shard)->refused[0] == '\0'; i++) {
        *shard = shard_at(state, i)->refused[0] != '\0' ? i : 0;
    }
    *why = shard_at(state, *shard)->refused;
    return cli_snapshot_number(state, "replay.rejected");
}

const cli_daemon_state *
cli_snapshot_missing_replay(const cli_snapshot *state)
{
    for (uint32_t i = 0; i < OCT_MAX(state->shards, 1u); i++) {
        const cli_daemon_state *shard = shard_at(state, i);
        if (!shard->heard && shard->why[0] != '\0') {
            return shard;
        }
    }
    return NULL;
}

// Adds a number up over all shards that reported it; is_most: takes the largest instead. NaN: no
// shard has.
static double
number_of_shards(const cli_snapshot *state, const char *name, bool is_most)
{
    double all = NAN;
    for (uint32_t i = 0; i < OCT_MAX(state->shards, 1u); i++) {
        double one = cli_snapshot_number_of(shard_at(state, i), name);
        if (!isnan(one)) {
            all = isnan(all) ? one : is_most ? fmax(all, one) : all + one;
        }
    }
    return all;
}

double
cli_snapshot_number(const cli_snapshot *state, const char *name)
{
    if (is_of_learner(name)) {
        return cli_snapshot_number_of(&state->learner, name);
    }
    // The mean of ratios would weigh all shards equally.
    if (state->shards > 1 && strcmp(name, "replay.samples_per_insert") == 0) {
        return number_of_shards(state, "replay.samples", false) /
               number_of_shards(state, "replay.inserts", false);
    }
    // equal for all, or a share of time: the largest counts
    bool is_shared = strncmp(name, "replay.limiter.", strlen("replay.limiter.")) == 0 ||
                     strstr(name, "_share") != NULL;
    return number_of_shards(state, name, is_shared);
}

// Adds a number. A name that is too long comes from another release and is left out.
static void
add(cli_daemon_state *daemon, const char *name, double value)
{
    if (daemon->count < WIRE_STATS_MAX && strlen(name) < CLI_SNAPSHOT_NAME_MAX) {
        cli_daemon_number *number = &daemon->number[daemon->count++];
        memcpy(number->name, name, strlen(name) + 1);
        number->value = value;
    }
}

void
cli_snapshot_put(cli_snapshot *state, const char *name, double value)
{
    cli_daemon_state *daemon = is_of_learner(name) ? &state->learner : &state->replay;
    size_t i = find(daemon, name);
    if (i < daemon->count) {
        daemon->number[i].value = value;
    } else {
        add(daemon, name, value);
    }
}

double
cli_snapshot_actors(const cli_snapshot *state)
{
    return state->has_peers ? state->actors : cli_snapshot_number(state, "learner.actors");
}

double
cli_snapshot_evaluators(const cli_snapshot *state)
{
    return state->has_peers ? state->evaluators : cli_snapshot_number(state, "learner.evaluators");
}

uint32_t
cli_snapshot_relays(const cli_snapshot *state)
{
    uint32_t live = 0;
    for (size_t i = 0; i < state->relay_count; i++) {
        live += !state->relay[i].is_silent;
    }
    return live;
}

// ---- answers

void
cli_snapshot_take_status(cli_daemon_state *daemon, const wire_status *status)
{
    daemon->heard = true;
    daemon->why[0] = '\0';
    daemon->count = 0;
    (void)snprintf(daemon->state, sizeof(daemon->state), "%s", status->state);
    (void)snprintf(daemon->refused, sizeof(daemon->refused), "%s",
                   status->refused != NULL ? status->refused : "");
    for (uint32_t i = 0; i < status->stat_count; i++) {
        add(daemon, status->stat_name[i], status->stat_value[i]);
    }
}

// Forgets the numbers, so that a daemon that does not answer is not shown with old ones.
void
cli_snapshot_miss_status(cli_daemon_state *daemon, const char *why)
{
    daemon->heard = false;
    daemon->count = 0;
    daemon->state[0] = '\0';
    daemon->refused[0] = '\0';
    (void)snprintf(daemon->why, sizeof(daemon->why), "%s", why);
}

// Peers refer to these relays by index, so relays and peers are taken from the same answer.
static void
relays_take(cli_snapshot *state, const wire_relays *relays)
{
    state->relay_count = relays->count;
    for (uint32_t i = 0; i < relays->count; i++) {
        cli_relay *relay = &state->relay[i];
        *relay = (cli_relay){.pid = relays->pid[i],
                             .is_silent = relays->is_silent[i] != 0,
                             .actors = relays->actors[i],
                             .sessions = relays->sessions[i],
                             .heard_s = relays->heard_s[i]};
        (void)snprintf(relay->host, sizeof(relay->host), "%s", relays->host[i]);
        (void)snprintf(relay->address, sizeof(relay->address), "%s", relays->address[i]);
        (void)snprintf(relay->above, sizeof(relay->above), "%s", relays->above[i]);
    }
}

const char *
cli_snapshot_health_word(wire_peer_health health)
{
    static const char *const words[] = {
#define X(name, word) word,
        WIRE_PEER_HEALTHS(X)
#undef X
    };
    return words[health];
}

const cli_peer *
cli_snapshot_peer_with(const cli_snapshot *state, wire_peer_health health)
{
    for (size_t i = 0; i < state->peer_count; i++) {
        if (state->peer[i].health == health) {
            return &state->peer[i];
        }
    }
    return NULL;
}

const char *
cli_snapshot_ailment(const cli_peer *peer, char out[CLI_SNAPSHOT_AILMENT_MAX])
{
    out[0] = '\0';
    if (peer->health == WIRE_PEER_STUCK) {
        (void)snprintf(out, CLI_SNAPSHOT_AILMENT_MAX, "a step of its environment has taken %s",
                       cli_text_seconds(peer->stuck_s).text);
    } else if (peer->health == WIRE_PEER_UNACKED) {
        cli_plain_text address = cli_text_plain(peer->unreached, strlen(peer->unreached));
        (void)snprintf(out, CLI_SNAPSHOT_AILMENT_MAX, "%.0f unacknowledged batch%s for %s%s%s",
                       peer->unacked, peer->unacked == 1 ? "" : "es",
                       cli_text_seconds(peer->unacked_s).text,
                       peer->unreached[0] != '\0' ? ": cannot reach " : ": replay does not answer",
                       address.text);
    } else if (peer->health == WIRE_PEER_SILENT) {
        (void)snprintf(out, CLI_SNAPSHOT_AILMENT_MAX, "no report for %s",
                       cli_text_seconds(peer->heard_s).text);
    }
    return out;
}

// Fields that a learner of an earlier release does not report.
static void
peer_take_later(cli_peer *peer, const wire_peers *peers, uint32_t i)
{
    peer->health = peers->health != NULL ? (wire_peer_health)peers->health[i]
                   : peer->is_silent     ? WIRE_PEER_SILENT
                                         : WIRE_PEER_LIVE;
    (void)snprintf(peer->unreached, sizeof(peer->unreached), "%s",
                   peers->unreached != NULL ? peers->unreached[i] : "");
#define X(name) peer->name = peers->name != NULL ? peers->name[i] : NAN;
    WIRE_PEER_LATER_NUMBERS(X)
#undef X
}

// Takes the learner's list of peers. Its columns are parallel arrays; X walks through those that
// are plain numbers.
void
cli_snapshot_take_peers(cli_snapshot *state, const wire_peers *peers)
{
    state->has_peers = true;
    state->peers_why[0] = '\0';
    state->policy_version = peers->policy_version;
    state->actors = peers->actors;
    state->evaluators = peers->evaluators;
    state->silent = peers->silent;
    state->stuck = peers->stuck;
    state->gone = peers->gone;
    state->env_steps_per_s = peers->env_steps_per_s;
    state->lag_mean = peers->lag_mean;
    state->places_max = peers->places_max;
    state->peer_count = peers->count;
    relays_take(state, &peers->relays);
    for (uint32_t i = 0; i < peers->count; i++) {
        state->peer[i] = (cli_peer){.id = peers->id[i],
                                    .role = (wire_role)peers->role[i],
                                    .pid = peers->pid[i],
                                    .is_silent = peers->is_silent[i] != 0,
                                    .version = peers->version[i],
#define X(name) .name = peers->name[i],
                                    WIRE_PEER_NUMBERS(X)
#undef X
        };
        (void)snprintf(state->peer[i].host, sizeof(state->peer[i].host), "%s", peers->host[i]);
        peer_take_later(&state->peer[i], peers, i);
        state->peer[i].relay = peers->relay != NULL ? peers->relay[i] : 0;
        if (peers->certificate != NULL) {
            (void)snprintf(state->peer[i].certificate, sizeof(state->peer[i].certificate), "%.*s",
                           OCT_HOLDER_NAME_MAX, peers->certificate[i]);
            state->peer[i].certificate_id = peers->certificate_id[i];
            state->peer[i].places = peers->places[i];
        }
    }
}

void
cli_snapshot_miss_peers(cli_snapshot *state, const char *why)
{
    state->has_peers = false;
    state->actors = state->evaluators = state->silent = state->stuck = state->gone = 0;
    state->env_steps_per_s = state->lag_mean = NAN;
    state->peer_count = state->relay_count = 0;
    (void)snprintf(state->peers_why, sizeof(state->peers_why), "%s", why);
}
