// Tables and checks of LearnerPeers, the list of registered actors and evaluators.
#include "common/oct_base.h"
#include "proto/wire_convert.h"

static const wire_member get_peers_rows[] = {VALUE(get_peers, count_max, WHOLE(1, WIRE_PEERS_MAX))};
MESSAGE(get_peers, octet__peers_request__descriptor, get_peers_rows);

static const wire_member peers_rows[] = {
    FIELDS_6(peers, run_id, policy_version, actors, evaluators, silent, stuck),
    FIELD(peers, gone),
    VALUE(peers, env_steps_per_s, NOT_INFINITE),
    VALUE(peers, lag_mean, NOT_INFINITE),
    LIST(peers, id, count, WIRE_PEERS_MAX, ANY),
    COLUMN(peers, role, count, WHOLE(WIRE_ROLE_ACTOR, WIRE_ROLE_EVALUATOR)),
    COLUMN(peers, pid, count, ANY),
    COLUMN(peers, is_silent, count, WHOLE(0, 1)),
    COLUMN(peers, host, count, ANY),
    COLUMN(peers, version, count, ANY),
#define X(name) COLUMN(peers, name, count, NOT_INFINITE),
    WIRE_PEER_NUMBERS(X)
#undef X
        OPTIONAL(peers, health, count, WHOLE(0, WIRE_PEER_HEALTH_COUNT - 1)),
#define X(name) OPTIONAL(peers, name, count, NOT_INFINITE),
    WIRE_PEER_LATER_NUMBERS(X)
#undef X
        OPTIONAL(peers, unreached, count, ANY),
    OPTIONAL(peers, certificate, count, ANY),
    OPTIONAL(peers, certificate_id, count, ANY),
    OPTIONAL(peers, places, count, ANY),
    FIELD(peers, places_max),
    OPTIONAL(peers, relay, count, ANY),
    LIST_AS(peers, relays.host, relay_host, relays.count, WIRE_RELAYS_MAX, ANY),
    COLUMN_AS(peers, relays.pid, relay_pid, relays.count, ANY),
    COLUMN_AS(peers, relays.address, relay_address, relays.count, ANY),
    COLUMN_AS(peers, relays.above, relay_above, relays.count, ANY),
    COLUMN_AS(peers, relays.is_silent, relay_is_silent, relays.count, WHOLE(0, 1)),
    COLUMN_AS(peers, relays.actors, relay_actors, relays.count, ANY),
    COLUMN_AS(peers, relays.sessions, relay_sessions, relays.count, ANY),
    COLUMN_AS(peers, relays.heard_s, relay_heard_s, relays.count, NOT_INFINITE),
};

static void
peers_to(void *generated, const void *plain)
{
    const wire_peers *in = plain;
    Octet__Peers *out = generated;
    if (in->relays.count == 0) {
        out->n_relay = 0;
    }
    if (in->certificate == NULL) {
        out->n_certificate_id = out->n_places = 0;
    }
}

// Checks that columns that belong together are all present or all absent.
static oct_err
peers_from(void *plain, const void *generated, wire_arena *arena)
{
    (void)generated;
    const wire_peers *out = plain;
    bool has_names = out->certificate != NULL;
    bool good = (out->certificate_id != NULL) == has_names && (out->places != NULL) == has_names;
    good = good && (out->relay != NULL) == (out->relays.count > 0 && out->count > 0);
    WIRE_REQUIRE(arena, good, "peers: columns that come together are not all there");
    for (size_t i = 0; out->relay != NULL && i < out->count; i++) {
        WIRE_REQUIRE(arena, out->relay[i] <= out->relays.count,
                     "peers.relay: no index in the list of relays");
    }
    return OCT_OK;
}

MESSAGE_WITH(peers, octet__peers__descriptor, peers_rows, .to = peers_to, .from = peers_from);
