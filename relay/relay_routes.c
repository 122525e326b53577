// Remembers by session where acks go, in a hash table of groups.
#include "relay/relay_routes.h"

#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"

#define GROUPS    (RELAY_SESSIONS_MAX / RELAY_GROUP)
#define SECOND_NS UINT64_C(1000000000)

struct session {
    uint64_t session;
    uint64_t used_ns; // time of the last batch or name (oct_clock_ns)
    uint32_t actor_id;
    uint32_t peer;  // of the actor; 0: it has not sent its name
    uint32_t child; // relay below that its last batch came through, plus 1; 0: none
    bool is_used;
    bool is_proved; // replay has acknowledged a batch with this token
    bool has_sent;  // a batch has come
    uint8_t token[WIRE_TOKEN_BYTES];
};

struct child {
    uint64_t relay; // the relay's number; 0: free
    uint32_t peer;
};

struct relay_routes {
    struct session sessions[RELAY_SESSIONS_MAX];
    struct child children[RELAY_CHILDREN_MAX];
};

relay_routes *
relay_routes_create(void)
{
    return oct_alloc(sizeof(relay_routes));
}

void
relay_routes_destroy(relay_routes *routes)
{
    free(routes);
}

static struct session *
group_of(relay_routes *routes, uint64_t session)
{
    return &routes->sessions[(session ^ session >> 32) % GROUPS * RELAY_GROUP];
}

static struct session *
session_find(relay_routes *routes, uint64_t session, uint32_t actor_id)
{
    struct session *group = group_of(routes, session);
    for (uint32_t i = 0; i < RELAY_GROUP; i++) {
        if (group[i].is_used && group[i].session == session && group[i].actor_id == actor_id) {
            return &group[i];
        }
    }
    return NULL;
}

// Returns true if a should be replaced rather than b: a free entry first, then an unproved entry,
// then the entry unused for longer.
static bool
is_worse(const struct session *a, const struct session *b)
{
    if (a->is_used != b->is_used) {
        return !a->is_used;
    }
    return a->is_proved != b->is_proved ? !a->is_proved : a->used_ns < b->used_ns;
}

// Returns the entry of a claim, a new one if needed; NULL: the session has another token, which is
// proved.
static struct session *
session_take(relay_routes *routes, const wire_claim *claim, uint64_t now_ns)
{
    struct session *entry = session_find(routes, claim->session, claim->actor_id);
    bool is_its = entry != NULL && wire_token_equal(entry->token, claim->token);
    if (entry != NULL && !is_its && entry->is_proved) {
        return NULL;
    }
    if (entry == NULL) {
        struct session *group = group_of(routes, claim->session);
        entry = group;
        for (uint32_t i = 1; i < RELAY_GROUP; i++) {
            entry = is_worse(&group[i], entry) ? &group[i] : entry;
        }
    }
    if (!is_its) {
        *entry = (struct session){
            .is_used = true, .session = claim->session, .actor_id = claim->actor_id};
        memcpy(entry->token, claim->token, sizeof(entry->token));
    }
    entry->used_ns = now_ns;
    return entry;
}

oct_err
relay_routes_name(relay_routes *routes, uint32_t peer, const wire_claim *claim, uint64_t now_ns)
{
    struct session *entry = claim->has_token ? session_take(routes, claim, now_ns) : NULL;
    if (entry == NULL) {
        return OCT_EINVAL;
    }
    entry->peer = peer;
    return OCT_OK;
}

// Returns the slot of a relay plus 1, or for 0 that of a free slot; 0: there is none.
static uint32_t
child_find(const relay_routes *routes, uint64_t relay)
{
    for (uint32_t i = 0; i < RELAY_CHILDREN_MAX; i++) {
        if (routes->children[i].relay == relay) {
            return i + 1;
        }
    }
    return 0;
}

uint32_t
relay_routes_child(const relay_routes *routes, uint64_t relay)
{
    return relay != 0 ? child_find(routes, relay) : 0;
}

uint32_t
relay_routes_child_peer(const relay_routes *routes, uint32_t child)
{
    return routes->children[child - 1].peer;
}

// Returns a slot for another relay plus 1: a free one, else that of a relay whose connection has
// ended; 0: none.
static uint32_t
child_room(relay_routes *routes, relay_routes_there_fn is_there, void *arg)
{
    uint32_t place = child_find(routes, 0);
    for (uint32_t i = 0; place == 0 && i < RELAY_CHILDREN_MAX; i++) {
        place = is_there(arg, routes->children[i].peer) ? 0 : i + 1;
    }
    for (uint32_t i = 0; place != 0 && i < RELAY_SESSIONS_MAX; i++) {
        if (routes->sessions[i].child == place) {
            routes->sessions[i].child = 0; // until its next batch comes through a relay
        }
    }
    return place;
}

oct_err
relay_routes_name_relay(relay_routes *routes, uint32_t peer, uint64_t relay,
                        relay_routes_there_fn is_there, void *arg)
{
    uint32_t place = relay_routes_child(routes, relay);
    place = place != 0 ? place : child_room(routes, is_there, arg);
    if (place == 0) {
        return OCT_EAGAIN;
    }
    routes->children[place - 1] = (struct child){relay, peer};
    return OCT_OK;
}

oct_err
relay_routes_batch(relay_routes *routes, const wire_claim *claim, uint32_t child, uint64_t now_ns)
{
    struct session *entry = claim->has_token ? session_take(routes, claim, now_ns) : NULL;
    if (entry == NULL) {
        return OCT_EINVAL;
    }
    entry->child = child;
    entry->has_sent = true;
    return OCT_OK;
}

bool
relay_routes_ack(relay_routes *routes, const wire_claim *of, relay_route *out)
{
    struct session *entry = session_find(routes, of->session, of->actor_id);
    if (entry == NULL) {
        return false;
    }
    entry->is_proved = true;
    out->child = entry->child;
    out->peer = entry->child != 0 ? routes->children[entry->child - 1].peer : entry->peer;
    return true;
}

uint32_t
relay_routes_active(const relay_routes *routes, uint64_t now_ns)
{
    uint32_t active = 0;
    for (uint32_t i = 0; i < RELAY_SESSIONS_MAX; i++) {
        const struct session *entry = &routes->sessions[i];
        active += entry->is_used && entry->has_sent &&
                  now_ns - entry->used_ns < RELAY_ACTIVE_S * SECOND_NS;
    }
    return active;
}
