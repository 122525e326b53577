#ifndef REPLAY_REPLAY_ACKS_IO_H
#define REPLAY_REPLAY_ACKS_IO_H

#include <stdbool.h>
#include <stdint.h>

#include "net/net_loop.h"
#include "net/net_post.h"
#include "replay/replay_admit.h"
#include "replay/replay_disk_io.h"
#include "replay/replay_table.h"

// Sends acknowledgements: informs each actor of the highest batch sequence that replay holds (with
// --sync always: that is on the disk), so that the actor can free its copies.
//
// Timing. An actor gets an ack soon after its rows changed, but at most one every 2 ms. The last
// ack is repeated after 200 ms, because a message can be lost, and every 2 s after that. An actor
// whose last ack gave it no credit, because the table was full, learns within 200 ms that there is
// room again.
//
// Addressing. An ack goes to one connection, never to all: N actors that each receive N acks would
// cost N * N messages. Acks for sessions behind a relay are collected and sent to the relay every 5
// ms.
//
// Memory grows with sessions (52 bytes each) and connections (160 bytes each). When the table of
// connections is full, the connection that was sent to longest ago is dropped, unadmitted ones
// first; an unadmitted one never replaces an admitted one. When the table of relays is full, a
// relay whose connection has ended is dropped.
//
// Threads: the loop thread. The caller keeps loop, post and table alive for longer than this
// object.
#define REPLAY_RELAYS_MAX 256
typedef struct replay_acks replay_acks;

replay_acks *replay_acks_create(net_loop *loop, uint64_t incarnation);
// Sets the socket for acks; call it before any other function.
void replay_acks_set_post(replay_acks *acks, net_post *post);
// Subscribes a connection to the acks of the session in claim.
// is_admitted: the connection proved ownership with the session's token. It receives the acks from
// now on, and the connection that received them before no longer does. A connection without proof
// receives nothing but is remembered, because the key that verifies its token may arrive later
// (replay_acks_admit).
void replay_acks_named(replay_acks *acks, uint32_t peer, const wire_claim *claim, bool is_admitted);
// Registers the connection of a relay, which receives the acks of all sessions whose batches it
// brings. OCT_EAGAIN: all REPLAY_RELAYS_MAX slots are in use.
OCT_CHECKED oct_err replay_acks_relay(replay_acks *acks, uint32_t peer, uint64_t relay);
// Returns a number that names the relay for replay_acks_note, or 0 if the relay has not introduced
// itself yet.
uint32_t replay_acks_find_relay(const replay_acks *acks, uint64_t relay);
// The key has changed: verifies all remembered connections again. If several claim the same
// session, the latest wins.
void replay_acks_admit(replay_acks *acks, replay_admit *admit);
void replay_acks_destroy(replay_acks *acks);
// Sets the table that holds the sessions; NULL: there is none. Acks that were due are forgotten.
void replay_acks_set_table(replay_acks *acks, const replay_table *table);
// Sets the file that decides what may be acknowledged; NULL: everything that the table holds.
void replay_acks_set_disk(replay_acks *acks, const replay_disk *disk);
// A generation is on the disk: sends acks to the sessions whose acknowledged sequence it raised.
void replay_acks_synced(replay_acks *acks, uint64_t now_ns);
// A batch of this session arrived and needs an ack. relay: from replay_acks_find_relay; 0: the
// actor sent it directly.
void replay_acks_note(replay_acks *acks, uint32_t session, uint32_t relay, uint64_t now_ns);
// Sends the repeated acks; call it at least every 50 ms.
void replay_acks_repeat(replay_acks *acks, uint64_t now_ns);
uint64_t replay_acks_bytes(const replay_acks *acks); // sent so far

#endif // REPLAY_REPLAY_ACKS_IO_H
