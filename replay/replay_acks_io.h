#ifndef REPLAY_REPLAY_ACKS_IO_H
#define REPLAY_REPLAY_ACKS_IO_H

#include <stdbool.h>
#include <stdint.h>

#include "net/net_loop.h"
#include "net/net_post.h"
#include "replay/replay_admit.h"
#include "replay/replay_disk_io.h"
#include "replay/replay_table.h"

// When which actor is told what replay holds: soon after something changed, at most one ack every
// 2 ms to an actor. It is repeated after 200 ms, since one may be lost, and then every 2 s; who was
// told that there is no room hears within 200 ms that there is some. Each goes to that actor alone:
// acks to all of N actors would be N * N of them. Those of sessions whose batches come through a
// relay go back to it, together, every 5 ms.
//
// Threads: loop thread. Owns: its tables, which grow with sessions and peers, 52 and 160 bytes
// each; nothing of what it is given; post, loop and table outlive it. Full: of the peers that are
// not admitted, else of all, the one that was sent to longest ago is forgotten; of relays, one
// whose connection has ended.
#define REPLAY_RELAYS_MAX 256
typedef struct replay_acks replay_acks;

replay_acks *replay_acks_create(net_loop *loop, uint64_t incarnation);
// Where acks go out; before anything else.
void replay_acks_set_post(replay_acks *acks, net_post *post);
// A peer said whose acks it wants. is_admitted: it brought that session's token, and gets them from
// now on, instead of whoever got them before. Otherwise it gets none, but is remembered while there
// is room: the key that its token is of may still come.
void replay_acks_named(replay_acks *acks, uint32_t peer, const wire_claim *claim, bool is_admitted);
// A relay said where the acks of what it brings are to go. OCT_EAGAIN: there is no place for it.
OCT_CHECKED oct_err replay_acks_relay(replay_acks *acks, uint32_t peer, uint64_t relay);
// Which relay that is, for replay_acks_note; 0: it has not said so yet.
uint32_t replay_acks_find_relay(const replay_acks *acks, uint64_t relay);
// There is another key: who is admitted under it, of those that are remembered? Of a session the
// one that asked last.
void replay_acks_admit(replay_acks *acks, replay_admit *admit);
void replay_acks_destroy(replay_acks *acks);
// The table that sessions are looked up in; NULL while there is none. Forgets what was due.
void replay_acks_set_table(replay_acks *acks, const replay_table *table);
// Where what may be acknowledged is asked for; NULL: all that the table holds.
void replay_acks_set_disk(replay_acks *acks, const replay_disk *disk);
// More may be acknowledged than before: sends what is new.
void replay_acks_synced(replay_acks *acks, uint64_t now_ns);
// A batch of this session came, through that relay (0: through none), and needs an ack.
void replay_acks_note(replay_acks *acks, uint32_t session, uint32_t relay, uint64_t now_ns);
// The repeated ones; call it every 50 ms or so.
void replay_acks_repeat(replay_acks *acks, uint64_t now_ns);
uint64_t replay_acks_bytes(const replay_acks *acks); // sent so far

#endif // REPLAY_REPLAY_ACKS_IO_H
