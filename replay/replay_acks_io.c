// Decides when each actor is sent an acknowledgement, and sends it to that actor's connection
// alone.
//
// What an ack means:
// 1. An actor numbers its batches 1, 2, 3 … within a session and keeps each one until it is
//    acknowledged.
// 2. The table takes batch n of a session only after n - 1 (replay_dedupe.h). A repeated batch is a
//    duplicate: it changes nothing and is acknowledged again.
// 3. An ack names the highest contiguous sequence that the table holds. With --sync always, it
//    names the sequence that the last finished generation holds (replay_disk_io.h), so that a power
//    failure loses nothing that was acknowledged.
// 4. A lost ack costs nothing, because it is repeated. A lost batch shows as a gap: the ack names
//    the sequence before the gap, and the actor sends again from there.
// 5. A restarted replay has another incarnation number. An actor that sees it sends again
//    everything that it still holds.
//
// How an ack leaves:
// 1. replay_acks_note marks a session. If its last ack is 2 ms old, the next one leaves at once;
//    otherwise the session enters `due`, and a timer sends the acks of all due sessions.
// 2. The ack of a session behind a relay enters that relay's list. The timer packs the list into
//    one message, or more if one is not enough, at most every 5 ms.
// 3. replay_acks_repeat visits all sessions and sends those that have had no ack for 200 ms (2 s
//    once the ack was repeated).
// 4. The timer runs only while something is due.
//
// A session's ack needs a connection that has presented the session's token (replay_acks_named). If
// none has, the ack is dropped, and a repeated one reaches the connection that does so later.
// Connections are found by session, by connection number and by last use; the last order decides
// which one leaves when all slots are taken.
#include "replay/replay_acks_io.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_slotmap.h"
#include "net/net_msg.h"
#include "proto/wire_gather.h"

#define MS            1000000ull
#define PERIOD_MS_MIN 2           // between two acks to one session
#define REPEAT_NS     (200 * MS)  // of an ack, the first time
#define AGAIN_NS      (2000 * MS) // and every later time
#define CREDIT_MAX    64          // batches: the most that an ack allows
#define GATHER_NS     (5 * MS)    // between two messages to one relay
#define NO_SESSION    UINT32_MAX
#define ACK_BYTES_MAX 64  // of one packed ack
#define ROOM_LEAST    64u // slots of a table that grows for the first time

// A session of the table, by its index there.
struct ack_state {
    uint64_t sent_ns;  // when its last ack was sent, by oct_clock_ns; 0: never
    uint64_t sequence; // in the last ack
    uint32_t place;    // index in peers[] where the last lookup found the session; may be stale
    uint32_t relay;    // number of the relay that its batches come through; 0: none
    uint32_t next; // index of the next session due at the same relay; NO_SESSION: this is the last
    bool is_due;   // its index is in replay_acks.due
    bool is_repeated; // the last ack was repeated after the session's last batch
    bool is_held;     // the last ack gave no credit
    bool is_at_relay; // it is in the list of its relay
};

// A relay, and the list of sessions that are due there.
struct ack_relay {
    uint64_t id;      // random, chosen by the relay
    uint32_t peer;    // its connection
    uint32_t first;   // first session of the list; NO_SESSION: the list is empty
    uint64_t sent_ns; // last message
};

// A connection that asked for the acks of a session.
struct ack_peer {
    wire_claim claim; // as the connection sent it
    bool is_admitted; // the claim's token is valid: it receives the acks
    uint32_t peer;    // number of the connection
};

// Groups of replay_acks.used. Each is ordered by last use, the oldest first.
static const oct_slotmap_key admitted = {0, 1}, unadmitted = {0, 2};

struct replay_acks {
    net_loop *loop;
    net_post *post;
    net_timer *timer; // NULL: nothing is due
    const replay_table *table;
    const replay_disk *disk;
    uint64_t incarnation;
    uint64_t bytes;                 // of acks sent
    uint32_t state_room, due_count; // slots of state and due; sessions in due
    struct ack_state *state;        // [state_room], by index in the table
    uint32_t *due;                  // [state_room] indices of sessions
    uint32_t peer_count, peer_room;
    struct ack_peer *peers;     // [peer_room]
    oct_slotmap *by_session;    // indices in peers[] of admitted peers, one for each session
    oct_slotmap *by_connection; // indices in peers[] of all peers
    oct_slotmap *used;          // indices in peers[] in the two groups above
    uint32_t relay_count;       // slots that were ever used
    struct ack_relay relays[REPLAY_RELAYS_MAX];
    wire_gatherer gatherer; // for the relay that is being sent to
};

replay_acks *
replay_acks_create(net_loop *loop, uint64_t incarnation)
{
    replay_acks *acks = oct_alloc(sizeof(*acks));
    acks->loop = loop;
    acks->incarnation = incarnation;
    acks->by_session = oct_slotmap_create();
    acks->by_connection = oct_slotmap_create();
    acks->used = oct_slotmap_create();
    wire_gatherer_init(&acks->gatherer, incarnation,
                       (size_t)WIRE_GATHERED_FRAMES_MAX *
                           (ACK_BYTES_MAX + WIRE_GATHERED_EACH_BYTES));
    return acks;
}

void
replay_acks_destroy(replay_acks *acks)
{
    if (acks) {
        net_timer_stop(acks->timer);
        wire_gatherer_fini(&acks->gatherer);
        oct_slotmap_destroy(acks->by_session);
        oct_slotmap_destroy(acks->by_connection);
        oct_slotmap_destroy(acks->used);
        free(acks->state);
        free(acks->due);
        free(acks->peers);
        free(acks);
    }
}

// Doubles an array, to at least count elements. The new ones are zero. Returns the new size.
static uint32_t
room_grow(void **memory, uint32_t room, uint32_t count, size_t bytes)
{
    uint32_t larger = OCT_MAX(OCT_MAX(2 * room, count), ROOM_LEAST);
    void *grown = oct_alloc(larger * bytes);
    if (room > 0) {
        memcpy(grown, *memory, room * bytes);
    }
    free(*memory);
    *memory = grown;
    return larger;
}

// Grows the arrays so that a session with this index fits. The table assigns indices without gaps.
static void
states_reserve(replay_acks *acks, uint32_t index)
{
    if (index >= acks->state_room) {
        uint32_t room = acks->state_room;
        void *state = acks->state, *due = acks->due;
        acks->state_room = room_grow(&state, room, index + 1, sizeof(*acks->state));
        (void)room_grow(&due, room, index + 1, sizeof(*acks->due));
        acks->state = state;
        acks->due = due;
    }
}

void
replay_acks_set_table(replay_acks *acks, const replay_table *table)
{
    acks->table = table;
    acks->due_count = 0;
    if (acks->state_room > 0) {
        memset(acks->state, 0, acks->state_room * sizeof(*acks->state));
    }
    for (uint32_t i = 0; i < acks->relay_count; i++) {
        acks->relays[i].first = NO_SESSION;
    }
}

void
replay_acks_set_disk(replay_acks *acks, const replay_disk *disk)
{
    acks->disk = disk;
}

// The sequence that a session's ack names.
static uint64_t
sequence_of(const replay_acks *acks, uint32_t index, const replay_session *session)
{
    return acks->disk ? replay_disk_sequence(acks->disk, index, session) : session->sequence;
}

uint64_t
replay_acks_bytes(const replay_acks *acks)
{
    return acks->bytes;
}

void
replay_acks_set_post(replay_acks *acks, net_post *post)
{
    acks->post = post;
}

static bool
peer_is_of(const struct ack_peer *peer, uint64_t session, uint32_t actor_id)
{
    return peer->is_admitted && peer->claim.session == session && peer->claim.actor_id == actor_id;
}

// Returns the index of the peer that receives a session's acks, or OCT_SLOTMAP_NONE.
static uint32_t
peer_find(const replay_acks *acks, uint64_t session, uint32_t actor_id)
{
    return oct_slotmap_first(acks->by_session, (oct_slotmap_key){actor_id, session});
}

// Stores a peer in a slot. A session has one admitted peer: the one before becomes unadmitted.
static void
peer_set(replay_acks *acks, uint32_t place, const struct ack_peer *peer)
{
    acks->peers[place] = *peer;
    oct_slotmap_put(acks->by_connection, (oct_slotmap_key){0, peer->peer}, place);
    oct_slotmap_put(acks->used, peer->is_admitted ? admitted : unadmitted, place);
    oct_slotmap_drop(acks->by_session, place);
    if (!peer->is_admitted) {
        return;
    }
    uint32_t before = peer_find(acks, peer->claim.session, peer->claim.actor_id);
    if (before != OCT_SLOTMAP_NONE) {
        acks->peers[before].is_admitted = false;
        oct_slotmap_put(acks->used, unadmitted, before);
        oct_slotmap_drop(acks->by_session, before);
    }
    oct_slotmap_put(acks->by_session, (oct_slotmap_key){peer->claim.actor_id, peer->claim.session},
                    place);
}

// Returns a slot for a peer: a new one, or the slot of a peer that gives way. OCT_SLOTMAP_NONE: no
// peer may give way.
static uint32_t
peer_room(replay_acks *acks, uint32_t peer, bool is_admitted)
{
    uint32_t place = oct_slotmap_first(acks->by_connection, (oct_slotmap_key){0, peer});
    for (; place != OCT_SLOTMAP_NONE; place = oct_slotmap_next(acks->by_connection, place)) {
        if (is_admitted || !acks->peers[place].is_admitted) {
            return place; // a connection has one claim of each kind: the newest
        }
    }
    if (acks->peer_count < REPLAY_SESSIONS_MAX) {
        if (acks->peer_count == acks->peer_room) {
            void *peers = acks->peers;
            acks->peer_room =
                room_grow(&peers, acks->peer_room, acks->peer_count + 1, sizeof(*acks->peers));
            acks->peers = peers;
        }
        return acks->peer_count++;
    }
    place = oct_slotmap_first(acks->used, unadmitted);
    return place == OCT_SLOTMAP_NONE && is_admitted ? oct_slotmap_first(acks->used, admitted)
                                                    : place;
}

void
replay_acks_named(replay_acks *acks, uint32_t peer, const wire_claim *claim, bool is_admitted)
{
    uint32_t place =
        is_admitted ? peer_find(acks, claim->session, claim->actor_id) : OCT_SLOTMAP_NONE;
    if (place == OCT_SLOTMAP_NONE) {
        place = peer_room(acks, peer, is_admitted);
    }
    if (place != OCT_SLOTMAP_NONE) {
        peer_set(acks, place, &(struct ack_peer){*claim, is_admitted, peer});
    }
}

// With a new key no peer is admitted. All are verified in the order in which they asked, so if a
// session asked on several connections, the last one is admitted, because the actor has left the
// earlier ones.
void
replay_acks_admit(replay_acks *acks, replay_admit *admit)
{
    uint32_t place;
    while ((place = oct_slotmap_first(acks->used, admitted)) != OCT_SLOTMAP_NONE) {
        struct ack_peer peer = acks->peers[place];
        peer.is_admitted = false;
        peer_set(acks, place, &peer);
    }
    // peer_set moves each one to the end of its group.
    for (uint32_t left = acks->peer_count; left > 0; left--) {
        place = oct_slotmap_first(acks->used, unadmitted);
        struct ack_peer peer = acks->peers[place];
        peer.is_admitted = replay_admit_check(admit, &peer.claim);
        peer_set(acks, place, &peer);
    }
}

// Returns the peer that receives the session's acks, NULL if there is none.
static struct ack_peer *
peer_of(replay_acks *acks, uint32_t index, const replay_session *session)
{
    struct ack_state *state = &acks->state[index];
    if (state->place >= acks->peer_count ||
        !peer_is_of(&acks->peers[state->place], session->session, session->actor_id)) {
        state->place = peer_find(acks, session->session, session->actor_id);
    }
    return state->place != OCT_SLOTMAP_NONE ? &acks->peers[state->place] : NULL;
}

// Makes the ack of a session, and records that it was sent.
static wire_ack
ack_make(replay_acks *acks, uint32_t index, const replay_session *session, uint64_t now_ns)
{
    struct ack_state *state = &acks->state[index];
    const wire_ack ack = {
        .actor_id = session->actor_id,
        .session = session->session,
        .sequence = sequence_of(acks, index, session),
        .incarnation = acks->incarnation,
        .credit = replay_table_credit(acks->table, CREDIT_MAX),
    };
    state->sent_ns = now_ns;
    state->sequence = ack.sequence;
    state->is_held = ack.credit == 0;
    return ack;
}

static void timer_run(replay_acks *acks);

// Sends a session's ack. Behind a relay the ack only becomes due.
static void
ack_send(replay_acks *acks, uint32_t index, uint64_t now_ns)
{
    const replay_session *session = replay_table_session(acks->table, index);
    OCT_ASSERT(session);
    struct ack_state *state = &acks->state[index];
    if (state->relay != 0) {
        struct ack_relay *relay = &acks->relays[state->relay - 1];
        if (!state->is_at_relay) {
            state->is_at_relay = true;
            state->next = relay->first;
            relay->first = index;
            timer_run(acks);
        }
        return;
    }
    wire_ack ack = ack_make(acks, index, session, now_ns);
    struct ack_peer *peer = peer_of(acks, index, session);
    if (!peer) {
        return; // a repeated ack will reach the connection that asks later
    }
    oct_slotmap_put(acks->used, admitted, acks->state[index].place);
    size_t length = wire_ack_size(&ack);
    net_msg *msg = net_msg_create(length);
    wire_ack_pack(&ack, net_msg_body(msg));
    net_post_send(acks->post, peer->peer, msg);
    acks->bytes += length;
}

static void
gathered_send(replay_acks *acks, const struct ack_relay *relay)
{
    size_t length = wire_gatherer_length(&acks->gatherer);
    net_msg *msg = net_msg_create(length);
    wire_gatherer_take(&acks->gatherer, net_msg_body(msg));
    net_post_send(acks->post, relay->peer, msg);
    acks->bytes += length;
}

// Sends all acks that are due at a relay, in as few messages as hold them.
static void
relay_send(replay_acks *acks, struct ack_relay *relay, uint64_t now_ns)
{
    uint8_t bytes[ACK_BYTES_MAX];
    relay->sent_ns = now_ns;
    for (uint32_t next, index = relay->first; index != NO_SESSION; index = next) {
        next = acks->state[index].next;
        acks->state[index].is_at_relay = false;
        wire_ack ack = ack_make(acks, index, replay_table_session(acks->table, index), now_ns);
        size_t length = wire_ack_size(&ack);
        OCT_ASSERT(length <= sizeof(bytes));
        wire_ack_pack(&ack, bytes);
        if (!wire_gatherer_add(&acks->gatherer, bytes, length)) {
            gathered_send(acks, relay);
            bool is_in = wire_gatherer_add(&acks->gatherer, bytes, length);
            OCT_ASSERT(is_in);
        }
    }
    relay->first = NO_SESSION;
    gathered_send(acks, relay);
}

// Sends the lists of all relays whose last message is old enough. Returns false if no list is left.
static bool
relays_flush(replay_acks *acks, uint64_t now_ns)
{
    bool is_due = false;
    for (uint32_t i = 0; i < acks->relay_count; i++) {
        struct ack_relay *relay = &acks->relays[i];
        if (relay->first != NO_SESSION && now_ns - relay->sent_ns >= GATHER_NS) {
            relay_send(acks, relay, now_ns);
        }
        is_due |= relay->first != NO_SESSION;
    }
    return is_due;
}

static void
acks_flush(void *arg)
{
    replay_acks *acks = arg;
    uint64_t now_ns = oct_clock_ns();
    bool is_due = relays_flush(acks, now_ns);
    if (acks->due_count == 0 && !is_due) {
        net_timer_stop(acks->timer);
        acks->timer = NULL;
        return;
    }
    for (uint32_t i = 0; i < acks->due_count; i++) {
        acks->state[acks->due[i]].is_due = false;
        ack_send(acks, acks->due[i], now_ns);
    }
    acks->due_count = 0;
}

static void
timer_run(replay_acks *acks)
{
    if (!acks->timer) {
        acks->timer = net_timer_start(acks->loop, PERIOD_MS_MIN, PERIOD_MS_MIN, acks_flush, acks);
    }
}

// The session's batches arrive by another way. Removing its due ack loses nothing, because acks are
// cumulative.
static void
relay_change(replay_acks *acks, uint32_t session, uint32_t relay)
{
    struct ack_state *state = &acks->state[session];
    if (state->is_at_relay) {
        uint32_t *at = &acks->relays[state->relay - 1].first;
        while (*at != session) {
            at = &acks->state[*at].next;
        }
        *at = state->next;
        state->is_at_relay = false;
    }
    state->relay = relay;
}

void
replay_acks_note(replay_acks *acks, uint32_t session, uint32_t relay, uint64_t now_ns)
{
    states_reserve(acks, session);
    struct ack_state *state = &acks->state[session];
    state->is_repeated = false;
    if (state->relay != relay) {
        relay_change(acks, session, relay);
    }
    if (state->is_due) {
        return;
    }
    if (relay != 0 || now_ns - state->sent_ns >= PERIOD_MS_MIN * MS) {
        ack_send(acks, session, now_ns);
        return;
    }
    state->is_due = true;
    acks->due[acks->due_count++] = session;
    timer_run(acks);
}

uint32_t
replay_acks_find_relay(const replay_acks *acks, uint64_t relay)
{
    for (uint32_t i = 0; i < acks->relay_count; i++) {
        if (acks->relays[i].id == relay) {
            return i + 1;
        }
    }
    return 0;
}

// Returns a free slot, or the slot of a relay whose connection has ended; REPLAY_RELAYS_MAX if
// there is none. A connected relay keeps its slot: it introduces itself only once per connection.
static uint32_t
relay_room(replay_acks *acks)
{
    if (acks->relay_count < REPLAY_RELAYS_MAX) {
        return acks->relay_count++;
    }
    uint32_t place = 0;
    while (place < REPLAY_RELAYS_MAX && net_post_has(acks->post, acks->relays[place].peer)) {
        place++;
    }
    for (uint32_t i = 0; place < REPLAY_RELAYS_MAX && i < acks->state_room; i++) {
        if (acks->state[i].relay == place + 1) {
            relay_change(acks, i, 0);
        }
    }
    return place;
}

oct_err
replay_acks_relay(replay_acks *acks, uint32_t peer, uint64_t relay)
{
    uint32_t known = replay_acks_find_relay(acks, relay);
    if (known != 0) {
        acks->relays[known - 1].peer = peer; // the relay has connected again
        return OCT_OK;
    }
    uint32_t place = relay_room(acks);
    if (place == REPLAY_RELAYS_MAX) {
        return OCT_EAGAIN;
    }
    acks->relays[place] = (struct ack_relay){
        .id = relay, .peer = peer, .first = NO_SESSION, .sent_ns = oct_clock_ns()};
    return OCT_OK;
}

void
replay_acks_synced(replay_acks *acks, uint64_t now_ns)
{
    const replay_session *session;
    for (uint32_t i = 0; acks->table && (session = replay_table_session(acks->table, i)) != NULL;
         i++) {
        states_reserve(acks, i);
        if (sequence_of(acks, i, session) > acks->state[i].sequence) {
            ack_send(acks, i, now_ns);
        }
    }
}

void
replay_acks_repeat(replay_acks *acks, uint64_t now_ns)
{
    if (!acks->table) {
        return;
    }
    bool has_room = replay_table_credit(acks->table, CREDIT_MAX) > 0;
    for (uint32_t i = 0; replay_table_session(acks->table, i) != NULL; i++) {
        states_reserve(acks, i);
        struct ack_state *state = &acks->state[i];
        bool is_awaited = !state->is_repeated || (state->is_held && has_room);
        if (!state->is_due && now_ns - state->sent_ns >= (is_awaited ? REPEAT_NS : AGAIN_NS)) {
            state->is_repeated = true;
            ack_send(acks, i, now_ns);
        }
    }
}
