// Packs, unpacks and checks LearnerPeers, the list of registered actors and evaluators.
#include <math.h>

#include "common/oct_base.h"
#include "proto/octet.pb-c.h"
#include "proto/wire_check.h"
#include "proto/wire_convert.h"

void
wire_get_peers_to(Octet__PeersRequest *out, const wire_get_peers *in)
{
    *out = (Octet__PeersRequest){
        PROTOBUF_C_MESSAGE_INIT(&octet__peers_request__descriptor),
        .count_max = in->count_max,
    };
}

oct_err
wire_get_peers_from(wire_get_peers *out, const Octet__PeersRequest *in, wire_arena *arena)
{
    WIRE_REQUIRE(arena, in->count_max >= 1 && in->count_max <= WIRE_PEERS_MAX,
                 "get_peers.count_max: outside 1 .. 1024");
    *out = (wire_get_peers){.count_max = in->count_max};
    return OCT_OK;
}

static void
relays_to(Octet__Peers *out, const wire_peers *in)
{
    const wire_relays *relays = &in->relays;
    out->n_relay = in->count;
    out->relay = WIRE_COLUMN(uint32_t, in->relay);
    out->n_relay_host = out->n_relay_pid = out->n_relay_address = relays->count;
    out->n_relay_above = out->n_relay_is_silent = out->n_relay_actors = relays->count;
    out->n_relay_sessions = out->n_relay_heard_s = relays->count;
    out->relay_host = WIRE_COLUMN(char *, relays->host);
    out->relay_pid = WIRE_COLUMN(uint32_t, relays->pid);
    out->relay_address = WIRE_COLUMN(char *, relays->address);
    out->relay_above = WIRE_COLUMN(char *, relays->above);
    out->relay_is_silent = WIRE_COLUMN(uint32_t, relays->is_silent);
    out->relay_actors = WIRE_COLUMN(uint32_t, relays->actors);
    out->relay_sessions = WIRE_COLUMN(uint32_t, relays->sessions);
    out->relay_heard_s = WIRE_COLUMN(double, relays->heard_s);
}

void
wire_peers_to(Octet__Peers *out, const wire_peers *in)
{
    *out = (Octet__Peers){
        PROTOBUF_C_MESSAGE_INIT(&octet__peers__descriptor),
        .run_id = in->run_id,
        .policy_version = in->policy_version,
        .actors = in->actors,
        .evaluators = in->evaluators,
        .silent = in->silent,
        .gone = in->gone,
        .env_steps_per_s = in->env_steps_per_s,
        .lag_mean = in->lag_mean,
        .n_id = in->count,
        .id = WIRE_COLUMN(uint32_t, in->id),
        .n_role = in->count,
        .role = WIRE_COLUMN(uint32_t, in->role),
        .n_pid = in->count,
        .pid = WIRE_COLUMN(uint32_t, in->pid),
        .n_is_silent = in->count,
        .is_silent = WIRE_COLUMN(uint32_t, in->is_silent),
        .n_host = in->count,
        .host = WIRE_COLUMN(char *, in->host),
        .n_version = in->count,
        .version = WIRE_COLUMN(uint64_t, in->version),
#define X(name) .n_##name = in->count, .name = WIRE_COLUMN(double, in->name),
        WIRE_PEER_NUMBERS(X)
#undef X
            .places_max = in->places_max,
        .stuck = in->stuck,
    };
    if (in->health != NULL) {
        out->n_health = in->count;
        out->health = WIRE_COLUMN(uint32_t, in->health);
#define X(name) out->n_##name = in->count, out->name = WIRE_COLUMN(double, in->name);
        WIRE_PEER_LATER_NUMBERS(X)
#undef X
    }
    if (in->unreached != NULL) {
        out->n_unreached = in->count;
        out->unreached = WIRE_COLUMN(char *, in->unreached);
    }
    if (in->certificate != NULL) {
        out->n_certificate = out->n_certificate_id = out->n_places = in->count;
        out->certificate = WIRE_COLUMN(char *, in->certificate);
        out->certificate_id = WIRE_COLUMN(uint32_t, in->certificate_id);
        out->places = WIRE_COLUMN(uint32_t, in->places);
    }
    if (in->relays.count > 0) {
        relays_to(out, in);
    }
}

static oct_err
relays_check(const Octet__Peers *in, wire_arena *arena)
{
    size_t count = in->n_relay_host;
    bool even = in->n_relay_pid == count && in->n_relay_address == count &&
                in->n_relay_above == count && in->n_relay_is_silent == count &&
                in->n_relay_actors == count && in->n_relay_sessions == count &&
                in->n_relay_heard_s == count && in->n_relay == (count > 0 ? in->n_id : 0);
    WIRE_REQUIRE(arena, even, "peers: columns of different lengths");
    WIRE_REQUIRE(arena, count <= WIRE_RELAYS_MAX, "peers: more than 256 relays");
    for (size_t i = 0; i < in->n_relay; i++) {
        WIRE_REQUIRE(arena, in->relay[i] <= count, "peers.relay: no index in the list of relays");
    }
    for (size_t i = 0; i < count; i++) {
        WIRE_REQUIRE_NAME(arena, in->relay_host[i],
                          "peers.relay_host: no name, or longer than 256 bytes");
        WIRE_REQUIRE_NAME(arena, in->relay_address[i],
                          "peers.relay_address: no name, or longer than 256 bytes");
        WIRE_REQUIRE_NAME(arena, in->relay_above[i],
                          "peers.relay_above: no name, or longer than 256 bytes");
        WIRE_REQUIRE(arena, in->relay_is_silent[i] <= 1, "peers.relay_is_silent: neither 0 nor 1");
        WIRE_REQUIRE(arena, !isinf(in->relay_heard_s[i]), "peers.relay_heard_s: infinite");
    }
    return OCT_OK;
}

static oct_err
certificates_check(const Octet__Peers *in, wire_arena *arena)
{
    bool even = in->n_certificate_id == in->n_certificate && in->n_places == in->n_certificate &&
                (in->n_certificate == 0 || in->n_certificate == in->n_id);
    WIRE_REQUIRE(arena, even, "peers: columns of different lengths");
    for (size_t i = 0; i < in->n_certificate; i++) {
        if (in->certificate[i][0] != '\0') {
            WIRE_REQUIRE_NAME(arena, in->certificate[i],
                              "peers.certificate: no name, or longer than 256 bytes");
        }
    }
    return OCT_OK;
}

// All of these columns, or none; unreached may be absent alone.
static oct_err
later_check(const Octet__Peers *in, wire_arena *arena)
{
    size_t count = in->n_health;
    bool even =
        (count == 0 || count == in->n_id) && (in->n_unreached == 0 || in->n_unreached == count);
#define X(name) even = even && in->n_##name == count;
    WIRE_PEER_LATER_NUMBERS(X)
#undef X
    WIRE_REQUIRE(arena, even, "peers: columns of different lengths");
    for (size_t i = 0; i < count; i++) {
        WIRE_REQUIRE(arena, in->health[i] < WIRE_PEER_HEALTH_COUNT, "peers.health: unknown");
#define X(name) WIRE_REQUIRE(arena, !isinf(in->name[i]), "peers." #name ": infinite");
        WIRE_PEER_LATER_NUMBERS(X)
#undef X
    }
    for (size_t i = 0; i < in->n_unreached; i++) {
        WIRE_REQUIRE_NAME(arena, in->unreached[i],
                          "peers.unreached: no name, or longer than 256 bytes");
    }
    return OCT_OK;
}

static oct_err
columns_check(const Octet__Peers *in, wire_arena *arena)
{
    size_t count = in->n_id;
    WIRE_REQUIRE(arena, count <= WIRE_PEERS_MAX, "peers: more than 1024");
    bool even = in->n_role == count && in->n_pid == count && in->n_is_silent == count &&
                in->n_host == count && in->n_version == count;
#define X(name) even = even && in->n_##name == count;
    WIRE_PEER_NUMBERS(X)
#undef X
    WIRE_REQUIRE(arena, even, "peers: columns of different lengths");
    for (size_t i = 0; i < count; i++) {
        WIRE_REQUIRE(arena, in->role[i] == WIRE_ROLE_ACTOR || in->role[i] == WIRE_ROLE_EVALUATOR,
                     "peers.role: neither actor nor evaluator");
        WIRE_REQUIRE(arena, in->is_silent[i] <= 1, "peers.is_silent: neither 0 nor 1");
        WIRE_REQUIRE_NAME(arena, in->host[i], "peers.host: no name, or longer than 256 bytes");
#define X(name) WIRE_REQUIRE(arena, !isinf(in->name[i]), "peers." #name ": infinite");
        WIRE_PEER_NUMBERS(X)
#undef X
    }
    return OCT_OK;
}

oct_err
wire_peers_from(wire_peers *out, const Octet__Peers *in, wire_arena *arena)
{
    WIRE_REQUIRE(arena, !isinf(in->env_steps_per_s) && !isinf(in->lag_mean),
                 "peers.env_steps_per_s, lag_mean: infinite");
    OCT_TRY(columns_check(in, arena));
    OCT_TRY(later_check(in, arena));
    OCT_TRY(certificates_check(in, arena));
    OCT_TRY(relays_check(in, arena));
    *out = (wire_peers){
        .run_id = in->run_id,
        .policy_version = in->policy_version,
        .actors = in->actors,
        .evaluators = in->evaluators,
        .silent = in->silent,
        .gone = in->gone,
        .env_steps_per_s = in->env_steps_per_s,
        .lag_mean = in->lag_mean,
        .count = (uint32_t)in->n_id,
        .id = in->id,
        .role = in->role,
        .pid = in->pid,
        .is_silent = in->is_silent,
        .host = (const char *const *)in->host,
        .version = in->version,
#define X(name) .name = in->name,
        WIRE_PEER_NUMBERS(X)
#undef X
            .places_max = in->places_max,
        .stuck = in->stuck,
    };
    if (in->n_health > 0) {
        out->health = in->health;
        out->unreached = in->n_unreached > 0 ? (const char *const *)in->unreached : NULL;
#define X(name) out->name = in->name;
        WIRE_PEER_LATER_NUMBERS(X)
#undef X
    }
    if (in->n_certificate > 0) {
        out->certificate = (const char *const *)in->certificate;
        out->certificate_id = in->certificate_id;
        out->places = in->places;
    }
    if (in->n_relay_host > 0) {
        out->relay = in->relay;
        out->relays = (wire_relays){
            .count = (uint32_t)in->n_relay_host,
            .host = (const char *const *)in->relay_host,
            .pid = in->relay_pid,
            .address = (const char *const *)in->relay_address,
            .above = (const char *const *)in->relay_above,
            .is_silent = in->relay_is_silent,
            .actors = in->relay_actors,
            .sessions = in->relay_sessions,
            .heard_s = in->relay_heard_s,
        };
    }
    return OCT_OK;
}
