#ifndef NET_NET_GATE_LONG_H
#define NET_NET_GATE_LONG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <uv.h>

#include "net/net_gate_peer.h"
#include "net/net_sp.h"

// Room for long messages from peers: a few come in at a time, the others wait for their turn.
// net_gate_long.c begins with the rules. Private to the gate (net_gate.h).
//
// Threads: the gate's. Owns: nothing; the lists link members of the connections. Full: a message
// waits, and the gate does not read its connection meanwhile.

#define GATE_LONG_BYTES (512u << 10) // least progress in NET_GATE_LONG_MS

// Time of the last progress, and the count then; 0 ms while no progress is needed.
typedef struct gate_standstill {
    uint64_t since_ms, from;
} gate_standstill;

// Returns for how many milliseconds done has grown by less than step.
uint64_t gate_standstill_ms(gate_standstill *still, uint64_t now_ms, uint64_t done, uint64_t step);

typedef enum gate_long_state {
    GATE_LONG_NONE,
    GATE_LONG_WAITING,
    GATE_LONG_COMING
} gate_long_state;

// The long message of a connection, if it has one; zeros: it has none.
typedef struct gate_long {
    gate_long_state state;
    bool resumes;                 // the message has room now, and reading has not resumed yet
    TAILQ_ENTRY(gate_long) place; // in the list of waiting or of coming messages
    const gate_peer *peer;        // of the connection
    uint64_t number, bytes;       // the message's number in the stream; its room: its full length
    gate_standstill still;        // of bytes of the message that come in
} gate_long;

TAILQ_HEAD(gate_long_list, gate_long);

// Of the messages in coming the rest is read, of those in waiting it is not.
typedef struct gate_longs {
    struct gate_long_list waiting; // oldest first
    struct gate_long_list coming;
    uint64_t bytes;                   // room of the messages in coming
    uv_timer_t timer;                 // of 0 ms: resumes reading outside of the caller that freed
    void (*resume)(gate_long *entry); // reads the entry's connection again
} gate_longs;

void gate_long_init(gate_longs *longs, uv_loop_t *loop, void (*resume)(gate_long *entry));
// Closes the timer; the caller then runs the loop.
void gate_long_stop(gate_longs *longs);
// Accounts for bytes of the stream from peer: its message may have to wait, or be complete and free
// its room. A message is long once more than queue_bytes of it, the connection's queue, and what
// the local socket holds have arrived.
void gate_long_message(gate_longs *longs, gate_long *entry, const gate_peer *peer,
                       const net_sp_stream *stream, size_t queue_bytes);
// Runs once a tick. Returns true if the message has room that others wait for, and its peer, from
// which the gate reads (reads), sends nothing.
bool gate_long_stalls(const gate_longs *longs, gate_long *entry, const net_sp_stream *stream,
                      bool reads, uint64_t now_ms);
// Releases the room or the position in the queue, when the connection ends.
void gate_long_forget(gate_longs *longs, gate_long *entry);

#endif // NET_NET_GATE_LONG_H
