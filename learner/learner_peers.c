// Answers LearnerPeers: lists actors and evaluators, the most urgent first.
#include "learner/learner_peers.h"

#include <math.h>
#include <stdlib.h>

#include "common/oct_base.h"
#include "learner/learner_health.h"

#define SILENT_PART 4 // at most 1/SILENT_PART of the listed entries may be silent peers

// The greater the rank, the earlier in the list.
typedef struct candidate {
    const learner_actor *actor;
    wire_peer_health health;
    double rank;
} candidate;

struct learner_peers {
    learner_health *health_of;
    candidate *candidates; // [candidates_room]
    uint32_t candidates_room;
    uint32_t id[WIRE_PEERS_MAX], role[WIRE_PEERS_MAX], pid[WIRE_PEERS_MAX];
    uint32_t is_silent[WIRE_PEERS_MAX], health[WIRE_PEERS_MAX];
    const char *unreached[WIRE_PEERS_MAX];
    const char *host[WIRE_PEERS_MAX], *certificate[WIRE_PEERS_MAX];
    uint32_t certificate_id[WIRE_PEERS_MAX], places[WIRE_PEERS_MAX], relay[WIRE_PEERS_MAX];
    uint64_t version[WIRE_PEERS_MAX];
#define X(name) double name[WIRE_PEERS_MAX];
    WIRE_PEER_NUMBERS(X)
    WIRE_PEER_LATER_NUMBERS(X)
#undef X
    // relays
    uint32_t relay_pid[WIRE_RELAYS_MAX], relay_is_silent[WIRE_RELAYS_MAX];
    uint32_t relay_actors[WIRE_RELAYS_MAX], relay_sessions[WIRE_RELAYS_MAX];
    const char *relay_host[WIRE_RELAYS_MAX], *relay_address[WIRE_RELAYS_MAX];
    const char *relay_above[WIRE_RELAYS_MAX];
    double relay_heard_s[WIRE_RELAYS_MAX];
    wire_peers answer;
};

learner_peers *
learner_peers_create(void)
{
    learner_peers *peers = oct_alloc(sizeof(*peers));
    peers->health_of = learner_health_create();
    return peers;
}

void
learner_peers_destroy(learner_peers *peers)
{
    if (peers != NULL) {
        learner_health_destroy(peers->health_of);
        free(peers->candidates);
        free(peers);
    }
}

double *
learner_peers_lag_updates(learner_peers *peers)
{
    return peers->lag_updates;
}

static double
seconds_since(uint64_t then_ns, uint64_t now_ns)
{
    return now_ns > then_ns ? (double)(now_ns - then_ns) * 1e-9 : 0;
}

// ---- order

// Returns how many times slower and further behind than the median an actor is, added up.
static double
trouble(const learner_actor *actor, uint64_t newest, double lag_mean, double rate_median)
{
    double lag = learner_health_lag(actor, newest), rate = actor->rates.steps_per_s;
    double behind = isnan(lag) ? 0 : lag / (1 + lag_mean);
    bool has_rate = !isnan(rate) && rate_median > 0;
    return behind + (has_rate ? rate_median / OCT_MAX(rate, rate_median * 1e-6) : 0);
}

static int
candidates_compare(const void *left_, const void *right_)
{
    const candidate *left = left_, *right = right_;
    if (left->rank != right->rank) {
        return left->rank < right->rank ? 1 : -1;
    }
    return left->actor->id < right->actor->id ? -1 : left->actor->id > right->actor->id;
}

static void
candidate_add(learner_peers *peers, uint32_t at, const learner_actor *actor,
              wire_peer_health health)
{
    if (at == peers->candidates_room) {
        peers->candidates_room = OCT_MAX(2 * at, 64u);
        peers->candidates =
            realloc(peers->candidates, peers->candidates_room * sizeof(*peers->candidates));
        OCT_ASSERT(peers->candidates != NULL);
    }
    peers->candidates[at] = (candidate){.actor = actor, .health = health};
}

// Ranks by health first, and by urgency among equals.
static void
candidates_rank(learner_peers *peers, uint32_t count, uint64_t now_ns, uint64_t newest)
{
    const double health_first = 1e13, silent_most = 1e12, evaluators_next = 1e9;
    double rate = learner_health_rate(peers->health_of);
    for (uint32_t i = 0; i < count; i++) {
        candidate *one = &peers->candidates[i];
        const learner_actor *actor = one->actor;
        one->rank = health_first * one->health;
        if (one->health == WIRE_PEER_SILENT) {
            one->rank += silent_most - seconds_since(actor->seen_ns, now_ns);
        } else if (one->health == WIRE_PEER_STUCK) {
            one->rank += learner_actor_stuck_s(actor, now_ns);
        } else if (actor->role == WIRE_ROLE_EVALUATOR) {
            one->rank += evaluators_next;
        } else {
            one->rank += trouble(actor, newest, peers->answer.lag_mean, rate);
        }
    }
}

// Returns a peer's steps per second; 0 if it is silent or stuck in a step.
static double
rate_of(const learner_actor *actor, wire_peer_health health)
{
    bool is_still = health == WIRE_PEER_SILENT || health == WIRE_PEER_STUCK;
    return is_still ? 0 : actor->rates.steps_per_s;
}

// Collects all peers that may be listed; the counts go into the answer.
static uint32_t
candidates_gather(learner_peers *peers, const learner_actors *actors, uint64_t now_ns,
                  uint64_t newest)
{
    wire_peers *answer = &peers->answer;
    const learner_actor *actor;
    uint32_t count = 0, with_lag = 0;
    for (uint32_t i = 0; (actor = learner_actors_at(actors, i)) != NULL; i++) {
        if (actor->session == 0) {
            continue;
        }
        wire_peer_health health = learner_health_of(peers->health_of, actor, now_ns, newest);
        bool is_silent = health == WIRE_PEER_SILENT;
        if (actor->has_left || // but still has its slot
            (is_silent && seconds_since(actor->seen_ns, now_ns) >= LEARNER_PEER_GONE_S)) {
            answer->gone++;
            continue;
        }
        candidate_add(peers, count++, actor, health);
        answer->silent += is_silent;
        answer->stuck += health == WIRE_PEER_STUCK;
        if (is_silent || actor->role != WIRE_ROLE_ACTOR) {
            answer->evaluators += !is_silent;
            continue;
        }
        answer->actors++;
        double lag = learner_health_lag(actor, newest), rate = rate_of(actor, health);
        answer->lag_mean += isnan(lag) ? 0 : lag;
        with_lag += !isnan(lag);
        answer->env_steps_per_s += isnan(rate) ? 0 : rate;
    }
    answer->lag_mean = with_lag > 0 ? answer->lag_mean / with_lag : NAN;
    candidates_rank(peers, count, now_ns, newest);
    return count;
}

// ---- entries

// Adds the certificate of a peer. The columns are sent if at least one entry has a certificate.
static void
certificate_add(learner_peers *peers, uint32_t i, const learner_actors *actors,
                const learner_actor *actor)
{
    const oct_holder *holder = &actor->holder;
    bool has_one = holder->name[0] != '\0';
    peers->certificate[i] = holder->name;
    peers->certificate_id[i] = (uint32_t)holder->id[0] << 24 | (uint32_t)holder->id[1] << 16 |
                               (uint32_t)holder->id[2] << 8 | holder->id[3];
    peers->places[i] = has_one ? learner_actors_held(actors, holder) : 0;
    if (has_one) {
        peers->answer.certificate = peers->certificate;
        peers->answer.certificate_id = peers->certificate_id;
        peers->answer.places = peers->places;
        peers->answer.places_max = learner_actors_per_holder(actors);
    }
}

static void
entry_add(learner_peers *peers, const candidate *one, uint64_t now_ns, uint64_t newest)
{
    const learner_actor *actor = one->actor;
    bool acts = actor->role == WIRE_ROLE_ACTOR;
    uint32_t i = peers->answer.count++;
#define X(name) peers->name[i] = NAN;
    WIRE_PEER_NUMBERS(X)
    WIRE_PEER_LATER_NUMBERS(X)
#undef X
    peers->id[i] = actor->id;
    peers->role[i] = actor->role;
    peers->pid[i] = actor->pid;
    peers->is_silent[i] = one->health == WIRE_PEER_SILENT;
    peers->health[i] = one->health;
    peers->host[i] = actor->host;
    peers->version[i] = actor->policy_version;
    peers->session_s[i] = seconds_since(actor->joined_ns, now_ns);
    peers->heard_s[i] = seconds_since(actor->seen_ns, now_ns);
    peers->env_steps[i] = acts ? (double)actor->env_steps : NAN;
    peers->steps_per_s[i] = rate_of(actor, one->health);
    peers->lag_versions[i] = learner_health_lag(actor, newest);
    peers->infer_share[i] = actor->rates.infer_share;
    peers->env_share[i] = actor->rates.env_share;
    peers->collect_share[i] = actor->rates.collect_share;
    peers->wait_share[i] = actor->rates.wait_share;
    peers->resent[i] = acts ? actor->resent : NAN;
    peers->unacked[i] = acts ? actor->unacked : NAN;
    peers->stuck_s[i] = learner_actor_stuck_s(actor, now_ns);
    peers->unacked_s[i] = acts ? actor->unacked_s : NAN;
    peers->resident_bytes[i] = actor->resident_bytes;
    peers->restarts[i] = actor->restarts;
    bool is_cut_off = one->health == WIRE_PEER_UNACKED && actor->unreached[0] != '\0';
    peers->unreached[i] = is_cut_off ? actor->unreached : "";
    peers->answer.unreached = is_cut_off ? peers->unreached : peers->answer.unreached;
}

// ---- relays

static void
relays_add(learner_peers *peers, const learner_relay *const *relay, uint32_t count, uint64_t now_ns)
{
    for (uint32_t i = 0; i < count; i++) {
        peers->relay_host[i] = relay[i]->host;
        peers->relay_pid[i] = relay[i]->pid;
        peers->relay_address[i] = relay[i]->address;
        peers->relay_above[i] = relay[i]->above;
        peers->relay_is_silent[i] = !learner_relay_is_live(relay[i], now_ns);
        peers->relay_actors[i] = relay[i]->actors;
        peers->relay_sessions[i] = relay[i]->sessions;
        peers->relay_heard_s[i] = seconds_since(relay[i]->seen_ns, now_ns);
    }
    peers->answer.relay = count > 0 ? peers->relay : NULL;
    peers->answer.relays = (wire_relays){.count = count,
                                         .host = peers->relay_host,
                                         .pid = peers->relay_pid,
                                         .address = peers->relay_address,
                                         .above = peers->relay_above,
                                         .is_silent = peers->relay_is_silent,
                                         .actors = peers->relay_actors,
                                         .sessions = peers->relay_sessions,
                                         .heard_s = peers->relay_heard_s};
}

// Returns the index of an actor's relay, plus 1; 0: it has none.
static uint32_t
relay_place(const learner_relay *const *relay, uint32_t count, const learner_actor *actor)
{
    for (uint32_t i = 0; actor->relay != 0 && i < count; i++) {
        if (relay[i]->key == actor->relay) {
            return i + 1;
        }
    }
    return 0;
}

wire_peers *
learner_peers_list(learner_peers *peers, const learner_actors *actors, const learner_relays *relays,
                   uint64_t now_ns, uint64_t newest, uint32_t count_max)
{
    const learner_relay *relay[LEARNER_RELAYS_MAX];
    uint32_t relay_count = relays != NULL ? learner_relays_list(relays, now_ns, relay) : 0;
    OCT_ASSERT(count_max >= 1 && count_max <= WIRE_PEERS_MAX);
    peers->answer = (wire_peers){
        .policy_version = newest,
        .id = peers->id,
        .role = peers->role,
        .pid = peers->pid,
        .is_silent = peers->is_silent,
        .host = peers->host,
        .version = peers->version,
#define X(name) .name = peers->name,
        WIRE_PEER_NUMBERS(X) WIRE_PEER_LATER_NUMBERS(X)
#undef X
            .health = peers->health,
    };
    relays_add(peers, relay, relay_count, now_ns);
    learner_health_renew(peers->health_of, actors, now_ns, newest);
    uint32_t count = candidates_gather(peers, actors, now_ns, newest);
    uint32_t silent_left = (count_max + SILENT_PART - 1) / SILENT_PART;
    if (count > 1) {
        qsort(peers->candidates, count, sizeof(peers->candidates[0]), candidates_compare);
    }
    for (uint32_t i = 0; i < count && peers->answer.count < count_max; i++) {
        const candidate *one = &peers->candidates[i];
        bool is_silent = one->health == WIRE_PEER_SILENT;
        if (is_silent && silent_left == 0) {
            continue;
        }
        silent_left -= is_silent;
        certificate_add(peers, peers->answer.count, actors, one->actor);
        peers->relay[peers->answer.count] = relay_place(relay, relay_count, one->actor);
        entry_add(peers, one, now_ns, newest);
    }
    return &peers->answer;
}
