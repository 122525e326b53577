#ifndef NET_NET_ACCEPTOR_H
#define NET_NET_ACCEPTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/net_loop.h"

// Checks that NNG still accepts connections at a local socket of its own. NNG stops when the
// socket's file was removed. NNG 1.5.2 also ends a listener by itself, for good and without an
// error, when a peer closes before it has NNG's header (decision 17): from then on NNG accepts
// connections and sends its header, but makes no pipe of them, and neither the peer nor the
// kernel's backlog shows this. net_sendmsg.c prevents the known cause; this check is for causes
// that are not known. Every NET_ACCEPTOR_PERIOD_MS the daemon connects to itself, as a protocol
// that NNG does not accept, and waits for the pipe.
//
// A daemon whose listener has stopped ends, so that its supervisor starts it again: peers that
// connected in vain believe that they are connected, and only the end of the daemon shows them
// otherwise.
//
// Threads: the loop's, except net_acceptor_heard. Owns: the connection.
#define NET_ACCEPTOR_TICK_MS    500
#define NET_ACCEPTOR_PERIOD_MS  10000
#define NET_ACCEPTOR_MUTE_TICKS 60 // ticks without a pipe until the process ends
#define NET_ACCEPTOR_EXIT       1  // exit code of the process then

typedef struct net_acceptor net_acceptor;

typedef enum net_acceptor_state {
    NET_ACCEPTOR_ASKED,   // no pipe yet
    NET_ACCEPTOR_ANSWERS, // the connection became a pipe, and is closed
    NET_ACCEPTOR_UNKNOWN, // no descriptors left, or another process listens there now
} net_acceptor_state;

// url is ipc://PATH; listener_id is NNG's number of the listener there.
net_acceptor *net_acceptor_create(const char *url, int listener_id);
void net_acceptor_destroy(net_acceptor *acceptor); // NULL is a no-op
// Counts a pipe that NNG made at that listener. Threads: any, also after the destroy.
void net_acceptor_heard(int listener_id);
// Connects if there is no connection, and checks whether NNG has made a pipe for the connection.
net_acceptor_state net_acceptor_look(net_acceptor *acceptor);
// Starts checking every tick_ms, and replaces an earlier interval. Connects again PERIOD / TICK
// ticks after an answer, and ends the process with NET_ACCEPTOR_EXIT after MUTE_TICKS without one
// (NET-LISTENER-STUCK).
void net_acceptor_watch(net_acceptor *acceptor, net_loop *loop, uint32_t tick_ms);
// Writes one line for a person and returns true if a local socket of this process has not answered
// for 3 s.
bool net_acceptor_trouble(char *out, size_t out_size);

#endif // NET_NET_ACCEPTOR_H
