#ifndef NET_NET_ACCEPTOR_H
#define NET_NET_ACCEPTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/net_loop.h"

// Whether NNG still lets anybody in at a local socket of its own. It no longer does when the file
// of the socket was removed. NNG 1.5.2 by itself also ends a listener for good, without a word,
// when a peer goes before it has NNG's header (decision 17): from then on NNG accepts connections
// and sends its header, but makes no pipe of them; neither the peer nor the kernel's backlog shows
// it. net_sendmsg.c keeps it from that; this is for what nobody has thought of. The daemon connects
// to itself every NET_ACCEPTOR_PERIOD_MS, as a protocol that nobody takes, and looks for the pipe.
//
// A daemon whose listener died ends, for whoever watches over it to start it again: peers that came
// in vain believe that they are connected, and nothing but its end tells them otherwise.
//
// Threads: the loop's, but for net_acceptor_heard. Owns: the connection.
#define NET_ACCEPTOR_TICK_MS    500
#define NET_ACCEPTOR_PERIOD_MS  10000
#define NET_ACCEPTOR_MUTE_TICKS 60 // without a pipe: it died
#define NET_ACCEPTOR_EXIT       1

typedef struct net_acceptor net_acceptor;

typedef enum net_acceptor_state {
    NET_ACCEPTOR_ASKED,   // no pipe yet
    NET_ACCEPTOR_ANSWERS, // the connection became a pipe, and is closed
    NET_ACCEPTOR_UNKNOWN, // no descriptors left, or another process listens there now
} net_acceptor_state;

// url: ipc://PATH. listener_id: NNG's, of the listener there.
net_acceptor *net_acceptor_create(const char *url, int listener_id);
void net_acceptor_destroy(net_acceptor *acceptor); // NULL is a no-op
// A pipe of that listener was made. Threads: any, also after the destroy.
void net_acceptor_heard(int listener_id);
// Connects, if there is no connection, and looks what became of it.
net_acceptor_state net_acceptor_look(net_acceptor *acceptor);
// Looks from now on every tick_ms, in place of before; asks again after PERIOD / TICK ticks, and
// ends the process with NET_ACCEPTOR_EXIT after MUTE_TICKS (NET-DEAF).
void net_acceptor_watch(net_acceptor *acceptor, net_loop *loop, uint32_t tick_ms);
// One line for a person when nobody was let in at the last looks.
bool net_acceptor_trouble(char *out, size_t out_size);

#endif // NET_NET_ACCEPTOR_H
